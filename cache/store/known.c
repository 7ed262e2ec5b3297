/* SPDX-License-Identifier: MIT */
#include "cache/store/known.h"

#include <stdlib.h>

#include "cache/store/store_internal.h"

/* FNV-1a; never 0. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash | 1;
}

/* The upper bits are mixed best. */
static size_t place_of(const struct hn_known_problems *known, uint64_t hash)
{
    size_t place = (size_t)(hash >> 20) & known->mask;
    while (known->hashes[place] != 0 && known->hashes[place] != hash)
        place = (place + 1) & known->mask;
    return place;
}

static enum hn_status make_room(struct hn_known_problems *known, int64_t count,
                                struct hn_error *err)
{
    size_t capacity = 16;
    while (capacity < 2 * (size_t)count)
        capacity *= 2;
    *known = (struct hn_known_problems){.hashes = calloc(capacity, sizeof *known->hashes),
                                        .mask = capacity - 1};
    return known->hashes != NULL ? HN_OK : hn_fail_memory(err);
}

static enum hn_status select_tasks(struct hn_store *store, const char *sql, const char *kernel,
                                   const char *signature, struct hn_statement **statement,
                                   struct hn_error *err)
{
    enum hn_status status = hn_database_prepare(store->database, sql, statement, err);
    if (status == HN_OK) {
        hn_bind_text(*statement, kernel);
        hn_bind_text(*statement, signature);
    }
    return status;
}

static enum hn_status count(struct hn_store *store, const char *kernel, const char *signature,
                            int64_t *problems, struct hn_error *err)
{
    bool row = false;
    struct hn_statement *statement = NULL;
    enum hn_status status =
        select_tasks(store, "SELECT count(*) FROM task WHERE kernel = ? AND signature = ?", kernel,
                     signature, &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    *problems = row ? hn_column_integer(statement, 0) : 0;
    hn_statement_finish(statement);
    return status;
}

/* Another process may write meanwhile: what is more than there is room for came later. */
static enum hn_status add_all(struct hn_store *store, const char *kernel, const char *signature,
                              int64_t most, struct hn_known_problems *known, struct hn_error *err)
{
    bool row = false;
    int64_t added = 0;
    struct hn_statement *statement = NULL;
    enum hn_status status =
        select_tasks(store, "SELECT problem FROM task WHERE kernel = ? AND signature = ?", kernel,
                     signature, &statement, err);
    while (status == HN_OK && added < most) {
        status = hn_statement_step(statement, &row, err);
        const char *text = status == HN_OK && row ? hn_column_text(statement, 0) : NULL;
        if (text == NULL)
            break;
        uint64_t hash = hash_text(text);
        known->hashes[place_of(known, hash)] = hash;
        added++;
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_known_problems_read(struct hn_store *store, const char *kernel,
                                      const char *signature, struct hn_known_problems *known,
                                      struct hn_error *err)
{
    int64_t problems = 0;
    int64_t under = 0;
    *known = (struct hn_known_problems){.hashes = NULL};
    enum hn_status status = count(store, kernel, signature, &problems, err);
    if (status == HN_OK && store->base != NULL)
        status = count(store->base, kernel, signature, &under, err);
    if (status == HN_OK)
        status = make_room(known, problems + under, err);
    if (status == HN_OK)
        status = add_all(store, kernel, signature, problems, known, err);
    if (status == HN_OK && store->base != NULL)
        status = add_all(store->base, kernel, signature, under, known, err);
    if (status != HN_OK)
        hn_known_problems_finish(known);
    return status;
}

void hn_known_problems_finish(struct hn_known_problems *known)
{
    free(known->hashes);
    hn_text_finish(&known->text);
    *known = (struct hn_known_problems){.hashes = NULL};
}

bool hn_known_problems_may_have(struct hn_known_problems *known, const struct hn_bindings *problem)
{
    known->text.length = 0;
    hn_bindings_append(&known->text, problem);
    return known->text.failed || known->text.data == NULL ||
           known->hashes[place_of(known, hash_text(known->text.data))] != 0;
}
