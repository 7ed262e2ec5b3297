/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Behind the copy of an argument lies a bit for each element, where not all are compared. */
void hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena, struct hn_error *err)
{
    const struct hn_plan *plan = arena->plan;
    uint64_t bytes = 0;
    if (hn_failed(err))
        return;
    *outputs = (struct hn_outputs){.arena = arena};
    outputs->of = hn_need(plan->argument_count + 1, sizeof *outputs->of);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        struct hn_output *output = &outputs->of[i];
        output->is_compared = hn_argument_is_compared(&plan->arguments[i]);
        const struct hn_compare *compare = hn_plan_comparison(plan, &plan->arguments[i]);
        output->is_partial = plan->arguments[i].role == HN_ROLE_OUTPUT && compare->partial &&
                             compare->mode != HN_COMPARE_MULTISET;
        outputs->partial = outputs->partial || output->is_partial;
        output->copy = bytes;
        output->kept = buffer->bytes;
        if (output->is_partial) {
            output->written = bytes + hn_arena_align(buffer->bytes);
            output->kept =
                hn_arena_align(buffer->bytes) + (buffer->count + 31) / 32 * sizeof(uint32_t);
        }
        bytes += output->is_compared ? hn_arena_align(output->kept) : 0;
    }
    if (bytes > 0)
        HN_CALL(arena->context, cuMemAlloc, (&outputs->block, bytes),
                "allocating the reference outputs", err);
    if (hn_failed(err))
        outputs->block = 0;
    for (size_t i = 0; i < plan->argument_count; i++) {
        outputs->of[i].copy += outputs->block;
        outputs->of[i].written += outputs->of[i].is_partial ? outputs->block : 0;
    }
}

/* The checksum of what is kept of an argument. */
static void queue_checksum(const struct hn_outputs *outputs, size_t argument, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    hn_support_checksum(arena->support, outputs->of[argument].copy, outputs->of[argument].kept,
                        hn_arena_slot(arena, argument, HN_SLOT_REFERENCE), err);
}

/* As veil_half of support_veil.cuh. */
static uint32_t veil_half(uint64_t key, uint64_t index)
{
    uint32_t z = (uint32_t)index * 0x9e3779b9u + (uint32_t)key + (uint32_t)(index >> 32);
    z = (z ^ (z >> 15)) * (uint32_t)(key >> 32 | 1);
    return z ^ (z >> 16);
}

/* Takes the veil off one element; key 0: there is none. */
static void unveil(void *element, size_t size, uint64_t index, uint64_t key)
{
    uint64_t word = 0;
    if (key == 0)
        return;
    memcpy(&word, element, size);
    word ^= veil_half(key, index) | (uint64_t)veil_half(~key, index) << 32;
    memcpy(element, &word, size); /* little endian: the low bytes come first */
}

/* One element, without the veil, at so many bytes from the argument's beginning. */
static void read_expected(const struct hn_outputs *outputs, size_t argument, uint64_t offset,
                          void *element, struct hn_error *err)
{
    struct hn_context *context = outputs->arena->context;
    size_t size = hn_element_size(outputs->arena->plan->arguments[argument].element);
    HN_CALL(context, cuMemcpyDtoH, (element, outputs->of[argument].copy + offset, size),
            "cuMemcpyDtoH", err);
    unveil(element, size, offset / size, outputs->arena->veil);
}

static void queue_multiset(struct hn_arena *arena, const struct hn_output *output, size_t i,
                           CUdeviceptr data, struct hn_error *err)
{
    struct hn_elements found = hn_arena_elements(arena, i, data);
    unsigned lanes = arena->plan->arguments[i].lanes;
    uint64_t count = output->count;
    CUdeviceptr copy = output->copy, slot = hn_arena_slot(arena, i, HN_SLOT_COMPARE);
    void *parameters[] = {&found.data,  &copy,       &arena->veil, &count, &found.row,
                          &found.pitch, &found.type, &lanes,       &slot};
    hn_support_launch(arena->support, HN_SUPPORT_MULTISET, 0, parameters, err);
}

/* Whether what queue_multiset compared has the same elements, in any order. */
static bool is_same_multiset(const struct hn_arena *arena, size_t i)
{
    const struct hn_bags *bags = hn_arena_found(arena, i, HN_SLOT_COMPARE);
    uint64_t apart[2] = {0, 0};
    for (size_t block = 0; block < arena->support->blocks; block++)
        for (int hash = 0; hash < 2; hash++)
            apart[hash] += bags[block].found[hash] - bags[block].expected[hash];
    return apart[0] == 0 && apart[1] == 0;
}

/* Whether an output has other results than what an inout held before. */
static bool has_changed(struct hn_outputs *outputs, size_t i, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    const struct hn_argument *argument = &arena->plan->arguments[i];
    const struct hn_buffer *buffer = &arena->buffers[i];
    if (argument->role != HN_ROLE_INOUT)
        return true;
    if (hn_plan_comparison(arena->plan, argument)->mode != HN_COMPARE_MULTISET)
        return hn_arena_sum(arena, i, HN_SLOT_CHECKSUM) != buffer->checksum;
    queue_multiset(arena, &outputs->of[i], i, buffer->contents, err);
    hn_arena_read_results(arena, err);
    return hn_failed(err) || !is_same_multiset(arena, i);
}

/* How many elements are results: all, or as many as the captured length says; and whether they are
 * others than before. */
static void note_results(struct hn_outputs *outputs, size_t i, struct hn_error *err)
{
    const struct hn_arena *arena = outputs->arena;
    const struct hn_argument *argument = &arena->plan->arguments[i];
    struct hn_output *output = &outputs->of[i];
    output->count = arena->buffers[i].count;
    if (argument->length != NULL) {
        const struct hn_argument *length = hn_plan_find_argument(arena->plan, argument->length);
        unsigned char bytes[8] = {0};
        read_expected(outputs, (size_t)(length - arena->plan->arguments), 0, bytes, err);
        uint64_t number = hn_element_count(bytes, length->element);
        if (number < output->count / argument->lanes)
            output->count = number * argument->lanes;
    }
    output->compared = output->count;
    output->changed = output->changed || has_changed(outputs, i, err);
}

static void note_checksums(struct hn_outputs *outputs, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    size_t count = arena->plan->argument_count;
    for (size_t i = 0; i < count; i++)
        if (outputs->of[i].is_compared)
            queue_checksum(outputs, i, err);
    hn_arena_read_results(arena, err);
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        outputs->of[i].checksum = hn_arena_sum(arena, i, HN_SLOT_REFERENCE);
}

void hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    size_t count = arena->plan->argument_count;
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        const struct hn_buffer *buffer = &arena->buffers[i];
        size_t size = hn_element_size(arena->plan->arguments[i].element);
        CUdeviceptr copy = outputs->of[i].copy;
        if (outputs->of[i].is_compared)
            hn_support_veil(arena->support, buffer->address, copy, buffer->bytes / size, size,
                            arena->veil, err);
        if (outputs->of[i].is_compared)
            hn_support_checksum(arena->support, buffer->address, buffer->bytes,
                                hn_arena_slot(arena, i, HN_SLOT_CHECKSUM), err);
        /* Every element is compared until it is known which are written. From the end of the copy
         * on, so that all that the checksum is of is known. */
        if (outputs->of[i].is_partial)
            HN_CALL(arena->context, cuMemsetD8Async,
                    (copy + buffer->bytes, 0xff, outputs->of[i].kept - buffer->bytes,
                     arena->context->stream),
                    "cuMemsetD8Async", err);
    }
    note_checksums(outputs, err);
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        note_results(outputs, i, err);
    outputs->damaged = outputs->damaged && hn_failed(err);
}

size_t hn_outputs_find_written(struct hn_outputs *outputs, const uint64_t poisons[2],
                               struct hn_error *err)
{
    struct hn_arena *arena = outputs->arena;
    size_t count = arena->plan->argument_count;
    size_t empty = SIZE_MAX;
    uint64_t first = poisons == NULL ? 0 : poisons[0];
    uint64_t second = poisons == NULL ? 0 : poisons[1];
    for (size_t i = 0; i < count; i++) {
        CUdeviceptr data = poisons == NULL ? 0 : arena->buffers[i].address;
        struct hn_elements found = hn_arena_elements(arena, i, data);
        struct hn_output *output = &outputs->of[i];
        found.count = output->count;
        CUdeviceptr sums = hn_arena_slot(arena, i, HN_SLOT_COMPARE);
        unsigned int size = (unsigned int)hn_element_size(found.type);
        void *parameters[] = {&found.data, &output->copy, &arena->veil,     &found.count,
                              &found.row,  &found.pitch,  &found.type,      &size,
                              &first,      &second,       &output->written, &sums};
        if (output->is_partial)
            hn_support_launch(arena->support, HN_SUPPORT_WRITTEN, 0, parameters, err);
    }
    note_checksums(outputs, err);
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        if (!outputs->of[i].is_partial)
            continue;
        outputs->of[i].compared = hn_arena_sum(arena, i, HN_SLOT_COMPARE);
        if (outputs->of[i].compared == 0 && outputs->of[i].count > 0)
            empty = i;
    }
    return empty;
}

void hn_verify_prepare(struct hn_variant *variant, uint64_t poison, struct hn_error *err)
{
    hn_variant_restore(variant, err);
    hn_variant_poison(variant, 1, poison, err);
    hn_arena_poison(variant->arena, HN_ROLE_SCRATCH, 1, poison, err);
}

void hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_error *err)
{
    if (!hn_goes_on(variant, err))
        return;
    hn_verify_prepare(variant, poison, err);
    if (hn_failed(err))
        return;
    hn_variant_describe(variant);
    hn_refuse(variant, hn_variant_launch(variant, 0), HN_OUTCOME_LAUNCH_ERROR, variant->what, err);
    if (!hn_goes_on(variant, err))
        return;
    hn_context_synchronize(variant->arena->context, variant->what, err);
    hn_pipeline_collect(variant, "", err);
}

/* What is checked of one launch. */
struct check {
    struct hn_variant *variant;
    struct hn_arena *arena;
    const struct hn_plan *plan;
    struct hn_outputs *outputs;
    const char *when;
    struct hn_record *record;
    struct hn_error *err;
};

static bool is_right(const struct check *check)
{
    return check->record->outcome == HN_OUTCOME_OK;
}

static const struct hn_compare *comparison_of(const struct check *check, size_t argument)
{
    return hn_plan_comparison(check->plan, &check->plan->arguments[argument]);
}

/* Where what was found of an output is. */
static CUdeviceptr found_at(const struct check *check, size_t argument)
{
    return hn_arena_address(check->arena, check->variant->compared_set, argument);
}

/* At which byte of its buffer an element is. */
static uint64_t place_of(const struct check *check, size_t argument, uint64_t index)
{
    const struct hn_buffer *buffer = &check->arena->buffers[argument];
    size_t size = hn_element_size(check->plan->arguments[argument].element);
    return buffer->row == 0 ? index * size
                            : index / buffer->row * buffer->pitch + index % buffer->row * size;
}

/* A hn_difference a block, or hn_bags. tolerance: INFINITY where errors are only looked at, and
 * none is counted. */
static void queue_comparison(const struct check *check, size_t i, double tolerance)
{
    struct hn_arena *arena = check->arena;
    struct hn_output *output = &check->outputs->of[i];
    size_t set = check->variant->compared_set;
    size_t size = hn_element_size(check->plan->arguments[i].element);
    /* The first set lies by itself, the others at equal distances. */
    uint64_t poisoned = set == 0 ? 0 : (set - 1) * (arena->buffers[i].bytes / size);
    CUdeviceptr slot = hn_arena_slot(arena, i, HN_SLOT_COMPARE);
    struct hn_elements found = hn_arena_elements(arena, i, found_at(check, i));
    const struct hn_argument *argument = &check->plan->arguments[i];
    /* Between rows of a view of a larger matrix lies what is another's. */
    bool is_view =
        set == 0 && found.row > 0 && !argument->shape.device && check->plan->pipeline == NULL;
    uint64_t rows = is_view ? arena->buffers[i].bytes / arena->buffers[i].pitch : 0;
    CUdeviceptr before = argument->role == HN_ROLE_INOUT ? arena->buffers[i].contents : 0;
    found.count = output->count;
    void *compare[] = {&found.data,      &output->copy,  &arena->veil, &found.count,
                       &found.row,       &found.pitch,   &found.type,  &tolerance,
                       &output->written, &arena->poison, &poisoned,    &rows,
                       &before,          &slot};
    if (comparison_of(check, i)->mode == HN_COMPARE_MULTISET)
        queue_multiset(arena, output, i, found.data, check->err);
    else
        hn_support_launch(arena->support, HN_SUPPORT_COMPARE, 0, compare, check->err);
}

/* A counter that a launch has to leave as it found it. */
static bool has_to_be_zero(const struct check *check, size_t argument)
{
    return check->plan->arguments[argument].zero == HN_ZERO_ONCE &&
           (check->plan->arguments[argument].held ||
            hn_launch_takes(&check->variant->launch, argument));
}

static void queue_checks(const struct check *check)
{
    struct hn_arena *arena = check->arena;
    const size_t flush = check->plan->argument_count;
    CUdeviceptr damage = hn_arena_slot(arena, flush + 1, HN_SLOT_CHECKSUM);
    hn_arena_write_zones(arena, false, check->err);
    for (size_t i = 0; i < check->plan->argument_count && !hn_failed(check->err); i++) {
        const struct hn_argument *argument = &check->plan->arguments[i];
        struct hn_buffer *buffer = &arena->buffers[i];
        CUdeviceptr checksums = hn_arena_slot(arena, i, HN_SLOT_CHECKSUM);
        CUdeviceptr sums = hn_arena_slot(arena, i, HN_SLOT_COMPARE);
        int element = (int)argument->element;
        if (argument->role == HN_ROLE_METRIC)
            hn_support_launch(arena->support, HN_SUPPORT_SUM, 0,
                              (void *[]){&buffer->address, &buffer->count, &element, &sums},
                              check->err);
        else if (hn_argument_is_filled(argument))
            hn_support_checksum(arena->support, buffer->contents, buffer->bytes, checksums,
                                check->err);
        else if (has_to_be_zero(check, i))
            hn_support_checksum(arena->support, found_at(check, i), buffer->bytes, checksums,
                                check->err);
        /* The tolerance is not known before the largest of what is expected is. */
        if (check->outputs->of[i].is_compared) {
            queue_comparison(check, i, INFINITY);
            queue_checksum(check->outputs, i, check->err);
        }
    }
    hn_support_checksum(arena->support, arena->flush, arena->flush_bytes,
                        hn_arena_slot(arena, flush, HN_SLOT_CHECKSUM), check->err);
    hn_support_launch(arena->support, HN_SUPPORT_CHECK_ZONES, (unsigned int)arena->zone_count,
                      (void *[]){&arena->zone_table, &damage}, check->err);
    hn_arena_read_results(arena, check->err);
}

/* A zone between two buffers was hit by whichever lies nearer to what changed. */
static void judge_zones(const struct check *check)
{
    const struct hn_arena *arena = check->arena;
    const struct hn_damage *damage =
        hn_arena_found(arena, check->plan->argument_count + 1, HN_SLOT_CHECKSUM);
    size_t zone = 0;
    while (zone < arena->zone_count && damage[zone].first == UINT64_MAX)
        zone++;
    if (zone == arena->zone_count)
        return;
    struct hn_zone_owner owner = arena->owners[zone];
    uint64_t past = damage[zone].first;
    uint64_t short_of = arena->zones[zone].bytes - damage[zone].last;
    bool behind = owner.before == SIZE_MAX || (owner.behind != SIZE_MAX && short_of < past + 1);
    size_t argument = behind ? owner.behind : owner.before;
    const char *name = argument == SIZE_MAX ? "" : check->plan->arguments[argument].name;
    uint64_t bytes = argument == SIZE_MAX ? 0 : arena->buffers[argument].bytes;
    if (argument == SIZE_MAX)
        hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS, "%swrote outside of all buffers",
                       check->when);
    else if (behind)
        hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote %" PRIu64 " bytes before the start of '%s' (%" PRIu64 " bytes)",
                       check->when, arena->zones[zone].bytes - past, name, bytes);
    else
        hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote at byte %" PRIu64 " of '%s', which has %" PRIu64 " bytes",
                       check->when, bytes + past, name, bytes);
}

/* Where in the flush buffer something was written cannot be told: only its checksum is known. Only
 * the first thing found is told. */
static void judge_inputs(const struct check *check)
{
    static const char *const filled_as[HN_ROLE_COUNT] = {[HN_ROLE_INPUT] = "input",
                                                         [HN_ROLE_INOUT] = "the pristine copy of",
                                                         [HN_ROLE_SYMBOL] =
                                                             "what is kept for symbol"};
    const struct hn_arena *arena = check->arena;
    for (size_t i = 0; i < check->plan->argument_count; i++) {
        const struct hn_argument *argument = &check->plan->arguments[i];
        const char *into = NULL;
        if (check->outputs->of[i].is_compared &&
            hn_arena_sum(arena, i, HN_SLOT_REFERENCE) != check->outputs->of[i].checksum) {
            check->outputs->damaged = true;
            into = "the reference of";
        }
        if (hn_argument_is_filled(argument) &&
            hn_arena_sum(arena, i, HN_SLOT_CHECKSUM) != arena->buffers[i].checksum)
            into = filled_as[argument->role];
        if (into != NULL && is_right(check))
            hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS, "%swrote into %s '%s'",
                           check->when, into, argument->name);
    }
    if (is_right(check) &&
        hn_arena_sum(arena, check->plan->argument_count, HN_SLOT_CHECKSUM) != arena->flush_checksum)
        hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote beyond all buffers and their guard zones, into the %.4g MiB behind "
                       "the last",
                       check->when, (double)arena->flush_bytes / 0x1p20);
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

/* An output beside what is expected of it: how far apart they are, and how far they may be. */
struct tally {
    struct hn_difference difference;
    struct hn_difference within; /* where errors were counted */
    double tolerance;
    uint64_t compared, allowed;
};

/* How far apart they are, and how many, where that says more than the first of them. */
static void format_tally(const struct tally *tally, char *text, size_t size)
{
    int length = snprintf(text, size, ": an error of %.3g, more than the tolerance of %.3g",
                          tally->difference.max_error, tally->tolerance);
    if (tally->within.differing == 0 || tally->compared < 2)
        return;
    char unwritten[64] = "";
    if (tally->within.unwritten > 0)
        snprintf(unwritten, sizeof unwritten, ", %" PRIu64 " of them never written",
                 tally->within.unwritten);
    length += snprintf(text + length, size - (size_t)length,
                       "; %" PRIu64 " of %" PRIu64 " elements differ%s%s", tally->within.differing,
                       tally->compared, tally->within.differing == 1 ? "s" : "", unwritten);
    char *end = text + length;
    size_t left = size - (size_t)length;
    if (tally->allowed > 0 && tally->within.differing > tally->allowed)
        snprintf(end, left, ", and 'mismatches' allows %" PRIu64, tally->allowed);
    else if (tally->allowed > 0)
        snprintf(end, left, ", which 'mismatches' never allows");
    else if (unwritten[0] == '\0' && tally->within.differing * 1000 <= tally->compared)
        snprintf(end, left, " (where so few may: 'mismatches' in compare)");
}

static void report_difference(const struct check *check, size_t i, const struct tally *tally)
{
    const struct hn_argument *argument = &check->plan->arguments[i];
    char found[40], expected[40], place[96], number[240] = "";
    unsigned char found_bytes[8] = {0}, expected_bytes[8] = {0};
    bool misplaced = tally->difference.misplaced != UINT64_MAX;
    uint64_t index = misplaced ? tally->difference.misplaced : tally->difference.worst;
    uint64_t offset = place_of(check, i, index);
    HN_CALL(check->arena->context, cuMemcpyDtoH,
            (found_bytes, found_at(check, i) + offset, hn_element_size(argument->element)),
            "cuMemcpyDtoH", check->err);
    read_expected(check->outputs, i, offset, expected_bytes, check->err);
    if (hn_failed(check->err))
        return;
    hn_element_format(found_bytes, argument->element, found, sizeof found);
    hn_element_format(expected_bytes, argument->element, expected, sizeof expected);
    format_place(argument, &check->arena->buffers[i], index, place, sizeof place);
    if (!misplaced)
        format_tally(tally, number, sizeof number);
    hn_record_fail(check->record, HN_OUTCOME_WRONG_RESULT, "%s%s%s is %s; expected %s%s",
                   check->when, argument->name, place, found, expected, number);
}

/* So many are sorted on the host to say which element it is; sorting more would take longer than
 * anybody waits. */
static const uint64_t MOST_SORTED = 1u << 22;

/* A result on the host, as elements or vectors of them that are ordered by their words. */
struct bag {
    const struct hn_argument *argument;
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
    const uint64_t *x = a, *y = b;
    for (unsigned i = 0; i < *lanes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Key 0: it is not veiled. */
static struct bag read_bag(const struct check *check, size_t i, CUdeviceptr data, uint64_t key)
{
    const struct hn_argument *argument = &check->plan->arguments[i];
    unsigned lanes = argument->lanes;
    uint64_t elements = check->outputs->of[i].count / lanes * lanes;
    size_t size = hn_element_size(argument->element);
    size_t bytes = elements == 0 ? 0 : place_of(check, i, elements - 1) + size;
    struct bag bag = {.argument = argument,
                      .words = hn_need(elements + 1, sizeof *bag.words),
                      .count = elements / lanes};
    unsigned char *read HN_FREED = hn_need(bytes + 1, 1);
    HN_CALL(check->arena->context, cuMemcpyDtoH, (read, data, bytes), "cuMemcpyDtoH", check->err);
    for (uint64_t e = 0; !hn_failed(check->err) && e < elements; e++) {
        uint64_t offset = place_of(check, i, e);
        unveil(read + offset, size, offset / size, key);
        bag.words[e] = counted_word(read + offset, argument->element);
    }
    if (!hn_failed(check->err))
        qsort_r(bag.words, bag.count, lanes * sizeof *bag.words, compare_vectors, &lanes);
    return bag;
}

static uint64_t count_vector(const struct bag *bag, const uint64_t *vector)
{
    unsigned lanes = bag->argument->lanes;
    uint64_t times = 0;
    for (uint64_t i = 0; i < bag->count; i++)
        times += compare_vectors(&bag->words[i * lanes], vector, &lanes) == 0;
    return times;
}

/* Both are ordered and as long: the smaller vector at the first place where they differ is there
 * another number of times. */
static void report_first(const struct check *check, const struct bag *found,
                         const struct bag *expected)
{
    unsigned lanes = found->argument->lanes;
    uint64_t i = 0;
    while (i + 1 < found->count &&
           compare_vectors(&found->words[i * lanes], &expected->words[i * lanes], &lanes) == 0)
        i++;
    const uint64_t *vector = &found->words[i * lanes];
    if (compare_vectors(vector, &expected->words[i * lanes], &lanes) > 0)
        vector = &expected->words[i * lanes];
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0}; /* "1.5", of a vector "(1, 2.5)" */
    char lane[40];
    for (unsigned k = 0; k < lanes; k++) {
        hn_element_format(&vector[k], found->argument->element, lane, sizeof lane);
        hn_text_printf(&text, "%s%s", k > 0 ? ", " : lanes > 1 ? "(" : "", lane);
    }
    hn_text_append(&text, lanes > 1 ? ")" : "");
    hn_record_fail(check->record, HN_OUTCOME_WRONG_RESULT,
                   "%s%s holds '%s' %" PRIu64 " times among its %" PRIu64
                   " elements; expected %" PRIu64 " (in any order)",
                   check->when, found->argument->name, text.failed ? "" : text.data,
                   count_vector(found, vector), found->count, count_vector(expected, vector));
}

static void judge_multiset(const struct check *check, size_t i)
{
    const struct hn_arena *arena = check->arena;
    const struct hn_argument *output = &check->plan->arguments[i];
    uint64_t count = check->outputs->of[i].count / output->lanes;
    if (is_same_multiset(arena, i))
        return;
    check->record->verdict.max_error = 1.0;
    if (!is_right(check))
        return;
    if (count > MOST_SORTED) {
        hn_record_fail(check->record, HN_OUTCOME_WRONG_RESULT,
                       "%sthe %" PRIu64
                       " elements of %s are not those of the reference, in any order",
                       check->when, count, output->name);
        return;
    }
    struct bag found = read_bag(check, i, found_at(check, i), 0);
    struct bag expected = read_bag(check, i, check->outputs->of[i].copy, arena->veil);
    if (!hn_failed(check->err))
        report_first(check, &found, &expected);
    free(expected.words);
    free(found.words);
}

/* How far apart elements may be, and how many may be further: at most all but one, since who
 * computes nothing is never right. */
static void evaluate_limits(const struct check *check, size_t i, struct tally *tally)
{
    const struct hn_compare *compare = comparison_of(check, i);
    const struct hn_value *values = check->variant->values;
    double relative = 0.0, absolute = 0.0;
    int64_t count = 0;
    if (compare->mode == HN_COMPARE_MAX_NORM &&
        hn_element_is_real(check->plan->arguments[i].element)) {
        hn_expression_number(compare->relative, values, &relative, check->err);
        hn_expression_number(compare->absolute, values, &absolute, check->err);
        tally->tolerance = absolute + relative * check->outputs->of[i].largest;
    }
    hn_expression_integer(compare->mismatches, values, &count, check->err);
    tally->allowed =
        count > 0 ? (uint64_t)count : (uint64_t)(compare->mismatch_share * (double)tally->compared);
    if (tally->allowed >= tally->compared)
        tally->allowed = tally->compared > 0 ? tally->compared - 1 : 0;
}

/* Of all blocks of the grid. */
static struct hn_difference difference_of(const struct check *check, size_t argument)
{
    const struct hn_difference *differences =
        hn_arena_found(check->arena, argument, HN_SLOT_COMPARE);
    struct hn_difference all = {
        .worst = UINT64_MAX, .misplaced = UINT64_MAX, .strayed = UINT64_MAX};
    HN_EACH_OF(one, differences, check->arena->support->blocks) {
        if (one->max_error > all.max_error ||
            (one->max_error == all.max_error && one->worst < all.worst)) {
            all.max_error = one->max_error;
            all.worst = one->worst;
        }
        all.max_reference = fmax(all.max_reference, one->max_reference);
        all.misplaced = one->misplaced < all.misplaced ? one->misplaced : all.misplaced;
        all.strayed = one->strayed < all.strayed ? one->strayed : all.strayed;
        all.differing += one->differing;
        all.unwritten += one->unwritten;
        all.telling += one->telling;
        all.nans += one->nans;
    }
    return all;
}

/* Compares once more, with the tolerance that is known now: what is within it, and how many are
 * not. Returns whether these are too many. What a variant leaves as it was poisoned is work not
 * done, and no mismatch; a narrow element may be so by chance. */
static bool count_differing(const struct check *check, size_t i, struct tally *tally)
{
    queue_comparison(check, i, tally->tolerance);
    hn_arena_read_results(check->arena, check->err);
    if (hn_failed(check->err))
        return false;
    struct hn_difference *within = &tally->within;
    *within = difference_of(check, i);
    size_t size = hn_element_size(check->plan->arguments[i].element);
    if (size <= 2 && within->unwritten <= 3 + within->differing / 16)
        within->unwritten = 0;
    check->record->verdict.differed += within->differing;
    if (within->differing == 0 || within->differing > tally->allowed || within->unwritten > 0)
        return true;
    tally->difference = *within;
    return false;
}

/* The verdict keeps the output whose error is largest against its tolerance. */
static void judge_output(const struct check *check, size_t i)
{
    struct hn_output *output = &check->outputs->of[i];
    struct hn_verdict *verdict = &check->record->verdict;
    verdict->compared += output->compared;
    if (comparison_of(check, i)->mode == HN_COMPARE_MULTISET) {
        output->seen = output->seen || output->compared > 0;
        verdict->empty += !output->seen || !output->changed;
        judge_multiset(check, i);
        return;
    }
    struct tally tally = {.difference = difference_of(check, i), .compared = output->compared};
    const struct hn_difference *difference = &tally.difference;
    output->largest = fmax(output->largest, difference->max_reference);
    if (output->compared > 0 && difference->worst == UINT64_MAX)
        check->outputs->silent = i;
    evaluate_limits(check, i, &tally);
    bool wrong = difference->misplaced != UINT64_MAX;
    if (!hn_failed(check->err) && !wrong && !(difference->max_error <= tally.tolerance))
        wrong = count_differing(check, i, &tally);
    verdict->empty += output->largest <= tally.tolerance || !output->changed ||
                      difference->nans > output->compared / 100 ||
                      (tally.within.differing > 0 && tally.within.telling <= tally.allowed);
    if (hn_failed(check->err))
        return;
    double ratio = difference->max_error == 0.0 ? 0.0 : difference->max_error / tally.tolerance;
    double worst = verdict->max_error == 0.0 ? 0.0 : verdict->max_error / verdict->tolerance;
    if (!(ratio < worst ||
          (ratio == worst && verdict->max_reference > difference->max_reference))) {
        verdict->max_error = difference->max_error;
        verdict->tolerance = tally.tolerance;
        verdict->max_reference = difference->max_reference;
    }
    if (wrong && is_right(check))
        report_difference(check, i, &tally);
    if (difference->strayed != UINT64_MAX && is_right(check))
        hn_record_fail(check->record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "%swrote at byte %" PRIu64 " of '%s', between two of its rows", check->when,
                       difference->strayed * hn_element_size(check->plan->arguments[i].element),
                       check->plan->arguments[i].name);
}

/* Lengths before what they are the lengths of: where one is wrong, so is all that follows from it.
 * Counters last, which have to be zero where launches leave them so. */
static void judge_outputs(const struct check *check)
{
    struct hn_verdict *verdict = &check->record->verdict;
    verdict->max_error = verdict->tolerance = verdict->max_reference = 0.0;
    verdict->compared = verdict->differed = verdict->empty = 0;
    check->outputs->silent = SIZE_MAX;
    for (int has_length = 0; has_length <= 1; has_length++)
        for (size_t i = 0; i < check->plan->argument_count && !hn_failed(check->err); i++)
            if (check->outputs->of[i].is_compared &&
                (check->plan->arguments[i].length != NULL) == has_length)
                judge_output(check, i);
    for (size_t i = 0; i < check->plan->argument_count && is_right(check); i++)
        if (has_to_be_zero(check, i) &&
            hn_arena_sum(check->arena, i, HN_SLOT_CHECKSUM) !=
                hn_support_checksum_of_zeros(found_at(check, i), check->arena->buffers[i].bytes))
            hn_record_fail(check->record, HN_OUTCOME_WRONG_RESULT,
                           "%sleft counter '%s' other than zero; with 'zero: once' a launch leaves "
                           "it as it found it",
                           check->when, check->plan->arguments[i].name);
}

void hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when,
                     struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    struct hn_record *record = variant->record;
    const struct check check = {variant, arena, arena->plan, outputs, when, record, err};
    double *mean = variant->metric_values;
    if (!hn_goes_on(variant, err))
        return;
    hn_pipeline_collect(variant, when, err);
    queue_checks(&check);
    if (hn_failed(err))
        return;
    judge_zones(&check);
    judge_inputs(&check);
    bool damaged = record->outcome == HN_OUTCOME_OUT_OF_BOUNDS;
    arena->spoiled = arena->spoiled && damaged;
    for (size_t i = 0; i < arena->plan->argument_count; i++) {
        const double *sums = hn_arena_found(arena, i, HN_SLOT_COMPARE);
        double sum = 0.0;
        if (arena->plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        for (size_t block = 0; block < arena->support->blocks; block++)
            sum += sums[block];
        *mean++ = sum / (double)arena->buffers[i].count;
    }
    judge_outputs(&check);
    record->verdict.launches += record->outcome == HN_OUTCOME_OK;
    if (damaged)
        hn_arena_repair(arena, err);
}
