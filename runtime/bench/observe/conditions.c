/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* What NVML says of the GPU at the end of a measurement (runtime/device/health.h): mostly by a look
 * that was taken for a record before, since looks come 100 ms apart. */

static void note(void *own, struct hn_record *record, struct hn_error *err)
{
    const struct hn_bench_options *options = &((struct hn_bench *)own)->options;
    if (options->watch == NULL)
        return;
    hn_health_look(options->watch, options->health);
    hn_health_note(options->watch, &record->observed, err);
}

const struct hn_observer hn_conditions_observer = {
    .name = "conditions", .always = true, .note = note};
