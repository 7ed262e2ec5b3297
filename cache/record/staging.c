/* SPDX-License-Identifier: MIT */
#include "cache/record/staging.h"

#include <math.h>

bool hn_staging_is_measured(const struct hn_staging *staging)
{
    return staging->chunks > 0 && staging->sequential_us > 0;
}

int hn_staging_overlapping(const struct hn_staging *staging)
{
    return staging->streams > 1 ? staging->chunks : 1;
}

static double transfers_us(const struct hn_staging *staging)
{
    return staging->upload_us + staging->download_us;
}

double hn_staging_compute_bound_us(const struct hn_staging *staging)
{
    return staging->kernels_us + transfers_us(staging) / hn_staging_overlapping(staging);
}

double hn_staging_transfer_bound_us(const struct hn_staging *staging)
{
    return transfers_us(staging) + staging->kernels_us / hn_staging_overlapping(staging);
}

double hn_staging_limit_us(const struct hn_staging *staging)
{
    if (staging->copy_engines <= 0)
        return staging->kernels_us + transfers_us(staging);
    if (staging->copy_engines == 1)
        return fmax(staging->kernels_us, transfers_us(staging));
    return fmax(staging->kernels_us, fmax(staging->upload_us, staging->download_us));
}
