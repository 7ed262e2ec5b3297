/* SPDX-License-Identifier: MIT */
/* #include "in_a_comment.h"
#include "in_a_comment.h" */
// #include "in_a_comment.h"
#include "one.cuh"
  #  include   "sub/two.cuh" // again below
#include "sub/two.cuh"
#ifdef NEVER
#include <not/ours.h>
#endif
static __device__ const char *text = "/* no comment";

extern "C" __global__ void sum(int *x)
{
    x[0] = ONE + TWO + THREE;
}
