/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_RUN_DOCUMENT_H
#define HONE_TUNER_COMMANDS_RUN_DOCUMENT_H

#include <jansson.h>

#include "runtime/bench/bench.h"
#include "runtime/device/health.h"
#include "runtime/compile/nvrtc.h"
#include "tuner/session/task.h"

/* What `hone run --json` says, for a program that judges kernels by it. docs/formats.md describes it. */

/* One problem: what came of the point, beside the reference and on a device in which health. Borrows all. */
struct hn_run_result {
    const struct hn_task *task;
    const struct hn_device *device;
    const struct hn_record *record;
    const struct hn_beside *beside;
    const struct hn_health *health;
    bool timed; /* times were asked for */
    const char *no_counters; /* why there are none, where they were asked for; else "" */
};
json_t *hn_run_result_to_json(const struct hn_run_result *result); /* NULL when out of memory */

/* Its outcome is that of the first that is not valid. NULL when out of memory. */
json_t *hn_run_document(const struct hn_config *config, const struct hn_device *device, const struct hn_nvrtc *nvrtc,
                        json_t *problems);

#endif
