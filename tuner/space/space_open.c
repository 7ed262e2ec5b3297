/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

/* PROBES make the estimate, where the steps are enough for them. A draw that can not be counted
 * out takes one of CANDIDATES points found by random descents, by their weights; each descent may
 * try so many values. */
enum { PROBES = 4000, CANDIDATES = 32, MOST_DESCENT = 20000 };
/* What looking for the first point with given values may cost. */
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
    free(open->checks);
    free(open->some);
    hn_space_counts_finish(&open->counts);
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
    enum hn_walk walk = hn_space_counts_init(&open->counts, &open->solver.search, most_steps);
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
    open->checks = hn_need(part->check_count, sizeof *open->checks);
    memcpy(open->checks, part->checks, part->check_count * sizeof *open->checks);
    open->check_count = part->check_count;
    hn_space_search_finish(&open->solver.search);
    hn_space_search_init(&open->solver.search, &open->solver.plan);
}

/* The position of a parameter's value in its domain; SIZE_MAX: no valid point has it. */
static size_t find_position(const struct hn_space_problem *problem, size_t parameter, size_t index)
{
    size_t count = problem->domains[parameter].count;
    for (size_t position = 0; position < count; position++) {
        if (hn_space_problem_index(problem, parameter, position) == index)
            return position;
    }
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
        hn_space_counts_draw(&open->counts, search, random);
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
    for (size_t i = 0; i < level->words; i++) {
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
