/* SPDX-License-Identifier: MIT */
#include "runtime/plan/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fill_info {
    const char *name;
    int numbers;
};

static const struct fill_info fills[HN_FILL_COUNT] = {
#define X(identifier, name, numbers) [identifier] = {name, numbers},
    HN_FILLS(X)
#undef X
};

const char *hn_fill_kind_name(enum hn_fill_kind kind)
{
    return fills[kind].name;
}

bool hn_fill_has_source(enum hn_fill_kind kind)
{
    return kind == HN_FILL_CSR_COLUMNS || kind == HN_FILL_TRANSPOSED;
}

bool hn_fill_kind_parse(const char *name, enum hn_fill_kind *kind, int *numbers)
{
    for (int i = 0; i < HN_FILL_COUNT; i++) {
        if (strcmp(fills[i].name, name) == 0) {
            *kind = (enum hn_fill_kind)i;
            *numbers = fills[i].numbers;
            return true;
        }
    }
    return false;
}

enum hn_status hn_fill_resolve(const struct hn_fill *fill, const struct hn_value *values,
                               struct hn_fill *resolved, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    *resolved = *fill;
    for (int i = 0; i < 2 && status == HN_OK; i++) {
        resolved->expressions[i] = NULL;
        if (fill->expressions[i] != NULL)
            status = hn_expression_number(fill->expressions[i], values, &resolved->numbers[i], err);
    }
    return status;
}

/* The largest of the numbers from 0 on that are all there in the type. */
static double last_whole(enum hn_element element)
{
    static const int fraction_bits[HN_ELEMENT_COUNT] = {[HN_FLOAT16] = 11,
                                                        [HN_BFLOAT16] = 8,
                                                        [HN_FLOAT8_E4M3] = 4,
                                                        [HN_FLOAT32] = 24,
                                                        [HN_FLOAT64] = 53};
    int64_t low, high;
    if (hn_element_is_real(element))
        return ldexp(1, fraction_bits[element]);
    hn_element_range(element, &low, &high);
    return (double)high;
}

static bool refuse(char *why, size_t size, const char *what, enum hn_element element)
{
    snprintf(why, size, what, hn_element_name(element));
    return false;
}

/* Numbers from 0 to n - 1. */
static bool check_numbers(double n, enum hn_element element, char *why, size_t size)
{
    if (n < 1 || n != floor(n))
        return refuse(why, size, "expected a whole number of values, at least 1", element);
    if (n - 1 > last_whole(element))
        return refuse(why, size, "which does not fit into %s", element);
    return true;
}

static bool check_integers(const struct hn_fill *fill, enum hn_element element, char *why,
                           size_t size)
{
    int64_t low, high;
    double a = fill->numbers[0];
    double b = fill->numbers[1];
    if (hn_element_is_real(element))
        return true;
    if (a != floor(a) || (fill->kind != HN_FILL_NORMAL && b != floor(b)))
        return refuse(why, size, "expected whole numbers for elements of %s", element);
    hn_element_range(element, &low, &high);
    double most = element == HN_UINT64 ? ldexp(1, 64) : (double)high;
    bool fits = a >= (double)low && a <= most;
    if (fill->kind == HN_FILL_UNIFORM || fill->kind == HN_FILL_SORTED)
        fits = fits && b >= (double)low && b <= most;
    return fits || refuse(why, size, "which does not fit into %s", element);
}

bool hn_fill_check(const struct hn_fill *fill, enum hn_element element, uint64_t count, char *why,
                   size_t size)
{
    double a = fill->numbers[0];
    double b = fill->numbers[1];
    if (!isfinite(a) || !isfinite(b))
        return refuse(why, size, "expected finite numbers", element);
    switch (fill->kind) {
    case HN_FILL_FILE:
        return true;
    case HN_FILL_PERMUTATION:
        return check_numbers((double)count, element, why, size);
    case HN_FILL_SKEWED:
        if (b < 0 || b > 1)
            return refuse(why, size, "expected skewed(n, share) with a share from 0 to 1", element);
        return check_numbers(a, element, why, size);
    case HN_FILL_ZIPF:
        if (b < 0)
            return refuse(why, size, "expected zipf(n, exponent) with an exponent of at least 0",
                          element);
        return check_numbers(a, element, why, size);
    case HN_FILL_CSR_ROWS:
        if (hn_element_is_real(element) || count < 2)
            return refuse(why, size, "expected integers, one more than the matrix has rows",
                          element);
        if (a < 0 || b < 0 || b > 1)
            return refuse(
                why, size,
                "expected csr_rows(entries, spread) with entries of at least 0 a row and a "
                "spread from 0 to 1",
                element);
        return check_numbers(floor(a * (double)(count - 1)) + 1, element, why, size);
    case HN_FILL_CSR_COLUMNS:
        return check_numbers(a, element, why, size);
    case HN_FILL_TRANSPOSED:
        if (a < 1 || a != floor(a) || a > (double)count || count % (uint64_t)a != 0)
            return refuse(why, size, "expected a number of rows that divides that of elements",
                          element);
        return true;
    case HN_FILL_SORTED:
        if (a > b)
            return refuse(why, size, "expected sorted(low, high) with the lower bound first",
                          element);
        break;
    case HN_FILL_UNIFORM:
        if (a > b)
            return refuse(why, size, "expected uniform(low, high) with the lower bound first",
                          element);
        break;
    case HN_FILL_NORMAL:
        if (b < 0)
            return refuse(why, size, "expected a deviation of at least 0", element);
        break;
    default:
        break;
    }
    return check_integers(fill, element, why, size);
}
