/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/bench_internal.h"
#include "runtime/bench/energy.h"
#include "runtime/bench/pipeline_run.h"

/* What a graph replays has to be what a launch leaves; a pipeline also waits for the host. */
static enum hn_status check_regime(const struct hn_plan *plan, enum hn_regime regime,
                                   struct hn_error *err)
{
    if (regime >= HN_GRAPH && plan->pipeline != NULL)
        return hn_fail(
            err, HN_ECONFIG,
            "a plan with a pipeline is not replayed as a graph: measure it cold, warm or "
            "as a stream");
    for (size_t i = 0; regime == HN_GRAPH10 && i < plan->argument_count; i++)
        if (!hn_argument_is_repeatable(&plan->arguments[i]))
            return hn_fail(err, HN_ECONFIG,
                           "launches can not follow one another in a graph of ten: argument '%s' "
                           "has to be as it was before each; measure single launches (--regime "
                           "graph)",
                           plan->arguments[i].name);
    return HN_OK;
}

static enum hn_status make_arena(struct hn_bench *bench, uint64_t seed, struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status =
        hn_plan_values(bench->plan, bench->problem, &bench->plan->defaults, &values, err);
    if (status != HN_OK)
        return status;
    status =
        hn_arena_init(&bench->arena, &bench->context, &bench->support, bench->plan, values, err);
    free(values);
    if (status == HN_OK)
        status = hn_arena_fill(&bench->arena, seed, err);
    if (status == HN_OK && bench->plan->reference.kind == HN_REFERENCE_NONE)
        status = hn_outputs_init(&bench->own_outputs, &bench->arena, err);
    if (status == HN_OK && bench->plan->reference.kind == HN_REFERENCE_FILES)
        status = hn_bench_read_reference(bench, err);
    return status;
}

enum hn_status hn_bench_create(const struct hn_driver *driver, const struct hn_device *device,
                               const struct hn_image *support, const struct hn_plan *plan,
                               const struct hn_bindings *problem,
                               const struct hn_bench_options *options, struct hn_bench **bench,
                               struct hn_error *err)
{
    *bench = NULL;
    enum hn_status status = check_regime(plan, options->regime, err);
    if (status != HN_OK)
        return status;
    struct hn_bench *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_fail_memory(err);
    made->plan = plan;
    made->problem = problem;
    made->device = device;
    made->regime = options->regime;
    status = hn_context_init(&made->context, driver, device, err);
    if (status == HN_OK)
        status = hn_support_init(&made->support, &made->context, support, err);
    if (status == HN_OK)
        status = make_arena(made, options->seed, err);
    if (status == HN_OK)
        status = hn_sampler_init(&made->sampler, &made->arena, made->regime, err);
    if (status != HN_OK) {
        hn_bench_destroy(made);
        return status;
    }
    *bench = made;
    return HN_OK;
}

void hn_bench_destroy(struct hn_bench *bench)
{
    if (bench == NULL)
        return;
    hn_energy_meter_destroy(bench->meter);
    hn_bench_drop_references(bench);
    hn_profiler_destroy(bench->profiler);
    hn_outputs_finish(&bench->own_outputs);
    hn_sampler_finish(&bench->sampler);
    hn_arena_finish(&bench->arena);
    hn_support_finish(&bench->support);
    hn_context_finish(&bench->context);
    free(bench);
}

bool hn_bench_is_dead(const struct hn_bench *bench)
{
    return bench->context.dead;
}

enum hn_status hn_bench_prepare(struct hn_bench *bench, const struct hn_bindings *point,
                                const struct hn_image *image, struct hn_variant *variant,
                                struct hn_record *record, struct hn_error *err)
{
    struct hn_launch launch;
    *variant = (struct hn_variant){0};
    if (image->outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, image->outcome, "%s",
                       image->message == NULL ? "it did not compile" : image->message);
        return HN_OK;
    }
    enum hn_status status = hn_launch_make_checked(bench->plan, bench->device, bench->problem,
                                                   point, &launch, record, err);
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK) {
        hn_launch_finish(&launch);
        return status;
    }
    return hn_variant_init(variant, &bench->arena, bench->problem, point, image, &launch, record,
                           err);
}

enum hn_status hn_bench_settle(struct hn_bench *bench, const struct hn_variant *variant,
                               enum hn_status status, struct hn_record *record,
                               struct hn_error *err)
{
    if (status != HN_ERUN && status != HN_EVALUE)
        return status;
    if (status == HN_EVALUE) /* of a chunk, or of a tolerance */
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", err->message);
    else if (bench->context.dead && variant->launched)
        hn_record_fail(record, HN_OUTCOME_DEVICE_FAULT, "%s", err->message);
    else if (variant->rejected)
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR, "%s", err->message);
    else
        return status;
    return HN_OK;
}

static enum hn_status prepare_sample(void *subject, size_t sets, enum hn_outputs_before before,
                                     struct hn_error *err)
{
    struct hn_variant *variant = subject;
    enum hn_status status = hn_variant_restore(variant, err);
    if (status != HN_OK || before == HN_OUTPUTS_LEFT)
        return status;
    return before == HN_OUTPUTS_POISONED
               ? hn_variant_poison(variant, sets, hn_random_next(&variant->arena->secret), err)
               : hn_arena_rewrite(variant->arena, HN_ROLE_OUTPUT, sets, err);
}

static enum hn_status check_launch(struct hn_variant *variant, CUresult result,
                                   struct hn_error *err)
{
    char what[512];
    if (result == CUDA_SUCCESS)
        return HN_OK;
    hn_variant_describe(variant, what, sizeof what);
    variant->rejected = !hn_driver_result_is_fatal(result);
    return hn_context_check(variant->arena->context, result, what, err);
}

static enum hn_status launch_sample(void *subject, size_t set, struct hn_error *err)
{
    struct hn_variant *variant = subject;
    return check_launch(variant, hn_variant_launch(variant, set), err);
}

static enum hn_status replay_sample(void *subject, size_t launches, struct hn_error *err)
{
    struct hn_variant *variant = subject;
    return check_launch(variant, hn_variant_replay(variant, launches), err);
}

static enum hn_status launch_row(void *subject, size_t launches, struct hn_error *err)
{
    struct hn_variant *variant = subject;
    return check_launch(variant, hn_variant_launch_row(variant, launches), err);
}

struct hn_work hn_bench_work(const struct hn_bench *bench, struct hn_variant *variant)
{
    struct hn_work work = {
        .subject = variant,
        .prepare = prepare_sample,
        .launch = launch_sample,
        .replay = replay_sample,
        .row = launch_row,
        .what = variant->what,
        .batchable = hn_variant_is_repeatable(variant),
        .issued = variant->launch.flow != NULL,
        .step_count = variant->launch.step_count + variant->zeroed_count,
    };
    for (size_t i = 0; i < bench->plan->argument_count; i++)
        if (bench->plan->arguments[i].role == HN_ROLE_OUTPUT) {
            work.output_count++;
            work.output_bytes += bench->arena.buffers[i].bytes;
        }
    hn_variant_describe(variant, variant->what, sizeof variant->what);
    return work;
}

static enum hn_verification verification_kind(enum hn_reference_kind kind)
{
    switch (kind) {
    case HN_REFERENCE_NONE:
        return HN_UNVERIFIED;
    case HN_REFERENCE_SELF:
        return HN_SELF_VERIFIED;
    case HN_REFERENCE_TEMPLATE:
    case HN_REFERENCE_FILES:
        break;
    }
    return HN_VERIFIED;
}

/* NaN, which what is read before it was written turns into more of. */
static enum hn_status prepare_verification(void *subject, size_t sets,
                                           enum hn_outputs_before before, struct hn_error *err)
{
    struct hn_variant *variant = subject;
    (void)sets;
    (void)before;
    enum hn_status status = hn_variant_restore(variant, err);
    if (status == HN_OK)
        status = hn_variant_poison(variant, 1, 0, err);
    return status == HN_OK ? hn_arena_poison_scratch(variant->arena, 1, 0, err) : status;
}

/* Without a reference, a variant's own first launch is what later ones are compared with. */
static enum hn_status capture_own(struct hn_variant *variant, struct hn_outputs *outputs,
                                  struct hn_record *record, struct hn_error *err)
{
    static const uint64_t poisons[2] = {0, 1}; /* as prepare_verification has it, and another */
    size_t empty = SIZE_MAX;
    enum hn_status status = HN_OK;
    if (variant->launch.flow != NULL)
        status = hn_pipeline_collect(variant, "", record, err);
    if (status == HN_OK)
        status = hn_outputs_capture(outputs, err);
    if (status != HN_OK || !hn_outputs_are_partial(outputs))
        return status;
    status = hn_verify_launch(variant, poisons[1], record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_outputs_find_written(outputs, poisons, &empty, err);
    return status;
}

/* The launch that is checked is timed like any other: most variants are so far from the best that
 * this one time is enough. */
static enum hn_status verify_once(struct hn_bench *bench, struct hn_variant *variant,
                                  struct hn_outputs *outputs, struct hn_sample *first,
                                  struct hn_record *record, struct hn_error *err)
{
    struct hn_work work = hn_bench_work(bench, variant);
    work.prepare = prepare_verification;
    enum hn_status status = hn_sampler_take(&bench->sampler, &work, 1, 1, 1, first, err);
    if (status != HN_OK)
        return status;
    if (outputs == &bench->own_outputs)
        status = capture_own(variant, outputs, record, err);
    return status == HN_OK && record->outcome == HN_OUTCOME_OK
               ? hn_verify_check(variant, outputs, "", record, err)
               : status;
}

/* What an unchecked variant has damaged is repaired and not held against this one. */
static enum hn_status verify(struct hn_bench *bench, struct hn_variant *variant,
                             struct hn_outputs *outputs, struct hn_sample *first,
                             struct hn_record *record, struct hn_error *err)
{
    enum hn_status status = verify_once(bench, variant, outputs, first, record, err);
    if (status == HN_OK && record->outcome != HN_OUTCOME_OK && bench->unchecked) {
        free(record->message);
        record->message = NULL;
        record->outcome = HN_OUTCOME_OK;
        status = hn_bench_repair_references(bench, err);
        if (status == HN_OK)
            status = verify_once(bench, variant, outputs, first, record, err);
    }
    bench->unchecked = false;
    record->verdict.kind = verification_kind(bench->plan->reference.kind);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        record->verdict.seeds++;
    return status;
}

static enum hn_status note_metric_arguments(const struct hn_plan *plan,
                                            const struct hn_variant *variant,
                                            struct hn_record *record, struct hn_error *err)
{
    const double *mean = variant->metric_values;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < plan->argument_count; i++) {
        if (plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        struct hn_value value = hn_real(*mean++);
        status = hn_bindings_set(&record->metrics, plan->arguments[i].name, &value, err);
    }
    return status;
}

/* Who judges the samples of a measurement. */
struct judge {
    struct hn_variant *variant;
    struct hn_outputs *outputs;
    struct hn_record *record;
};

static enum hn_status compare_sample(void *pointer, bool *right, struct hn_error *err)
{
    const struct judge *judge = pointer;
    enum hn_status status =
        hn_verify_check(judge->variant, judge->outputs, "in a timed launch: ", judge->record, err);
    *right = judge->record->outcome == HN_OUTCOME_OK;
    return status;
}

static enum hn_status decide(struct hn_bench *bench, struct hn_variant *variant,
                             enum hn_suspicion kind, struct hn_record *record, struct hn_error *err)
{
    static const char *const texts[] = {
        [HN_SUSPICION_CHECKED] = "launches whose results were compared took %.4g us, the others "
                                 "%.4g us: it does less where it is not checked",
        [HN_SUSPICION_AGAIN] = "a launch on new inputs takes %.4g us, one on the same inputs again "
                               "%.4g us: it does not do all of its work in every launch",
    };
    struct hn_trial trial;
    enum hn_status status = hn_bench_try(bench, variant, kind, true, true, &trial, record, err);
    if (status == HN_OK)
        status = hn_arena_fill(&bench->arena, bench->arena.seed, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && record->suspicion == kind)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT, texts[kind], trial.whole_us,
                       trial.spared_us);
    return status;
}

static enum hn_status measure(struct hn_bench *bench, struct hn_variant *variant,
                              struct hn_outputs *outputs, const struct hn_bench_request *request,
                              struct hn_sample first, struct hn_record *record,
                              struct hn_error *err)
{
    struct judge judge = {variant, outputs, record};
    struct hn_measured measured;
    struct hn_trial trial;
    struct hn_work work = hn_bench_work(bench, variant);
    work.compare = compare_sample;
    work.judge = &judge;
    enum hn_status status =
        hn_measure(&bench->sampler, &work, request, first, &record->timing, &measured, err);
    /* What can not win need not be compared again: that would cost as much as the samples. */
    bench->unchecked = measured.stop == HN_STOP_SLOWER && measured.launched;
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && measured.suspect)
        status =
            hn_bench_try(bench, variant, HN_SUSPICION_CHECKED, false, false, &trial, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && measured.stop == HN_STOP_SLOWER)
        hn_record_fail(
            record, HN_OUTCOME_SLOWER,
            "stopped after %zu sample%s: not under %.4g us, and %.4g us is there to beat",
            record->timing.sample_count, record->timing.sample_count == 1 ? "" : "s",
            record->timing.low_us, request->censor_us);
    if (status != HN_OK ||
        (record->outcome != HN_OUTCOME_OK && record->outcome != HN_OUTCOME_SLOWER))
        return status;
    return note_metric_arguments(bench->plan, variant, record, err);
}

/* A race between threads may show in one launch of many. */
static enum hn_status repeat(struct hn_bench *bench, struct hn_variant *variant,
                             struct hn_outputs *outputs, double budget_ms, struct hn_record *record,
                             struct hn_error *err)
{
    double started_ms = hn_now_ms();
    enum hn_status status = HN_OK;
    for (int i = 1; i <= HN_MOST_REPEATS && status == HN_OK && record->outcome == HN_OUTCOME_OK &&
                    hn_now_ms() - started_ms < budget_ms;
         i++) {
        char when[64];
        snprintf(when, sizeof when, "in launch %d of those that repeat it: ", i);
        status = hn_verify_launch(variant, hn_random_next(&bench->arena.secret), record, err);
        if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
            status = hn_verify_check(variant, outputs, when, record, err);
    }
    return status;
}

static bool compares(const struct hn_bench_request *request)
{
    return request->measure || request->audit || request->repeat_ms > 0.0;
}

/* Without a reference the variant's own first launch is what the last one is compared with. */
static enum hn_status check(struct hn_bench *bench, struct hn_variant *variant,
                            struct hn_outputs *outputs, const struct hn_bench_request *request,
                            struct hn_sample *first, struct hn_record *record, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    /* On inputs that it has not seen, before those whose results are known. */
    if (request->audit)
        status = hn_bench_audit(bench, variant, request->audit_memory, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK &&
        (request->verify || (outputs == &bench->own_outputs && compares(request))))
        status = verify(bench, variant, outputs, first, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && request->repeat_ms > 0.0)
        status = repeat(bench, variant, outputs, request->repeat_ms, record, err);
    return status;
}

static enum hn_status measure_energy(struct hn_bench *bench, struct hn_variant *variant,
                                     double seconds, struct hn_record *record, struct hn_error *err)
{
    const struct hn_work work = hn_bench_work(bench, variant);
    if (bench->meter == NULL)
        bench->meter = hn_energy_meter_create(bench->device->uuid);
    if (bench->meter == NULL)
        return HN_OK;
    /* What it may have damaged in all these launches is found by the next check. */
    bench->unchecked = true;
    return hn_energy_measure(&bench->sampler, &work, bench->meter, seconds, &bench->idle_w,
                             &record->observed, err);
}

static enum hn_status run(struct hn_bench *bench, struct hn_variant *variant,
                          const struct hn_bench_request *request, struct hn_record *record,
                          struct hn_error *err)
{
    struct hn_outputs *outputs = NULL;
    struct hn_sample first = {0};
    double started_ms = hn_now_ms();
    if (request->trial != HN_SUSPICION_NONE)
        return decide(bench, variant, request->trial, record, err);
    enum hn_status status = hn_bench_find_outputs(bench, &record->point, &outputs, err);
    if (status == HN_OK)
        status = check(bench, variant, outputs, request, &first, record, err);
    record->costs.verify_ms += hn_now_ms() - started_ms;
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
        return status;
    started_ms = hn_now_ms();
    if (request->measure)
        status = measure(bench, variant, outputs, request, first, record, err);
    record->costs.measure_ms += request->measure ? hn_now_ms() - started_ms : 0;
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && request->energy_s > 0.0)
        status = measure_energy(bench, variant, request->energy_s, record, err);
    return status;
}

static enum hn_status note_staging(const struct hn_variant *variant, struct hn_record *record,
                                   struct hn_error *err)
{
    const struct hn_flow *flow = variant->launch.flow;
    if (flow == NULL || record->outcome != HN_OUTCOME_OK)
        return HN_OK;
    struct hn_bindings *observed = &record->observed;
    double register_ms = hn_pipeline_register_ms(variant);
    hn_error_init(err);
    hn_observed_count(observed, "staging.chunks", (int64_t)flow->chunk_count, err);
    hn_observed_count(observed, "staging.streams", (int64_t)flow->streams, err);
    if (register_ms > 0)
        hn_observed_set(observed, "staging.register_ms", register_ms, err);
    return err->status;
}

enum hn_status hn_bench_evaluate(struct hn_bench *bench, const struct hn_image *image,
                                 const struct hn_bench_request *request, struct hn_record *record,
                                 struct hn_error *err)
{
    struct hn_variant variant;
    struct hn_error own_error;
    err = err == NULL ? &own_error : err;
    record->outcome = HN_OUTCOME_OK;
    double started_ms = hn_now_ms();
    enum hn_status status = hn_bench_prepare(bench, &record->point, image, &variant, record, err);
    record->costs.verify_ms += hn_now_ms() - started_ms;
    if (status == HN_OK)
        status = note_staging(&variant, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = run(bench, &variant, request, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && request->parts &&
        variant.launch.flow != NULL)
        status = hn_bench_measure_parts(bench, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && request->counters)
        status = hn_bench_count(bench, &variant, record, err);
    status = hn_bench_settle(bench, &variant, status, record, err);
    hn_variant_finish(&variant);
    if (status == HN_OK && !bench->context.dead)
        status = hn_bench_repair_references(bench, err);
    return status;
}

enum hn_status hn_bench_reseed(struct hn_bench *bench, uint64_t seed, struct hn_error *err)
{
    /* All is filled and computed anew; guard zones are not. */
    enum hn_status status = bench->unchecked ? hn_arena_repair(&bench->arena, err) : HN_OK;
    bench->unchecked = false;
    if (status == HN_OK)
        status = hn_arena_fill(&bench->arena, seed, err);
    for (size_t i = 0; i < bench->reference_count; i++)
        bench->references[i]->outputs.damaged = true;
    return status == HN_OK ? hn_bench_repair_references(bench, err) : status;
}
