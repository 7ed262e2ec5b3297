/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* What the parts of a plan with a pipeline take on their own, in one chunk and one stream:
 * copy_engines (of the device), kernels_us, upload_us, download_us and sequential_us (all of it),
 * median times. How a pipeline is cut is noted where it is placed (variant_pipeline.c). */

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

static void launch(const struct part *part, unsigned char skip, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_context *context = part->variant->arena->context;
    part->variant->skip = skip;
    CUresult result = hn_variant_launch(part->variant, 0);
    part->variant->skip = 0;
    hn_context_check(context, result, part->variant->what, err);
}

static void prepare_part(void *subject, size_t sets, enum hn_outputs_before before,
                         struct hn_error *err)
{
    (void)sets;
    (void)before;
    const struct part *part = subject;
    hn_variant_restore(part->variant, err);
    if (part->skip_before != SKIP_ALL)
        launch(part, part->skip_before, err);
}

static void launch_part(void *subject, size_t set, struct hn_error *err)
{
    const struct part *part = subject;
    (void)set;
    launch(part, part->skip, err);
}

/* The first one is not counted: it brings code and pages to where they are needed. */
static void measure_part(struct hn_bench *bench, struct part part, double *time_us,
                         struct hn_error *err)
{
    const struct hn_work work = {.sampler = &bench->sampler,
                                 .batch = 1,
                                 .subject = &part,
                                 .prepare = prepare_part,
                                 .launch = launch_part,
                                 .issued = true,
                                 .what = part.variant->what,
                                 .step_count = 1};
    double times_us[MOST];
    size_t count = 0;
    struct hn_sample sample = {0};
    double started_ms = hn_now_ms();
    hn_sampler_take(&work, 1, 0, &sample, err);
    while (!hn_failed(err) && count < MOST &&
           (count < LEAST || hn_now_ms() - started_ms < PART_MS)) {
        hn_sampler_take(&work, 1, 0, &sample, err);
        times_us[count++] = sample.time_us;
    }
    if (!hn_failed(err))
        *time_us = hn_median(times_us, count);
}

struct times {
    double kernels_us;
    double upload_us;
    double download_us;
    double sequential_us;
};

/* Nothing is copied of what is mapped: its transfers are within the kernels. */
static void measure_parts(struct hn_bench *bench, struct hn_variant *variant, struct times *times,
                          struct hn_error *err)
{
    bool copies = variant->launch.flow->host_memory != HN_HOST_MAPPED;
    const struct part uploads = {variant, SKIP_ALL, ONLY_UPLOADS};
    const struct part kernels = {variant, ONLY_UPLOADS, ONLY_KERNELS};
    const struct part downloads = {variant, HN_SKIP_DOWNLOADS, ONLY_DOWNLOADS};
    const struct part all = {variant, SKIP_ALL, 0};
    hn_variant_describe(variant);
    if (copies)
        measure_part(bench, uploads, &times->upload_us, err);
    measure_part(bench, kernels, &times->kernels_us, err);
    if (copies)
        measure_part(bench, downloads, &times->download_us, err);
    measure_part(bench, all, &times->sequential_us, err);
}

static void note(const struct hn_bench *bench, const struct times *times,
                 struct hn_bindings *observed, struct hn_error *err)
{
    hn_observed_count(observed, "staging.copy_engines", bench->device->copy_engines, err);
    hn_observed_set(observed, "staging.kernels_us", times->kernels_us, err);
    hn_observed_set(observed, "staging.upload_us", times->upload_us, err);
    hn_observed_set(observed, "staging.download_us", times->download_us, err);
    hn_observed_set(observed, "staging.sequential_us", times->sequential_us, err);
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_error *err)
{
    struct hn_bench *bench = own;
    struct hn_launch launch_of_parts;
    struct hn_record parts;
    struct hn_variant sequential = {.record = &parts};
    struct hn_record *record = variant->record;
    struct times times = {0};
    (void)asked;
    if (variant->launch.flow == NULL ||
        hn_launch_make_as(bench->plan, bench->problem, &record->point, 0, true, &launch_of_parts,
                          err) != HN_OK)
        return;
    hn_record_init(&parts);
    /* What is refused in one chunk has no such parts. */
    if (hn_launch_check(&launch_of_parts, bench->device, &parts))
        hn_variant_init(&sequential, &bench->arena, &bench->stage, bench->problem, &record->point,
                        variant->image, &launch_of_parts, &parts, err);
    else
        hn_launch_finish(&launch_of_parts);
    if (hn_goes_on(&sequential, err))
        measure_parts(bench, &sequential, &times, err);
    hn_bench_settle(bench, &sequential, err);
    /* What it may have done wrong is for the next check to find. */
    bench->unchecked = true;
    if (hn_goes_on(&sequential, err))
        note(bench, &times, &record->observed, err);
    hn_variant_finish(&sequential);
    hn_record_finish(&parts);
}

const struct hn_observer hn_staging_observer = {.name = "staging", .run = run};
