/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_SUPPORT_HOST_H
#define HONE_RUNTIME_BENCH_SUPPORT_HOST_H

#include <math.h>
#include <stdlib.h>

/* What the text of the support kernels needs of CUDA to be C that runs on the host, with blocks of one thread. For
 * sources that include that text behind this. */

struct index {
    unsigned int x;
};
static struct index blockIdx __attribute__((unused));
static const struct index threadIdx __attribute__((unused)) = {0}, blockDim __attribute__((unused)) = {1},
                          gridDim __attribute__((unused)) = {1};
#define KERNEL static __attribute__((unused)) void
#define DEVICE static __attribute__((unused))
#define __shared__ static
#define __syncthreads() ((void)0)
#define STOP() abort()
#define ROLLED

#endif
