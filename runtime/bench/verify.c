/* SPDX-License-Identifier: MIT */
#include "runtime/bench/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_record *record,
                      struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    hn_variant_restore(variant, err);
    hn_variant_poison(variant, 1, poison, err);
    hn_arena_poison_scratch(arena, 1, poison, err);
    if (hn_failed(err))
        return;
    char what[512];
    hn_variant_describe(variant, what, sizeof what);
    CUresult result = hn_variant_launch(variant, 0);
    if (result != CUDA_SUCCESS && !hn_driver_result_is_fatal(result)) {
        struct hn_error reason;
        hn_driver_check(arena->context->driver, result, what, &reason);
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR, "%s", reason.message);
        return;
    }
    hn_context_check(arena->context, result, what, err);
    hn_context_synchronize(arena->context, what, err);
    hn_pipeline_collect(variant, "", record, err);
}

static const struct hn_compare *comparison_of(const struct hn_arena *arena, size_t argument)
{
    return hn_plan_comparison(arena->plan, &arena->plan->arguments[argument]);
}

static void queue_comparison(const struct hn_variant *variant, const struct hn_outputs *outputs,
                             size_t i, double tolerance, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    const struct hn_argument *argument = &arena->plan->arguments[i];
    const struct hn_terms terms = {
        .tolerance = tolerance,
        .written = hn_outputs_written(outputs, i),
        .poison = arena->poison,
        .poisoned = hn_arena_poisoned(arena, variant->compared_set, i),
    };
    CUdeviceptr expected = hn_outputs_address(outputs, i);
    CUdeviceptr slot = hn_arena_slot(arena, i, HN_SLOT_COMPARE);
    struct hn_elements found = hn_arena_elements(arena, variant->compared_set, i);
    found.count = outputs->counts[i];
    if (comparison_of(arena, i)->mode == HN_COMPARE_MULTISET)
        hn_support_multiset(arena->support, &found, expected, arena->veil, argument->lanes, slot,
                            err);
    else
        hn_support_compare(arena->support, &found, expected, arena->veil, &terms, slot, err);
}

/* What a launch has to leave as it found it. */
static bool has_to_be_zero(const struct hn_variant *variant, size_t argument)
{
    return variant->arena->plan->arguments[argument].zero == HN_ZERO_ONCE &&
           hn_launch_takes(&variant->launch, argument);
}

static void queue_argument(const struct hn_variant *variant, struct hn_outputs *outputs, size_t i,
                           struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    const struct hn_argument *argument = &arena->plan->arguments[i];
    const struct hn_buffer *buffer = &arena->buffers[i];
    if (argument->role == HN_ROLE_METRIC) {
        hn_support_sum(arena->support, buffer->address, buffer->count, argument->element,
                       hn_arena_slot(arena, i, HN_SLOT_COMPARE), err);
        return;
    }
    if (hn_argument_is_filled(argument))
        hn_support_checksum(arena->support,
                            argument->role == HN_ROLE_INOUT ? buffer->pristine : buffer->address,
                            buffer->bytes, hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
    if (has_to_be_zero(variant, i))
        hn_support_checksum(arena->support, hn_arena_address(arena, variant->compared_set, i),
                            buffer->bytes, hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
    /* The tolerance is not known before the largest of what is expected is. */
    if (hn_argument_is_compared(argument)) {
        queue_comparison(variant, outputs, i, INFINITY, err);
        hn_outputs_queue_checksum(outputs, i, err);
    }
}

static void queue_checks(const struct hn_variant *variant, struct hn_outputs *outputs,
                         struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    hn_arena_renew_zone_table(arena, err);
    for (size_t i = 0; i < arena->plan->argument_count && !hn_failed(err); i++)
        queue_argument(variant, outputs, i, err);
    hn_support_checksum(arena->support, arena->flush, arena->flush_bytes,
                        hn_arena_flush_slot(arena), err);
    hn_support_check_zones(arena->support, arena->zone_table, arena->zone_count,
                           hn_arena_damage(arena), err);
}

/* A zone between two buffers was hit by whichever lies nearer to what changed. */
static void report_zone(const struct hn_arena *arena, size_t zone, const struct hn_damage *damage,
                        const char *when, struct hn_record *record)
{
    struct hn_zone_owner owner = arena->owners[zone];
    uint64_t past = damage->first;
    uint64_t short_of = arena->zones[zone].bytes - damage->last;
    bool behind = owner.before == SIZE_MAX || (owner.behind != SIZE_MAX && short_of < past + 1);
    size_t argument = behind ? owner.behind : owner.before;
    if (argument == SIZE_MAX) {
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS, "%swrote outside of all buffers", when);
        return;
    }
    const char *name = arena->plan->arguments[argument].name;
    uint64_t bytes = arena->buffers[argument].bytes;
    if (behind)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote %" PRIu64 " bytes before the start of '%s' (%" PRIu64 " bytes)",
                       when, arena->zones[zone].bytes - damage->first, name, bytes);
    else
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote at byte %" PRIu64 " of '%s', which has %" PRIu64 " bytes", when,
                       bytes + past, name, bytes);
}

static void judge_zones(const struct hn_arena *arena, const char *when, struct hn_record *record)
{
    const struct hn_damage *damage = hn_arena_host_damage(arena);
    for (size_t i = 0; i < arena->zone_count; i++) {
        if (damage[i].first == UINT64_MAX)
            continue;
        report_zone(arena, i, &damage[i], when, record);
        return;
    }
}

static uint64_t checksum_in(const struct hn_arena *arena, size_t argument, enum hn_slot slot)
{
    return hn_support_join_sums(hn_arena_host_slot(arena, argument, slot), arena->support->blocks);
}

/* Only the first thing found is told. */
static void blame(struct hn_record *record, const char *when, const char *what, const char *name)
{
    if (record->outcome == HN_OUTCOME_OK)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS, "%swrote into %s '%s'", when, what, name);
}

static const char *filled_as(enum hn_role role)
{
    if (role == HN_ROLE_INPUT)
        return "input";
    return role == HN_ROLE_INOUT ? "the pristine copy of" : "what is kept for symbol";
}

static void judge_inputs(const struct hn_variant *variant, struct hn_outputs *outputs,
                         const char *when, struct hn_record *record)
{
    const struct hn_arena *arena = variant->arena;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const struct hn_argument *argument = &arena->plan->arguments[i];
        if (hn_argument_is_filled(argument) &&
            checksum_in(arena, i, HN_SLOT_CHECKSUM) != arena->buffers[i].checksum)
            blame(record, when, filled_as(argument->role), argument->name);
        if (!hn_argument_is_compared(argument) ||
            checksum_in(arena, i, HN_SLOT_REFERENCE) == outputs->checksums[i])
            continue;
        outputs->damaged = true;
        blame(record, when, "the reference of", argument->name);
    }
}

static void judge_counters(const struct hn_variant *variant, const char *when,
                           struct hn_record *record)
{
    const struct hn_arena *arena = variant->arena;
    for (size_t i = 0; i < arena->plan->argument_count && record->outcome == HN_OUTCOME_OK; i++) {
        CUdeviceptr data = hn_arena_address(arena, variant->compared_set, i);
        if (has_to_be_zero(variant, i) &&
            checksum_in(arena, i, HN_SLOT_CHECKSUM) !=
                hn_support_checksum_of_zeros(data, arena->buffers[i].bytes))
            hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                           "%sleft counter '%s' other than zero; with 'zero: once' a launch leaves "
                           "it as it found it",
                           when, arena->plan->arguments[i].name);
    }
}

/* Where in it can not be told: only its checksum is known. */
static void judge_flush(const struct hn_arena *arena, const char *when, struct hn_record *record)
{
    if (record->outcome == HN_OUTCOME_OK &&
        hn_arena_host_flush_checksum(arena) != arena->flush_checksum)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote beyond all buffers and their guard zones, into the %.4g MiB behind "
                       "the last",
                       when, (double)arena->flush_bytes / 0x1p20);
}

static void evaluate_tolerance(const struct hn_variant *variant, size_t argument, double largest,
                               double *tolerance, struct hn_error *err)
{
    const struct hn_compare *compare = comparison_of(variant->arena, argument);
    enum hn_element element = variant->arena->plan->arguments[argument].element;
    double relative = 0.0;
    double absolute = 0.0;
    *tolerance = 0.0;
    if (compare->mode != HN_COMPARE_MAX_NORM || !hn_element_is_real(element))
        return;
    if (compare->relative != NULL)
        hn_expression_number(compare->relative, variant->values, &relative, err);
    if (!hn_failed(err) && compare->absolute != NULL)
        hn_expression_number(compare->absolute, variant->values, &absolute, err);
    *tolerance = absolute + relative * largest;
}

static void read_element(struct hn_arena *arena, CUdeviceptr place, enum hn_element element,
                         char *text, size_t size, struct hn_error *err)
{
    unsigned char bytes[8] = {0};
    size_t width = hn_element_size(element);
    HN_CALL(arena->context, cuMemcpyDtoH, (bytes, place, width), "cuMemcpyDtoH", err);
    hn_element_format(bytes, element, text, size);
}

/* "[7]", of a vector "[7].y" or "[7][5]", of rows "[3][7]" and so on. */
static void format_place(const struct hn_argument *argument, const struct hn_buffer *buffer,
                         uint64_t index, char *text, size_t size)
{
    char row[32] = "";
    if (buffer->row > 0) {
        snprintf(row, sizeof row, "[%" PRIu64 "]", index / buffer->row);
        index %= buffer->row;
    }
    uint64_t lane = index % argument->lanes;
    uint64_t vector = index / argument->lanes;
    if (argument->lanes == 1)
        snprintf(text, size, "%s[%" PRIu64 "]", row, index);
    else if (argument->lanes <= 4)
        snprintf(text, size, "%s[%" PRIu64 "].%c", row, vector, "xyzw"[lane]);
    else
        snprintf(text, size, "%s[%" PRIu64 "][%" PRIu64 "]", row, vector, lane);
}

/* What was found when errors were counted, and what may be. */
struct tally {
    uint64_t compared;
    uint64_t differing;
    uint64_t unwritten;
    uint64_t allowed;
};

/* How many there are, where that says more than the first of them. */
static void format_tally(const struct tally *tally, char *text, size_t size)
{
    int length = 0;
    text[0] = '\0';
    if (tally->differing == 0 || tally->compared < 2)
        return;
    length = snprintf(text, size, "; %" PRIu64 " of %" PRIu64 " elements differ%s",
                      tally->differing, tally->compared, tally->differing == 1 ? "s" : "");
    char *end = text + length;
    size_t left = size - (size_t)length;
    if (tally->allowed > 0 && tally->differing > tally->allowed)
        snprintf(end, left, ", and 'mismatches' allows %" PRIu64, tally->allowed);
    else if (tally->allowed > 0)
        snprintf(end, left, ", %" PRIu64 " of them never written, which 'mismatches' never allows",
                 tally->unwritten);
    else if (tally->differing * 1000 <= tally->compared)
        snprintf(end, left, " (where so few may: 'mismatches' in compare)");
}

static void report_difference(const struct hn_variant *variant, const struct hn_outputs *outputs,
                              size_t i, const struct hn_difference *difference, double tolerance,
                              const struct tally *tally, const char *when, struct hn_record *record,
                              struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    const struct hn_argument *argument = &arena->plan->arguments[i];
    char found[40], expected[40], place[96], number[160];
    unsigned char bytes[8] = {0};
    bool misplaced = difference->misplaced != UINT64_MAX;
    uint64_t index = misplaced ? difference->misplaced : difference->worst;
    const struct hn_buffer *buffer = &arena->buffers[i];
    uint64_t offset = hn_buffer_place(buffer, argument->element, index);
    read_element(arena, hn_arena_address(arena, variant->compared_set, i) + offset,
                 argument->element, found, sizeof found, err);
    hn_outputs_read(outputs, i, offset, bytes, err);
    if (hn_failed(err))
        return;
    hn_element_format(bytes, argument->element, expected, sizeof expected);
    format_place(argument, buffer, index, place, sizeof place);
    format_tally(tally, number, sizeof number);
    if (misplaced)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT, "%s%s%s is %s; expected %s", when,
                       argument->name, place, found, expected);
    else
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "%s%s%s is %s; expected %s: an error of %.3g, more than the tolerance of "
                       "%.3g%s",
                       when, argument->name, place, found, expected, difference->max_error,
                       tolerance, number);
}

/* The verdict keeps the output whose error is largest against its tolerance. */
static void note_verdict(const struct hn_difference *difference, double tolerance,
                         struct hn_verdict *verdict)
{
    double ratio = difference->max_error == 0.0 ? 0.0 : difference->max_error / tolerance;
    double worst = verdict->max_error == 0.0 ? 0.0 : verdict->max_error / verdict->tolerance;
    if (ratio < worst || (ratio == worst && verdict->max_reference > difference->max_reference))
        return;
    verdict->max_error = difference->max_error;
    verdict->tolerance = tolerance;
    verdict->max_reference = difference->max_reference;
}

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
static void read_bag(struct hn_context *context, CUdeviceptr data, uint64_t key, struct bag *bag,
                     struct hn_error *err)
{
    enum hn_element element = bag->argument->element;
    unsigned lanes = bag->argument->lanes;
    uint64_t elements = bag->count * lanes;
    size_t size = hn_element_size(element);
    size_t bytes = elements == 0 ? 0 : hn_buffer_place(bag->buffer, element, elements - 1) + size;
    bag->bytes = hn_need(bytes + 1, 1);
    bag->words = hn_need(elements + 1, sizeof *bag->words);
    HN_CALL(context, cuMemcpyDtoH, (bag->bytes, data, bytes), "cuMemcpyDtoH", err);
    for (uint64_t i = 0; !hn_failed(err) && i < elements; i++) {
        uint64_t offset = hn_buffer_place(bag->buffer, element, i);
        hn_support_unveil(bag->bytes + offset, size, offset / size, key);
        bag->words[i] = counted_word(bag->bytes + offset, element);
    }
    if (!hn_failed(err))
        qsort_r(bag->words, bag->count, lanes * sizeof *bag->words, compare_vectors, &lanes);
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

/* Says by which element an output differs from its reference as a multiset. */
static void report_multiset(const struct hn_variant *variant, const struct hn_outputs *outputs,
                            size_t argument, const char *when, struct hn_record *record,
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
        return;
    }
    CUdeviceptr written = hn_arena_address(arena, variant->compared_set, argument);
    read_bag(arena->context, written, 0, &found, err);
    read_bag(arena->context, hn_outputs_address(outputs, argument), arena->veil, &expected, err);
    if (!hn_failed(err))
        report_first(&found, &expected, when, record);
    finish_bag(&expected);
    finish_bag(&found);
}

static void judge_multiset(struct hn_variant *variant, const struct hn_outputs *outputs, size_t i,
                           const char *when, struct hn_record *record, struct hn_error *err)
{
    const struct hn_arena *arena = variant->arena;
    bool equal = hn_support_bags_equal(hn_arena_host_slot(arena, i, HN_SLOT_COMPARE),
                                       arena->support->blocks);
    if (!equal)
        record->verdict.max_error = 1.0;
    if (equal || record->outcome != HN_OUTCOME_OK)
        return;
    report_multiset(variant, outputs, i, when, record, err);
}

static struct hn_difference read_difference(const struct hn_arena *arena, size_t argument)
{
    return hn_support_join_differences(hn_arena_host_slot(arena, argument, HN_SLOT_COMPARE),
                                       arena->support->blocks);
}

/* At most all but one: who computes nothing is never right. */
static void evaluate_allowed(const struct hn_variant *variant, size_t argument, uint64_t compared,
                             uint64_t *allowed, struct hn_error *err)
{
    const struct hn_compare *compare = comparison_of(variant->arena, argument);
    int64_t count = 0;
    if (compare->mismatches != NULL)
        hn_expression_integer(compare->mismatches, variant->values, &count, err);
    *allowed = count > 0 ? (uint64_t)count : (uint64_t)(compare->mismatch_share * (double)compared);
    if (*allowed >= compared)
        *allowed = compared > 0 ? compared - 1 : 0;
}

/* What a variant leaves as it was poisoned is work not done, and no mismatch. A narrow element may
 * be so by chance. */
static bool is_work_left(const struct hn_difference *difference, enum hn_element element)
{
    uint64_t by_chance = hn_element_size(element) > 2 ? 0 : 3 + difference->differing / 16;
    return difference->unwritten > by_chance;
}

/* Compares once more, with the tolerance that is known now: what is within it, and how many are
 * not. */
static void count_differing(struct hn_variant *variant, const struct hn_outputs *outputs, size_t i,
                            double tolerance, struct hn_difference *within, struct hn_error *err)
{
    queue_comparison(variant, outputs, i, tolerance, err);
    hn_arena_read_results(variant->arena, err);
    *within = read_difference(variant->arena, i);
}

static void judge_output(struct hn_variant *variant, struct hn_outputs *outputs, size_t i,
                         const char *when, struct hn_record *record, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    struct tally tally = {.compared = outputs->compared[i]};
    double tolerance = 0.0;
    record->verdict.compared += tally.compared;
    if (comparison_of(arena, i)->mode == HN_COMPARE_MULTISET) {
        judge_multiset(variant, outputs, i, when, record, err);
        return;
    }
    struct hn_difference difference = read_difference(arena, i);
    outputs->largest[i] = fmax(outputs->largest[i], difference.max_reference);
    evaluate_tolerance(variant, i, outputs->largest[i], &tolerance, err);
    evaluate_allowed(variant, i, tally.compared, &tally.allowed, err);
    if (hn_failed(err))
        return;
    bool misplaced = difference.misplaced != UINT64_MAX;
    bool wrong = misplaced || !(difference.max_error <= tolerance);
    if (wrong && !misplaced) {
        struct hn_difference within;
        count_differing(variant, outputs, i, tolerance, &within, err);
        if (hn_failed(err))
            return;
        tally.differing = within.differing;
        tally.unwritten = within.unwritten;
        record->verdict.differed += within.differing;
        wrong = within.differing == 0 || within.differing > tally.allowed ||
                is_work_left(&within, arena->plan->arguments[i].element);
        difference = wrong ? difference : within;
    }
    note_verdict(&difference, tolerance, &record->verdict);
    if (wrong && record->outcome == HN_OUTCOME_OK)
        report_difference(variant, outputs, i, &difference, tolerance, &tally, when, record, err);
}

/* Lengths before what they are the lengths of: where one is wrong, so is all that follows from it.
 */
static void judge_outputs(struct hn_variant *variant, struct hn_outputs *outputs, const char *when,
                          struct hn_record *record, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    record->verdict.max_error = record->verdict.tolerance = record->verdict.max_reference = 0.0;
    record->verdict.compared = record->verdict.differed = 0;
    for (int has_length = 0; has_length <= 1; has_length++)
        for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
            const struct hn_argument *argument = &plan->arguments[i];
            if (hn_argument_is_compared(argument) && (argument->length != NULL) == has_length)
                judge_output(variant, outputs, i, when, record, err);
        }
}

static void note_metrics(struct hn_variant *variant)
{
    const struct hn_arena *arena = variant->arena;
    size_t metric = 0;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        if (arena->plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        const double *sums = hn_arena_host_slot(arena, i, HN_SLOT_COMPARE);
        double sum = 0.0;
        for (size_t block = 0; block < arena->support->blocks; block++)
            sum += sums[block];
        variant->metric_values[metric++] = sum / (double)arena->buffers[i].count;
    }
}

void hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when,
                     struct hn_record *record, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    hn_pipeline_collect(variant, when, record, err);
    queue_checks(variant, outputs, err);
    hn_arena_read_results(arena, err);
    if (hn_failed(err))
        return;
    judge_zones(arena, when, record);
    judge_inputs(variant, outputs, when, record);
    judge_flush(arena, when, record);
    bool damaged = record->outcome == HN_OUTCOME_OUT_OF_BOUNDS;
    arena->spoiled = arena->spoiled && damaged;
    note_metrics(variant);
    judge_outputs(variant, outputs, when, record, err);
    judge_counters(variant, when, record);
    record->verdict.launches += record->outcome == HN_OUTCOME_OK;
    if (damaged)
        hn_arena_repair(arena, err);
}
