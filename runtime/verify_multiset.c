/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/verify.h"

/* What is sorted on the host to say which element it is; sorting more would take longer than
 * anybody waits. */
static const uint64_t MOST_SORTED = 1u << 22;

/* As counted_word of support.cu. The low bytes of a word are those of the element. */
static uint64_t counted_word(const unsigned char *bytes, enum hn_element element)
{
    size_t size = hn_element_size(element);
    uint64_t word = 0;
    double real = 0.0;
    float single = 0.0f;
    memcpy(&word, bytes, size);
    if (element == HN_FLOAT32)
        memcpy(&single, bytes, sizeof single);
    if (element == HN_FLOAT64)
        memcpy(&real, bytes, sizeof real);
    if (!hn_element_is_real(element))
        return word;
    real += (double)single;
    return isnan(real) ? UINT64_MAX : real == 0.0 ? 0 : word;
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorted words of a device buffer; free them. */
static enum hn_status read_words(struct hn_context *context, CUdeviceptr data, uint64_t count,
                                 enum hn_element element, uint64_t **words, struct hn_error *err)
{
    size_t size = hn_element_size(element);
    unsigned char *bytes = malloc(count * size + 1);
    *words = malloc(count * sizeof **words + 1);
    enum hn_status status = HN_OK;
    if (bytes == NULL || *words == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK)
        status =
            hn_context_check(context, context->driver->p_cuMemcpyDtoH(bytes, data, count * size),
                             "cuMemcpyDtoH", err);
    for (uint64_t i = 0; status == HN_OK && i < count; i++)
        (*words)[i] = counted_word(bytes + i * size, element);
    if (status == HN_OK)
        qsort(*words, count, sizeof **words, compare_words);
    free(bytes);
    return status;
}

static uint64_t count_word(const uint64_t *words, uint64_t count, uint64_t word)
{
    uint64_t times = 0;
    for (uint64_t i = 0; i < count; i++)
        times += words[i] == word;
    return times;
}

/* Both are sorted and as long: the smaller word at the first place where they differ is there
 * another number of times. */
static void report_word(const struct hn_argument *argument, const uint64_t *found,
                        const uint64_t *expected, uint64_t count, const char *when,
                        struct hn_record *record)
{
    char text[40];
    uint64_t i = 0;
    while (i + 1 < count && found[i] == expected[i])
        i++;
    uint64_t word = found[i] < expected[i] ? found[i] : expected[i];
    hn_element_format(&word, argument->element, text, sizeof text);
    hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                   "%s%s holds '%s' %" PRIu64 " times among its %" PRIu64
                   " elements; expected %" PRIu64 " (in any order)",
                   when, argument->name, text, count_word(found, count, word), count,
                   count_word(expected, count, word));
}

enum hn_status hn_verify_report_multiset(struct hn_arena *arena, const struct hn_outputs *outputs,
                                         size_t argument, const char *when,
                                         struct hn_record *record, struct hn_error *err)
{
    const struct hn_argument *output = &arena->plan->arguments[argument];
    uint64_t count = outputs->counts[argument];
    uint64_t *found = NULL;
    uint64_t *expected = NULL;
    if (count > MOST_SORTED) {
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "%sthe %" PRIu64
                       " elements of %s are not those of the reference, in any order",
                       when, count, output->name);
        return HN_OK;
    }
    enum hn_status status = read_words(arena->context, arena->buffers[argument].address, count,
                                       output->element, &found, err);
    if (status == HN_OK)
        status = read_words(arena->context, hn_outputs_address(outputs, argument), count,
                            output->element, &expected, err);
    if (status == HN_OK)
        report_word(output, found, expected, count, when, record);
    free(expected);
    free(found);
    return status;
}
