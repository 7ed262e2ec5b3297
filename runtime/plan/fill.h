/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_FILL_H
#define HONE_RUNTIME_PLAN_FILL_H

#include "base/expression/expression.h"
#include "runtime/plan/element.h"

/* How the contents of a buffer come about: X(identifier, name, numbers). Element i depends on the seed, the argument's
 * index and i only.
 *   uniform(low, high)       reals in [low, high); integers with both ends
 *   normal(mean, deviation)
 *   iota(start, step)        start + step * i
 *   constant(value)
 *   permutation()            the numbers from 0 to count - 1, each once, in an order that the seed gives
 *   skewed(n, share)         0 with probability share + (1 - share) / n, each of 1 to n - 1 with (1 - share) / n
 *   zipf(n, exponent)        k with probability (k + 1)^-exponent / sum of j^-exponent for j from 1 to n, 0 <= k < n
 *   sorted(low, high)        as uniform, in ascending order: one of each of count equal parts
 *   csr_rows(n, spread)      the first entry of each row of a sparse matrix of count - 1 rows with n entries in the mean
 *   csr_columns(x, n)        a column under n for each entry of the rows in x, ascending in each row
 *   transposed(x, rows)      element j * rows + i is element i * (count / rows) + j of x */
#define HN_FILLS(X)                                                                                                    \
    X(HN_FILL_UNIFORM, "uniform", 2)                                                                                   \
    X(HN_FILL_NORMAL, "normal", 2)                                                                                     \
    X(HN_FILL_IOTA, "iota", 2)                                                                                         \
    X(HN_FILL_CONSTANT, "constant", 1)                                                                                 \
    X(HN_FILL_PERMUTATION, "permutation", 0)                                                                           \
    X(HN_FILL_SKEWED, "skewed", 2)                                                                                     \
    X(HN_FILL_ZIPF, "zipf", 2)                                                                                         \
    X(HN_FILL_SORTED, "sorted", 2)                                                                                     \
    X(HN_FILL_CSR_ROWS, "csr_rows", 2)                                                                                 \
    X(HN_FILL_CSR_COLUMNS, "csr_columns", 1)                                                                           \
    X(HN_FILL_TRANSPOSED, "transposed", 1)                                                                             \
    X(HN_FILL_FILE, "file", 0) /* as it stands in a file */

enum hn_fill_kind {
#define X(identifier, name, numbers) identifier,
    HN_FILLS(X)
#undef X
        HN_FILL_COUNT
};

struct hn_fill {
    enum hn_fill_kind kind;
    double numbers[2];
    struct hn_expression *expressions[2]; /* of the problem, for numbers that are not written out; else NULL */
    char *file;                           /* of HN_FILL_FILE: absolute */
    char *of;                             /* of what hn_fill_has_source: the name of another input */
};

const char *hn_fill_kind_name(enum hn_fill_kind kind);
/* Whether it follows from another input, which it names before its numbers. */
bool hn_fill_has_source(enum hn_fill_kind kind);
/* `numbers` is how many the kind takes: 0 to 2. */
bool hn_fill_kind_parse(const char *name, enum hn_fill_kind *kind, int *numbers);

/* The fill with all its numbers, which borrows names. HN_EVALUE. */
enum hn_status hn_fill_resolve(const struct hn_fill *fill, const struct hn_value *values, struct hn_fill *resolved,
                               struct hn_error *err);
/* Whether a fill with all its numbers makes sense for `count` such elements. Otherwise `why` goes on after "found
 * '<fill>', ". */
bool hn_fill_check(const struct hn_fill *fill, enum hn_element element, uint64_t count, char *why, size_t size);

#endif
