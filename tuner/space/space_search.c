/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "tuner/space/space_internal.h"

/* Steps are work: asking the evaluator takes as long as computing so many terms, and so do so many
 * words of a set. */
enum { STEPS_TO_EVALUATE = 16, WORDS_A_STEP = 16 };

void hn_space_search_init(struct hn_space_search *search, const struct hn_space_plan *plan)
{
    const struct hn_space_problem *problem = plan->problem;
    size_t slots = problem->demands->slot_count;
    *search = (struct hn_space_search){.plan = plan};
    search->positions = hn_need(slots, sizeof *search->positions);
    search->current = hn_need(slots, sizeof *search->current);
    search->cells = hn_need(problem->terms.count, sizeof *search->cells);
    search->bits = hn_need(plan->bit_words, sizeof *search->bits);
    search->known = hn_need(plan->known_bytes, 1);
    search->masks = hn_need(plan->mask_words, sizeof *search->masks);
    search->keys = hn_need((plan->level_count + 1) * plan->key_words, sizeof *search->keys);
    memcpy(search->current, problem->current, slots * sizeof *search->current);
    hn_terms_set_constants(&problem->terms, search->cells);
}

void hn_space_search_finish(struct hn_space_search *search)
{
    free(search->positions);
    free(search->current);
    free(search->cells);
    free(search->bits);
    free(search->known);
    free(search->masks);
    free(search->keys);
    free(search->points);
    *search = (struct hn_space_search){0};
}

static void run(struct hn_space_search *search, const struct hn_space_program *program)
{
    hn_instructions_run(program->items, program->count, search->positions, search->cells);
}

/* Whether the step's check passes at a position of the level's parameter. */
static bool passes(struct hn_space_search *search, const struct hn_space_level *level,
                   const struct hn_space_step *step, size_t position)
{
    search->positions[level->parameter] = (uint16_t)position;
    if (step->term >= 0) {
        run(search, &step->after);
        return search->cells[step->term].integer != 0;
    }
    search->current[level->parameter] = level->values[position];
    const struct hn_conjuncts *conjuncts = &search->plan->problem->demands->conjuncts;
    enum hn_truth wanted = step->check->failing ? HN_NO_VALUE : HN_TRUE;
    return hn_expression_truth(conjuncts->items[step->check->conjunct].expression,
                               search->current) == wanted;
}

static uint64_t cost_of(const struct hn_space_step *step)
{
    return step->term >= 0 ? 1 : STEPS_TO_EVALUATE;
}

static uint64_t *need_row(struct hn_space_search *search, const struct hn_space_level *level,
                          const struct hn_space_step *step)
{
    size_t row = 0;
    for (size_t i = 0; i < step->key_count; i++)
        row += search->positions[step->keys[i].slot] * step->keys[i].stride;
    uint64_t *bits = search->bits + step->bits_at + row * level->words;
    if (search->known[step->known_at + row])
        return bits;
    search->known[step->known_at + row] = 1;
    run(search, &step->before);
    search->steps += level->count * cost_of(step);
    for (size_t i = 0; i < level->count; i++) {
        if (passes(search, level, step, i))
            bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return bits;
}

/* Keeps the positions from `first` up to `end`. */
static void keep_range(uint64_t *mask, size_t words, size_t first, size_t end)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t kept = UINT64_MAX;
        if (64 * i < first)
            kept = first - 64 * i >= 64 ? 0 : UINT64_MAX << (first - 64 * i);
        if (64 * i + 64 > end)
            kept &= end <= 64 * i ? 0 : UINT64_MAX >> (64 * i + 64 - end);
        mask[i] &= kept;
    }
}

/* Where the edge changes: the first position at which it is what it rises or falls to. */
static size_t find_edge(struct hn_space_search *search, const struct hn_space_level *level,
                        const struct hn_space_step *step)
{
    size_t low = 0;
    size_t high = level->count;
    bool rises = step->direction != HN_FALLS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        search->positions[level->parameter] = (uint16_t)middle;
        run(search, &step->to_edge);
        if ((search->cells[step->edge].integer != 0) == rises)
            high = middle;
        else
            low = middle + 1;
        search->steps++;
    }
    return low;
}

static void cut_range(struct hn_space_search *search, const struct hn_space_level *level,
                      const struct hn_space_step *step, uint64_t *mask)
{
    size_t edge = find_edge(search, level, step);
    bool rises = step->direction != HN_FALLS;
    size_t first = rises ? edge : 0;
    size_t end = rises ? level->count : edge;
    if (step->edge != step->term && rises) {
        for (end = first; end < level->count && passes(search, level, step, end);)
            end++;
    } else if (step->edge != step->term) {
        for (first = end; first > 0 && passes(search, level, step, first - 1);)
            first--;
    }
    keep_range(mask, level->words, first, end);
}

static void cut_each(struct hn_space_search *search, const struct hn_space_level *level,
                     const struct hn_space_step *step, uint64_t *mask)
{
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            search->steps += cost_of(step);
            if (!passes(search, level, step, position))
                mask[i] &= ~(bits & -bits);
        }
    }
}

/* Takes away what does not pass. */
static void cut(struct hn_space_search *search, const struct hn_space_level *level,
                const struct hn_space_step *step, uint64_t *mask)
{
    if (step->kind != HN_STEP_TABULATED) {
        if (step->direction != HN_UNKNOWN)
            cut_range(search, level, step, mask);
        else
            cut_each(search, level, step, mask);
        return;
    }
    const uint64_t *row = need_row(search, level, step);
    for (size_t i = 0; i < level->words; i++)
        mask[i] &= row[i];
}

static bool is_empty(const uint64_t *mask, size_t words)
{
    uint64_t any = 0;
    for (size_t i = 0; i < words; i++)
        any |= mask[i];
    return any == 0;
}

bool hn_space_candidates(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    search->steps += level->words / WORDS_A_STEP * level->step_count;
    for (size_t i = 0; i < level->words; i++)
        mask[i] = UINT64_MAX;
    if (level->count % 64 != 0)
        mask[level->words - 1] = ((uint64_t)1 << (level->count % 64)) - 1;
    for (size_t s = 0; s < level->step_count; s++) {
        cut(search, level, &level->steps[s], mask);
        if (is_empty(mask, level->words))
            return false;
    }
    return true;
}

size_t hn_space_count_candidates(const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    size_t count = 0;
    for (size_t i = 0; i < level->words; i++)
        count += (size_t)__builtin_popcountll(search->masks[level->mask_at + i]);
    return count;
}

void hn_space_bind(struct hn_space_search *search, size_t depth, size_t position)
{
    const struct hn_space_plan *plan = search->plan;
    const struct hn_space_level *level = &plan->levels[depth];
    uint64_t *key = search->keys + depth * plan->key_words;
    search->steps++;
    search->positions[level->parameter] = (uint16_t)position;
    if (plan->evaluates)
        search->current[level->parameter] = level->values[position];
    run(search, &level->exports);
    for (size_t i = 0; i < plan->key_words; i++)
        key[plan->key_words + i] = key[i];
    key[plan->key_words + level->key_word] |= level->parts[position];
}

static void make_room(struct hn_space_search *search, size_t count)
{
    if (search->point_count + count <= search->capacity)
        return;
    uint64_t capacity = search->capacity < 1024 ? 1024 : 2 * search->capacity;
    if (capacity < search->point_count + count)
        capacity = search->point_count + count;
    search->points =
        hn_need_more(search->points, capacity * search->plan->key_words, sizeof *search->points);
    search->capacity = capacity;
}

/* Appends the candidates of the last level. */
static void append_points(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t words = search->plan->key_words;
    const uint64_t *key = search->keys + depth * words;
    size_t count = hn_space_count_candidates(search, depth);
    make_room(search, count);
    uint64_t *to = search->points + search->point_count * words;
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            for (size_t j = 0; j < words; j++)
                to[j] = key[j];
            to[level->key_word] |= level->parts[64 * i + (size_t)__builtin_ctzll(bits)];
            to += words;
        }
    }
    search->point_count += count;
    search->steps += count;
}

static bool is_too_long(const struct hn_space_search *search, const struct hn_walk_limits *limits)
{
    return search->steps > limits->steps + 4 * search->point_count || hn_interrupted() != 0 ||
           atomic_load(&search->plan->problem->demands->space->abandoned);
}

enum hn_walk hn_space_walk(struct hn_space_search *search, size_t depth,
                           const struct hn_walk_limits *limits)
{
    if (!hn_space_candidates(search, depth))
        return HN_WALK_DONE;
    const struct hn_space_level *level = &search->plan->levels[depth];
    if (depth + 1 == search->plan->level_count) {
        append_points(search, depth);
        return search->point_count >= limits->points ? HN_WALK_ENOUGH : HN_WALK_DONE;
    }
    const uint64_t *mask = search->masks + level->mask_at;
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            /* Before each value: below it nothing may be left after much work, and so on through
             * all of them. */
            if (is_too_long(search, limits))
                return HN_WALK_TOO_LONG;
            hn_space_bind(search, depth, 64 * i + (size_t)__builtin_ctzll(bits));
            enum hn_walk walk = hn_space_walk(search, depth + 1, limits);
            if (walk != HN_WALK_DONE)
                return walk;
        }
    }
    return HN_WALK_DONE;
}
