/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_AHEAD_H
#define HONE_TUNER_SESSION_SESSION_AHEAD_H

#include "tuner/session/session.h"

/* The points that a session will ask for first, told before there is a device and so a session: its ladder, then what
 * the strategy proposes before it knows anything. */
struct hn_points_ahead {
    struct hn_bindings *points;
    size_t count;
    bool complete; /* it will ask for no others */
    bool fresh;    /* the cache holds none of them, whatever the device: something will be measured */
};

/* At most `limit` points; none where the cache may hold some of them, whatever the device. */
enum hn_status hn_points_ahead_make(struct hn_points_ahead *ahead, const struct hn_task *task, struct hn_store *store,
                                    const struct hn_session_options *options, size_t limit, struct hn_error *err);
void hn_points_ahead_finish(struct hn_points_ahead *ahead);

#endif
