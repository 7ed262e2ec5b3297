/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/verify.h"

/* What is sorted on the host to say which element it is; sorting more would take longer than
 * anybody waits. */
static const uint64_t MOST_SORTED = 1u << 22;

/* A result on the host, as elements or vectors of them that are ordered by their words. */
struct bag {
    const struct hn_argument *argument;
    const struct hn_buffer *buffer; /* how its elements lie */
    unsigned char *bytes;
    uint64_t *words; /* argument->lanes of each, ordered */
    uint64_t count;
};

/* As counted_word of support_multiset.cuh. The low bytes of a word are those of the element. */
static uint64_t counted_word(const unsigned char *bytes, enum hn_element element)
{
    uint64_t word = 0;
    memcpy(&word, bytes, hn_element_size(element));
    if (!hn_element_is_real(element))
        return word;
    double real = hn_element_decode(bytes, element);
    return isnan(real) ? UINT64_MAX : real == 0.0 ? 0 : word;
}

static int compare_vectors(const void *a, const void *b, void *context)
{
    const unsigned *lanes = context;
    const uint64_t *x = a;
    const uint64_t *y = b;
    for (unsigned i = 0; i < *lanes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Key 0: it is not veiled. */
static enum hn_status read_bag(struct hn_context *context, CUdeviceptr data, uint64_t key,
                               struct bag *bag, struct hn_error *err)
{
    enum hn_element element = bag->argument->element;
    unsigned lanes = bag->argument->lanes;
    uint64_t elements = bag->count * lanes;
    size_t size = hn_element_size(element);
    size_t bytes = elements == 0 ? 0 : hn_buffer_place(bag->buffer, element, elements - 1) + size;
    bag->bytes = malloc(bytes + 1);
    bag->words = malloc(elements * sizeof *bag->words + 1);
    if (bag->bytes == NULL || bag->words == NULL)
        return hn_fail_memory(err);
    CUresult result = context->driver->p_cuMemcpyDtoH(bag->bytes, data, bytes);
    enum hn_status status = hn_context_check(context, result, "cuMemcpyDtoH", err);
    for (uint64_t i = 0; status == HN_OK && i < elements; i++) {
        uint64_t offset = hn_buffer_place(bag->buffer, element, i);
        hn_support_unveil(bag->bytes + offset, size, offset / size, key);
        bag->words[i] = counted_word(bag->bytes + offset, element);
    }
    if (status == HN_OK)
        qsort_r(bag->words, bag->count, lanes * sizeof *bag->words, compare_vectors, &lanes);
    return status;
}

static void finish_bag(struct bag *bag)
{
    free(bag->words);
    free(bag->bytes);
}

static uint64_t count_vector(const struct bag *bag, const uint64_t *vector)
{
    unsigned lanes = bag->argument->lanes;
    uint64_t times = 0;
    for (uint64_t i = 0; i < bag->count; i++)
        times += compare_vectors(&bag->words[i * lanes], vector, &lanes) == 0;
    return times;
}

/* "1.5", of a vector "(1, 2.5)". */
static void format_vector(const struct hn_argument *argument, const uint64_t *vector,
                          struct hn_text *text)
{
    char lane[40];
    for (unsigned i = 0; i < argument->lanes; i++) {
        hn_element_format(&vector[i], argument->element, lane, sizeof lane);
        hn_text_printf(text, "%s%s", i > 0 ? ", " : argument->lanes > 1 ? "(" : "", lane);
    }
    hn_text_append(text, argument->lanes > 1 ? ")" : "");
}

/* Both are ordered and as long: the smaller vector at the first place where they differ is there
 * another number of times. */
static void report_first(const struct bag *found, const struct bag *expected, const char *when,
                         struct hn_record *record)
{
    unsigned lanes = found->argument->lanes;
    uint64_t i = 0;
    while (i + 1 < found->count &&
           compare_vectors(&found->words[i * lanes], &expected->words[i * lanes], &lanes) == 0)
        i++;
    const uint64_t *vector = &found->words[i * lanes];
    if (compare_vectors(vector, &expected->words[i * lanes], &lanes) > 0)
        vector = &expected->words[i * lanes];
    struct hn_text text;
    hn_text_init(&text);
    format_vector(found->argument, vector, &text);
    hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                   "%s%s holds '%s' %" PRIu64 " times among its %" PRIu64
                   " elements; expected %" PRIu64 " (in any order)",
                   when, found->argument->name, text.failed ? "" : text.data,
                   count_vector(found, vector), found->count, count_vector(expected, vector));
    hn_text_finish(&text);
}

enum hn_status hn_verify_report_multiset(const struct hn_variant *variant,
                                         const struct hn_outputs *outputs, size_t argument,
                                         const char *when, struct hn_record *record,
                                         struct hn_error *err)
{
    const struct hn_arena *arena = variant->arena;
    const struct hn_argument *output = &arena->plan->arguments[argument];
    uint64_t count = outputs->counts[argument] / output->lanes;
    const struct hn_buffer *buffer = &arena->buffers[argument];
    struct bag found = {.argument = output, .buffer = buffer, .count = count};
    struct bag expected = {.argument = output, .buffer = buffer, .count = count};
    if (count > MOST_SORTED) {
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "%sthe %" PRIu64
                       " elements of %s are not those of the reference, in any order",
                       when, count, output->name);
        return HN_OK;
    }
    CUdeviceptr written = hn_arena_address(arena, variant->compared_set, argument);
    enum hn_status status = read_bag(arena->context, written, 0, &found, err);
    if (status == HN_OK)
        status = read_bag(arena->context, hn_outputs_address(outputs, argument), arena->veil,
                          &expected, err);
    if (status == HN_OK)
        report_first(&found, &expected, when, record);
    finish_bag(&expected);
    finish_bag(&found);
    return status;
}
