/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* What the parts of a plan with a pipeline take on their own, in one chunk and one stream:
 * copy_engines (of the device), kernels_us, upload_us, download_us and sequential_us (all of it),
 * median times. How a pipeline is cut is noted where it is placed (pipeline.c). */

enum { LEAST = 5, MOST = 21 };
static const double PART_MS = 250.0;

enum {
    SKIP_ALL = HN_SKIP_UPLOADS | HN_SKIP_KERNELS | HN_SKIP_DOWNLOADS,
    ONLY_UPLOADS = HN_SKIP_KERNELS | HN_SKIP_DOWNLOADS,
    ONLY_KERNELS = HN_SKIP_UPLOADS | HN_SKIP_DOWNLOADS,
    ONLY_DOWNLOADS = HN_SKIP_UPLOADS | HN_SKIP_KERNELS,
};

/* A part of a pipeline: what is done before it is timed (all is skipped: nothing), and what is
 * timed. Nothing is copied of what is mapped: its transfers are within the kernels. */
static const struct part {
    const char *name;
    unsigned char skip_before;
    unsigned char skip;
    bool is_copy;
} parts[] = {
    {"staging.upload_us", SKIP_ALL, ONLY_UPLOADS, true},
    {"staging.kernels_us", ONLY_UPLOADS, ONLY_KERNELS, false},
    {"staging.download_us", HN_SKIP_DOWNLOADS, ONLY_DOWNLOADS, true},
    {"staging.sequential_us", SKIP_ALL, 0, false},
};
enum { PARTS = sizeof parts / sizeof *parts };

struct timed {
    struct hn_variant *variant;
    const struct part *part;
};

static void launch(struct hn_variant *variant, unsigned char skip, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    variant->skip = skip;
    CUresult result = hn_variant_launch(variant, 0);
    variant->skip = 0;
    hn_context_check(variant->arena->context, result, variant->what, err);
}

static void prepare_part(void *subject, size_t sets, enum hn_outputs_before before,
                         struct hn_error *err)
{
    (void)sets;
    (void)before;
    const struct timed *timed = subject;
    hn_variant_restore(timed->variant, err);
    if (timed->part->skip_before != SKIP_ALL)
        launch(timed->variant, timed->part->skip_before, err);
}

static void launch_part(void *subject, size_t set, struct hn_error *err)
{
    const struct timed *timed = subject;
    (void)set;
    launch(timed->variant, timed->part->skip, err);
}

/* The median in us. The first one is not counted: it brings code and pages to where they are
 * needed. */
static double measure_part(struct hn_bench *bench, struct timed timed, struct hn_error *err)
{
    const struct hn_work work = {.sampler = &bench->sampler,
                                 .batch = 1,
                                 .subject = &timed,
                                 .prepare = prepare_part,
                                 .launch = launch_part,
                                 .issued = true,
                                 .what = timed.variant->what,
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
    return hn_failed(err) ? 0 : hn_median(times_us, count);
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_error *err)
{
    struct hn_bench *bench = own;
    struct hn_launch launch_of_parts;
    struct hn_record record_of_parts HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_variant sequential HN_ENDED_BY(hn_variant_finish) = {.record = &record_of_parts};
    struct hn_record *record = variant->record;
    double times_us[PARTS] = {0};
    (void)asked;
    if (variant->launch.flow == NULL ||
        hn_launch_make_as(bench->plan, bench->problem, &record->point, 0, true, &launch_of_parts,
                          err) != HN_OK)
        return;
    /* What is refused in one chunk has no such parts. */
    hn_launch_check(&launch_of_parts, bench->device, &record_of_parts);
    hn_variant_init(&sequential, &bench->arena, &bench->stage, bench->problem, &record->point,
                    variant->image, &launch_of_parts, &record_of_parts, err);
    if (hn_goes_on(&sequential, err))
        hn_variant_describe(&sequential);
    for (size_t i = 0; i < PARTS && hn_goes_on(&sequential, err); i++)
        if (!parts[i].is_copy || sequential.launch.flow->host_memory != HN_HOST_MAPPED)
            times_us[i] = measure_part(bench, (struct timed){&sequential, &parts[i]}, err);
    hn_bench_settle(bench, &sequential, err);
    /* What it may have done wrong is for the next check to find. */
    bench->unchecked = true;
    if (hn_goes_on(&sequential, err)) {
        hn_observed_set(&record->observed, "staging.copy_engines",
                        hn_integer(bench->device->copy_engines), err);
        for (size_t i = 0; i < PARTS; i++)
            hn_observed_set(&record->observed, parts[i].name, hn_real(times_us[i]), err);
    }
}

const struct hn_observer hn_staging_observer = {.name = "staging", .run = run};
