/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/schema.h"
#include "base/text.h"
#include "runtime/bench/bench_parts.h"

static const struct hn_field request_fields[] = {
    {.key = "verify", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, verify)},
    {.key = "measure", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, measure)},
    {.key = "full", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, full)},
    {.key = "observe",
     .kind = HN_FIELD_CHARS,
     .most = HN_OBSERVE_SIZE - 1,
     HN_AT(hn_bench_request, observe)},
    {.key = "trial", HN_CHOICE(hn_bench_request, trial, hn_suspicion_names)},
    {.key = "repeat_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, repeat_ms)},
    {.key = "censor_us", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_us)},
    {.key = "censor_clock_mhz", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_clock_mhz)},
    {.key = "target", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, target)},
};
const struct hn_structure hn_bench_request_structure =
    HN_STRUCTURE(hn_bench_request, request_fields, NULL);

static void check_rules(struct hn_json_reader *reader, void *owner)
{
    const struct hn_race_rules *rules = owner;
    hn_json_expect(reader, rules->max_rounds > 0, "max_rounds", "at least 1");
}

static const struct hn_field rules_fields[] = {
    {.key = "min_rounds", .kind = HN_FIELD_COUNT, HN_AT(hn_race_rules, min_rounds)},
    {.key = "max_rounds",
     .needed = true,
     .kind = HN_FIELD_COUNT,
     .most = HN_RACE_MOST_ROUNDS,
     HN_AT(hn_race_rules, max_rounds)},
    {.key = "budget_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_race_rules, budget_ms)},
};
const struct hn_structure hn_race_rules_structure =
    HN_STRUCTURE(hn_race_rules, rules_fields, check_rules);

double hn_bench_asked(const char *observe, const char *observer)
{
    size_t length = strlen(observer);
    for (const char *at = observe; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, observer, length) != 0)
            continue;
        if (at[length] == '=')
            return hn_c_strtod(at + length + 1, NULL);
        if (at[length] == ',' || at[length] == '\0')
            return 1.0;
    }
    return 0.0;
}

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

static void make_arena(struct hn_bench *bench, uint64_t seed, struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    struct hn_value *values = NULL;
    if (hn_failed(err) ||
        hn_plan_values(plan, bench->problem, &plan->defaults, &values, err) != HN_OK)
        return;
    hn_arena_init(&bench->arena, &bench->context, &bench->support, plan, values, err);
    free(values);
    hn_stage_init(&bench->stage, &bench->arena);
    hn_arena_fill(&bench->arena, seed, err);
    if (plan->reference.kind == HN_REFERENCE_NONE)
        hn_outputs_init(&bench->own_outputs, &bench->arena, err);
    if (plan->reference.kind == HN_REFERENCE_FILES)
        hn_bench_read_reference(bench, err);
}

enum hn_status hn_bench_create(const struct hn_driver *driver, const struct hn_device *device,
                               const struct hn_image *support, const struct hn_plan *plan,
                               const struct hn_bindings *problem,
                               const struct hn_bench_options *options, struct hn_bench **bench,
                               struct hn_error *err)
{
    hn_error_init(err);
    *bench = NULL;
    if (check_regime(plan, options->regime, err) != HN_OK)
        return err->status;
    struct hn_bench *made = hn_need(1, sizeof *made);
    *made =
        (struct hn_bench){.plan = plan, .problem = problem, .device = device, .options = *options};
    hn_context_init(&made->context, driver, device, err);
    hn_support_init(&made->support, &made->context, support, err);
    make_arena(made, options->seed, err);
    hn_sampler_init(&made->sampler, &made->arena, options->regime, err);
    if (hn_failed(err))
        hn_bench_destroy(made);
    else
        *bench = made;
    return err->status;
}

static const struct hn_observer *observer_at(const struct hn_bench *bench, size_t i)
{
    bool has = bench->options.observers != NULL && i < HN_MOST_OBSERVERS;
    return has ? bench->options.observers[i] : NULL;
}

void hn_bench_destroy(struct hn_bench *bench)
{
    if (bench == NULL)
        return;
    for (size_t i = 0; observer_at(bench, i) != NULL; i++)
        if (bench->observing[i] != NULL && observer_at(bench, i)->close != NULL)
            observer_at(bench, i)->close(bench->observing[i]);
    hn_bench_drop_references(bench);
    hn_outputs_finish(&bench->own_outputs);
    hn_sampler_finish(&bench->sampler);
    hn_stage_finish(&bench->stage);
    hn_arena_finish(&bench->arena);
    hn_support_finish(&bench->support);
    hn_context_finish(&bench->context);
    free(bench);
}

bool hn_bench_is_dead(const struct hn_bench *bench)
{
    return bench->context.dead;
}

/* What it keeps; NULL where it can not observe here. */
static void *open_observer(struct hn_bench *bench, size_t i)
{
    const struct hn_observer *observer = observer_at(bench, i);
    if (bench->observing[i] == NULL)
        bench->observing[i] = observer->open == NULL ? bench : observer->open(bench);
    return bench->observing[i];
}

/* Those that are asked for and launch the variant themselves: before it is verified, or at the end.
 */
static void observe(struct hn_bench *bench, struct hn_variant *variant, const char *asked,
                    bool unseen, struct hn_record *record, struct hn_error *err)
{
    for (size_t i = 0; observer_at(bench, i) != NULL && hn_goes_on(err, record); i++) {
        const struct hn_observer *observer = observer_at(bench, i);
        double amount = hn_bench_asked(asked, observer->name);
        if (observer->run == NULL || observer->unseen != unseen || !(amount > 0))
            continue;
        void *own = open_observer(bench, i);
        if (own != NULL)
            observer->run(own, variant, amount, record, err);
    }
}

void hn_bench_note(struct hn_bench *bench, const char *asked, struct hn_record *record,
                   struct hn_error *err)
{
    for (size_t i = 0; observer_at(bench, i) != NULL && !hn_failed(err); i++) {
        const struct hn_observer *observer = observer_at(bench, i);
        bool wanted = observer->always || hn_bench_asked(asked, observer->name) > 0;
        void *own = observer->note != NULL && wanted ? open_observer(bench, i) : NULL;
        if (own != NULL)
            observer->note(own, record, err);
    }
}

void hn_bench_prepare(struct hn_bench *bench, const struct hn_bindings *point,
                      const struct hn_image *image, struct hn_variant *variant,
                      struct hn_record *record, struct hn_error *err)
{
    struct hn_launch launch;
    *variant = (struct hn_variant){0};
    if (hn_failed(err))
        return;
    if (image->outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, image->outcome, "%s",
                       image->message == NULL ? "it did not compile" : image->message);
        return;
    }
    err->status = hn_launch_make_checked(bench->plan, bench->device, bench->problem, point, &launch,
                                         record, err);
    if (hn_goes_on(err, record))
        hn_variant_init(variant, &bench->arena, &bench->stage, bench->problem, point, image,
                        &launch, record, err);
    else
        hn_launch_finish(&launch);
}

void hn_bench_settle(struct hn_bench *bench, const struct hn_variant *variant,
                     struct hn_record *record, struct hn_error *err)
{
    if (err->status == HN_EVALUE) /* of a chunk, or of a tolerance */
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", err->message);
    else if (err->status == HN_ERUN && bench->context.dead && variant->launched)
        hn_record_fail(record, HN_OUTCOME_DEVICE_FAULT, "%s", err->message);
    else if (err->status == HN_ERUN && variant->rejected)
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR, "%s", err->message);
    else
        return;
    hn_error_init(err);
}

static void prepare_sample(void *subject, size_t sets, enum hn_outputs_before before,
                           struct hn_error *err)
{
    struct hn_variant *variant = subject;
    hn_variant_restore(variant, err);
    if (before == HN_OUTPUTS_POISONED)
        hn_variant_poison(variant, sets, hn_random_next(&variant->arena->secret), err);
    else if (before == HN_OUTPUTS_REWRITTEN)
        hn_arena_rewrite(variant->arena, HN_ROLE_OUTPUT, sets, err);
}

static void check_launch(struct hn_variant *variant, CUresult result, struct hn_error *err)
{
    char what[512];
    if (result == CUDA_SUCCESS)
        return;
    hn_variant_describe(variant, what, sizeof what);
    variant->rejected = !hn_driver_result_is_fatal(result);
    hn_context_check(variant->arena->context, result, what, err);
}

static void launch_sample(void *subject, size_t set, struct hn_error *err)
{
    if (!hn_failed(err))
        check_launch(subject, hn_variant_launch(subject, set), err);
}

static void replay_sample(void *subject, size_t launches, struct hn_error *err)
{
    if (!hn_failed(err))
        check_launch(subject, hn_variant_replay(subject, launches), err);
}

static void launch_row(void *subject, size_t launches, struct hn_error *err)
{
    if (!hn_failed(err))
        check_launch(subject, hn_variant_launch_row(subject, launches), err);
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

/* NaN, which what is read before it was written turns into more of. */
static void prepare_verification(void *subject, size_t sets, enum hn_outputs_before before,
                                 struct hn_error *err)
{
    struct hn_variant *variant = subject;
    (void)sets;
    (void)before;
    hn_variant_restore(variant, err);
    hn_variant_poison(variant, 1, 0, err);
    hn_arena_poison_scratch(variant->arena, 1, 0, err);
}

/* Without a reference, a variant's own first launch is what later ones are compared with. */
static void capture_own(struct hn_variant *variant, struct hn_outputs *outputs,
                        struct hn_record *record, struct hn_error *err)
{
    static const uint64_t poisons[2] = {0, 1}; /* as prepare_verification has it, and another */
    size_t empty = SIZE_MAX;
    hn_pipeline_collect(variant, "", record, err);
    hn_outputs_capture(outputs, err);
    if (!hn_outputs_are_partial(outputs))
        return;
    hn_verify_launch(variant, poisons[1], record, err);
    if (hn_goes_on(err, record))
        hn_outputs_find_written(outputs, poisons, &empty, err);
}

/* The launch that is checked is timed like any other: most variants are so far from the best that
 * this one time is enough. */
static void verify_once(struct hn_bench *bench, struct hn_variant *variant,
                        struct hn_outputs *outputs, struct hn_sample *first,
                        struct hn_record *record, struct hn_error *err)
{
    struct hn_work work = hn_bench_work(bench, variant);
    work.prepare = prepare_verification;
    hn_sampler_take(&bench->sampler, &work, 1, 1, 1, first, err);
    if (!hn_failed(err) && outputs == &bench->own_outputs)
        capture_own(variant, outputs, record, err);
    if (hn_goes_on(err, record))
        hn_verify_check(variant, outputs, "", record, err);
}

/* What an unchecked variant has damaged is repaired and not held against this one. */
static void verify(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                   struct hn_sample *first, struct hn_record *record, struct hn_error *err)
{
    static const enum hn_verification kinds[] = {
        [HN_REFERENCE_NONE] = HN_UNVERIFIED,
        [HN_REFERENCE_SELF] = HN_SELF_VERIFIED,
        [HN_REFERENCE_TEMPLATE] = HN_VERIFIED,
        [HN_REFERENCE_FILES] = HN_VERIFIED,
    };
    if (!hn_goes_on(err, record))
        return;
    verify_once(bench, variant, outputs, first, record, err);
    if (!hn_failed(err) && record->outcome != HN_OUTCOME_OK && bench->unchecked) {
        free(record->message);
        record->message = NULL;
        record->outcome = HN_OUTCOME_OK;
        hn_bench_repair_references(bench, err);
        if (!hn_failed(err))
            verify_once(bench, variant, outputs, first, record, err);
    }
    bench->unchecked = false;
    record->verdict.kind = kinds[bench->plan->reference.kind];
    record->verdict.seeds += hn_goes_on(err, record);
}

static void note_metric_arguments(const struct hn_plan *plan, const struct hn_variant *variant,
                                  struct hn_record *record, struct hn_error *err)
{
    const double *mean = variant->metric_values;
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        if (plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        struct hn_value value = hn_real(*mean++);
        hn_bindings_set(&record->metrics, plan->arguments[i].name, &value, err);
    }
}

/* Looks at samples of a measurement, and compares what they wrote. */
struct judge {
    struct hn_bench *bench;
    struct hn_variant *variant;
    struct hn_outputs *outputs;
    struct hn_record *record;
    const char *observe;
};

static void compare_sample(void *pointer, bool *right, struct hn_error *err)
{
    const struct judge *judge = pointer;
    hn_verify_check(judge->variant, judge->outputs, "in a timed launch: ", judge->record, err);
    *right = judge->record->outcome == HN_OUTCOME_OK;
}

static void show_samples(void *pointer, const struct hn_sample *samples, size_t count)
{
    const struct judge *judge = pointer;
    for (size_t i = 0; observer_at(judge->bench, i) != NULL; i++) {
        const struct hn_observer *observer = observer_at(judge->bench, i);
        void *own = observer->taken != NULL && hn_bench_asked(judge->observe, observer->name) > 0
                        ? open_observer(judge->bench, i)
                        : NULL;
        if (own != NULL)
            observer->taken(own, samples, count);
    }
}

static void measure(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                    const struct hn_bench_request *request, struct hn_sample first,
                    struct hn_record *record, struct hn_error *err)
{
    struct judge judge = {bench, variant, outputs, record, request->observe};
    struct hn_measured measured;
    if (!hn_goes_on(err, record))
        return;
    double started_ms = hn_now_ms();
    struct hn_work work = hn_bench_work(bench, variant);
    work.compare = compare_sample;
    work.taken = request->observe[0] == '\0' ? NULL : show_samples;
    work.judge = &judge;
    hn_measure(&bench->sampler, &work, request, first, &record->timing, &measured, err);
    /* What can not win need not be compared again: that would cost as much as the samples. */
    bench->unchecked = measured.stop == HN_STOP_SLOWER && measured.launched;
    if (hn_goes_on(err, record) && measured.suspect)
        hn_bench_try(bench, variant, HN_SUSPICION_CHECKED, false, false, NULL, record, err);
    if (hn_goes_on(err, record) && measured.stop == HN_STOP_SLOWER)
        hn_record_fail(
            record, HN_OUTCOME_SLOWER,
            "stopped after %zu sample%s: not under %.4g us, and %.4g us is there to beat",
            record->timing.sample_count, record->timing.sample_count == 1 ? "" : "s",
            record->timing.low_us, request->censor_us);
    if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
        note_metric_arguments(bench->plan, variant, record, err);
    record->costs.measure_ms += hn_now_ms() - started_ms;
}

/* A race between threads may show in one launch of many. */
static void repeat(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                   double budget_ms, struct hn_record *record, struct hn_error *err)
{
    double started_ms = hn_now_ms();
    for (int i = 1;
         i <= HN_MOST_REPEATS && hn_goes_on(err, record) && hn_now_ms() - started_ms < budget_ms;
         i++) {
        char when[64];
        snprintf(when, sizeof when, "in launch %d of those that repeat it: ", i);
        hn_verify_launch(variant, hn_random_next(&bench->arena.secret), record, err);
        if (hn_goes_on(err, record))
            hn_verify_check(variant, outputs, when, record, err);
    }
}

/* Without a reference the variant's own first launch is what the last one is compared with. */
static bool needs_verification(const struct hn_bench *bench, const struct hn_outputs *outputs,
                               const struct hn_bench_request *request)
{
    bool compares = request->measure || request->repeat_ms > 0.0;
    for (size_t i = 0; observer_at(bench, i) != NULL; i++)
        compares = compares || (observer_at(bench, i)->unseen &&
                                hn_bench_asked(request->observe, observer_at(bench, i)->name) > 0);
    return request->verify || (outputs == &bench->own_outputs && compares);
}

enum hn_status hn_bench_evaluate(struct hn_bench *bench, const struct hn_image *image,
                                 const struct hn_bench_request *request, struct hn_record *record,
                                 struct hn_error *err)
{
    struct hn_variant variant;
    struct hn_outputs *outputs = NULL;
    struct hn_sample first = {0};
    hn_error_init(err);
    record->outcome = HN_OUTCOME_OK;
    double started_ms = hn_now_ms();
    hn_bench_prepare(bench, &record->point, image, &variant, record, err);
    if (request->trial != HN_SUSPICION_NONE) {
        hn_bench_decide(bench, &variant, request->trial, record, err);
    } else {
        outputs = hn_bench_find_outputs(bench, &record->point, err);
        observe(bench, &variant, request->observe, true, record, err);
        if (needs_verification(bench, outputs, request))
            verify(bench, &variant, outputs, &first, record, err);
        if (request->repeat_ms > 0.0)
            repeat(bench, &variant, outputs, request->repeat_ms, record, err);
        record->costs.verify_ms += hn_now_ms() - started_ms;
        if (request->measure)
            measure(bench, &variant, outputs, request, first, record, err);
        observe(bench, &variant, request->observe, false, record, err);
        if (request->measure && record->timing.sample_count > 0)
            hn_bench_note(bench, request->observe, record, err);
    }
    hn_bench_settle(bench, &variant, record, err);
    hn_variant_finish(&variant);
    if (!bench->context.dead)
        hn_bench_repair_references(bench, err);
    return err->status;
}

enum hn_status hn_bench_reseed(struct hn_bench *bench, uint64_t seed, struct hn_error *err)
{
    hn_error_init(err);
    /* All is filled and computed anew; guard zones are not. */
    if (bench->unchecked)
        hn_arena_repair(&bench->arena, err);
    bench->unchecked = false;
    hn_arena_fill(&bench->arena, seed, err);
    for (size_t i = 0; i < bench->reference_count; i++)
        bench->references[i]->outputs.damaged = true;
    hn_bench_repair_references(bench, err);
    return err->status;
}
