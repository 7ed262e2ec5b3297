/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKER_H
#define HONE_TUNER_WORKERS_WORKER_H

#include "tuner/workers/channel.h"

/* The inside of a worker process: read a message, answer it, until hone closes the channel. */
void hn_worker_compile(struct hn_channel *channel);
void hn_worker_gpu(struct hn_channel *channel);

/* Says that the run can not go on: {"type": "failed", "status": …, "message": …}. */
void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err);

#endif
