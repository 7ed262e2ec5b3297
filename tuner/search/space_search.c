/* SPDX-License-Identifier: MIT */
#include "tuner/search/space_search.h"

#include <stdlib.h>
#include <string.h>

/* A partial check that in so many tries cut less than one in so many is left out. */
enum { TRIES_TO_JUDGE = 4096, WORTH_ONE_IN = 32, FEW_CANDIDATES = 6 };

enum hn_status hn_space_search_init(struct hn_space_search *search,
                                    const struct hn_space_plan *plan, struct hn_error *err)
{
    const struct hn_space_problem *problem = plan->problem;
    size_t slots = problem->demands->slot_count + 1;
    *search = (struct hn_space_search){.plan = plan};
    search->positions = calloc(slots, sizeof *search->positions);
    search->current = calloc(slots, sizeof *search->current);
    search->cells = calloc(problem->terms.count + 1, sizeof *search->cells);
    search->bits = calloc(plan->bit_words + 1, sizeof *search->bits);
    search->known = calloc(plan->known_bytes + 1, 1);
    search->masks = calloc(plan->mask_words + 1, sizeof *search->masks);
    search->keys = calloc((plan->level_count + 1) * plan->key_words, sizeof *search->keys);
    search->uses = calloc(plan->step_count + 1, sizeof *search->uses);
    if (search->positions == NULL || search->current == NULL || search->cells == NULL ||
        search->bits == NULL || search->known == NULL || search->masks == NULL ||
        search->keys == NULL || search->uses == NULL) {
        hn_space_search_finish(search);
        return hn_fail_memory(err);
    }
    memcpy(search->current, problem->current, (slots - 1) * sizeof *search->current);
    hn_terms_set_constants(&problem->terms, search->cells);
    return HN_OK;
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
    free(search->uses);
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
    return hn_conjunct_evaluate(&conjuncts->items[step->check->conjunct], search->current) ==
           wanted;
}

static void clear_bit(uint64_t *mask, size_t position)
{
    mask[position / 64] &= ~((uint64_t)1 << (position % 64));
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
    search->steps += level->count;
    run(search, &step->before);
    for (size_t i = 0; i < level->count; i++) {
        if (passes(search, level, step, i))
            bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return bits;
}

static size_t count_bits(const uint64_t *mask, size_t words)
{
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(mask[i]);
    return count;
}

/* Clears the positions from `first` up to `end`. */
static void clear_range(uint64_t *mask, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (i % 64 == 0 && end - i >= 64) {
            mask[i / 64] = 0;
            i += 63;
        } else {
            clear_bit(mask, i);
        }
    }
}

/* The term rises or falls, so that one position parts those that pass from the others. */
static void cut_range(struct hn_space_search *search, const struct hn_space_level *level,
                      const struct hn_space_step *step, uint64_t *mask)
{
    size_t low = 0;
    size_t high = level->count;
    bool rises = step->direction != HN_FALLS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (passes(search, level, step, middle) == rises)
            high = middle;
        else
            low = middle + 1;
    }
    clear_range(mask, rises ? 0 : low, rises ? low : level->count);
}

static void cut_each(struct hn_space_search *search, const struct hn_space_level *level,
                     const struct hn_space_step *step, uint64_t *mask)
{
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            if (!passes(search, level, step, position))
                clear_bit(mask, position);
        }
    }
}

/* Takes away what does not pass; false when nothing is left. */
static bool cut(struct hn_space_search *search, const struct hn_space_level *level,
                const struct hn_space_step *step, uint64_t *mask)
{
    struct hn_space_use *use = &search->uses[step->number];
    if (step->partial && use->tried > TRIES_TO_JUDGE && use->cut * WORTH_ONE_IN < use->tried)
        return true;
    size_t before = count_bits(mask, level->words);
    search->steps += before;
    if (step->direction != HN_UNKNOWN && before > FEW_CANDIDATES)
        cut_range(search, level, step, mask);
    else
        cut_each(search, level, step, mask);
    size_t left = count_bits(mask, level->words);
    use->tried += before;
    use->cut += before - left;
    return left > 0;
}

bool hn_space_candidates(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    for (size_t i = 0; i < level->words; i++)
        mask[i] = UINT64_MAX;
    if (level->count % 64 != 0)
        mask[level->words - 1] = ((uint64_t)1 << (level->count % 64)) - 1;
    for (size_t s = 0; s < level->step_count; s++) {
        const struct hn_space_step *step = &level->steps[s];
        if (step->kind != HN_STEP_TABULATED) {
            if (!cut(search, level, step, mask))
                return false;
            continue;
        }
        const uint64_t *row = need_row(search, level, step);
        uint64_t any = 0;
        for (size_t i = 0; i < level->words; i++)
            any |= mask[i] &= row[i];
        if (any == 0)
            return false;
    }
    return true;
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

static bool make_room(struct hn_space_search *search, size_t count)
{
    if (search->point_count + count <= search->capacity)
        return true;
    uint64_t capacity = search->capacity < 1024 ? 1024 : 2 * search->capacity;
    if (capacity < search->point_count + count)
        capacity = search->point_count + count;
    uint64_t *points = realloc(search->points, capacity * search->plan->key_words * sizeof *points);
    if (points == NULL)
        return false;
    search->points = points;
    search->capacity = capacity;
    return true;
}

/* Appends the candidates of the last level. */
static bool append_points(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t words = search->plan->key_words;
    const uint64_t *key = search->keys + depth * words;
    size_t count = count_bits(mask, level->words);
    if (!make_room(search, count))
        return false;
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
    return true;
}

enum hn_walk hn_space_walk(struct hn_space_search *search, size_t depth,
                           const struct hn_walk_limits *limits)
{
    if (!hn_space_candidates(search, depth))
        return HN_WALK_DONE;
    const struct hn_space_level *level = &search->plan->levels[depth];
    if (depth + 1 == search->plan->level_count) {
        if (!append_points(search, depth))
            return HN_WALK_NO_MEMORY;
        return search->point_count >= limits->points ? HN_WALK_ENOUGH : HN_WALK_DONE;
    }
    if (search->steps > limits->steps + 4 * search->point_count)
        return HN_WALK_TOO_LONG;
    const uint64_t *mask = search->masks + level->mask_at;
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            hn_space_bind(search, depth, 64 * i + (size_t)__builtin_ctzll(bits));
            enum hn_walk walk = hn_space_walk(search, depth + 1, limits);
            if (walk != HN_WALK_DONE)
                return walk;
        }
    }
    return HN_WALK_DONE;
}
