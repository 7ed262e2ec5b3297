/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARN_H
#define HONE_TUNER_FAMILY_LEARN_H

#include "cache/family/rule.h"
#include "tuner/family/choice_tree.h"
#include "tuner/family/models.h"

/* From a matrix to a rule: models of times, the configurations that together lose least, and a tree that says which. */

enum { HN_LEARN_WANTED = 16 };

struct hn_learn_options {
    uint64_t seed;  /* of the problems that predictions are made for */
    size_t samples; /* so many of them */
    size_t wanted;  /* sizes that are to be measured next, HN_LEARN_WANTED at most */
};

struct hn_learnt {
    struct hn_rule rule;               /* complete, with its predicted loss */
    size_t picked[HN_MATRIX_POINTS];   /* points of the matrix, by configuration of the rule */
    struct hn_bindings *wanted;        /* where times are least sure */
    size_t wanted_count;
    bool has_search;
    struct hn_bindings search; /* where a search of its own may find most */
};

/* HN_ECONFIG: the family has no problems, or they have different names. */
enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt, struct hn_error *err);
void hn_learnt_finish(struct hn_learnt *learnt);

/* The rest is what the parts of hn_learn share: learn.c makes the rule, learn_loss.c has costs and trees and predicts
 * what is lost by it, learn_next.c says where it is sure, and what to measure and search next. */

/* The points of a matrix, as they are known and predicted. */
struct hn_outlook {
    const struct hn_matrix *matrix;
    struct hn_places sizes; /* of the matrix */
    struct hn_models *models;
    struct hn_forecast forecast;
};

struct hn_learning {
    const struct hn_family_kernel *kernel;
    const struct hn_learn_options *options;
    struct hn_learnt *learnt;
    struct hn_outlook all;    /* points, at some of the samples, which are told apart by places in `picked` too */
    struct hn_outlook picked; /* the rule's configurations, in its order */
    size_t count;             /* picked */
    int64_t *features;        /* [feature][sample], then [feature][size] */
    double *costs;            /* [configuration][sample] */
};

/* Losses of points against the best of them, as they count: [point][sample]. */
void hn_learning_costs(const struct hn_learning *learning, const struct hn_outlook *outlook, double *costs);
/* Features and costs of the samples, as a tree is grown from them. */
struct hn_choice_tree_data hn_learning_samples(const struct hn_learning *learning);
/* The least logarithm of a time at a sample, of all points. */
double hn_outlook_least(const struct hn_outlook *outlook, const double *logarithms, size_t sample);
/* Grows a tree from the forecast, of configurations that would be there without the sizes that are not used (NULL: all
 * are). Free it. */
struct hn_rule_node *hn_learning_tree(struct hn_learning *learning, const bool *use, size_t *count);
/* Sets the rule's predicted loss. */
void hn_learning_predict_loss(struct hn_learning *learning);

void hn_learning_mark_sure(struct hn_learning *learning);
/* Sets the sizes that are to be measured next. */
void hn_learning_find_wanted(struct hn_learning *learning);
/* Sets what is to be searched next. */
void hn_learning_find_search(struct hn_learning *learning);

#endif
