/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_SIGNATURE_H
#define HONE_RUNTIME_COMPILE_SIGNATURE_H

#include "runtime/compile/image.h"
#include "runtime/plan/launch.h"

/* Compares what each step of a launch passes with the parameters that its kernel declares in the cubin: how many there
 * are, and how many bytes each has. The driver is given nothing but addresses and would read whatever lies there.
 * HN_ECONFIG names the kernel and the argument, as "argument 'n' is float64 (8 bytes); parameter 3 of kernel 'k' has 4
 * bytes". HN_EFORMAT: the cubin does not say. values: of the plan's names. */
enum hn_status hn_signature_check(const struct hn_plan *plan, const struct hn_value *values,
                                  const struct hn_launch *launch, const struct hn_image *image, struct hn_error *err);

#endif
