/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tuner/space/space_internal.h"

/* The work that an order makes is estimated from the share of combinations that each check lets
 * pass, as if checks were independent; the share is that of a sample. */
enum { SAMPLES = 64, MOST_MOVES = 20000 };

/* Below this the declared order is good enough. */
static const double few_combinations = 20000;
/* Points found in declared order need not be sorted. */
static const double declared_bonus = 1.5;

struct guess {
    struct hn_space_problem *problem;
    const struct hn_space_part *part;
    double *share;  /* of combinations that pass, by check of the part */
    size_t *rank;   /* by slot, in the order that is judged */
    size_t *trial;  /* an order */
    double *factor; /* by level: what the checks completed there let pass */
    uint16_t *positions;
    struct hn_value *current;
    union hn_cell *cells;
    struct hn_space_gatherer gatherer;
};

/* A random position of each parameter that the check depends on. */
static void draw_positions(struct guess *guess, const struct hn_space_check *check,
                           struct hn_random *random)
{
    for (size_t i = 0; i < guess->part->parameter_count; i++) {
        size_t parameter = guess->part->parameters[i];
        const struct hn_domain *domain = &guess->problem->domains[parameter];
        if (!hn_has_slot(check->slots, parameter))
            continue;
        size_t position = hn_random_below(random, domain->count);
        guess->positions[parameter] = (uint16_t)position;
        guess->current[parameter] = domain->values[position];
    }
}

static bool passes(struct guess *guess, const struct hn_space_check *check)
{
    const struct hn_space_problem *problem = guess->problem;
    if (check->term < 0)
        return hn_expression_truth(problem->demands->conjuncts.items[check->conjunct].expression,
                                   guess->current) == (check->failing ? HN_NO_VALUE : HN_TRUE);
    for (size_t i = 0; i < guess->gatherer.count; i++) {
        struct hn_instruction instruction =
            hn_terms_instruction(&problem->terms, guess->gatherer.found[i]);
        hn_instructions_run(&instruction, 1, guess->positions, guess->cells);
    }
    return guess->cells[check->term].integer != 0;
}

static double sample_share(struct guess *guess, const struct hn_space_check *check,
                           struct hn_random *random)
{
    double passed = 0.5;
    if (check->term >= 0)
        hn_space_gather(&guess->gatherer, check->term);
    for (size_t i = 0; i < SAMPLES; i++) {
        draw_positions(guess, check, random);
        passed += passes(guess, check);
    }
    return passed / (SAMPLES + 1);
}

static double values_of(const struct guess *guess, size_t parameter)
{
    return (double)guess->problem->domains[parameter].count;
}

static const uint64_t *slots_of(const struct guess *guess, size_t check)
{
    return guess->problem->checks[guess->part->checks[check]].slots;
}

/* The last level at which one of the check's parameters is bound. */
static size_t completed_at(const struct guess *guess, size_t check)
{
    const uint64_t *slots = slots_of(guess, check);
    size_t last = 0;
    for (size_t i = 0; i < guess->problem->terms.slot_words; i++) {
        for (uint64_t bits = slots[i]; bits != 0; bits &= bits - 1) {
            size_t rank = guess->rank[64 * i + (size_t)__builtin_ctzll(bits)];
            last = rank > last ? rank : last;
        }
    }
    return last;
}

/* Values that have to be tried in all. */
static double work_of(struct guess *guess, const size_t *order)
{
    size_t count = guess->part->parameter_count;
    for (size_t i = 0; i < count; i++) {
        guess->rank[order[i]] = i;
        guess->factor[i] = 1;
    }
    for (size_t i = 0; i < guess->part->check_count; i++)
        guess->factor[completed_at(guess, i)] *= guess->share[i];
    double nodes = 1;
    double work = 0;
    for (size_t i = 0; i < count; i++) {
        double values = values_of(guess, order[i]);
        work += nodes * (4 + 0.25 * values);
        nodes *= values * guess->factor[i];
    }
    return work;
}

static void move(size_t *order, size_t from, size_t to)
{
    size_t moved = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

/* Moves the parameter to where that makes less work; true when it was moved. */
static bool move_better(struct guess *guess, size_t *order, size_t from, double *work)
{
    size_t count = guess->part->parameter_count;
    for (size_t to = 0; to < count; to++) {
        if (from == to)
            continue;
        move(order, from, to);
        double trial = work_of(guess, order);
        if (trial < *work * 0.999) {
            *work = trial;
            return true;
        }
        move(order, to, from);
    }
    return false;
}

/* Moves single parameters as long as that helps. */
static double improve(struct guess *guess, size_t *order)
{
    size_t count = guess->part->parameter_count;
    double work = work_of(guess, order);
    size_t moves = 0;
    for (bool better = true; better;) {
        better = false;
        for (size_t from = 0; from < count && moves < MOST_MOVES; from++) {
            moves += count;
            better = move_better(guess, order, from, &work) || better;
        }
    }
    return work;
}

static void choose(struct guess *guess, size_t *order)
{
    size_t count = guess->part->parameter_count;
    struct hn_random random = hn_random_seeded(1);
    hn_terms_set_constants(&guess->problem->terms, guess->cells);
    for (size_t i = 0; i < guess->part->check_count; i++) {
        const struct hn_space_check *check = &guess->problem->checks[guess->part->checks[i]];
        guess->share[i] = sample_share(guess, check, &random);
    }
    double declared = work_of(guess, order);
    memcpy(guess->trial, order, count * sizeof *order);
    if (improve(guess, guess->trial) * declared_bonus < declared)
        memcpy(order, guess->trial, count * sizeof *order);
}

void hn_space_order(struct hn_space_problem *problem, const struct hn_space_part *part,
                    size_t *order)
{
    double combinations = 1;
    memcpy(order, part->parameters, part->parameter_count * sizeof *order);
    for (size_t i = 0; i < part->parameter_count; i++)
        combinations *= (double)problem->domains[part->parameters[i]].count;
    if (combinations <= few_combinations)
        return;
    size_t slots = problem->demands->slot_count;
    struct guess guess = {.problem = problem,
                          .part = part,
                          .share = hn_need(part->check_count, sizeof *guess.share),
                          .rank = hn_need(slots, sizeof *guess.rank),
                          .trial = hn_need(slots, sizeof *guess.trial),
                          .factor = hn_need(slots, sizeof *guess.factor),
                          .positions = hn_need(slots, sizeof *guess.positions),
                          .current = hn_need(slots, sizeof *guess.current),
                          .cells = hn_need(problem->terms.count, sizeof *guess.cells)};
    memcpy(guess.current, problem->current, slots * sizeof *guess.current);
    hn_space_gatherer_init(&guess.gatherer, &problem->terms);
    choose(&guess, order);
    hn_space_gatherer_finish(&guess.gatherer);
    free(guess.share);
    free(guess.rank);
    free(guess.trial);
    free(guess.factor);
    free(guess.positions);
    free(guess.current);
    free(guess.cells);
}
