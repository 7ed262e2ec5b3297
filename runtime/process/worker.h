/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_WORKER_H
#define HONE_RUNTIME_PROCESS_WORKER_H

#include "runtime/process/channel.h"

/* The inside of a compile worker: reads a message and answers it, until the channel is closed. */
void hn_worker_compile(struct hn_channel *channel);

/* Says that the run can not go on: {"type": "failed", "status": …, "message": …}. */
void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err);

#endif
