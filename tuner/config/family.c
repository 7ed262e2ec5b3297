/* SPDX-License-Identifier: MIT */
#include "tuner/config/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

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

static void fail_value(const struct hn_family_value *value, const struct hn_value *given,
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
    hn_fail(err, HN_ECONFIG, "%s, as the family says; widen that, or leave it out",
            (const char *)hn_needed(text.data));
    hn_text_finish(&text);
}

enum hn_status hn_family_check(const struct hn_family *family, const struct hn_bindings *problem,
                               struct hn_error *err)
{
    struct hn_error ignored, reason = {0};
    struct hn_value *values = hn_need(family->value_count, sizeof *values);
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    for (size_t i = 0; i < family->value_count && !hn_failed(err); i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *given = hn_bindings_get(problem, value->name);
        if (given == NULL)
            hn_fail(err, HN_ECONFIG, "the problem has no '%s', of which the family has several",
                    value->name);
        else if (!allows(value, given))
            fail_value(value, given, err);
        else
            values[i] = *given;
    }
    const struct hn_config_constraint *broken =
        hn_failed(err) ? NULL : find_broken(family, values, &reason);
    if (broken != NULL)
        hn_fail(err, HN_ECONFIG, "the family's '%s' (%s) does not hold%s%s", broken->text,
                broken->where, reason.message[0] == '\0' ? "" : ": ", reason.message);
    free(values);
    return err->status;
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

static void give(const struct hn_family *family, const struct hn_value *values,
                 struct hn_bindings *problem, struct hn_error *err)
{
    hn_bindings_init(problem);
    for (size_t i = 0; i < family->value_count && !hn_failed(err); i++)
        hn_bindings_set(problem, family->values[i].name, &values[i], err);
}

/* Fills in `values`, which has room for those of the family. */
static void draw(const struct hn_family *family, uint64_t seed, uint64_t *at,
                 struct hn_value *values, struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_error reason = {0};
    for (int tries = 0; tries < TRIES_MOST; tries++) {
        place_values(family, seed, (*at)++, values);
        broken = find_broken(family, values, NULL);
        if (broken == NULL)
            return;
    }
    find_broken(family, values, &reason);
    hn_fail(err, HN_ECONFIG,
            "%s: none of %d problems of the family satisfies its conditions; of the last "
            "one '%s' does not hold%s%s; loosen them or change the ranges",
            broken->where, TRIES_MOST, broken->text, reason.message[0] == '\0' ? "" : ": ",
            reason.message);
}

enum hn_status hn_family_draw(const struct hn_family *family, uint64_t seed, uint64_t *at,
                              struct hn_bindings *problem, struct hn_error *err)
{
    struct hn_error ignored;
    struct hn_value *values = hn_need(family->value_count, sizeof *values);
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    draw(family, seed, at, values, err);
    give(family, values, problem, err);
    free(values);
    return err->status;
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
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    if (family->size_count > 0)
        return hn_bindings_copy(problem, &family->sizes[0], err);
    struct hn_value *values = hn_need(family->value_count, sizeof *values);
    hn_error_init(err);
    if (!find_middle(family, values))
        draw(family, 0, &at, values, err);
    give(family, values, problem, err);
    free(values);
    return err->status;
}
