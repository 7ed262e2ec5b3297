/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_FAMILY_H
#define HONE_TUNER_CONFIG_FAMILY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bindings.h"
#include "base/expression/expression.h"

/* A condition as a config says it. */
struct hn_config_constraint {
    char *text;
    struct hn_expression *expression;
    char *where; /* "configs/matmul.yaml:24:5" */
    bool promising; /* says what is worth a search, not what is valid */
};

void hn_config_constraint_finish(struct hn_config_constraint *constraint);

/* A family: the problems for which a kernel is to be good, tuned or not, as `family` of a config says. */

enum {
    HN_FAMILY_CONFIGURATIONS = 16,       /* without the key */
    HN_FAMILY_CONFIGURATIONS_MOST = 255, /* of a rule */
    HN_FAMILY_SIZES_MOST = 10000
};
#define HN_FAMILY_LOSS 0.03 /* without the key */

struct hn_family_value {
    char *name;
    enum hn_family_kind { HN_FAMILY_RANGE, HN_FAMILY_LIST } kind;
    int64_t low, high, multiple_of; /* RANGE: low, low + multiple_of, ... high, all of them multiples of it */
    bool log;                       /* as likely to be in one octave as in another; low is at least 1 */
    struct hn_value *values;        /* LIST: a value that is fixed is a list of one. Owned, words too */
    size_t count;
};

struct hn_family {
    struct hn_family_value *values; /* in declared order */
    size_t value_count;
    struct hn_config_constraint *where; /* bound to the values: slot i is values[i] */
    size_t where_count;
    struct hn_bindings *sizes; /* those that matter most, complete, each once; maybe none */
    double *weights;           /* of the sizes, above 0 */
    size_t size_count;
    struct hn_bindings defaults; /* values of parameters that its default point has instead of the config's */
    struct hn_bindings *ladder;  /* points, as written, that only the tuning of the family begins with */
    size_t ladder_count;
    bool worst; /* the worst ratio is what is to be good, not the mean */
    unsigned configurations;
    double loss; /* 0.03: a mean ratio of time to the best time of 1.03 is good enough */
};

void hn_family_destroy(struct hn_family *family);

/* Whether each value of the family is among the problem's and allowed, and `where` holds, which a condition without a
 * value does not. Other values of the problem, as limits of a device, are not looked at. */
bool hn_family_has(const struct hn_family *family, const struct hn_bindings *problem);
/* The same, saying what is wrong: HN_ECONFIG. */
enum hn_status hn_family_check(const struct hn_family *family, const struct hn_bindings *problem, struct hn_error *err);

/* The first problem at or behind place *at of a sequence that `where` lets through, as bindings of their own; *at moves
 * behind it. A sequence spreads evenly from its start on (Roberts' R sequence, moved by what the seed says), is the same on
 * every machine, and may repeat itself where there is little to choose from. HN_ECONFIG: none was found. */
enum hn_status hn_family_draw(const struct hn_family *family, uint64_t seed, uint64_t *at, struct hn_bindings *problem,
                              struct hn_error *err);

/* What stands for the family where one problem is asked for: the first of its sizes, or a problem in the middle of its
 * ranges (of logarithms where the scale is log), and of lists of numbers, with the first of other lists; nearer to their
 * lower ends where `where` says so. HN_ECONFIG: none was found. */
enum hn_status hn_family_middle(const struct hn_family *family, struct hn_bindings *problem, struct hn_error *err);

#endif
