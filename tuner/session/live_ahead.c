/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tuner/session/live.h"

/* The device is known only once the driver is up, a tenth of a second and more into a tune. Its
 * architecture can be guessed long before: what will be wanted first is compiled for it meanwhile.
 */

/* The numbers of compilations that belong to no ticket yet; live_setup.c counts down from
 * UINT64_MAX. */
static uint64_t number_of(size_t ahead)
{
    return UINT64_MAX - 1000 - (uint64_t)ahead;
}

double hn_live_weight(const struct hn_live *live, const struct hn_bindings *point)
{
    double weight = 0;
    /* What is unrolled, tiled or batched more makes more code: a guess that needs no knowledge. */
    for (size_t i = 0; live->options.any_order && i < point->count; i++) {
        const struct hn_value *value = &point->values[i];
        if (value->type == HN_INTEGER || value->type == HN_REAL)
            weight += log2(1 + fabs(hn_value_number(value)));
    }
    return weight;
}

static enum hn_status start_point(struct hn_live *live, const struct hn_device *device,
                                  struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    const struct hn_bindings *point = &live->options.ahead[live->ahead_count];
    struct hn_record record;
    struct hn_launch launch;
    struct hn_source source;
    size_t number = live->ahead_count++;
    hn_record_init(&record);
    enum hn_status status =
        hn_launch_make_checked(task->plan, device, task->problem, point, &launch, &record, err);
    bool fits = record.outcome == HN_OUTCOME_OK;
    hn_record_finish(&record);
    hn_launch_finish(&launch);
    if (status != HN_OK || !fits)
        return status;
    status = hn_task_source(task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_ask(live->pool, number_of(number), &source, live->architecture,
                                 HN_RANK_GUESSED, hn_live_weight(live, point), INFINITY, err);
    hn_source_finish(&source);
    return status;
}

enum hn_status hn_live_start_ahead(struct hn_live *live, struct hn_error *err)
{
    struct hn_device device;
    int guess = live->workers->lead->gpu->guess;
    if (live->workers->lead->known || live->own_started || guess == 0 ||
        (live->options.ahead_count == 0 && !live->options.measures))
        return HN_OK;
    snprintf(live->architecture, sizeof live->architecture, "sm_%d", guess);
    /* One that we do not know is left to the driver. */
    if (hn_device_for_architecture(live->architecture, &device, NULL) != HN_OK) {
        live->options.ahead_count = 0;
        live->options.measures = false;
        return HN_OK;
    }
    hn_compile_pool_set(live->pool, HN_COMPILE_HEAVY_FIRST,
                        live->options.any_order && live->options.ahead_is_all);
    enum hn_status status = hn_live_start_own(live, err);
    while (status == HN_OK && live->ahead_count < live->options.ahead_count)
        status = start_point(live, &device, err);
    return status;
}

void hn_live_check_ahead(struct hn_live *live, int capability)
{
    char architecture[sizeof live->architecture];
    snprintf(architecture, sizeof architecture, "sm_%d", capability);
    if (live->own_started && strcmp(architecture, live->architecture) != 0) {
        hn_compile_pool_forget(live->pool, HN_RANK_SETUP, false);
        live->ahead_count = live->options.ahead_count = 0;
        live->own_started = false;
    }
    memcpy(live->architecture, architecture, sizeof architecture);
}
