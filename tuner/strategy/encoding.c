/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/encoding.h"

#include <math.h>
#include <stdlib.h>

enum { TWOS_MOST = 5, SAMPLE = 256 };

/* Estimates beyond it, which the median is half way to, are equal. */
static const double worst = 2;

/* False for a word. */
static bool as_number(const struct hn_value *value, double *number)
{
    if (value->type == HN_WORD)
        return false;
    *number = hn_value_number(value);
    return true;
}

static void scale(double *values, size_t count)
{
    double low = values[0];
    double high = values[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    /* a zero among powers of two switches something off */
    double shift = low == 0 && high >= 8 ? 1 : 0;
    bool logarithmic = low + shift > 0 && high + shift >= 4 * (low + shift);
    for (size_t i = 0; i < count; i++) {
        double place = logarithmic ? log2((values[i] + shift) / (low + shift)) : values[i] - low;
        values[i] = place / (logarithmic ? log2((high + shift) / (low + shift)) : high - low);
    }
}

static void add_feature(struct hn_encoding *encoding, size_t parameter, double *values,
                        bool category)
{
    encoding->values[encoding->varied] = values;
    encoding->category[encoding->varied] = category;
    encoding->parameters[encoding->varied] = parameter;
    encoding->count = ++encoding->varied;
}

static bool add_place(struct hn_encoding *encoding, size_t parameter)
{
    size_t count = hn_space_value_count(encoding->space, parameter);
    double *values = calloc(count, sizeof *values);
    if (values == NULL)
        return false;
    bool numbers = true;
    for (size_t i = 0; i < count && numbers; i++)
        numbers = as_number(hn_space_value(encoding->space, parameter, i), &values[i]);
    if (numbers)
        scale(values, count);
    for (size_t i = 0; i < count && !numbers; i++)
        values[i] = (double)i;
    add_feature(encoding, parameter, values, !numbers);
    return true;
}

/* How often 2 divides a whole number, up to a warp's 32; false for what is none. */
static bool count_twos(const struct hn_value *value, double *twos)
{
    if (value->type != HN_INTEGER || value->integer < 0)
        return false;
    int64_t rest = value->integer;
    for (*twos = 0; *twos < TWOS_MOST && rest % 2 == 0; rest /= 2)
        ++*twos;
    return true;
}

/* Warps, vectors, sectors and banks come in powers of two: 48 and 80 have in common what 64 has
 * not. Between powers of two the logarithm says as much. */
static bool add_twos(struct hn_encoding *encoding, size_t parameter)
{
    size_t count = hn_space_value_count(encoding->space, parameter);
    double *values = calloc(count, sizeof *values);
    if (values == NULL)
        return false;
    bool powers = true;
    bool differ = false;
    bool whole = true;
    for (size_t i = 0; i < count && whole; i++) {
        const struct hn_value *value = hn_space_value(encoding->space, parameter, i);
        whole = count_twos(value, &values[i]);
        powers = powers && whole && (value->integer & (value->integer - 1)) == 0;
        values[i] /= TWOS_MOST;
        differ = differ || values[i] < values[0] || values[i] > values[0];
    }
    if (whole && differ && !powers)
        add_feature(encoding, parameter, values, false);
    else
        free(values);
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The scale of estimates, by a sample: 0 is the least, 1 the median. */
static void add_estimate(struct hn_encoding *encoding)
{
    const struct hn_space *space = encoding->space;
    struct hn_random random = hn_random_seeded(0);
    uint16_t drawn[hn_space_parameter_count(space) + 1];
    double estimates[SAMPLE];
    size_t count = 0;
    for (int i = 0; i < SAMPLE; i++) {
        hn_space_sample(space, &random, drawn);
        estimates[count] = hn_space_estimate(space, drawn);
        count += isfinite(estimates[count]);
    }
    if (count == 0)
        return;
    qsort(estimates, count, sizeof *estimates, ascending);
    encoding->least_estimate = estimates[0];
    encoding->estimate_span = estimates[count / 2] - estimates[0];
    if (encoding->estimate_span > 0)
        encoding->category[encoding->count++] = false;
}

/* How bad the bad ones are is not what an estimate is good for. */
static double apply_estimate(const struct hn_encoding *encoding, const uint16_t *choice)
{
    double estimate = hn_space_estimate(encoding->space, choice) - encoding->least_estimate;
    return isnan(estimate) ? worst : fmin(estimate / encoding->estimate_span, worst);
}

enum hn_status hn_encoding_init(struct hn_encoding *encoding, const struct hn_space *space,
                                struct hn_error *err)
{
    size_t parameters = hn_space_parameter_count(space);
    *encoding = (struct hn_encoding){.space = space};
    encoding->parameters = calloc(2 * parameters + 1, sizeof *encoding->parameters);
    encoding->values = calloc(2 * parameters + 1, sizeof *encoding->values);
    encoding->category = calloc(2 * parameters + 2, sizeof *encoding->category);
    bool fine =
        encoding->parameters != NULL && encoding->values != NULL && encoding->category != NULL;
    for (size_t i = 0; i < parameters && fine; i++) {
        if (hn_space_value_count(space, i) > 1)
            fine = add_place(encoding, i);
    }
    encoding->plain = encoding->varied;
    for (size_t i = 0; i < encoding->plain && fine; i++)
        fine = add_twos(encoding, encoding->parameters[i]);
    if (fine && hn_space_has_estimate(space))
        add_estimate(encoding);
    if (fine)
        return HN_OK;
    hn_encoding_finish(encoding);
    return hn_fail_memory(err);
}

void hn_encoding_finish(struct hn_encoding *encoding)
{
    hn_prior_model_destroy(encoding->prior);
    for (size_t i = 0; encoding->values != NULL && i < encoding->varied; i++)
        free(encoding->values[i]);
    free(encoding->values);
    free(encoding->parameters);
    free(encoding->category);
    *encoding = (struct hn_encoding){0};
}

enum hn_status hn_encoding_add_prior(struct hn_encoding *encoding, const struct hn_search *search,
                                     struct hn_error *err)
{
    enum hn_status status = hn_prior_model_create(search, encoding, &encoding->prior, err);
    if (encoding->prior != NULL)
        encoding->category[encoding->count++] = false;
    return status;
}

void hn_encoding_apply(const struct hn_encoding *encoding, const uint16_t *choice, double *features)
{
    size_t count = encoding->varied;
    for (size_t i = 0; i < count; i++)
        features[i] = encoding->values[i][choice[encoding->parameters[i]]];
    if (encoding->estimate_span > 0)
        features[count++] = apply_estimate(encoding, choice);
    if (encoding->prior != NULL)
        features[count] = hn_prior_model_ask(encoding->prior, features);
}
