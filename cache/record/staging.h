/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_STAGING_H
#define HONE_CACHE_RECORD_STAGING_H

#include "cache/record/record.h"

/* What the parts of a pipeline, measured alone, say of all of it. With tE the kernels' time, tT that of the transfers
 * both ways, and n chunks that overlap, the CUDA C++ Best Practices Guide ("Asynchronous and Overlapping Transfers with
 * Computation") estimates tE + tT/n where the kernels take longer, and tT + tE/n where the transfers do. */

/* Whether the parts were measured. */
bool hn_staging_is_measured(const struct hn_staging *staging);
/* Chunks that can overlap: 1 in one stream. */
int hn_staging_overlapping(const struct hn_staging *staging);
double hn_staging_compute_bound_us(const struct hn_staging *staging);
double hn_staging_transfer_bound_us(const struct hn_staging *staging);
/* No schedule is faster: the longest of upload, download and kernels, each going on without a break. With one copy engine
 * both ways share it; without any nothing overlaps. */
double hn_staging_limit_us(const struct hn_staging *staging);

#endif
