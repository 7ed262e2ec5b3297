/* SPDX-License-Identifier: MIT */
#include "tuner/config/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { TRIES_MOST = 100000, MIDDLE_STEPS = 64 };

void hn_family_destroy(struct hn_family *family)
{
    if (family == NULL)
        return;
    for (size_t i = 0; i < family->value_count; i++) {
        struct hn_family_value *value = &family->values[i];
        for (size_t v = 0; v < value->count; v++)
            if (value->values[v].type == HN_WORD)
                free((char *)value->values[v].word);
        free(value->values);
        free(value->name);
    }
    for (size_t i = 0; i < family->where_count; i++)
        hn_config_constraint_finish(&family->where[i]);
    for (size_t i = 0; i < family->size_count; i++)
        hn_bindings_finish(&family->sizes[i]);
    for (size_t i = 0; i < family->ladder_count; i++)
        hn_bindings_finish(&family->ladder[i]);
    free(family->ladder);
    free(family->values);
    free(family->where);
    free(family->sizes);
    free(family->weights);
    hn_bindings_finish(&family->defaults);
    free(family);
}

static bool is_number(const struct hn_value *value)
{
    return value->type == HN_INTEGER || value->type == HN_REAL;
}

static bool allows(const struct hn_family_value *value, const struct hn_value *given)
{
    if (value->kind == HN_FAMILY_RANGE)
        return given->type == HN_INTEGER && given->integer >= value->low &&
               given->integer <= value->high && given->integer % value->multiple_of == 0;
    for (size_t i = 0; i < value->count; i++)
        if (hn_value_equal(&value->values[i], given) ||
            (is_number(&value->values[i]) && is_number(given) &&
             hn_value_number(&value->values[i]) == hn_value_number(given)))
            return true;
    return false;
}

/* The first condition that does not hold, or has no value, which `reason` tells; NULL: all hold. */
static const struct hn_config_constraint *
find_broken(const struct hn_family *family, const struct hn_value *values, struct hn_error *reason)
{
    for (size_t i = 0; i < family->where_count; i++) {
        struct hn_value result;
        if (hn_expression_evaluate(family->where[i].expression, values, &result, reason) != HN_OK ||
            !hn_value_truth(&result))
            return &family->where[i];
    }
    return NULL;
}

static enum hn_status fail_value(const struct hn_family_value *value, const struct hn_value *given,
                                 struct hn_error *err)
{
    enum { LISTED = 16 };
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "found %s=", value->name);
    hn_value_append(&text, given);
    if (value->kind == HN_FAMILY_RANGE)
        hn_text_printf(&text, ", expected a whole number from %lld to %lld", (long long)value->low,
                       (long long)value->high);
    if (value->kind == HN_FAMILY_RANGE && value->multiple_of > 1)
        hn_text_printf(&text, " that is a multiple of %lld", (long long)value->multiple_of);
    for (size_t i = 0; i < value->count && i < LISTED; i++) {
        hn_text_append(&text, i == 0 ? ", expected one of " : ", ");
        hn_value_append(&text, &value->values[i]);
    }
    enum hn_status status =
        hn_fail(err, HN_ECONFIG, "%s, as the family says; widen that, or leave it out",
                text.failed ? value->name : text.data);
    hn_text_finish(&text);
    return status;
}

static enum hn_status fail_where(const struct hn_config_constraint *broken,
                                 const struct hn_error *reason, struct hn_error *err)
{
    return hn_fail(err, HN_ECONFIG, "the family's '%s' (%s) does not hold%s%s", broken->text,
                   broken->where, reason->message[0] == '\0' ? "" : ": ", reason->message);
}

static enum hn_status check(const struct hn_family *family, const struct hn_bindings *problem,
                            struct hn_value *values, struct hn_error *err)
{
    struct hn_error reason = {0};
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_value *given = hn_bindings_get(problem, family->values[i].name);
        if (given == NULL)
            return hn_fail(err, HN_ECONFIG,
                           "the problem has no '%s', of which the family has several",
                           family->values[i].name);
        if (!allows(&family->values[i], given))
            return fail_value(&family->values[i], given, err);
        values[i] = *given;
    }
    const struct hn_config_constraint *broken = find_broken(family, values, &reason);
    return broken == NULL ? HN_OK : fail_where(broken, &reason, err);
}

enum hn_status hn_family_check(const struct hn_family *family, const struct hn_bindings *problem,
                               struct hn_error *err)
{
    struct hn_value *values = calloc(family->value_count + 1, sizeof *values);
    enum hn_status status =
        values == NULL ? hn_fail_memory(err) : check(family, problem, values, err);
    free(values);
    return status;
}

bool hn_family_has(const struct hn_family *family, const struct hn_bindings *problem)
{
    return hn_family_check(family, problem, NULL) == HN_OK;
}

/* Steps of multiple_of, so that each allowed value of a range has its share. */
static int64_t value_in_range(const struct hn_family_value *value, double unit)
{
    double step = (double)value->multiple_of;
    double low = (double)value->low / step, high = (double)value->high / step + 1;
    double found = floor(value->log ? exp(log(low) + unit * (log(high) - log(low)))
                                    : low + unit * (high - low));
    /* Beyond 2^53 the end is rounded upwards. */
    if (found >= high - 1)
        return value->high;
    return found <= low ? value->low : (int64_t)found * value->multiple_of;
}

/* unit: in [0, 1). */
static struct hn_value value_at(const struct hn_family_value *value, double unit)
{
    if (value->kind == HN_FAMILY_RANGE)
        return hn_integer(value_in_range(value, unit));
    size_t index = (size_t)(unit * (double)value->count);
    return value->values[index < value->count ? index : value->count - 1];
}

/* The one above 1 with x^(n+1) = x + 1, by Newton's method from above, without a function that
 * another machine rounds otherwise. */
static double generalised_golden_ratio(size_t n)
{
    double x = 2;
    for (int step = 0; step < 64; step++) {
        double power = 1;
        for (size_t i = 0; i < n; i++)
            power *= x;
        x -= (power * x - x - 1) / ((double)(n + 1) * power - 1);
    }
    return x;
}

static bool is_fixed(const struct hn_family_value *value)
{
    return value->kind == HN_FAMILY_RANGE ? value->low == value->high : value->count == 1;
}

/* Element `index` of the sequence, in units of 2^-64: shares of a turn, which wrap around. */
static void place_values(const struct hn_family *family, uint64_t seed, uint64_t index,
                         struct hn_value *values)
{
    struct hn_random random = hn_random_seeded(seed);
    size_t free_count = 0;
    for (size_t i = 0; i < family->value_count; i++)
        free_count += !is_fixed(&family->values[i]);
    double ratio = generalised_golden_ratio(free_count > 0 ? free_count : 1);
    double step = 1;
    for (size_t i = 0; i < family->value_count; i++) {
        uint64_t turn = 0;
        if (!is_fixed(&family->values[i])) {
            step /= ratio;
            turn = hn_random_next(&random) + (index + 1) * (uint64_t)(step * 0x1p64);
        }
        values[i] = value_at(&family->values[i], (double)(turn >> 11) * 0x1p-53);
    }
}

static enum hn_status give(const struct hn_family *family, const struct hn_value *values,
                           struct hn_bindings *problem, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    hn_bindings_init(problem);
    for (size_t i = 0; i < family->value_count && status == HN_OK; i++)
        status = hn_bindings_set(problem, family->values[i].name, &values[i], err);
    if (status != HN_OK)
        hn_bindings_finish(problem);
    return status;
}

/* Fills in `values`, which has room for those of the family. */
static enum hn_status draw(const struct hn_family *family, uint64_t seed, uint64_t *at,
                           struct hn_value *values, struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_error reason = {0};
    for (int tries = 0; tries < TRIES_MOST; tries++) {
        place_values(family, seed, (*at)++, values);
        broken = find_broken(family, values, NULL);
        if (broken == NULL)
            return HN_OK;
    }
    find_broken(family, values, &reason);
    return hn_fail(err, HN_ECONFIG,
                   "%s: none of %d problems of the family satisfies its conditions; of the last "
                   "one '%s' does not hold%s%s; loosen them or change the ranges",
                   broken->where, TRIES_MOST, broken->text, reason.message[0] == '\0' ? "" : ": ",
                   reason.message);
}

enum hn_status hn_family_draw(const struct hn_family *family, uint64_t seed, uint64_t *at,
                              struct hn_bindings *problem, struct hn_error *err)
{
    struct hn_value *values = calloc(family->value_count + 1, sizeof *values);
    enum hn_status status =
        values == NULL ? hn_fail_memory(err) : draw(family, seed, at, values, err);
    if (status == HN_OK)
        status = give(family, values, problem, err);
    free(values);
    return status;
}

/* Half way of the ranges first, then ever nearer to their lower ends, then to the upper ones. */
static bool find_middle(const struct hn_family *family, struct hn_value *values)
{
    for (int step = 0; step < 2 * MIDDLE_STEPS; step++) {
        double way = step < MIDDLE_STEPS ? -step : step - MIDDLE_STEPS + 1;
        for (size_t i = 0; i < family->value_count; i++) {
            const struct hn_family_value *value = &family->values[i];
            bool numbers = value->kind == HN_FAMILY_RANGE || is_number(&value->values[0]);
            values[i] = value->kind == HN_FAMILY_LIST
                            ? value->values[numbers ? (value->count - 1) / 2 : 0]
                            : value_at(value, 0.5 + way / (2 * MIDDLE_STEPS));
        }
        if (find_broken(family, values, NULL) == NULL)
            return true;
    }
    return false;
}

enum hn_status hn_family_middle(const struct hn_family *family, struct hn_bindings *problem,
                                struct hn_error *err)
{
    uint64_t at = 0;
    if (family->size_count > 0)
        return hn_bindings_copy(problem, &family->sizes[0], err);
    struct hn_value *values = calloc(family->value_count + 1, sizeof *values);
    enum hn_status status = HN_OK;
    if (values == NULL)
        status = hn_fail_memory(err);
    else if (!find_middle(family, values))
        status = draw(family, 0, &at, values, err);
    if (status == HN_OK)
        status = give(family, values, problem, err);
    free(values);
    return status;
}
