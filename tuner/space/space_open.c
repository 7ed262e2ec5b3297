/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_open.h"

#include <stdlib.h>
#include <string.h>

/* PROBES make the estimate, or what can be had for so many steps. A draw that can not be counted
 * out takes one of CANDIDATES points found by random descents, by their weights; each descent may
 * try so many values. */
enum {
    PROBES = 4000,
    MOST_PROBED = 100000000,
    CANDIDATES = 32,
    MOST_DESCENT = 20000,
    MOST_IDLE = 64
};
/* What looking for the first point with given values may cost. */
enum { MOST_FIRST = 50000000 };

enum hn_status hn_space_open_create(struct hn_space_problem *problem,
                                    const struct hn_space_part *part, struct hn_space_open **open,
                                    struct hn_error *err)
{
    struct hn_space_open *created = calloc(1, sizeof *created);
    if (created == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_space_solver_init(&created->solver, problem, part, err);
    if (status != HN_OK) {
        free(created);
        return status;
    }
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->given_back, NULL);
    *open = created;
    return HN_OK;
}

void hn_space_open_destroy(struct hn_space_open *open)
{
    if (open == NULL)
        return;
    for (size_t i = 0; i < open->idle_count; i++) {
        hn_space_search_finish(open->idle[i]);
        free(open->idle[i]);
    }
    free(open->idle);
    free(open->some);
    hn_space_counts_finish(&open->counts);
    hn_space_around_finish(&open->around);
    hn_space_plan_finish(&open->declared);
    hn_space_solver_finish(&open->solver);
    pthread_mutex_destroy(&open->lock);
    pthread_cond_destroy(&open->given_back);
    free(open);
}

static size_t count_candidates(const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    size_t count = 0;
    for (size_t i = 0; i < level->words; i++)
        count += (size_t)__builtin_popcountll(search->masks[level->mask_at + i]);
    return count;
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
        size_t count = count_candidates(search, depth);
        weight *= (double)count;
        hn_space_bind(search, depth, find_candidate(search, depth, hn_random_below(random, count)));
    }
    return weight;
}

double hn_space_open_estimate(struct hn_space_open *open)
{
    struct hn_random random = hn_random_seeded(1);
    struct hn_space_search *search = &open->solver.search;
    const uint64_t end = search->steps + MOST_PROBED;
    double sum = 0;
    int probes = 0;
    for (; probes < PROBES && search->steps < end; probes++)
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

enum hn_status hn_space_open_find_some(struct hn_space_open *open, uint64_t most_steps,
                                       struct hn_error *err)
{
    struct hn_space_search *search = &open->solver.search;
    size_t parameters = search->plan->problem->demands->space->parameter_count;
    open->some = calloc(parameters + 1, sizeof *open->some);
    if (open->some == NULL)
        return hn_fail_memory(err);
    if (search->point_count == 0) {
        const struct hn_walk_limits limits = {.points = 1, .steps = search->steps + most_steps};
        if (hn_space_walk(search, 0, &limits) == HN_WALK_NO_MEMORY)
            return hn_fail_memory(err);
    }
    if (search->point_count == 0)
        return HN_ENOTFOUND;
    hn_space_table_unpack(&open->solver.table, search->points, open->some);
    free(search->points);
    search->points = NULL;
    search->point_count = search->capacity = 0;
    return HN_OK;
}

enum hn_status hn_space_open_complete(struct hn_space_open *open, const struct hn_space_part *part,
                                      struct hn_error *err)
{
    struct hn_space_problem *problem = (struct hn_space_problem *)open->solver.plan.problem;
    enum hn_status status = hn_space_around_init(&open->around, problem, part, err);
    if (status == HN_OK)
        status = hn_space_plan_init(&open->declared, problem, part, part->parameters,
                                    &open->solver.table, err);
    if (status != HN_OK)
        return status;
    hn_space_search_finish(&open->solver.search);
    open->idle = calloc(MOST_IDLE, sizeof *open->idle);
    struct hn_space_search *first = calloc(1, sizeof *first);
    if (open->idle == NULL || first == NULL) {
        free(first);
        return hn_fail_memory(err);
    }
    status = hn_space_search_init(first, &open->solver.plan, err);
    if (status != HN_OK) {
        free(first);
        return status;
    }
    open->idle[open->idle_count++] = first;
    return HN_OK;
}

/* A search for one call. There is always one at least, which may have to be waited for. */
static struct hn_space_search *borrow(struct hn_space_open *open)
{
    struct hn_space_search *search = NULL;
    pthread_mutex_lock(&open->lock);
    if (open->idle_count > 0)
        search = open->idle[--open->idle_count];
    pthread_mutex_unlock(&open->lock);
    if (search != NULL)
        return search;
    search = calloc(1, sizeof *search);
    if (search != NULL && hn_space_search_init(search, &open->solver.plan, NULL) == HN_OK)
        return search;
    free(search);
    pthread_mutex_lock(&open->lock);
    while (open->idle_count == 0)
        pthread_cond_wait(&open->given_back, &open->lock);
    search = open->idle[--open->idle_count];
    pthread_mutex_unlock(&open->lock);
    return search;
}

static void give_back(struct hn_space_open *open, struct hn_space_search *search)
{
    pthread_mutex_lock(&open->lock);
    bool kept = open->idle_count < MOST_IDLE;
    if (kept)
        open->idle[open->idle_count++] = search;
    pthread_cond_signal(&open->given_back);
    pthread_mutex_unlock(&open->lock);
    if (kept)
        return;
    hn_space_search_finish(search);
    free(search);
}

bool hn_space_open_contains(struct hn_space_open *open, const uint16_t *choice)
{
    struct hn_space_search *search = borrow(open);
    bool contained = hn_space_around_passes(&open->around, search, choice);
    give_back(open, search);
    return contained;
}

void hn_space_open_values(struct hn_space_open *open, const uint16_t *choice, bool valid,
                          size_t parameter, uint64_t *values)
{
    struct hn_space_search *search = borrow(open);
    hn_space_around_values(&open->around, search, choice, valid, parameter, values);
    give_back(open, search);
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
    size_t count = count_candidates(search, depth);
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
    struct hn_space_search *search = borrow(open);
    if (open->counted) {
        hn_space_counts_draw(&open->counts, search, random);
        take_choice(search, choice);
    } else {
        draw_weighted(open, search, random, choice);
    }
    give_back(open, search);
}

/* The candidate of a level that comes first in declared order; SIZE_MAX when there is none left. */
static size_t first_candidate(const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < level->words; i++) {
        for (uint64_t bits = search->masks[level->mask_at + i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            if (first == SIZE_MAX || level->parts[position] < level->parts[first])
                first = position;
        }
    }
    return first;
}

static bool find_first(struct hn_space_search *search, size_t depth, const int *wanted)
{
    if (depth == search->plan->level_count)
        return true;
    if (search->steps > MOST_FIRST || !hn_space_candidates(search, depth))
        return false;
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    for (;;) {
        size_t position = first_candidate(search, depth);
        if (position == SIZE_MAX)
            return false;
        mask[position / 64] &= ~((uint64_t)1 << (position % 64));
        int index = hn_space_problem_index(search->plan->problem, level->parameter, position);
        if (wanted != NULL && wanted[level->parameter] >= 0 && wanted[level->parameter] != index)
            continue;
        hn_space_bind(search, depth, position);
        if (find_first(search, depth + 1, wanted))
            return true;
    }
}

bool hn_space_open_first(struct hn_space_open *open, const int *wanted, uint16_t *choice)
{
    struct hn_space_search search;
    if (hn_space_search_init(&search, &open->declared, NULL) != HN_OK)
        return false;
    bool found = find_first(&search, 0, wanted);
    if (found)
        take_choice(&search, choice);
    hn_space_search_finish(&search);
    return found;
}
