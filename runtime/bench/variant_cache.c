/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"
#include "runtime/device/driver.h"

/* What is set aside is the same for all steps: the most that one of them asks for. */
static int64_t most_set_aside(const struct hn_launch *launch)
{
    int64_t most = 0;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].window.set_aside > most)
            most = launch->steps[i].window.set_aside;
    return most;
}

static bool has_windows(const struct hn_launch *launch)
{
    bool has = false;
    for (size_t i = 0; i < launch->step_count; i++)
        has = has || hn_l2_window_counts(&launch->steps[i].window);
    return has;
}

CUresult hn_variant_use_cache(const struct hn_variant *variant)
{
    return hn_l2_use(variant->arena->context, has_windows(&variant->launch) ? variant : NULL,
                     most_set_aside(&variant->launch));
}

static bool check_buffer(const struct hn_variant *variant, const struct hn_launch_step *step,
                         struct hn_record *record)
{
    size_t argument = step->step->geometry.window.argument;
    uint64_t bytes = variant->arena->buffers[argument].bytes;
    if ((uint64_t)step->window.bytes <= bytes)
        return true;
    hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                   "an L2 window of %lld bytes over '%s', which has %llu",
                   (long long)step->window.bytes, variant->arena->plan->arguments[argument].name,
                   (unsigned long long)bytes);
    return false;
}

enum hn_status hn_variant_open_windows(const struct hn_variant *variant, struct hn_record *record,
                                       struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    struct hn_error reason;
    for (size_t i = 0; i < variant->launch.step_count; i++)
        if (hn_l2_window_counts(&variant->launch.steps[i].window) &&
            !check_buffer(variant, &variant->launch.steps[i], record))
            return HN_OK;
    CUresult result = hn_variant_use_cache(variant);
    enum hn_status status = hn_context_check(context, result, "setting L2 cache aside", &reason);
    if (status == HN_OK)
        return HN_OK;
    if (hn_driver_result_is_fatal(result))
        return hn_fail(err, status, "%s", reason.message);
    hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                   "a set-aside of %lld bytes of L2 cache, which the driver refuses: %s",
                   (long long)most_set_aside(&variant->launch), reason.message);
    return HN_OK;
}
