/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_SHARING_H
#define HONE_TUNER_COMMANDS_SHARING_H

#include "tuner/report/progress.h"
#include "tuner/server/server.h"
#include "tuner/session/task.h"

/* Whose turn a problem is, where several tuners share the cache of a server. */
struct hn_sharing {
    struct hn_server *server; /* NULL: nobody shares it, and it is always one's own */
    struct hn_store *store;
    struct hn_progress_board *board;
    bool takes; /* what another finished meanwhile is taken as it is, and not gone on with */
    bool waits; /* until nobody else is at it, instead of HN_TURN_LATER */
    bool quiet;

    struct hn_server_claim *claim;
    struct hn_claim_holder holder; /* the other */
};

enum hn_sharing_turn {
    HN_TURN_NOW,
    HN_TURN_LATER, /* another is at it */
    HN_TURN_AGAIN, /* another was at it, and this was waited for: ask anew, as time has passed */
    HN_TURN_OVER,  /* another finished it since this command began, and that is taken */
};

/* Claims the problem of a task whose device is known, and fetches what others found of the kernel. */
enum hn_status hn_sharing_claim(struct hn_sharing *sharing, const struct hn_task *task, enum hn_sharing_turn *turn,
                                struct hn_error *err);
/* After HN_TURN_NOW. finished: nothing is left to do. */
void hn_sharing_end(struct hn_sharing *sharing, const struct hn_task *task, bool finished);

/* After HN_TURN_OVER: the best that the other found, on stdout or as JSON. *found is false where there is none. */
enum hn_status hn_sharing_print(const struct hn_sharing *sharing, const struct hn_task *task, bool *found,
                                struct hn_error *err);
enum hn_status hn_sharing_to_json(const struct hn_sharing *sharing, const struct hn_task *task, json_t **json,
                                  bool *found, struct hn_error *err);

#endif
