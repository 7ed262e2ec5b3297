/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_CANDIDATES_H
#define HONE_TUNER_STRATEGY_CANDIDATES_H

#include "tuner/strategy/encoding.h"
#include "tuner/strategy/gaussian.h"

/* Points that a model predicts, kept from proposal to proposal: what each has in common with the points of the Gaussian
 * process is held, so that one more point or one more measurement costs little. Arrays over candidates are rows of
 * `capacity`, so that loops run over candidates. */
struct hn_candidates {
    const struct hn_encoding *encoding; /* borrowed, as the process */
    const struct hn_gaussian *gaussian;
    size_t width; /* of a point */
    size_t capacity;
    size_t count;
    uint16_t *points;
    uint64_t *hashes;   /* of the points */
    double *features;   /* [feature][candidate] */
    double *whitened;   /* [input][candidate]: L^-1 k, of the first `rows` inputs of the process */
    double *explained;  /* variance that the inputs take away */
    double *mean;       /* as of hn_candidates_predict */
    size_t rows;        /* of whitened, that the first `ready` candidates have */
    size_t ready;
};

bool hn_candidates_init(struct hn_candidates *candidates, const struct hn_encoding *encoding,
                        const struct hn_gaussian *gaussian, size_t capacity);
void hn_candidates_finish(struct hn_candidates *candidates);

/* Adds a point that is not among them (else nothing happens); nothing when it is full. */
void hn_candidates_add(struct hn_candidates *candidates, const uint16_t *point);
/* Moves the last one into its place. Not while there are candidates that were not predicted yet. */
void hn_candidates_remove(struct hn_candidates *candidates, size_t candidate);
/* The process began anew: its rows do. */
void hn_candidates_restart(struct hn_candidates *candidates);
/* Brings the rows up to the process's inputs, then mean[c] = the process's, given its whitened targets. */
void hn_candidates_predict(struct hn_candidates *candidates, const double *whitened_targets);
/* means[c] = that of another function at the candidates, whose whitened targets these are; after hn_candidates_predict. */
void hn_candidates_regress(const struct hn_candidates *candidates, const double *whitened_targets, double *means);
/* Standard deviation of the function at the candidate, as of hn_candidates_predict. */
double hn_candidates_deviation(const struct hn_candidates *candidates, size_t candidate);

#endif
