/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARNING_H
#define HONE_TUNER_FAMILY_LEARNING_H

#include "tuner/family/choice_tree.h"
#include "tuner/family/forecast.h"
#include "tuner/family/learnt.h"

/* What the parts of hn_learn share: learning.c has costs and trees, learn.c makes the rule, learn_loss.c predicts what is lost by it, learn_sure.c says where
 * it is sure, learn_search.c where a search is worth most. */

/* What is known of the points of a matrix, and predicted. */
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

/* learning.c */
/* Losses of points against the best of them, as they count: [point][sample]. */
void hn_learning_costs(const struct hn_learning *learning, const struct hn_outlook *outlook, double *costs);
/* Features and costs of the samples, as a tree is grown from them. */
struct hn_choice_tree_data hn_learning_samples(const struct hn_learning *learning);
/* The least logarithm of a time at a sample, of all points. */
double hn_outlook_least(const struct hn_outlook *outlook, const double *logarithms, size_t sample);
/* Whether a configuration would be there without the other sizes (NULL: all are used): not if the search at one of them alone found it. */
bool hn_learning_has(const struct hn_learning *learning, const bool *use, size_t configuration);
/* Grows a tree from the forecast, of configurations that would be there without the sizes that are not used (NULL: all are). */
enum hn_status hn_learning_tree(struct hn_learning *learning, const bool *use, struct hn_rule_node **nodes, size_t *count,
                                struct hn_error *err);

/* learn_loss.c: sets the rule's predicted loss. */
enum hn_status hn_learning_predict_loss(struct hn_learning *learning, struct hn_error *err);

/* learn_sure.c */
enum hn_status hn_learning_mark_sure(struct hn_learning *learning, struct hn_error *err);
/* Sizes that are to be measured next. */
enum hn_status hn_learning_find_wanted(struct hn_learning *learning, struct hn_error *err);

/* learn_search.c: sets what is to be searched next. */
enum hn_status hn_learning_find_search(struct hn_learning *learning, struct hn_error *err);

#endif
