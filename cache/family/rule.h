/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_FAMILY_RULE_H
#define HONE_CACHE_FAMILY_RULE_H

#include "base/bindings.h"
#include "base/expression/expression.h"
#include "base/schema.h"

/* Which configuration serves a problem of a family that nobody measured: a decision tree over features of the problem,
 * learnt from configurations that were measured at many problems; or, where the config has a `prior` that tells better, the
 * configuration that costs least by it, of those that the tree's leaf names. The library asks them, and the exported header spells the same out in C
 * (tuner/export/export_family.c; a test compares the answers). */

enum {
    HN_RULE_VALUES_MOST = 32,
    HN_RULE_WORDS_MOST = 64,
    HN_RULE_FEATURES_MOST = 255,
    HN_RULE_NODES_MOST = 4095,
    HN_RULE_CONFIGURATIONS_MOST = 255,
    HN_RULE_PARAMETERS_MOST = 255,
};

/* An expression of the problem values with an integer as its value: "M", "M * N", "ceil_div(M, 128)", "ORDER == row". */
struct hn_rule_feature {
    char *text;
    struct hn_expression *expression; /* made by hn_rule_complete */
};

/* A child stands behind its parent, and has one. */
struct hn_rule_node {
    int feature; /* below 0: a leaf */
    int64_t threshold;
    int32_t left, right;   /* nodes: where the feature is at most the threshold, and where it is above */
    int32_t configuration; /* of a leaf */
    int *among;            /* of a leaf of a rule with costs: the configurations that are compared; none: all are */
    size_t among_count;
    bool sure;             /* of a leaf: what it says does not hang on a guess */
};

/* What the rule was learnt for: numbers from low to high, or words (which it owns, as values). Others are brought to the
 * nearest of these, a word to the first, before features are evaluated. */
struct hn_rule_value {
    char *name;
    double low, high;
    bool real; /* 1.0, which is no 1 where it is a constant of a program */
    struct hn_value *words;
    size_t word_count; /* 0: a number */
};

/* What is lost to the best that is known, as a share: 0.021 is 2.1% slower, over so many problems. */
struct hn_rule_loss {
    double mean, worst;
    size_t sizes; /* 0: not known */
};

/* The measured loss told apart: its parts multiply to it. */
struct hn_rule_parts {
    struct hn_rule_loss choice;   /* of what is chosen to the best of the configurations */
    struct hn_rule_loss coverage; /* of that one to the best point that serves all sizes */
    struct hn_rule_loss freezing; /* of that point to the best of all, also those for which sizes are constants */
};

struct hn_rule {
    struct hn_rule_value *values; /* by name, as bindings are; all values of the problem */
    size_t value_count;
    struct hn_rule_feature *features;
    size_t feature_count;
    struct hn_rule_node *nodes; /* the first is the root */
    size_t node_count;
    struct hn_bindings *configurations; /* points of the space */
    size_t configuration_count;
    /* What a configuration costs at a problem, of problem values and parameters: of those that the leaf names the usable one that costs
     * least is taken, and the tree says whether that is sure. NULL: the leaf's own is taken. Where none of these can be used the second
     * is, or the third and so on, the first at last. `corrections` has for each configuration a number, then
     * one for each value of the problem: the logarithm of the cost is log(cost) + c[0] + the sum of c[1 + i] * log(max(1, value i)),
     * of words 0. */
    struct hn_expression *cost;
    double *corrections;
    size_t correction_count;
    struct hn_rule_loss predicted; /* by leaving out problems that it was learnt from */
    struct hn_rule_loss measured;  /* at problems that were drawn when the rule was fixed */
    struct hn_rule_parts parts;    /* of the measured loss */
    bool worst;                    /* learnt for the worst loss, not for the mean */
    size_t bytes;                  /* of the machine code of all configurations; 0: not known */
};

/* Frees what the rule owns: each array and what is in it. Begin with all zero. */
void hn_rule_finish(struct hn_rule *rule);

/* Parses the features, binds them to the values, and checks the whole: the nodes are a tree, every index is in its range, the
 * features have an integer as their value at the corners of what the rule was learnt for. HN_ECONFIG says what is wrong.
 * Before anything below is called. */
enum hn_status hn_rule_complete(struct hn_rule *rule, struct hn_error *err);

/* The value of each feature at a problem, and whether the problem is `inside` of what the rule was learnt for. False: the
 * problem has other names, or a word where a number was and the other way. A feature without a value is 0. */
bool hn_rule_evaluate(const struct hn_rule *rule, const struct hn_bindings *problem, int64_t *features, bool *inside);

/* The configuration for a problem: the first that `usable` (NULL: always) takes, of those that cost least, or of the leaf's
 * and the others. -1: there is none, or the problem has other names or types. *sure: the problem is inside of what the rule
 * was learnt for, the leaf is sure, and costs chose, or its own configuration was taken. Safe from several threads. */
int hn_rule_choose(const struct hn_rule *rule, const struct hn_bindings *problem,
                   bool (*usable)(int configuration, void *context), void *context, bool *sure);

/* A rule whose features are computed all at once, for whoever asks it about many problems. What a configuration costs is compiled
 * when it is first compared. */
struct hn_rule_program;

/* Borrows the rule. NULL: it cannot be compiled, or memory is out. */
struct hn_rule_program *hn_rule_program_make(const struct hn_rule *rule);
void hn_rule_program_destroy(struct hn_rule_program *program);

/* The leaf of a problem that is inside of what the rule was learnt for, with integers where that has whole numbers; `order` has room for
 * all configurations, which hn_rule_take takes as hn_rule_choose tries them. NULL for all other problems, and where a cost cannot
 * be compiled. Not to be called by several threads at once. */
const struct hn_rule_node *hn_rule_program_find(struct hn_rule_program *program, const struct hn_bindings *problem, double *order);
int hn_rule_take(const struct hn_rule *rule, double *order);

/* Appends what a configuration costs, uncorrected, as C statements that set `cost`, as hn_program_append_c does. */
bool hn_rule_program_append_cost(struct hn_rule_program *program, size_t configuration, const struct hn_c_slot *slots,
                                 const char *prefix, struct hn_text *text);

/* Whether numbers are told apart by their whole part only: low and high are whole. Else they count as reals. */
bool hn_rule_value_is_whole(const struct hn_rule_value *value);
/* What it is at one end: an integer where it is whole, else a real; of words the first. */
struct hn_value hn_rule_value_end(const struct hn_rule_value *value, bool high);
/* Sets all values of a problem to that end. */
void hn_rule_set_end(const struct hn_rule *rule, bool high, struct hn_bindings *problem, struct hn_error *err);

/* Appends what it was learnt for: "M 1 to 4096, ORDER row or column". */
void hn_rule_append_values(struct hn_text *text, const struct hn_rule *rule);
/* Appends "at 40 sizes that were not used: 2.1% slower than tuned for each in the mean, 9.0% at worst" for the measured loss, with its
 * parts, else for the predicted one with "predicted" for "at"; nothing where neither is known. */
void hn_rule_append_loss(struct hn_text *text, const struct hn_rule *rule);
/* Appends "choice 0.4%, 3.0% at worst; coverage 1.1%, 5.2%; freezing 0.6%, 4.0%"; nothing where they are not known. */
void hn_rule_append_parts(struct hn_text *text, const struct hn_rule_parts *parts);

/* Read, a rule is complete. */
extern const struct hn_structure hn_rule_structure;
extern const struct hn_structure hn_rule_loss_structure;
extern const struct hn_structure hn_rule_parts_structure;

#endif
