/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/kernel.h"

enum hone_status hn_lib_capture(struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                                struct hone_error *err)
{
    (void)kernel;
    (void)stream;
    (void)values;
    (void)err;
    return HONE_OK;
}
