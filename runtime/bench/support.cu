/* SPDX-License-Identifier: MIT */
/* The kernels that Hone itself runs around a variant: they fill and poison buffers, check guard zones and inputs,
 * compare outputs, read the L2 cache clean and hold the device back while work is queued. Written in the C that CUDA
 * C++ and C share, so that the driver double runs this very text on the CPU, with blocks of one thread.
 *
 * Every kernel takes any grid and blocks of up to THREADS threads. Results are one entry a block; the host joins them,
 * so that nothing has to be zeroed before and no atomics are needed.
 *
 * Every file needs those before it. The build puts them in place of their #include lines: one text, compiled at once. */
#include "support_grid.cuh"
#include "support_element.cuh"
#include "support_random.cuh"
#include "support_fill.cuh"
#include "support_zones.cuh"
#include "support_veil.cuh"
#include "support_compare.cuh"
#include "support_multiset.cuh"
#include "support_sum.cuh"
#include "support_written.cuh"
#ifdef __CUDACC_RTC__
#include "support_time.cuh"
#endif
