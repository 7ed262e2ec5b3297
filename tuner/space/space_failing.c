/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tuner/space/space_internal.h"

/* What looking for an error may cost; one that is not found in so many steps is as good as none. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MOST_STEPS = 100000 };
#else
enum { MOST_STEPS = 50000000 };
#endif
/* Combinations that are looked at to tell which constraint rejects most. */
enum { MOST_TRIED = 20000 };

/* Any point of the part; false when there is none. */
static bool find_any(struct hn_space_problem *problem, const struct hn_space_part *part,
                     uint16_t *choice)
{
    struct hn_space_solver solver;
    hn_space_solver_init(&solver, problem, part);
    const struct hn_walk_limits limits = {.points = 1, .steps = MOST_STEPS};
    (void)hn_space_walk(&solver.search, 0, &limits);
    bool found = solver.search.point_count > 0;
    if (found)
        hn_space_table_unpack(&solver.table, solver.search.points, choice);
    hn_space_solver_finish(&solver);
    return found;
}

/* A point at which the first conjuncts hold and this one has no value; false when there is none. */
static bool find_failing(const struct hn_space_demands *demands, size_t conjunct, uint16_t *choice)
{
    struct hn_space_problem problem;
    struct hn_space_parts parts = {0};
    hn_space_problem_init(&problem, demands, conjunct, conjunct);
    bool fails = !problem.empty;
    if (fails) {
        for (size_t i = 0; i < demands->space->parameter_count; i++)
            choice[i] = hn_space_problem_index(&problem, i, 0);
        hn_space_parts_init(&parts, &problem);
    }
    for (size_t i = 0; i < parts.count && fails; i++)
        fails = find_any(&problem, &parts.items[i], choice);
    hn_space_parts_finish(&parts);
    hn_space_problem_finish(&problem);
    return fails;
}

/* HN_ECONFIG: what the constraint of the conjunct says at the point, where it has no value. */
static enum hn_status fail_constraint(const struct hn_space_demands *demands, size_t conjunct,
                                      const uint16_t *choice, struct hn_error *err)
{
    const struct hn_space *space = demands->space;
    size_t source = demands->conjuncts.items[conjunct].source;
    const struct hn_space_constraint *constraint = &space->constraints[source];
    struct hn_value values[demands->slot_count + 1];
    struct hn_value result;
    struct hn_error reason = {0};
    struct hn_bindings point;
    hn_space_set_values(space, choice, values);
    hn_expression_evaluate(constraint->expression, values, &result, &reason);
    enum hn_status status = hn_space_bindings(space, choice, &point, err);
    if (status != HN_OK)
        return status;
    char *text = hn_needed(hn_bindings_text(&point));
    hn_fail(err, HN_ECONFIG,
            "%s%sconstraint %s, at the point %s; a constraint written before it can exclude such "
            "points",
            constraint->where == NULL ? "" : constraint->where,
            constraint->where == NULL ? "" : ": ", reason.message, text);
    free(text);
    hn_bindings_finish(&point);
    return HN_ECONFIG;
}

/* Once there is no such point, having no value is as good as not holding, whatever the order. */
enum hn_status hn_space_check_failing(const struct hn_space_problem *problem, struct hn_error *err)
{
    const struct hn_space_demands *demands = problem->demands;
    uint16_t choice[demands->space->parameter_count + 1];
    for (size_t i = 0; i < demands->conjuncts.count; i++)
        if (problem->may_fail[i] && find_failing(demands, i, choice))
            return fail_constraint(demands, i, choice, err);
    return HN_OK;
}

/* The first constraint that does not hold at the point. */
static size_t first_broken(const struct hn_space *space, const struct hn_value *values)
{
    for (size_t i = 0; i < space->constraint_count; i++) {
        struct hn_value result;
        if (hn_expression_evaluate(space->constraints[i].expression, values, &result, NULL) !=
                HN_OK ||
            !hn_value_truth(&result))
            return i;
    }
    return 0;
}

/* The next combination, like an odometer. */
static void step(const struct hn_space *space, uint16_t *choice)
{
    for (size_t i = space->parameter_count; i-- > 0;) {
        if (++choice[i] < space->parameters[i].count)
            return;
        choice[i] = 0;
    }
}

static void draw(const struct hn_space *space, struct hn_random *random, uint16_t *choice)
{
    for (size_t i = 0; i < space->parameter_count; i++)
        choice[i] = (uint16_t)hn_random_below(random, space->parameters[i].count);
}

/* How many of the combinations, all or a sample, each constraint is the first to reject. */
static size_t count_rejected(const struct hn_space_demands *demands, uint16_t *choice,
                             struct hn_value *values, size_t *rejected)
{
    const struct hn_space *space = demands->space;
    double cartesian = hn_space_cartesian(space);
    struct hn_random random = hn_random_seeded(1);
    size_t tried = 0;
    for (; tried < MOST_TRIED && (double)tried < cartesian; tried++) {
        if (cartesian > MOST_TRIED)
            draw(space, &random, choice);
        hn_space_set_values(space, choice, values);
        rejected[first_broken(space, values)]++;
        step(space, choice);
    }
    return tried;
}

enum hn_status hn_space_fail_empty(const struct hn_space_demands *demands, struct hn_error *err)
{
    const struct hn_space *space = demands->space;
    uint16_t *choice = hn_need(space->parameter_count, sizeof *choice);
    struct hn_value *values = hn_need(demands->slot_count, sizeof *values);
    size_t *rejected = hn_need(space->constraint_count, sizeof *rejected);
    size_t most = 0;
    size_t tried = count_rejected(demands, choice, values, rejected);
    for (size_t i = 1; i < space->constraint_count; i++)
        most = rejected[i] > rejected[most] ? i : most;
    const struct hn_space_constraint *constraint = &space->constraints[most];
    hn_fail(err, HN_ENOTFOUND,
            "%s%sno point is valid: the constraint '%s' rejects most, %zu of %zu combinations%s",
            constraint->where == NULL ? "" : constraint->where,
            constraint->where == NULL ? "" : ": ", hn_expression_text(constraint->expression),
            rejected[most], tried,
            hn_space_cartesian(space) > MOST_TRIED ? " drawn at random" : "");
    free(choice);
    free(values);
    free(rejected);
    return HN_ENOTFOUND;
}
