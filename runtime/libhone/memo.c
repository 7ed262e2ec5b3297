/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/memo.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

/* A handle that was given out, by what was asked for. Nothing of it changes. */
struct hn_lib_memo {
    uint64_t hash;
    CUcontext context;
    const char *kernel;
    struct hone_options options;
    struct hone_kernel *handle;
    size_t problem_count;
    struct hone_value problem[]; /* in the caller's order; all strings stand behind it */
};

/* Half full at most. When it gets fuller another one takes its place; who still reads the former
 * one finds all that was in it, and asks with the lock for what is not. */
struct hn_lib_memos {
    struct hn_lib_memos *former; /* only kept to be freed */
    size_t mask, count;
    _Atomic(struct hn_lib_memo *) slots[];
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* What is not a word, as bits. Of a boolean that was not made by hone_boolean only one part is set.
 */
static int64_t bits_of(const struct hone_value *value)
{
    return value->kind == HONE_BOOLEAN ? value->as.boolean != 0 : value->as.integer;
}

uint64_t hn_lib_request_hash(const struct hn_lib_request *request)
{
    uint64_t hash = mix(0xcbf29ce484222325u, request->kernel, strlen(request->kernel));
    for (size_t i = 0; i < request->problem_count; i++) {
        const struct hone_value *value = &request->problem[i];
        hash = mix(hash, value->name, strlen(value->name));
        int64_t bits = value->kind == HONE_WORD ? 0 : bits_of(value);
        hash = value->kind == HONE_WORD ? mix(hash, value->as.word, strlen(value->as.word))
                                        : mix(hash, &bits, sizeof bits);
    }
    return mix(hash, &request->context, sizeof(CUcontext));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_value(const struct hone_value *a, const struct hone_value *b)
{
    if (a->kind != b->kind || strcmp(a->name, b->name) != 0)
        return false;
    return a->kind == HONE_WORD ? strcmp(a->as.word, b->as.word) == 0 : bits_of(a) == bits_of(b);
}

static bool matches(const struct hn_lib_memo *memo, uint64_t hash,
                    const struct hn_lib_request *request)
{
    const struct hone_options *a = &memo->options;
    const struct hone_options *b = request->options;
    if (memo->hash != hash || memo->context != request->context ||
        memo->problem_count != request->problem_count || a->on_miss != b->on_miss ||
        !a->forbid_compile != !b->forbid_compile || !a->graph != !b->graph ||
        a->trust != b->trust || !same_text(a->regime, b->regime) ||
        !same_text(a->objective, b->objective) || strcmp(memo->kernel, request->kernel) != 0)
        return false;
    for (size_t i = 0; i < memo->problem_count; i++)
        if (!same_value(&memo->problem[i], &request->problem[i]))
            return false;
    return true;
}

/* The upper bits are mixed best. */
static size_t first_place(const struct hn_lib_memos *memos, uint64_t hash)
{
    return (size_t)(hash >> 20) & memos->mask;
}

struct hone_kernel *hn_lib_recall(struct hone_cache *cache, uint64_t hash,
                                  const struct hn_lib_request *request)
{
    const struct hn_lib_memos *memos = atomic_load_explicit(&cache->memos, memory_order_acquire);
    if (memos == NULL)
        return NULL;
    for (size_t place = first_place(memos, hash);; place = (place + 1) & memos->mask) {
        const struct hn_lib_memo *memo =
            atomic_load_explicit(&memos->slots[place], memory_order_acquire);
        if (memo == NULL || matches(memo, hash, request))
            return memo == NULL ? NULL : memo->handle;
    }
}

static void add(struct hn_lib_memos *memos, struct hn_lib_memo *memo)
{
    size_t place = first_place(memos, memo->hash);
    while (atomic_load_explicit(&memos->slots[place], memory_order_relaxed) != NULL)
        place = (place + 1) & memos->mask;
    atomic_store_explicit(&memos->slots[place], memo, memory_order_release);
    memos->count++;
}

/* Has room for one more; NULL when out of memory. */
static struct hn_lib_memos *make_room(struct hone_cache *cache)
{
    struct hn_lib_memos *former = atomic_load_explicit(&cache->memos, memory_order_relaxed);
    if (former != NULL && 2 * (former->count + 1) <= former->mask)
        return former;
    size_t slots = former == NULL ? FIRST_SLOTS : 2 * (former->mask + 1);
    struct hn_lib_memos *made = calloc(1, sizeof *made + slots * sizeof made->slots[0]);
    if (made == NULL)
        return NULL;
    made->former = former;
    made->mask = slots - 1;
    for (size_t i = 0; former != NULL && i <= former->mask; i++) {
        struct hn_lib_memo *memo = atomic_load_explicit(&former->slots[i], memory_order_relaxed);
        if (memo != NULL)
            add(made, memo);
    }
    atomic_store_explicit(&cache->memos, made, memory_order_release);
    return made;
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

/* Copies a text to *to, behind which it moves that. */
static const char *put_text(char **to, const char *text)
{
    char *put = *to;
    if (text == NULL)
        return NULL;
    memcpy(put, text, text_bytes(text));
    *to += text_bytes(text);
    return put;
}

static struct hn_lib_memo *copy(uint64_t hash, const struct hn_lib_request *request,
                                struct hone_kernel *handle)
{
    const struct hone_options *options = request->options;
    size_t count = request->problem_count;
    size_t bytes =
        text_bytes(request->kernel) + text_bytes(options->regime) + text_bytes(options->objective);
    for (size_t i = 0; i < count; i++) {
        const struct hone_value *value = &request->problem[i];
        bytes += text_bytes(value->name);
        bytes += value->kind == HONE_WORD ? text_bytes(value->as.word) : 0;
    }
    struct hn_lib_memo *memo = malloc(sizeof *memo + count * sizeof memo->problem[0] + bytes);
    if (memo == NULL)
        return NULL;
    char *texts = (char *)&memo->problem[count];
    *memo = (struct hn_lib_memo){.hash = hash,
                                 .context = request->context,
                                 .kernel = put_text(&texts, request->kernel),
                                 .options = *options,
                                 .handle = handle,
                                 .problem_count = count};
    memo->options.regime = put_text(&texts, options->regime);
    memo->options.objective = put_text(&texts, options->objective);
    for (size_t i = 0; i < count; i++) {
        struct hone_value *value = &memo->problem[i];
        *value = request->problem[i];
        value->name = put_text(&texts, value->name);
        if (value->kind == HONE_WORD)
            value->as.word = put_text(&texts, value->as.word);
    }
    return memo;
}

enum hone_status hn_lib_remember(struct hone_cache *cache, uint64_t hash,
                                 const struct hn_lib_request *request, struct hone_kernel *handle,
                                 struct hone_error *err)
{
    struct hn_lib_memos *memos = make_room(cache);
    struct hn_lib_memo *memo = memos == NULL ? NULL : copy(hash, request, handle);
    if (memo == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    add(memos, memo);
    return HONE_OK;
}

void hn_lib_memos_finish(struct hone_cache *cache)
{
    struct hn_lib_memos *memos = atomic_load(&cache->memos);
    for (size_t i = 0; memos != NULL && i <= memos->mask; i++)
        free(atomic_load(&memos->slots[i]));
    while (memos != NULL) {
        struct hn_lib_memos *former = memos->former;
        free(memos);
        memos = former;
    }
}
