/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_PARALLEL_H
#define HONE_BASE_PARALLEL_H

#include <stddef.h>

#include "base/error.h"

/* Does tasks 0 .. count-1 on so many threads, each task once, started in order. After a failure no further one is
 * started; the failure of the lowest task is returned. */
typedef enum hn_status hn_parallel_task(void *context, size_t task, struct hn_error *err);

/* tick, which may be NULL, is called on the calling thread every tenth of a second with the number of finished tasks. */
struct hn_parallel {
    size_t count;
    size_t jobs; /* 0: as many as there are cores */
    hn_parallel_task *run;
    void (*tick)(void *context, size_t finished);
    void *context;
};

enum hn_status hn_parallel_do(const struct hn_parallel *parallel, struct hn_error *err);

/* The cores that this process may use, at least 1. */
size_t hn_parallel_cores(void);

#endif
