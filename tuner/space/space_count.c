/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

static const size_t most_bytes = (size_t)256 << 20;

/* Marks the terms of upper levels that a program uses. */
static void mark_used(const struct hn_space_program *program, const size_t *level_of, size_t level,
                      unsigned char *used)
{
    for (size_t i = 0; i < program->count; i++) {
        if (program->items[i].operation == HN_TERM_TABLE)
            continue;
        for (size_t j = 0; j < 3; j++) {
            int operand = program->items[i].operand[j];
            if (level_of[operand] < level)
                used[operand] = 1;
        }
    }
}

/* The same for slots, of a step that asks for them by position or value. */
static void mark_slots(const struct hn_space_plan *plan, const struct hn_space_step *step,
                       size_t level, unsigned char *used)
{
    for (size_t i = 0; i < level; i++) {
        size_t parameter = plan->levels[i].parameter;
        if (step->kind == HN_STEP_EVALUATED && hn_has_slot(step->check->slots, parameter))
            used[parameter] = 1;
        for (size_t j = 0; j < step->key_count; j++) {
            if (step->keys[j].slot == parameter)
                used[parameter] = 1;
        }
    }
}

static void list_used(struct hn_space_counts *counts, size_t depth, const size_t *level_of,
                      unsigned char *terms, unsigned char *slots)
{
    const struct hn_space_plan *plan = counts->plan;
    struct hn_space_count_level *level = &counts->levels[depth];
    size_t term_count = plan->problem->terms.count;
    size_t slot_count = plan->problem->demands->slot_count;
    memset(terms, 0, term_count);
    memset(slots, 0, slot_count);
    for (size_t i = depth; i < plan->level_count; i++) {
        const struct hn_space_level *below = &plan->levels[i];
        mark_used(&below->exports, level_of, depth, terms);
        for (size_t j = 0; j < below->step_count; j++) {
            const struct hn_space_step *step = &below->steps[j];
            if (step->kind == HN_STEP_COMPUTED) {
                mark_used(&step->after, level_of, depth, terms);
                mark_used(&step->to_edge, level_of, depth, terms);
            } else {
                mark_slots(plan, step, depth, slots);
            }
        }
    }
    level->terms = hn_need(term_count, sizeof *level->terms);
    level->slots = hn_need(slot_count, sizeof *level->slots);
    for (size_t i = 0; i < term_count; i++) {
        if (terms[i])
            level->terms[level->term_count++] = (int)i;
    }
    for (size_t i = 0; i < slot_count; i++) {
        if (slots[i])
            level->slots[level->slot_count++] = i;
    }
}

static void list_all_used(struct hn_space_counts *counts)
{
    const struct hn_space_plan *plan = counts->plan;
    size_t terms = plan->problem->terms.count;
    size_t slots = plan->problem->demands->slot_count;
    size_t *level_of = hn_need(terms, sizeof *level_of);
    unsigned char *marks = hn_need(terms + slots, 1);
    for (size_t i = 0; i < terms; i++)
        level_of[i] = SIZE_MAX;
    for (size_t i = 0; i < plan->level_count; i++)
        for (size_t j = 0; j < plan->levels[i].exports.count; j++)
            level_of[plan->levels[i].exports.items[j].result] = i;
    for (size_t i = 0; i < plan->level_count; i++)
        list_used(counts, i, level_of, marks, marks + terms);
    free(level_of);
    free(marks);
}

static size_t key_size(const struct hn_space_count_level *level)
{
    return level->term_count + level->slot_count;
}

static void take_key(const struct hn_space_count_level *level, const struct hn_space_search *search,
                     uint64_t *key)
{
    for (size_t i = 0; i < level->term_count; i++)
        *key++ = (uint64_t)search->cells[level->terms[i]].integer;
    for (size_t i = 0; i < level->slot_count; i++)
        *key++ = search->positions[level->slots[i]];
}

/* Entries are a key and its count, as a double's bits; a count below zero is a free one. */
static uint64_t *find_entry(const struct hn_space_count_level *level, const uint64_t *key)
{
    size_t size = key_size(level);
    uint64_t hash = 0;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    size_t place = hash & (level->capacity - 1);
    for (;; place = (place + 1) & (level->capacity - 1)) {
        uint64_t *entry = level->keys + place * (size + 1);
        if (entry[size] == UINT64_MAX || memcmp(entry, key, size * sizeof *key) == 0)
            return entry;
    }
}

static bool grow(struct hn_space_counts *counts, struct hn_space_count_level *level)
{
    size_t size = key_size(level) + 1;
    struct hn_space_count_level grown = *level;
    grown.capacity = level->capacity == 0 ? 64 : 2 * level->capacity;
    size_t bytes = grown.capacity * size * sizeof *grown.keys;
    if (counts->bytes + bytes > most_bytes)
        return false;
    grown.keys = hn_need_more(NULL, bytes, 1);
    for (size_t i = 0; i < grown.capacity; i++)
        grown.keys[i * size + size - 1] = UINT64_MAX;
    for (size_t i = 0; i < level->capacity; i++) {
        const uint64_t *entry = level->keys + i * size;
        if (entry[size - 1] != UINT64_MAX)
            memcpy(find_entry(&grown, entry), entry, size * sizeof *entry);
    }
    counts->bytes += bytes - level->capacity * size * sizeof *grown.keys;
    free(level->keys);
    *level = grown;
    return true;
}

static double count_of(uint64_t bits)
{
    double count;
    memcpy(&count, &bits, sizeof count);
    return count;
}

static double count_below(struct hn_space_counts *counts, struct hn_space_search *search,
                          size_t depth, uint64_t most_steps);

/* The same for a state that is not known yet, one candidate after another. */
static double count_each(struct hn_space_counts *counts, struct hn_space_search *search,
                         size_t depth, uint64_t most_steps)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    double total = 0;
    if (!hn_space_candidates(search, depth))
        return 0;
    if (depth + 1 == search->plan->level_count)
        return (double)hn_space_count_candidates(search, depth);
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            hn_space_bind(search, depth, 64 * i + (size_t)__builtin_ctzll(bits));
            double below = count_below(counts, search, depth + 1, most_steps);
            if (below < 0)
                return -1;
            total += below;
        }
    }
    return total;
}

/* The points below a level; negative when that is too much. */
static double count_below(struct hn_space_counts *counts, struct hn_space_search *search,
                          size_t depth, uint64_t most_steps)
{
    struct hn_space_count_level *level = &counts->levels[depth];
    size_t size = key_size(level);
    uint64_t key[size + 1];
    take_key(level, search, key);
    if (level->capacity > 0) {
        const uint64_t *known = find_entry(level, key);
        if (known[size] != UINT64_MAX)
            return count_of(known[size]);
    }
    double total = count_each(counts, search, depth, most_steps);
    if (total < 0 || search->steps > most_steps ||
        (2 * level->used >= level->capacity && !grow(counts, level)))
        return -1;
    uint64_t *entry = find_entry(level, key);
    memcpy(entry, key, size * sizeof *key);
    memcpy(&entry[size], &total, sizeof total);
    level->used++;
    return total;
}

void hn_space_counts_finish(struct hn_space_counts *counts)
{
    for (size_t i = 0; counts->levels != NULL && i < counts->plan->level_count; i++) {
        free(counts->levels[i].keys);
        free(counts->levels[i].terms);
        free(counts->levels[i].slots);
    }
    free(counts->levels);
    *counts = (struct hn_space_counts){0};
}

enum hn_walk hn_space_counts_init(struct hn_space_counts *counts, struct hn_space_search *search,
                                  uint64_t most_steps)
{
    *counts = (struct hn_space_counts){.plan = search->plan};
    counts->levels = hn_need(search->plan->level_count, sizeof *counts->levels);
    list_all_used(counts);
    counts->total = count_below(counts, search, 0, search->steps + most_steps);
    if (counts->total >= 0)
        return HN_WALK_DONE;
    hn_space_counts_finish(counts);
    return HN_WALK_TOO_LONG;
}

/* How many points are below a level, in the state that is bound: counting met it too. */
static double known_below(const struct hn_space_counts *counts,
                          const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_count_level *level = &counts->levels[depth];
    size_t size = key_size(level);
    uint64_t key[size + 1];
    take_key(level, search, key);
    const uint64_t *entry = find_entry(level, key);
    assert(entry[size] != UINT64_MAX);
    return count_of(entry[size]);
}

/* Binds the candidate below which the number-th point is, or the last one that has any. */
static void bind_containing(const struct hn_space_counts *counts, struct hn_space_search *search,
                            size_t depth, double number)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    bool is_last = depth + 1 == search->plan->level_count;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            hn_space_bind(search, depth, position);
            double below = is_last ? 1 : known_below(counts, search, depth + 1);
            if (below > 0)
                last = position;
            if (number < below)
                return;
            number -= below;
        }
    }
    hn_space_bind(search, depth, last); /* rounding */
}

void hn_space_counts_draw(const struct hn_space_counts *counts, struct hn_space_search *search,
                          struct hn_random *random)
{
    for (size_t depth = 0; depth < search->plan->level_count; depth++) {
        double below = known_below(counts, search, depth);
        hn_space_candidates(search, depth);
        bind_containing(counts, search, depth, hn_random_unit(random) * below);
    }
}
