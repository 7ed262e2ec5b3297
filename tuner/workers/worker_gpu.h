/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKER_GPU_H
#define HONE_TUNER_WORKERS_WORKER_GPU_H

#include "runtime/process/channel.h"

/* The inside of the GPU worker: reads a message and answers it, until hone closes the channel. */
void hn_worker_gpu(struct hn_channel *channel);

#endif
