/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_TRY_COMPILE_H
#define HONE_TUNER_COMMANDS_TRY_COMPILE_H

#include "tuner/report/edges.h"
#include "tuner/workers/compile_pool.h"

/* Compiles points of which nobody knows yet whether they can be: a hn_edge_compiler. The first one starts the workers. */
struct hn_try_compile {
    struct hn_compile_pool *pool; /* NULL: none was asked for yet */
    bool failed;                  /* there is no compiler here */
};

void hn_try_compile_finish(struct hn_try_compile *trial);
/* context: a hn_try_compile. For the architecture of the task's device. */
enum hn_compiles hn_try_compile(void *context, const struct hn_task *task, const struct hn_bindings *point);

#endif
