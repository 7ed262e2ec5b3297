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
        if (program->items[i].operation == HN_OP_TABLE)
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
        for (size_t j = 0; j < step->key_count; j++)
            if (step->keys[j].slot == parameter)
                used[parameter] = 1;
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
    level->terms = hn_need_block(&counts->blocks, term_count, sizeof *level->terms);
    level->slots = hn_need_block(&counts->blocks, slot_count, sizeof *level->slots);
    for (size_t i = 0; i < term_count; i++)
        if (terms[i])
            level->terms[level->term_count++] = (int)i;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i])
            level->slots[level->slot_count++] = i;
}

static void list_all_used(struct hn_space_counts *counts)
{
    const struct hn_space_plan *plan = counts->plan;
    size_t terms = plan->problem->terms.count;
    size_t slots = plan->problem->demands->slot_count;
    size_t *level_of = hn_need_block(&counts->blocks, terms, sizeof *level_of);
    unsigned char *marks = hn_need_block(&counts->blocks, terms + slots, 1);
    for (size_t i = 0; i < terms; i++)
        level_of[i] = SIZE_MAX;
    for (size_t i = 0; i < plan->level_count; i++)
        for (size_t j = 0; j < plan->levels[i].exports.count; j++)
            level_of[plan->levels[i].exports.items[j].result] = i;
    for (size_t i = 0; i < plan->level_count; i++)
        list_used(counts, i, level_of, marks, marks + terms);
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
    for (size_t i = 0; i < level->words; i++)
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            hn_space_bind(search, depth, 64 * i + (size_t)__builtin_ctzll(bits));
            double below = count_below(counts, search, depth + 1, most_steps);
            if (below < 0)
                return -1;
            total += below;
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

static void finish_counts(struct hn_space_counts *counts)
{
    for (size_t i = 0; counts->levels != NULL && i < counts->plan->level_count; i++)
        free(counts->levels[i].keys);
    hn_blocks_finish(&counts->blocks);
    *counts = (struct hn_space_counts){0};
}

/* HN_WALK_TOO_LONG: that takes more than so many steps, or 256 MiB; then counts holds nothing. */
static enum hn_walk init_counts(struct hn_space_counts *counts, struct hn_space_search *search,
                                uint64_t most_steps)
{
    *counts = (struct hn_space_counts){.plan = search->plan};
    counts->levels =
        hn_need_block(&counts->blocks, search->plan->level_count, sizeof *counts->levels);
    list_all_used(counts);
    counts->total = count_below(counts, search, 0, search->steps + most_steps);
    if (counts->total >= 0)
        return HN_WALK_DONE;
    finish_counts(counts);
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
    for (size_t i = 0; i < level->words; i++)
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
    hn_space_bind(search, depth, last); /* rounding */
}

/* Leaves search at a point, all equally likely: its key is below the last level. */
static void draw_counted(const struct hn_space_counts *counts, struct hn_space_search *search,
                         struct hn_random *random)
{
    for (size_t depth = 0; depth < search->plan->level_count; depth++) {
        double below = known_below(counts, search, depth);
        hn_space_candidates(search, depth);
        bind_containing(counts, search, depth, hn_random_unit(random) * below);
    }
}

/* PROBES make the estimate, where the steps are enough for them. A draw that can not be counted
 * out takes one of CANDIDATES points found by random descents, by their weights; each descent may
 * try so many values. */
enum { PROBES = 4000, CANDIDATES = 32, MOST_DESCENT = 20000 };
/* The cost that looking for the first point with given values may have. */
enum { MOST_FIRST = 50000000 };

struct hn_space_open *hn_space_open_create(struct hn_space_problem *problem,
                                           const struct hn_space_part *part)
{
    struct hn_space_open *open = hn_need(1, sizeof *open);
    hn_space_solver_init(&open->solver, problem, part);
    pthread_mutex_init(&open->lock, NULL);
    return open;
}

void hn_space_open_destroy(struct hn_space_open *open)
{
    if (open == NULL)
        return;
    free(open->some);
    finish_counts(&open->counts);
    hn_space_plan_finish(&open->declared);
    hn_space_solver_finish(&open->solver);
    pthread_mutex_destroy(&open->lock);
    free(open);
}

/* The number-th candidate of a level. */
static size_t find_candidate(const struct hn_space_search *search, size_t depth, size_t number)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t word = 0;
    for (; number >= (size_t)__builtin_popcountll(mask[word]); word++)
        number -= (size_t)__builtin_popcountll(mask[word]);
    uint64_t bits = mask[word];
    for (; number > 0; number--)
        bits &= bits - 1;
    return 64 * word + (size_t)__builtin_ctzll(bits);
}

/* How many points a random descent stands for: 0 where it ends without one. */
static double probe(struct hn_space_search *search, struct hn_random *random)
{
    double weight = 1;
    for (size_t depth = 0; depth < search->plan->level_count; depth++) {
        if (!hn_space_candidates(search, depth))
            return 0;
        size_t count = hn_space_count_candidates(search, depth);
        weight *= (double)count;
        hn_space_bind(search, depth, find_candidate(search, depth, hn_random_below(random, count)));
    }
    return weight;
}

double hn_space_open_estimate(struct hn_space_open *open, uint64_t most_steps)
{
    struct hn_random random = hn_random_seeded(1);
    struct hn_space_search *search = &open->solver.search;
    const uint64_t end = search->steps + most_steps;
    double sum = 0;
    int probes = 0;
    for (; probes == 0 || (probes < PROBES && search->steps < end); probes++)
        sum += probe(search, &random);
    return sum / probes;
}

enum hn_walk hn_space_open_count(struct hn_space_open *open, uint64_t most_steps)
{
    enum hn_walk walk = init_counts(&open->counts, &open->solver.search, most_steps);
    open->counted = walk == HN_WALK_DONE;
    if (open->counted)
        open->valid = open->counts.total;
    return walk;
}

/* Indices of what is bound. */
static void take_choice(const struct hn_space_search *search, uint16_t *choice)
{
    const struct hn_space_plan *plan = search->plan;
    for (size_t i = 0; i < plan->level_count; i++) {
        size_t parameter = plan->levels[i].parameter;
        choice[parameter] =
            hn_space_problem_index(plan->problem, parameter, search->positions[parameter]);
    }
}

bool hn_space_open_find_some(struct hn_space_open *open, uint64_t most_steps)
{
    struct hn_space_search *search = &open->solver.search;
    if (search->point_count == 0) {
        const struct hn_walk_limits limits = {.points = 1, .steps = search->steps + most_steps};
        (void)hn_space_walk(search, 0, &limits);
    }
    if (search->point_count == 0)
        return false;
    open->some =
        hn_need(search->plan->problem->demands->space->parameter_count, sizeof *open->some);
    hn_space_table_unpack(&open->solver.table, search->points, open->some);
    free(search->points);
    search->points = NULL;
    search->point_count = search->capacity = 0;
    return true;
}

void hn_space_open_complete(struct hn_space_open *open, const struct hn_space_part *part)
{
    struct hn_space_problem *problem = (struct hn_space_problem *)open->solver.plan.problem;
    hn_space_plan_init(&open->declared, problem, part, part->parameters, &open->solver.table);
    open->checks = part->checks;
    open->check_count = part->check_count;
    hn_space_search_finish(&open->solver.search);
    hn_space_search_init(&open->solver.search, &open->solver.plan);
}

/* The position of a parameter's value in its domain; SIZE_MAX: no valid point has it. */
static size_t find_position(const struct hn_space_problem *problem, size_t parameter, size_t index)
{
    size_t count = problem->domains[parameter].count;
    for (size_t position = 0; position < count; position++)
        if (hn_space_problem_index(problem, parameter, position) == index)
            return position;
    return SIZE_MAX;
}

/* The values of a choice, by slot; those of parameters of other groups are any. False when one but
 * that of `except` is in no valid point. */
static bool take_values(const struct hn_space_open *open, const uint16_t *choice, size_t except,
                        struct hn_value *values)
{
    const struct hn_space_plan *plan = &open->solver.plan;
    const struct hn_space_problem *problem = plan->problem;
    memcpy(values, problem->current, problem->demands->slot_count * sizeof *values);
    for (size_t i = 0; i < plan->level_count; i++) {
        size_t parameter = plan->levels[i].parameter;
        if (parameter == except)
            continue;
        size_t position = find_position(problem, parameter, choice[parameter]);
        if (position == SIZE_MAX)
            return false;
        values[parameter] = problem->domains[parameter].values[position];
    }
    return true;
}

/* Whether the checks hold that depend on the parameter, or those that do not. */
static bool checks_hold(const struct hn_space_open *open, const struct hn_value *values,
                        size_t parameter, bool depend)
{
    const struct hn_space_problem *problem = open->solver.plan.problem;
    for (size_t i = 0; i < open->check_count; i++) {
        const struct hn_space_check *check = &problem->checks[open->checks[i]];
        const struct hn_conjunct *conjunct = &problem->demands->conjuncts.items[check->conjunct];
        if (hn_has_slot(check->slots, parameter) == depend &&
            hn_expression_truth(conjunct->expression, values) != HN_TRUE)
            return false;
    }
    return true;
}

bool hn_space_open_contains(const struct hn_space_open *open, const uint16_t *choice)
{
    const struct hn_space_plan *plan = &open->solver.plan;
    struct hn_value values[plan->problem->demands->slot_count];
    size_t any = plan->levels[0].parameter;
    return take_values(open, choice, SIZE_MAX, values) && checks_hold(open, values, any, true) &&
           checks_hold(open, values, any, false);
}

void hn_space_open_values(const struct hn_space_open *open, const uint16_t *choice,
                          size_t parameter, uint64_t *valid)
{
    const struct hn_space_problem *problem = open->solver.plan.problem;
    const struct hn_domain *domain = &problem->domains[parameter];
    struct hn_value values[problem->demands->slot_count];
    if (!take_values(open, choice, parameter, values) ||
        !checks_hold(open, values, parameter, false))
        return;
    for (size_t position = 0; position < domain->count; position++) {
        size_t index = hn_space_problem_index(problem, parameter, position);
        values[parameter] = domain->values[position];
        if (checks_hold(open, values, parameter, true))
            valid[index / 64] |= (uint64_t)1 << (index % 64);
    }
}

/* Binds a point below the level, found by trying values at random; *weight is how many such choices
 * there were. False: there is none, or finding it takes too long. */
static bool descend(struct hn_space_search *search, size_t depth, struct hn_random *random,
                    uint64_t most_steps, double *weight)
{
    if (depth == search->plan->level_count)
        return true;
    if (search->steps > most_steps || !hn_space_candidates(search, depth))
        return false;
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    size_t count = hn_space_count_candidates(search, depth);
    for (size_t left = count; left > 0; left--) {
        size_t position = find_candidate(search, depth, hn_random_below(random, left));
        double below = *weight * (double)count;
        hn_space_bind(search, depth, position);
        if (descend(search, depth + 1, random, most_steps, &below)) {
            *weight = below;
            return true;
        }
        mask[position / 64] &= ~((uint64_t)1 << (position % 64));
    }
    return false;
}

/* One of several points that were found at random, taken by the weights: as likely as others, but
 * for the chance that is left in few candidates. */
static void draw_weighted(struct hn_space_open *open, struct hn_space_search *search,
                          struct hn_random *random, uint16_t *choice)
{
    double total = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        double weight = 1;
        if (!descend(search, 0, random, search->steps + MOST_DESCENT, &weight))
            continue;
        total += weight;
        if (hn_random_unit(random) * total < weight)
            take_choice(search, choice);
    }
    const struct hn_space_plan *plan = search->plan;
    for (size_t i = 0; i < plan->level_count && total == 0; i++)
        choice[plan->levels[i].parameter] = open->some[plan->levels[i].parameter];
}

void hn_space_open_draw(struct hn_space_open *open, struct hn_random *random, uint16_t *choice)
{
    struct hn_space_search *search = &open->solver.search;
    pthread_mutex_lock(&open->lock);
    if (open->counted) {
        draw_counted(&open->counts, search, random);
        take_choice(search, choice);
    } else {
        draw_weighted(open, search, random, choice);
    }
    pthread_mutex_unlock(&open->lock);
}

static bool find_first(struct hn_space_search *search, size_t depth, const int *wanted)
{
    if (depth == search->plan->level_count)
        return true;
    if (search->steps > MOST_FIRST || !hn_space_candidates(search, depth))
        return false;
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    for (size_t i = 0; i < level->words; i++)
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            int index = hn_space_problem_index(search->plan->problem, level->parameter, position);
            if (wanted != NULL && wanted[level->parameter] >= 0 &&
                wanted[level->parameter] != index)
                continue;
            hn_space_bind(search, depth, position);
            if (find_first(search, depth + 1, wanted))
                return true;
        }
    return false;
}

bool hn_space_open_first(const struct hn_space_open *open, const int *wanted, uint16_t *choice)
{
    struct hn_space_search search;
    hn_space_search_init(&search, &open->declared);
    bool found = find_first(&search, 0, wanted);
    if (found)
        take_choice(&search, choice);
    hn_space_search_finish(&search);
    return found;
}
