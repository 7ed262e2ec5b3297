/* SPDX-License-Identifier: MIT */
#include "tuner/report/staging.h"

#include <math.h>

static double limit_us(const struct hn_staging *staging, double transfers_us)
{
    if (staging->copy_engines <= 0)
        return staging->kernels_us + transfers_us;
    if (staging->copy_engines == 1)
        return fmax(staging->kernels_us, transfers_us);
    return fmax(staging->kernels_us, fmax(staging->upload_us, staging->download_us));
}

struct hn_staging hn_staging_of(const struct hn_bindings *observed)
{
    struct hn_staging staging = {
        .chunks = hn_observed(observed, "staging.chunks"),
        .streams = hn_observed(observed, "staging.streams"),
        .register_ms = hn_observed(observed, "staging.register_ms"),
        .copy_engines = hn_observed(observed, "staging.copy_engines"),
        .kernels_us = hn_observed(observed, "staging.kernels_us"),
        .upload_us = hn_observed(observed, "staging.upload_us"),
        .download_us = hn_observed(observed, "staging.download_us"),
        .sequential_us = hn_observed(observed, "staging.sequential_us"),
    };
    double transfers_us = staging.upload_us + staging.download_us;
    staging.measured = staging.chunks > 0 && staging.sequential_us > 0;
    staging.overlapping = staging.streams > 1 ? staging.chunks : 1;
    staging.compute_bound_us = staging.kernels_us + transfers_us / staging.overlapping;
    staging.transfer_bound_us = transfers_us + staging.kernels_us / staging.overlapping;
    staging.limit_us = limit_us(&staging, transfers_us);
    return staging;
}

void hn_staging_add_json(const struct hn_record *record, json_t *json)
{
    const struct hn_staging staging = hn_staging_of(&record->observed);
    json_t *object = json_object_get(json, "staging");
    if (object == NULL || !staging.measured)
        return;
    json_object_update_new(object, json_pack("{sf sf sf sf}", "overlapping", staging.overlapping,
                                             "compute_bound_us", staging.compute_bound_us,
                                             "transfer_bound_us", staging.transfer_bound_us,
                                             "limit_us", staging.limit_us));
}
