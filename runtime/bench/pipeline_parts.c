/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/bench/bench_internal.h"
#include "runtime/bench/pipeline_run.h"

enum { LEAST = 5, MOST = 21 };
static const double PART_MS = 250.0;

/* A part of a pipeline: what is done before it is timed, and what is timed. */
struct part {
    struct hn_variant *variant;
    unsigned char skip_before; /* all: nothing is done */
    unsigned char skip;
};
enum {
    SKIP_ALL = HN_SKIP_UPLOADS | HN_SKIP_KERNELS | HN_SKIP_DOWNLOADS,
    ONLY_UPLOADS = HN_SKIP_KERNELS | HN_SKIP_DOWNLOADS,
    ONLY_KERNELS = HN_SKIP_UPLOADS | HN_SKIP_DOWNLOADS,
    ONLY_DOWNLOADS = HN_SKIP_UPLOADS | HN_SKIP_KERNELS,
};

static enum hn_status launch(const struct part *part, unsigned char skip, struct hn_error *err)
{
    struct hn_context *context = part->variant->arena->context;
    part->variant->skip = skip;
    CUresult result = hn_variant_launch(part->variant, 0);
    part->variant->skip = 0;
    return hn_context_check(context, result, part->variant->what, err);
}

static enum hn_status prepare_part(void *subject, size_t sets, enum hn_outputs_before before,
                                   struct hn_error *err)
{
    (void)sets;
    (void)before;
    const struct part *part = subject;
    enum hn_status status = hn_variant_restore(part->variant, err);
    if (status == HN_OK && part->skip_before != SKIP_ALL)
        status = launch(part, part->skip_before, err);
    return status;
}

static enum hn_status launch_part(void *subject, size_t set, struct hn_error *err)
{
    const struct part *part = subject;
    (void)set;
    return launch(part, part->skip, err);
}

/* The first one is not counted: it brings code and pages to where they are needed. */
static enum hn_status measure_part(struct hn_bench *bench, struct part part, double *time_us,
                                   struct hn_error *err)
{
    const struct hn_work work = {.subject = &part,
                                 .prepare = prepare_part,
                                 .launch = launch_part,
                                 .issued = true,
                                 .what = part.variant->what,
                                 .step_count = 1};
    double times_us[MOST];
    size_t count = 0;
    struct hn_sample sample = {0};
    double started_ms = hn_now_ms();
    enum hn_status status = hn_sampler_take(&bench->sampler, &work, 1, 1, 0, &sample, err);
    while (status == HN_OK && count < MOST &&
           (count < LEAST || hn_now_ms() - started_ms < PART_MS)) {
        status = hn_sampler_take(&bench->sampler, &work, 1, 1, 0, &sample, err);
        times_us[count++] = sample.time_us;
    }
    if (status == HN_OK)
        *time_us = hn_median(times_us, count);
    return status;
}

struct times {
    double kernels_us;
    double upload_us;
    double download_us;
    double sequential_us;
};

/* Nothing is copied of what is mapped: its transfers are within the kernels. */
static enum hn_status measure_parts(struct hn_bench *bench, struct hn_variant *variant,
                                    struct times *times, struct hn_error *err)
{
    bool copies = variant->launch.flow->host_memory != HN_HOST_MAPPED;
    const struct part uploads = {variant, SKIP_ALL, ONLY_UPLOADS};
    const struct part kernels = {variant, ONLY_UPLOADS, ONLY_KERNELS};
    const struct part downloads = {variant, HN_SKIP_DOWNLOADS, ONLY_DOWNLOADS};
    const struct part all = {variant, SKIP_ALL, 0};
    enum hn_status status = HN_OK;
    hn_variant_describe(variant, variant->what, sizeof variant->what);
    if (copies)
        status = measure_part(bench, uploads, &times->upload_us, err);
    if (status == HN_OK)
        status = measure_part(bench, kernels, &times->kernels_us, err);
    if (status == HN_OK && copies)
        status = measure_part(bench, downloads, &times->download_us, err);
    return status == HN_OK ? measure_part(bench, all, &times->sequential_us, err) : status;
}

static enum hn_status note(const struct hn_bench *bench, const struct times *times,
                           struct hn_bindings *observed, struct hn_error *err)
{
    hn_error_init(err);
    hn_observed_count(observed, "staging.copy_engines", bench->device->copy_engines, err);
    hn_observed_set(observed, "staging.kernels_us", times->kernels_us, err);
    hn_observed_set(observed, "staging.upload_us", times->upload_us, err);
    hn_observed_set(observed, "staging.download_us", times->download_us, err);
    hn_observed_set(observed, "staging.sequential_us", times->sequential_us, err);
    return err->status;
}

enum hn_status hn_bench_measure_parts(struct hn_bench *bench, const struct hn_image *image,
                                      struct hn_record *record, struct hn_error *err)
{
    struct hn_launch launch;
    struct hn_record own;
    struct hn_variant variant = {0};
    enum hn_status status =
        hn_launch_make_sequential(bench->plan, bench->problem, &record->point, &launch, err);
    if (status != HN_OK)
        return status;
    hn_record_init(&own);
    /* What is refused in one chunk has no such parts. */
    if (!hn_launch_check(&launch, bench->device, &own)) {
        hn_launch_finish(&launch);
        hn_record_finish(&own);
        return HN_OK;
    }
    status = hn_variant_init(&variant, &bench->arena, bench->problem, &record->point, image,
                             &launch, &own, err);
    struct times times = {0};
    if (status == HN_OK && own.outcome == HN_OUTCOME_OK)
        status = measure_parts(bench, &variant, &times, err);
    status = hn_bench_settle(bench, &variant, status, &own, err);
    /* What it may have done wrong is for the next check to find. */
    bench->unchecked = true;
    if (status == HN_OK && own.outcome == HN_OUTCOME_OK)
        status = note(bench, &times, &record->observed, err);
    hn_variant_finish(&variant);
    hn_record_finish(&own);
    return status;
}
