/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/space_internal.h"

/* What a config can make us hold and try: a few lines of it describe more points than any machine
 * has memory and time for. MOST_TRIED, steps that led to no
 * point, take seconds, with long constraints minutes. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MOST_POINTS = 20000, MOST_TRIED = 100000 };
#else
enum { MOST_POINTS = 100000000, MOST_TRIED = 200000000 };
#endif
#define MOST_BYTES ((uint64_t)2 << 30)

/* The search binds parameter order[d] at depth d and then checks the constraints checks[first[d +
 * 1]..first[d + 2]); first[0]..first[1] are those without parameters. Among the constraints of one
 * depth the written order holds.
 *
 * A constraint that may fail (division by zero) must be seen wherever all that was written before
 * it holds. So nothing written after it is checked before it: a subtree that was cut by a later
 * constraint could hide the error. */
struct build {
    struct hn_space *space;
    struct hn_value *values; /* by slot */
    uint16_t *choice;
    size_t *order;
    size_t *depth; /* of a constraint's check */
    size_t *first;
    size_t *checks;
    double *below;    /* combinations of the parameters bound at depth d and deeper */
    double *rejected; /* combinations that a constraint has cut */
    uint64_t capacity;
    uint64_t most_points;
    uint64_t tried; /* choices of a value for a parameter */
    struct hn_error *err;
};

static enum hn_status bind_constraints(struct hn_space *space, struct hn_error *err)
{
    size_t name_count = space->parameter_count + space->constant_count;
    size_t word_count = space->constant_count + space->word_count;
    for (size_t i = 0; i < space->parameter_count; i++)
        word_count += space->parameters[i].count;
    const char **names = calloc(name_count + 1, sizeof *names);
    const char **words = calloc(word_count + 1, sizeof *words);
    enum hn_status status = HN_OK;
    if (names == NULL || words == NULL) {
        status = hn_fail_memory(err);
        goto free_lists;
    }

    word_count = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        names[i] = parameter->name;
        for (size_t j = 0; j < parameter->count; j++) {
            if (parameter->values[j].type == HN_WORD)
                words[word_count++] = parameter->values[j].word;
        }
    }
    for (size_t i = 0; i < space->constant_count; i++) {
        names[space->parameter_count + i] = space->constants[i].name;
        if (space->constants[i].value.type == HN_WORD)
            words[word_count++] = space->constants[i].value.word;
    }
    for (size_t i = 0; i < space->word_count; i++)
        words[word_count++] = space->words[i];
    const struct hn_scope scope = {names, name_count, words, word_count};
    for (size_t i = 0; i < space->constraint_count && status == HN_OK; i++) {
        const struct hn_space_constraint *constraint = &space->constraints[i];
        struct hn_error reason;
        status = hn_expression_bind(constraint->expression, &scope, &reason);
        if (status != HN_OK)
            hn_fail(err, status, "%s%sconstraint '%s': %s",
                    constraint->where == NULL ? "" : constraint->where,
                    constraint->where == NULL ? "" : ": ",
                    hn_expression_text(constraint->expression), reason.message);
    }

free_lists:
    free(words);
    free(names);
    return status;
}

/* How many parameters of the order have to be bound before the constraint can be evaluated. */
static size_t own_depth(const struct build *build, size_t constraint)
{
    const struct hn_space *space = build->space;
    for (size_t depth = space->parameter_count; depth > 0; depth--) {
        if (hn_expression_uses(space->constraints[constraint].expression, build->order[depth - 1]))
            return depth;
    }
    return 0;
}

static void place_checks(struct build *build)
{
    const struct hn_space *space = build->space;
    size_t earliest = 0;
    for (size_t i = 0; i < space->constraint_count; i++) {
        size_t depth = own_depth(build, i);
        build->depth[i] = depth > earliest ? depth : earliest;
        if (build->depth[i] > earliest && hn_space_may_fail(space, i, build->values))
            earliest = build->depth[i];
    }
    size_t count = 0;
    for (size_t depth = 0; depth <= space->parameter_count; depth++) {
        build->first[depth] = count;
        for (size_t i = 0; i < space->constraint_count; i++) {
            if (build->depth[i] == depth)
                build->checks[count++] = i;
        }
    }
    build->first[space->parameter_count + 1] = count;
}

static enum hn_status prepare(struct build *build)
{
    struct hn_space *space = build->space;
    size_t n = space->parameter_count;
    build->values = calloc(n + space->constant_count + 1, sizeof *build->values);
    build->choice = calloc(n + 1, sizeof *build->choice);
    build->order = calloc(n + 1, sizeof *build->order);
    build->depth = calloc(space->constraint_count + 1, sizeof *build->depth);
    build->first = calloc(n + 2, sizeof *build->first);
    build->checks = calloc(space->constraint_count + 1, sizeof *build->checks);
    build->below = calloc(n + 1, sizeof *build->below);
    build->rejected = calloc(space->constraint_count + 1, sizeof *build->rejected);
    if (build->values == NULL || build->choice == NULL || build->order == NULL ||
        build->depth == NULL || build->first == NULL || build->checks == NULL ||
        build->below == NULL || build->rejected == NULL)
        return hn_fail_memory(build->err);

    for (size_t i = 0; i < space->constant_count; i++)
        build->values[n + i] = space->constants[i].value;
    enum hn_status status = hn_space_order(space, build->order, build->err);
    if (status != HN_OK)
        return status;
    place_checks(build);
    build->below[n] = 1;
    for (size_t depth = n; depth-- > 0;)
        build->below[depth] =
            build->below[depth + 1] * (double)space->parameters[build->order[depth]].count;
    return HN_OK;
}

static void finish(struct build *build)
{
    free(build->values);
    free(build->choice);
    free(build->order);
    free(build->depth);
    free(build->first);
    free(build->checks);
    free(build->below);
    free(build->rejected);
}

static enum hn_status append_point(struct build *build)
{
    struct hn_space *space = build->space;
    if (space->size == build->most_points)
        return hn_fail(build->err, HN_ECONFIG,
                       "more than %" PRIu64
                       " points are valid; add constraints, or restrict parameters",
                       build->most_points);
    if (space->size == build->capacity) {
        uint64_t capacity = build->capacity == 0 ? 1024 : 2 * build->capacity;
        /* a space of single values has a stride of 0 */
        unsigned char *points = realloc(space->points, capacity * (space->stride + 1));
        if (points == NULL)
            return hn_fail_memory(build->err);
        space->points = points;
        build->capacity = capacity;
    }
    hn_space_pack(space, build->choice, space->points + space->size * space->stride);
    space->size++;
    return HN_OK;
}

/* All constraints before this one hold at the point, and it has no value there. */
static enum hn_status fail_constraint(const struct build *build, size_t failing)
{
    const struct hn_space_constraint *constraint = &build->space->constraints[failing];
    struct hn_error reason;
    struct hn_value result;
    hn_expression_evaluate(constraint->expression, build->values, &result, &reason);
    struct hn_bindings point;
    enum hn_status status = hn_space_bindings(build->space, build->choice, &point, build->err);
    if (status != HN_OK)
        return status;
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, &point);
    hn_fail(build->err, HN_ECONFIG,
            "%s%sconstraint %s, at the point %s; a constraint written before it can exclude such "
            "points",
            constraint->where == NULL ? "" : constraint->where,
            constraint->where == NULL ? "" : ": ", reason.message, text.failed ? "" : text.data);
    hn_text_finish(&text);
    hn_bindings_finish(&point);
    return HN_ECONFIG;
}

/* False when a constraint rejects. A constraint without a value becomes the limit: only what was
 * written before it is asked from there on, and if all of that holds the error counts. */
static bool check(struct build *build, size_t depth, size_t *limit)
{
    const struct hn_space *space = build->space;
    for (size_t i = build->first[depth]; i < build->first[depth + 1]; i++) {
        size_t constraint = build->checks[i];
        if (constraint >= *limit)
            break;
        struct hn_value result;
        if (hn_expression_evaluate(space->constraints[constraint].expression, build->values,
                                   &result, NULL) != HN_OK) {
            *limit = constraint;
            break;
        }
        if (!hn_value_truth(&result)) {
            build->rejected[constraint] += build->below[depth];
            return false;
        }
    }
    return true;
}

static enum hn_status fail_tried(const struct build *build)
{
    return hn_fail(build->err, HN_ECONFIG,
                   "%" PRIu64 " steps through the %.3g combinations of the parameters found only "
                   "%" PRIu64
                   " valid points; write constraints over fewer parameters, so that they "
                   "decide sooner, or restrict parameters",
                   build->tried - 1, build->below[0], build->space->size);
}

static enum hn_status search(struct build *build, size_t depth, size_t limit)
{
    const struct hn_space *space = build->space;
    if (depth == space->parameter_count)
        return limit < space->constraint_count ? fail_constraint(build, limit)
                                               : append_point(build);
    size_t bound = build->order[depth];
    const struct hn_space_parameter *parameter = &space->parameters[bound];
    for (size_t i = 0; i < parameter->count; i++) {
        size_t inner_limit = limit;
        if (++build->tried > MOST_TRIED + 4 * space->size)
            return fail_tried(build);
        build->choice[bound] = (uint16_t)i;
        build->values[bound] = parameter->values[i];
        if (!check(build, depth + 1, &inner_limit))
            continue;
        enum hn_status status = search(build, depth + 1, inner_limit);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static enum hn_status fail_empty(const struct build *build)
{
    const struct hn_space *space = build->space;
    size_t most = 0;
    for (size_t i = 1; i < space->constraint_count; i++) {
        if (build->rejected[i] > build->rejected[most])
            most = i;
    }
    const struct hn_space_constraint *constraint = &space->constraints[most];
    return hn_fail(
        build->err, HN_ENOTFOUND,
        "%s%sno point is valid: the constraint '%s' rejects most, %.0f of %.0f "
        "combinations",
        constraint->where == NULL ? "" : constraint->where, constraint->where == NULL ? "" : ": ",
        hn_expression_text(constraint->expression), build->rejected[most], build->below[0]);
}

/* Gives back what the doubling left over. */
static void shrink(struct hn_space *space)
{
    unsigned char *points = realloc(space->points, space->size * space->stride + 1);
    if (points != NULL)
        space->points = points;
}

enum hn_status hn_space_build(struct hn_space *space, struct hn_error *err)
{
    free(space->points);
    space->points = NULL;
    space->size = 0;
    struct build build = {.space = space, .err = err};
    enum hn_status status = bind_constraints(space, err);
    if (status == HN_OK)
        status = prepare(&build);
    if (status != HN_OK)
        goto finish_build;

    build.most_points = MOST_BYTES / (space->stride + 1);
    if (build.most_points > MOST_POINTS)
        build.most_points = MOST_POINTS;
    size_t limit = space->constraint_count;
    if (check(&build, 0, &limit))
        status = search(&build, 0, limit);
    if (status == HN_OK && space->size == 0)
        status = fail_empty(&build);
    if (status == HN_OK)
        status = hn_space_sort(space, err);
    if (status == HN_OK)
        shrink(space);
    else
        space->size = 0;

finish_build:
    finish(&build);
    return status;
}

enum hn_status hn_space_build_from(struct hn_space *space, const uint16_t *choices, uint64_t count,
                                   struct hn_error *err)
{
    free(space->points);
    space->size = 0;
    space->points = malloc(count * space->stride + 1);
    if (space->points == NULL)
        return hn_fail_memory(err);
    if (count == 0)
        return hn_fail(err, HN_ECONFIG, "there is no point");
    for (uint64_t i = 0; i < count; i++)
        hn_space_pack(space, choices + i * space->parameter_count,
                      space->points + i * space->stride);
    space->size = count;
    enum hn_status status = hn_space_sort(space, err);
    for (uint64_t i = 1; i < count && status == HN_OK; i++) {
        const unsigned char *point = space->points + i * space->stride;
        if (memcmp(point - space->stride, point, space->stride) == 0)
            status = hn_fail(err, HN_ECONFIG, "a point is given twice");
    }
    if (status != HN_OK)
        space->size = 0;
    return status;
}
