/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_FAMILY_OPTIONS_H
#define HONE_TUNER_FAMILY_FAMILY_OPTIONS_H

#include <stdio.h>

#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/session/session.h"
#include "tuner/workers/workers.h"

/* How a family is tuned. Borrows all. */
struct hn_family_options {
    /* A fresh copy of the config, the caller's to destroy. */
    enum hn_status (*load)(void *context, struct hn_config **config, struct hn_error *err);
    /* One line of what goes on. */
    void (*say)(void *context, const char *line);
    void *context;
    struct hn_workers *workers;
    struct hn_store *store;
    const struct hn_strategy_kind *strategy;
    enum hn_regime regime;
    unsigned look_ahead;
    uint64_t seed;
    double budget_s; /* of the whole; 0: 60 s for one range, 120 s for two, 600 s for more */
    double loss;     /* predicted, at which no more is measured; 0: the config's */
    unsigned held_out; /* sizes for the measured loss; 0: 10, 12 or 20 */
    const char *command; /* kept with the measurements */
    FILE *events;        /* one JSON line an event of any session; NULL: none */
};

#endif
