/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_DEFAULT_RUN_H
#define HONE_RUNTIME_LIBHONE_DEFAULT_RUN_H

#include "runtime/libhone/kernel.h"

/* What the default point makes of a launch's arguments, in memory of its own. */
struct hn_lib_default_run {
    struct hone_kernel *kernel;
    CUdeviceptr outputs[HN_LIB_MAX_ARGUMENTS]; /* of the slots that are compared; 0: of none */
};

/* Waits until it is done. Finish it, also after a failure. HN_ECONFIG: the default point is not valid for the problem,
 * or takes what was not given. */
enum hn_status hn_lib_default_run(struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                                  struct hn_lib_default_run *run, struct hn_error *err);
void hn_lib_default_run_finish(const struct hone_kernel *kernel, struct hn_lib_default_run *run);

#endif
