/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_TUNE_H
#define HONE_TUNER_COMMANDS_TUNE_H

#include "tuner/commands/command.h"
#include "tuner/report/progress.h"
#include "tuner/server/server.h"
#include "tuner/workers/workers.h"

/* `hone tune`, which given holds all that is open for it: workers unless it is a simulation. */
struct hn_tune {
    struct hn_given *given;
    const struct hn_options *options;
    struct hn_session_options search; /* of every problem */
    struct hn_server *server; /* whose cache others share; NULL: nobody does */
    struct hn_progress_board board;
    bool follows; /* something stands on stdout, behind which a line is left free; under the board's lock */
    bool found;   /* a valid variant for every problem so far */
    bool cut;     /* the budget ended before one of them had any */
    struct hn_error last; /* why the last one of several problems could not be tuned */
};

/* The tuning of one problem: searched, raced, told on stderr while it goes on and on stdout at its end. Several may run
 * side by side, each with a store and workers of its own. */
struct hn_tune_search {
    struct hn_tune *tune;
    struct hn_store *store;
    struct hn_workers *workers; /* NULL: a simulation */
    size_t problem;
    double started_ms;
    char label[160];   /* which of several it is; "": the only one */
    char place[160];   /* " (GPU 1 of host gpu7)" behind the device's name; "": none */
    bool names_device; /* in its line of progress */
    bool waits;        /* while another is at the problem */
    bool again;        /* a card failed at it that was refused for that: another failure is the problem's own */
    struct hn_server_claim *claim; /* on the problem, where several tuners share the cache of a server */
    struct hn_claim_holder holder; /* the other */

    json_t *json; /* with --json: the caller's; NULL: there is none */
    bool found;   /* a valid variant */
    bool later;   /* nothing was done: another is at it */
    bool cut;     /* its budget ended before it had any */
    bool lost;    /* it failed, and so may its card have done: another card is to take it up */
};

/* Sticky, as the last one is. What fails one of several problems alone is told, and no error. */
void hn_tune_search_run(struct hn_tune_search *search, struct hn_error *err);

/* Commits what the store still has, also after a failure, and says where all of it is if the file is gone. */
void hn_tune_report_loss(struct hn_tune *tune, struct hn_store *store, struct hn_error *err);
#define HN_TUNE_INTERRUPTED "interrupted; what was finished is kept, and the same command goes on from there"

/* `hone tune --workers`: the problems of a config, for each model of GPU that is there, as searches side by side, each
 * in a thread with cards of its own (workers.h). A card that is free begins the next problem of its model; where there
 * is none left, it joins the search that has the fewest. So there are as many searches as cards while there are
 * problems, and all cards are at work to the end. The results are those of one model after those of another, in the
 * order of the config. */
void hn_tune_spread_run(struct hn_tune *tune, struct hn_error *err);

#endif
