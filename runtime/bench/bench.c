/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/schema.h"
#include "base/text.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/compile/cubin.h"

static const struct hn_field request_fields[] = {
    {.key = "verify", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, verify)},
    {.key = "measure", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, measure)},
    {.key = "full", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, full)},
    {.key = "observe", HN_CHARS(hn_bench_request, observe)},
    {.key = "trial", HN_CHOICE(hn_bench_request, trial, hn_suspicion_names)},
    {.key = "repeat_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, repeat_ms)},
    {.key = "censor_us", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_us)},
    {.key = "censor_clock_mhz", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_clock_mhz)},
    {.key = "target", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, target)},
};
const struct hn_structure hn_bench_request_structure =
    HN_STRUCTURE(hn_bench_request, request_fields, NULL);

static const struct hn_field rules_fields[] = {
    {.key = "min_rounds", .kind = HN_FIELD_COUNT, HN_AT(hn_race_rules, min_rounds)},
    {HN_NEEDED("max_rounds"), .kind = HN_FIELD_COUNT, .least = 1, .most = HN_RACE_MOST_ROUNDS,
     HN_AT(hn_race_rules, max_rounds)},
    {.key = "budget_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_race_rules, budget_ms)},
};
const struct hn_structure hn_race_rules_structure = HN_STRUCTURE(hn_race_rules, rules_fields, NULL);

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
                           "launches cannot follow one another in a graph of ten: argument '%s' "
                           "has to be as it was before each; measure single launches (--regime "
                           "graph)",
                           plan->arguments[i].name);
    return HN_OK;
}

/* References. */

/* Outputs are filled with ordinary numbers before the first run of a reference and with NaN before
 * the second: what it leaves unwritten cannot agree. */
enum { ORDINARY_POISON = 1, NAN_POISON = 0 };

static void destroy_reference(struct hn_reference_run *reference)
{
    const struct hn_outputs *outputs = &reference->outputs;
    if (outputs->block != 0)
        outputs->arena->context->driver->p_cuMemFree(outputs->block);
    free(outputs->of);
    hn_image_finish(&reference->image);
    hn_bindings_finish(&reference->depends);
    free(reference->key);
    free(reference);
}

/* What the reference depends on of a point, as canonical text; NULL after a failure. */
static char *make_key(const struct hn_plan *plan, const struct hn_bindings *point,
                      struct hn_error *err)
{
    struct hn_bindings depends HN_ENDED_BY(hn_bindings_finish) = {0};
    if (hn_failed(err) || hn_plan_depends(plan, point, &depends, err) != HN_OK)
        return NULL;
    return hn_needed(hn_bindings_text(&depends));
}

/* The place of the one with that key; as many as there are, where there is none. */
static size_t find(const struct hn_bench *bench, const char *key)
{
    size_t i = 0;
    while (i < bench->reference_count && strcmp(bench->references[i]->key, key) != 0)
        i++;
    return i;
}

struct hn_reference_run *hn_bench_find_reference(const struct hn_bench *bench,
                                                 const struct hn_bindings *point,
                                                 struct hn_error *err)
{
    char *key HN_FREED = make_key(bench->plan, point, err);
    size_t place = key == NULL ? bench->reference_count : find(bench, key);
    if (key != NULL && place == bench->reference_count)
        hn_fail(err, HN_ERUN, "no reference was computed for '%s'", key);
    return place < bench->reference_count ? bench->references[place] : NULL;
}

void hn_bench_prepare_reference(struct hn_bench *bench, const struct hn_bindings *point,
                                struct hn_variant *variant, struct hn_record *record,
                                struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    const struct hn_bindings *problem = bench->problem;
    struct hn_launch launch = {.steps = NULL};
    struct hn_value *values HN_FREED = NULL;
    *variant = (struct hn_variant){.record = record};
    const struct hn_reference_run *reference = hn_bench_find_reference(bench, point, err);
    if (reference == NULL)
        return;
    point = &reference->depends;
    if (plan->reference.kind == HN_REFERENCE_SELF) {
        hn_launch_make(plan, problem, point, &launch, err);
    } else {
        launch = (struct hn_launch){.steps = hn_need(1, sizeof *launch.steps), .step_count = 1};
        hn_launch_make_step(plan, &plan->reference.step, problem, point, launch.steps, err);
    }
    if (!hn_failed(err) && hn_plan_values(plan, problem, point, &values, err) == HN_OK)
        hn_signature_check(plan, values, &launch, &reference->image, err);
    if (!hn_failed(err))
        hn_launch_check(&launch, bench->device, record);
    hn_variant_init(variant, &bench->arena, &bench->stage, problem, point, &reference->image,
                    &launch, record, err);
}

/* thorough: a second launch over another poison shows elements that it leaves unwritten. What is
 * not compared of outputs that are written in part is found so; nothing at all is no reference.
 * Neither is an output of NaN alone, which every variant equals: of the first inputs, since a
 * single element may have no number for others. What a person can do about a difference is told. */
static void launch_reference(struct hn_variant *variant, struct hn_outputs *outputs, bool thorough,
                             struct hn_error *err)
{
    struct hn_record *record = variant->record;
    static const uint64_t poisons[2] = {ORDINARY_POISON, NAN_POISON};
    size_t empty = SIZE_MAX;
    hn_verify_launch(variant, ORDINARY_POISON, err);
    if (hn_goes_on(variant, err))
        hn_outputs_capture(outputs, err);
    if (thorough || outputs->partial)
        hn_verify_launch(variant, NAN_POISON, err);
    if (hn_goes_on(variant, err) && outputs->partial)
        empty = hn_outputs_find_written(outputs, poisons, err);
    if (!hn_failed(err) && empty != SIZE_MAX)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "it writes no element of '%s': nothing would be compared",
                       variant->arena->plan->arguments[empty].name);
    if (!hn_goes_on(variant, err))
        return;
    hn_verify_check(variant, outputs, "", err);
    if (!hn_failed(err) && record->outcome == HN_OUTCOME_WRONG_RESULT)
        hn_record_fail(
            record, HN_OUTCOME_WRONG_RESULT,
            "%s; two runs of it differ: what it adds to is role: inout%s%s", record->message,
            outputs->partial ? ""
                             : "; where it leaves elements unwritten on purpose: "
                               "compare: {partial: true}",
            record->verdict.differed > 0 ? "; what adds in any order needs a tolerance" : "");
    if (hn_goes_on(variant, err) && thorough && outputs->silent != SIZE_MAX)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "'%s' is nothing but NaN and infinities, which tell no two variants apart: "
                       "choose fills and values for which it has numbers",
                       variant->arena->plan->arguments[outputs->silent].name);
}

/* The files of a reference, through the buffers whose contents they are to be. What was damaged is
 * read again, and has to be what it was. */
static void load_files(struct hn_bench *bench, struct hn_outputs *outputs, bool again,
                       struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    size_t count = plan->argument_count;
    struct hn_output *before HN_FREED = hn_need(count + 1, sizeof *before);
    struct hn_value *values HN_FREED = NULL;
    memcpy(before, outputs->of, count * sizeof *before);
    if (!hn_failed(err))
        hn_plan_values(plan, bench->problem, &plan->defaults, &values, err);
    for (size_t i = 0; !hn_failed(err) && i < plan->reference.file_count; i++) {
        const struct hn_expected_file *expected = &plan->reference.files[i];
        char *path HN_FREED = NULL;
        hn_plan_data_path(plan, expected->file, values, &path, err);
        hn_arena_load(&bench->arena, expected->argument, path, err);
    }
    hn_outputs_capture(outputs, err);
    hn_outputs_find_written(outputs, NULL, err);
    for (size_t i = 0; again && i < count && !hn_failed(err); i++)
        if (before[i].checksum != outputs->of[i].checksum)
            hn_fail(err, HN_ERUN,
                    "a data file of the reference changed while it was in use; run again");
}

static void run_reference(struct hn_bench *bench, struct hn_reference_run *reference, bool thorough,
                          struct hn_error *err)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_variant variant;
    struct hn_error reason = {.status = HN_OK};
    bool own = bench->plan->reference.kind == HN_REFERENCE_SELF;
    const char *who = own ? "the default point, which is the reference," : "the reference";
    hn_bench_prepare_reference(bench, &reference->depends, &variant, &record, &reason);
    if (hn_goes_on(&variant, &reason))
        launch_reference(&variant, &reference->outputs, thorough, &reason);
    hn_variant_finish(&variant);
    if (hn_failed(&reason))
        hn_fail(err, reason.status, "%s failed: %.4000s", who, reason.message);
    else if (record.outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "%s failed: %s: %s", who, hn_outcome_names[record.outcome],
                record.message == NULL ? "no message" : record.message);
}

static void compute(struct hn_bench *bench, struct hn_reference_run *reference, bool thorough,
                    struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (bench->plan->reference.kind == HN_REFERENCE_FILES)
        load_files(bench, &reference->outputs, !thorough, err);
    else if (bench->plan->reference.kind != HN_REFERENCE_NONE)
        run_reference(bench, reference, thorough, err);
}

/* In the place of the one for the same values. */
static void put_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                          const struct hn_image *image, struct hn_error *err)
{
    char *key = make_key(bench->plan, depends, err);
    if (key == NULL)
        return;
    size_t place = find(bench, key);
    if (place < bench->reference_count) {
        destroy_reference(bench->references[place]);
        bench->references[place] = bench->references[--bench->reference_count];
    }
    struct hn_reference_run *made = hn_need(1, sizeof *made);
    made->key = key;
    hn_bindings_copy(&made->depends, depends, err);
    hn_image_copy(&made->image, image, err);
    hn_outputs_init(&made->outputs, &bench->arena, err);
    *HN_NEXT(bench->references, bench->reference_count) = made;
    compute(bench, made, true, err);
    if (hn_failed(err)) {
        bench->reference_count--;
        destroy_reference(made);
    }
}

/* Of how many results the largest tells how large results are: that of fewer may be next to nothing
 * by chance, and a tolerance relative to it with it. */
enum { TELLING_RESULTS = 16 };
static const double MOST_TELLING_MS = 1000.0;

/* For how many further inputs an output has as many results as that. */
static uint64_t count_further_inputs(const struct hn_plan *plan, const struct hn_outputs *outputs)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_compare *compare = hn_plan_comparison(plan, &plan->arguments[i]);
        uint64_t compared = outputs->of[i].compared;
        if (compared > 0 && hn_element_is_real(plan->arguments[i].element) &&
            compare->mode == HN_COMPARE_MAX_NORM && compare->relative != NULL &&
            (TELLING_RESULTS - 1) / compared > most)
            most = (TELLING_RESULTS - 1) / compared;
    }
    return most;
}

/* Results of further inputs are noted in hn_output.largest, where references are not slow. */
static void note_further_inputs(struct hn_bench *bench, double began, struct hn_error *err)
{
    struct hn_reference_run *last = bench->references[bench->reference_count - 1];
    uint64_t seed = bench->arena.seed;
    uint64_t count = count_further_inputs(bench->plan, &last->outputs);
    for (uint64_t i = 1; i <= count && hn_now_ms() - began < MOST_TELLING_MS; i++) {
        bench->arena.seed = seed + i;
        hn_arena_repair(&bench->arena, err);
        compute(bench, last, false, err);
        if (hn_failed(err))
            return;
    }
    if (bench->arena.seed != seed)
        hn_bench_reseed(bench, seed, err);
}

enum hn_status hn_bench_set_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                      const struct hn_image *image, struct hn_error *err)
{
    double began = hn_now_ms();
    hn_error_init(err);
    if (image->outcome != HN_OUTCOME_OK || image->cubin == NULL)
        return hn_fail(err, HN_ERUN, "the reference did not compile: %s",
                       image->message == NULL ? "no message" : image->message);
    hn_bench_clear_unchecked(bench, err);
    put_reference(bench, depends, image, err);
    if (!hn_failed(err))
        note_further_inputs(bench, began, err);
    return err->status;
}

void hn_bench_clear_unchecked(struct hn_bench *bench, struct hn_error *err)
{
    if (!bench->unchecked)
        return;
    bench->unchecked = false;
    for (size_t i = 0; i < bench->reference_count; i++)
        bench->references[i]->outputs.damaged = true;
    hn_arena_repair(&bench->arena, err);
    hn_bench_repair_references(bench, err);
}

void hn_bench_repair_references(struct hn_bench *bench, struct hn_error *err)
{
    for (size_t i = 0; i < bench->reference_count && !hn_failed(err); i++)
        if (bench->references[i]->outputs.damaged)
            compute(bench, bench->references[i], false, err);
}

/* The bench. */

enum hn_status hn_bench_create(const struct hn_driver *driver, const struct hn_device *device,
                               const struct hn_image *support, const struct hn_plan *plan,
                               const struct hn_bindings *problem,
                               const struct hn_bench_options *options, struct hn_bench **bench,
                               struct hn_error *err)
{
    static const struct hn_observer *const nobody[] = {NULL};
    static const struct hn_bindings nothing;
    static const struct hn_image none = {.outcome = HN_OUTCOME_COMPILE_ERROR};
    hn_error_init(err);
    *bench = NULL;
    if (check_regime(plan, options->regime, err) != HN_OK)
        return err->status;
    struct hn_bench *made = hn_need(1, sizeof *made);
    struct hn_value *values HN_FREED = NULL;
    *made =
        (struct hn_bench){.plan = plan, .problem = problem, .device = device, .options = *options};
    if (made->options.observers == NULL)
        made->options.observers = nobody;
    hn_context_init(&made->context, driver, device, err);
    hn_support_init(&made->support, &made->context, support, err);
    if (!hn_failed(err) && hn_plan_values(plan, problem, &plan->defaults, &values, err) == HN_OK) {
        hn_arena_init(&made->arena, &made->context, &made->support, plan, values, err);
        made->stage.arena = &made->arena;
        made->stage.buffer_count = HN_HOST_MEMORY_COUNT * plan->argument_count;
        made->stage.buffers = hn_need(made->stage.buffer_count + 1, sizeof *made->stage.buffers);
        hn_arena_fill(&made->arena, options->seed, err);
        if (plan->reference.kind == HN_REFERENCE_NONE || plan->reference.kind == HN_REFERENCE_FILES)
            put_reference(made, &nothing, &none, err);
    }
    hn_sampler_init(&made->sampler, &made->arena, options->regime, err);
    if (hn_failed(err))
        hn_bench_destroy(made);
    else
        *bench = made;
    return err->status;
}

void hn_bench_destroy(struct hn_bench *bench)
{
    if (bench == NULL)
        return;
    const struct hn_observer *const *observers = bench->options.observers;
    for (size_t i = 0; observers[i] != NULL; i++)
        if (bench->observing[i] != NULL && observers[i]->close != NULL)
            observers[i]->close(bench->observing[i]);
    HN_FREE_EACH(reference, bench->references, bench->reference_count,
                 destroy_reference(*reference));
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

/* What it keeps, made when it is first wanted; NULL where it is not, or cannot observe here. */
static void *open_observer(struct hn_bench *bench, size_t i, bool wanted)
{
    const struct hn_observer *observer = bench->options.observers[i];
    if (wanted && bench->observing[i] == NULL)
        bench->observing[i] = observer->open == NULL ? bench : observer->open(bench);
    return wanted ? bench->observing[i] : NULL;
}

/* Those that are asked for and launch the variant themselves: before it is verified, or last. */
static void observe(struct hn_bench *bench, struct hn_variant *variant, const char *asked,
                    bool unseen, struct hn_error *err)
{
    const struct hn_observer *const *observers = bench->options.observers;
    for (size_t i = 0; observers[i] != NULL && hn_goes_on(variant, err); i++) {
        double amount = hn_bench_asked(asked, observers[i]->name);
        bool runs = observers[i]->run != NULL && observers[i]->unseen == unseen && amount > 0;
        void *own = open_observer(bench, i, runs);
        if (own != NULL)
            observers[i]->run(own, variant, amount, err);
    }
}

void hn_bench_note(struct hn_bench *bench, const char *asked, struct hn_record *record,
                   struct hn_error *err)
{
    const struct hn_observer *const *observers = bench->options.observers;
    for (size_t i = 0; observers[i] != NULL && !hn_failed(err); i++) {
        bool wanted = observers[i]->always || hn_bench_asked(asked, observers[i]->name) > 0;
        void *own = open_observer(bench, i, wanted && observers[i]->note != NULL);
        if (own != NULL)
            observers[i]->note(own, record, err);
    }
}

void hn_bench_prepare(struct hn_bench *bench, const struct hn_bindings *point,
                      const struct hn_image *image, struct hn_variant *variant,
                      struct hn_record *record, struct hn_error *err)
{
    struct hn_launch launch;
    *variant = (struct hn_variant){.record = record};
    if (hn_failed(err))
        return;
    if (image->outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, image->outcome, "%s",
                       image->message == NULL ? "it did not compile" : image->message);
        return;
    }
    err->status = hn_launch_make_checked(bench->plan, bench->device, bench->problem, point, &launch,
                                         record, err);
    hn_variant_init(variant, &bench->arena, &bench->stage, bench->problem, point, image, &launch,
                    record, err);
}

void hn_bench_settle(struct hn_bench *bench, const struct hn_variant *variant, struct hn_error *err)
{
    enum hn_outcome outcome = HN_OUTCOME_INVALID_LAUNCH; /* of a chunk, or of a tolerance */
    if (err->status == HN_ERUN && bench->context.dead && variant->launched)
        outcome = HN_OUTCOME_DEVICE_FAULT;
    else if (err->status == HN_ERUN && variant->rejected)
        outcome = HN_OUTCOME_LAUNCH_ERROR;
    else if (err->status != HN_EVALUE)
        return;
    hn_record_fail(variant->record, outcome, "%s", err->message);
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
    if (result == CUDA_SUCCESS)
        return;
    hn_variant_describe(variant);
    variant->rejected = !hn_driver_result_is_fatal(result);
    hn_context_check(variant->arena->context, result, variant->what, err);
}

static void launch_sample(void *subject, size_t set, struct hn_error *err)
{
    if (!hn_failed(err))
        check_launch(subject, hn_variant_launch(subject, set), err);
}

static void deploy_sample(void *subject, enum hn_regime regime, size_t launches,
                          struct hn_error *err)
{
    if (!hn_failed(err))
        check_launch(subject, hn_variant_deploy(subject, regime, launches), err);
}

struct hn_work hn_bench_work(struct hn_bench *bench, struct hn_variant *variant)
{
    struct hn_work work = {
        .sampler = &bench->sampler,
        .batch = 1,
        .subject = variant,
        .prepare = prepare_sample,
        .launch = launch_sample,
        .deploy = deploy_sample,
        .what = variant->what,
        .batchable = variant->launch.flow == NULL,
        .issued = variant->launch.flow != NULL,
        .step_count = variant->launch.step_count + variant->zeroed_count,
    };
    for (size_t i = 0; i < bench->plan->argument_count; i++) {
        const struct hn_argument *argument = &bench->plan->arguments[i];
        bool is_output = argument->role == HN_ROLE_OUTPUT;
        work.batchable = work.batchable && hn_argument_is_repeatable(argument);
        work.output_count += is_output;
        work.output_bytes += is_output ? bench->arena.buffers[i].bytes : 0;
    }
    hn_variant_describe(variant);
    return work;
}

/* NaN, which what is read before it was written turns into more of. */
static void prepare_verification(void *subject, size_t sets, enum hn_outputs_before before,
                                 struct hn_error *err)
{
    (void)sets;
    (void)before;
    hn_verify_prepare(subject, 0, err);
}

/* The launch that is checked is timed like any other: most variants are so far from the best that
 * this one time is enough. Without a reference, a variant's own first launch is what later ones are
 * compared with. */
static void verify_once(struct hn_bench *bench, struct hn_variant *variant,
                        struct hn_outputs *outputs, struct hn_sample *first, struct hn_error *err)
{
    static const uint64_t poisons[2] = {0, 1}; /* as prepare_verification has it, and another */
    struct hn_work work = hn_bench_work(bench, variant);
    work.prepare = prepare_verification;
    hn_sampler_take(&work, 1, 1, first, err);
    if (!hn_failed(err) && bench->plan->reference.kind == HN_REFERENCE_NONE) {
        hn_pipeline_collect(variant, "", err);
        hn_outputs_capture(outputs, err);
        if (outputs->partial)
            hn_verify_launch(variant, poisons[1], err);
        if (outputs->partial && hn_goes_on(variant, err))
            hn_outputs_find_written(outputs, poisons, err);
    }
    hn_verify_check(variant, outputs, "", err);
}

/* What an unchecked variant has damaged is repaired and not held against this one. */
static void verify(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                   struct hn_sample *first, struct hn_error *err)
{
    static const enum hn_verification kinds[] = {
        [HN_REFERENCE_NONE] = HN_UNVERIFIED,
        [HN_REFERENCE_SELF] = HN_SELF_VERIFIED,
        [HN_REFERENCE_TEMPLATE] = HN_VERIFIED,
        [HN_REFERENCE_FILES] = HN_VERIFIED,
    };
    struct hn_record *record = variant->record;
    if (!hn_goes_on(variant, err))
        return;
    verify_once(bench, variant, outputs, first, err);
    if (!hn_failed(err) && record->outcome != HN_OUTCOME_OK && bench->unchecked) {
        free(record->message);
        record->message = NULL;
        record->outcome = HN_OUTCOME_OK;
        hn_bench_repair_references(bench, err);
        if (!hn_failed(err))
            verify_once(bench, variant, outputs, first, err);
    }
    bench->unchecked = false;
    record->verdict.kind = kinds[bench->plan->reference.kind];
    record->verdict.seeds += hn_goes_on(variant, err);
}

/* Looks at samples of a measurement, and compares what they wrote. */
struct judge {
    struct hn_bench *bench;
    struct hn_variant *variant;
    struct hn_outputs *outputs;
    const char *observe;
};

static bool compare_sample(void *pointer, struct hn_error *err)
{
    const struct judge *judge = pointer;
    hn_verify_check(judge->variant, judge->outputs, "in a timed launch: ", err);
    return judge->variant->record->outcome == HN_OUTCOME_OK;
}

static void show_samples(void *pointer, const struct hn_sample *samples, size_t count)
{
    const struct judge *judge = pointer;
    const struct hn_observer *const *observers = judge->bench->options.observers;
    for (size_t i = 0; observers[i] != NULL; i++) {
        bool wanted = hn_bench_asked(judge->observe, observers[i]->name) > 0;
        void *own = open_observer(judge->bench, i, wanted && observers[i]->taken != NULL);
        if (own != NULL)
            observers[i]->taken(own, samples, count);
    }
}

static void measure(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                    const struct hn_bench_request *request, struct hn_sample first,
                    struct hn_error *err)
{
    struct judge judge = {bench, variant, outputs, request->observe};
    struct hn_record *record = variant->record;
    struct hn_measured measured;
    if (!hn_goes_on(variant, err))
        return;
    double started_ms = hn_now_ms();
    struct hn_work work = hn_bench_work(bench, variant);
    work.compare = compare_sample;
    work.taken = request->observe[0] == '\0' ? NULL : show_samples;
    work.judge = &judge;
    hn_measure(&work, request, first, &record->timing, &measured, err);
    /* What cannot win need not be compared again: that would cost as much as the samples. */
    bench->unchecked = measured.stop == HN_STOP_SLOWER && measured.launched;
    if (hn_goes_on(variant, err) && measured.suspect)
        hn_bench_try(bench, variant, HN_SUSPICION_CHECKED, false, NULL, err);
    if (hn_goes_on(variant, err) && measured.stop == HN_STOP_SLOWER)
        hn_record_fail(
            record, HN_OUTCOME_SLOWER,
            "stopped after %zu sample%s: not under %.4g us, and %.4g us is there to beat",
            record->timing.sample_count, record->timing.sample_count == 1 ? "" : "s",
            record->timing.low_us, request->censor_us);
    bool noted = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER;
    const double *mean = variant->metric_values;
    for (size_t i = 0; noted && i < bench->plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &bench->plan->arguments[i];
        if (argument->role != HN_ROLE_METRIC)
            continue;
        const struct hn_value value = hn_real(*mean++);
        hn_bindings_set(&record->metrics, argument->name, &value, err);
    }
    record->costs.measure_ms += hn_now_ms() - started_ms;
}

/* A race between threads may show in one launch of many. */
static void repeat(struct hn_bench *bench, struct hn_variant *variant, struct hn_outputs *outputs,
                   double budget_ms, struct hn_error *err)
{
    double until_ms = hn_now_ms() + budget_ms;
    for (int i = 1; i <= HN_MOST_REPEATS && hn_goes_on(variant, err) && hn_now_ms() < until_ms;
         i++) {
        char when[64];
        snprintf(when, sizeof when, "in launch %d of those that repeat it: ", i);
        hn_verify_launch(variant, hn_random_next(&bench->arena.secret), err);
        hn_verify_check(variant, outputs, when, err);
    }
}

enum hn_status hn_bench_evaluate(struct hn_bench *bench, const struct hn_image *image,
                                 const struct hn_bench_request *request, struct hn_record *record,
                                 struct hn_error *err)
{
    struct hn_variant variant;
    struct hn_sample first = {0};
    const struct hn_observer *const *observers = bench->options.observers;
    bool compares = request->measure || request->repeat_ms > 0.0;
    for (size_t i = 0; observers[i] != NULL; i++)
        compares = compares || (observers[i]->unseen &&
                                hn_bench_asked(request->observe, observers[i]->name) > 0);
    hn_error_init(err);
    record->outcome = HN_OUTCOME_OK;
    double started_ms = hn_now_ms();
    hn_bench_prepare(bench, &record->point, image, &variant, record, err);
    if (request->trial != HN_SUSPICION_NONE) {
        hn_bench_decide(bench, &variant, request->trial, err);
    } else {
        struct hn_reference_run *own = hn_bench_find_reference(bench, &record->point, err);
        struct hn_outputs *outputs = own == NULL ? NULL : &own->outputs;
        observe(bench, &variant, request->observe, true, err);
        /* Without a reference the variant's first launch is what the last one is compared with. */
        if (request->verify || (bench->plan->reference.kind == HN_REFERENCE_NONE && compares))
            verify(bench, &variant, outputs, &first, err);
        if (request->repeat_ms > 0.0)
            repeat(bench, &variant, outputs, request->repeat_ms, err);
        record->costs.verify_ms += hn_now_ms() - started_ms;
        if (request->measure)
            measure(bench, &variant, outputs, request, first, err);
        observe(bench, &variant, request->observe, false, err);
        if (request->measure && record->timing.sample_count > 0)
            hn_bench_note(bench, request->observe, record, err);
    }
    hn_bench_settle(bench, &variant, err);
    hn_variant_finish(&variant);
    if (!bench->context.dead)
        hn_bench_repair_references(bench, err);
    return err->status;
}

enum hn_status hn_bench_reseed(struct hn_bench *bench, uint64_t seed, struct hn_error *err)
{
    hn_error_init(err);
    bench->arena.seed = seed;
    bench->unchecked = true; /* all is filled and computed anew */
    hn_bench_clear_unchecked(bench, err);
    return err->status;
}

/* Warming up. */

/* Clocks need some tenths of a second of work to settle; groups of samples whose medians agree say
 * that they have. Where all samples of these groups ran at the maximal SM clock there is nothing
 * left for it to rise to, and agreement says that of the memory's: then a quarter of the time will
 * do, as it does where the device was at work a moment ago. */
enum { GROUP = 8, AGREEING = 3, MEASUREMENTS = 3 };
static const double MIN_WARM_MS = 200.0;
static const double MIN_SETTLED_MS = 50.0;
static const double MAX_WARM_MS = 1000.0;
static const double AGREEMENT = 0.01;
static const double MAXIMUM_SHARE = 0.98;

static void warm(struct hn_work *work, bool was_busy, struct hn_error *err)
{
    double last_us = 0.0, measured_ms = 0.0;
    double started_ms = hn_now_ms();
    hn_sampler_choose_batch(work, &last_us, err);
    double clock_mhz = (double)work->sampler->arena->context->device->clock_khz / 1e3;
    int at_maximum = 0;
    for (int agreeing = 0; !hn_failed(err);) {
        /* A simulated device is done with more than there was time for. */
        double elapsed_ms = fmax(hn_now_ms() - started_ms, measured_ms);
        double least_ms = was_busy || at_maximum >= AGREEING ? MIN_SETTLED_MS : MIN_WARM_MS;
        if (elapsed_ms >= MAX_WARM_MS || (elapsed_ms >= least_ms && agreeing >= AGREEING))
            break;
        struct hn_sample samples[GROUP] = {{0}};
        double times_us[GROUP], slowest_mhz = INFINITY; /* 0: it is not known */
        hn_sampler_take(work, GROUP, 0, samples, err);
        for (size_t i = 0; i < GROUP; i++) {
            times_us[i] = samples[i].time_us;
            measured_ms += 1e-3 * times_us[i] * (double)work->batch;
            slowest_mhz = fmin(slowest_mhz, samples[i].clock_mhz);
        }
        double median_us = hn_median(times_us, GROUP);
        bool fast = slowest_mhz > 0.0 && slowest_mhz >= MAXIMUM_SHARE * clock_mhz;
        agreeing = fabs(median_us - last_us) <= AGREEMENT * last_us ? agreeing + 1 : 0;
        at_maximum = fast ? at_maximum + 1 : 0;
        last_us = median_us;
    }
}

static void measure_noise(struct hn_work *work, double *noise, struct hn_error *err)
{
    const struct hn_bench_request request = {.full = true};
    double low = INFINITY, high = 0.0;
    for (int i = 0; i < MEASUREMENTS && !hn_failed(err); i++) {
        struct hn_timing timing = {0};
        struct hn_measured measured;
        hn_measure(work, &request, (struct hn_sample){0}, &timing, &measured, err);
        free(timing.samples_us);
        low = fmin(low, timing.median_us);
        high = fmax(high, timing.median_us);
    }
    if (!hn_failed(err))
        *noise = low > 0.0 ? (high - low) / low : 0.0;
}

enum hn_status hn_bench_warm_up(struct hn_bench *bench, const struct hn_bindings *point,
                                const struct hn_image *image, bool was_busy, double *noise,
                                struct hn_error *err)
{
    struct hn_variant variant;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_error_init(err);
    hn_bench_prepare(bench, point, image, &variant, &record, err);
    if (hn_goes_on(&variant, err)) {
        struct hn_work work = hn_bench_work(bench, &variant);
        warm(&work, was_busy, err);
        if (noise != NULL)
            measure_noise(&work, noise, err);
    } else if (!hn_failed(err)) {
        hn_fail(err, HN_ERUN, "cannot warm up: %s: %s", hn_outcome_names[record.outcome],
                record.message == NULL ? "no message" : record.message);
    }
    hn_variant_finish(&variant);
    return err->status;
}
