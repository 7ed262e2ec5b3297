/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_TUNE_SPREAD_H
#define HONE_TUNER_COMMANDS_TUNE_SPREAD_H

#include <jansson.h>

#include "tuner/commands/tune_search.h"

/* `hone tune --workers`: the problems of a config, for each model of GPU that is there, as searches side by side, each in a thread with
 * cards of its own (workers.h). A card that is free begins the next problem of its model; where there is none left, it joins the search
 * that has the fewest. So there are as many searches as cards while there are problems, and all cards are at work to the end. */
struct hn_tune_spread {
    const struct hn_tune_search *search; /* as of the first problem; its workers are divided */
    double started_ms;
    bool found; /* a valid variant of every problem on every model */
    bool cut;
};

/* results: those of one model after those of another, in the order of the config. Borrowed; filled in with --json. */
enum hn_status hn_tune_spread_run(struct hn_tune_spread *spread, json_t *results, struct hn_error *err);

#endif
