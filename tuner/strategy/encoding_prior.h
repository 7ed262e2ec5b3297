/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_ENCODING_PRIOR_H
#define HONE_TUNER_STRATEGY_ENCODING_PRIOR_H

#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/strategy.h"

/* What measurements under other circumstances (another device, another problem) say of a point: a Gaussian process of
 * their costs. It is no cost here, but one more feature of a point: how much it tells is learnt as for any other. */
struct hn_prior_model;

struct hn_encoding;

/* *model is NULL where there are too few priors to learn from. encoding, without a prior itself, is borrowed. */
enum hn_status hn_prior_model_create(const struct hn_search *search, const struct hn_encoding *encoding,
                                     struct hn_prior_model **model, struct hn_error *err);
void hn_prior_model_destroy(struct hn_prior_model *model);

/* About -1 (good) to 1; features as of the encoding without a prior. */
double hn_prior_model_ask(const struct hn_prior_model *model, const double *features);

#endif
