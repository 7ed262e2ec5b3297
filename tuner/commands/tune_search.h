/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_TUNE_SEARCH_H
#define HONE_TUNER_COMMANDS_TUNE_SEARCH_H

#include <stdio.h>

#include "tuner/commands/command.h"
#include "tuner/report/progress.h"
#include "tuner/server/server.h"
#include "tuner/workers/workers.h"

/* The tuning of one problem of `hone tune`: searched, raced, told on stderr while it goes on and on stdout at its end. All that is
 * given is borrowed; several may run side by side, each with a store and workers of its own. */
struct hn_tune_search {
    const struct hn_options *options;
    const struct hn_config *config;
    const struct hn_strategy_kind *strategy;
    FILE *events; /* NULL: none */
    struct hn_store *store;
    struct hn_server *server;   /* whose cache others share, the store's; NULL: nobody does */
    struct hn_workers *workers; /* NULL: a simulation */
    int jobs;                   /* that may compile at once */
    struct hn_progress_board *board;
    size_t problem;
    double started_ms;
    const char *label; /* which of several it is; "": the only one */
    const char *place; /* " (GPU 1 of host gpu7)" behind the device's name; "": none */
    bool *follows;     /* something stands on stdout, behind which a line is left free; under the board's lock */
    bool names_device; /* in its line of progress */
    bool waits;        /* while another is at the problem */

    json_t *json; /* with --json: the caller's; NULL: there is none */
    bool found;   /* a valid variant */
    bool later;   /* nothing was done: another is at it */
    bool cut;     /* its budget ended before it had any */
};

enum hn_status hn_tune_search_run(struct hn_tune_search *search, struct hn_error *err);

/* Commits what its store still has, and says where all of it is if the file is gone. */
enum hn_status hn_tune_report_loss(const struct hn_tune_search *search, struct hn_error *err);
/* HN_EINTERRUPTED, and that nothing is lost. */
enum hn_status hn_tune_interrupted(struct hn_error *err);

#endif
