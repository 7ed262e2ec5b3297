/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain_parts.h"

#include <math.h>

#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/report/roof.h"

static void find_roof(const struct hn_task *task, const struct hn_device *device,
                      const struct hn_roofs *roofs, const struct hn_record *record,
                      struct hn_bounds *bounds)
{
    double time_us = record->timing.median_us;
    struct hn_roof_shares shares;
    struct hn_roof nearest;
    /* What a pipeline moves crosses the bus, for which there is no roof. */
    bool known = hn_roof_shares_find(task->plan->pipeline != NULL ? NULL : roofs, device,
                                     task->regime, record, &shares);
    bounds->bytes = shares.bytes;
    bounds->flops = shares.flops;
    bounds->flops_rate = shares.flops_rate;
    if (time_us > 0) {
        bounds->gb_per_s = bounds->bytes / time_us / 1e3;
        bounds->gflops = bounds->flops / time_us / 1e3;
    }
    if (!known)
        return;
    bounds->bytes_share = shares.bytes_share;
    bounds->flops_share = shares.flops_share;
    bounds->launch_share = shares.launch_share;
    hn_roof_nearest(&shares, &nearest);
    bounds->bound = nearest.name;
    bounds->share = nearest.share;
}

static int64_t product(const int64_t factors[3])
{
    return factors[0] * factors[1] * factors[2];
}

/* A launch, and the carve-out that it is under: the last one that a step asks for. */
struct residency {
    const struct hn_device *device;
    const struct hn_launch_step *step;
    int64_t threads;
    int64_t carveout;
};

static double occupancy_with(const struct residency *residency,
                             const struct hn_resources *resources, int64_t dynamic)
{
    return hn_occupancy(residency->device, resources, residency->threads, dynamic,
                        residency->carveout);
}

/* Which relief lets more warps in. */
static enum hn_limiter find_limiter(const struct residency *residency,
                                    const struct hn_resources *resources, double now)
{
    struct hn_resources fewer = *resources;
    if (now > 0.999)
        return HN_LIMITER_NONE;
    fewer.registers = 16;
    double registers = occupancy_with(residency, &fewer, residency->step->shared_bytes);
    fewer = *resources;
    fewer.shared_bytes = 0;
    double shared = occupancy_with(residency, &fewer, 0);
    if (registers > now && registers >= shared)
        return HN_LIMITER_REGISTERS;
    if (shared > now)
        return HN_LIMITER_SHARED;
    fewer.registers = 16;
    return occupancy_with(residency, &fewer, 0) > now ? HN_LIMITER_BOTH : HN_LIMITER_BLOCK;
}

static const struct hn_launch_step *largest_step(const struct hn_launch *launch)
{
    const struct hn_launch_step *largest = &launch->steps[0];
    for (size_t i = 1; i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        if (product(step->grid) * product(step->block) >
            product(largest->grid) * product(largest->block))
            largest = step;
    }
    return largest;
}

static int64_t carveout_of(const struct hn_launch *launch)
{
    int64_t carveout = HN_NO_CARVEOUT;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].carveout != HN_NO_CARVEOUT)
            carveout = launch->steps[i].carveout;
    return carveout;
}

static void describe_launch(const struct residency *residency, struct hn_bounds *bounds)
{
    const struct hn_device *device = residency->device;
    const struct hn_launch_step *step = residency->step;
    bounds->launch_known = true;
    bounds->threads = residency->threads;
    bounds->blocks = product(step->grid);
    bounds->shared_bytes = bounds->resources.shared_bytes + step->shared_bytes;
    bounds->occupancy = occupancy_with(residency, &bounds->resources, step->shared_bytes);
    bounds->limiter = find_limiter(residency, &bounds->resources, bounds->occupancy);
    int64_t warps = (bounds->threads + device->warp_size - 1) / device->warp_size;
    int64_t room = device->max_threads_per_sm / device->warp_size;
    bounds->resident =
        llround(bounds->occupancy * (double)room / (double)warps) * device->identity.sm_count;
}

/* A pipeline's chunks launch less than its steps say. */
static void find_launch(const struct hn_task *task, const struct hn_device *device,
                        const struct hn_record *record, struct hn_bounds *bounds)
{
    struct hn_launch launch;
    bounds->resources = record->resources;
    bounds->occupancy = record->resources.occupancy;
    if (!record->resources.known || device->warp_size == 0 || task->plan->pipeline != NULL ||
        hn_launch_make_as(task->plan, task->problem, &record->point, record->active_clusters, false,
                          &launch, NULL) != HN_OK)
        return;
    if (launch.step_count > 0) {
        const struct hn_launch_step *step = largest_step(&launch);
        struct residency residency = {device, step, product(step->block), carveout_of(&launch)};
        if (residency.threads > 0)
            describe_launch(&residency, bounds);
    }
    hn_launch_finish(&launch);
}

void hn_bounds_find(const struct hn_task *task, const struct hn_device *device,
                    const struct hn_roofs *roofs, const struct hn_record *record,
                    struct hn_bounds *bounds)
{
    *bounds = (struct hn_bounds){0};
    find_roof(task, device, roofs, record, bounds);
    find_launch(task, device, record, bounds);
}

const char *hn_limiter_name(enum hn_limiter limiter)
{
    switch (limiter) {
    case HN_LIMITER_REGISTERS:
        return "registers";
    case HN_LIMITER_SHARED:
        return "shared memory";
    case HN_LIMITER_BOTH:
        return "registers and shared memory";
    case HN_LIMITER_BLOCK:
        return "block size";
    case HN_LIMITER_NONE:
        break;
    }
    return "none";
}
