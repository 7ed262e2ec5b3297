/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/compile/cubin.h"

/* Outputs are filled with ordinary numbers before the first run of a reference and with NaN before
 * the second: what it leaves unwritten can not agree. */
enum { ORDINARY_POISON = 1, NAN_POISON = 0 };

static void destroy_reference(struct hn_reference_run *reference)
{
    hn_outputs_finish(&reference->outputs);
    hn_image_finish(&reference->image);
    hn_bindings_finish(&reference->depends);
    free(reference->key);
    free(reference);
}

/* The values among `point` that the reference depends on, as canonical text. A self reference
 * depends on none: it is the same for all points. NULL after a failure. */
static char *make_key(const struct hn_plan *plan, const struct hn_bindings *point,
                      struct hn_error *err)
{
    struct hn_bindings depends;
    hn_bindings_init(&depends);
    for (size_t i = 0; i < plan->reference.depends_count && !hn_failed(err); i++) {
        const char *name = plan->reference.depends[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        if (value != NULL)
            hn_bindings_set(&depends, name, value, err);
        else
            hn_fail(err, HN_ERUN, "the reference depends on '%s', which the point lacks", name);
    }
    char *key = hn_failed(err) ? NULL : hn_needed(hn_bindings_text(&depends));
    hn_bindings_finish(&depends);
    return key;
}

/* The place of the one with that key; as many as there are, where there is none. */
static size_t find(const struct hn_bench *bench, const char *key)
{
    size_t i = 0;
    while (i < bench->reference_count && strcmp(bench->references[i]->key, key) != 0)
        i++;
    return i;
}

/* NULL after a failure. */
static struct hn_reference_run *find_of_point(const struct hn_bench *bench,
                                              const struct hn_bindings *point, struct hn_error *err)
{
    char *key = make_key(bench->plan, point, err);
    size_t place = key == NULL ? bench->reference_count : find(bench, key);
    if (key != NULL && place == bench->reference_count)
        hn_fail(err, HN_ERUN, "no reference was computed for '%s'", key);
    free(key);
    return place < bench->reference_count ? bench->references[place] : NULL;
}

struct hn_outputs *hn_bench_find_outputs(struct hn_bench *bench, const struct hn_bindings *point,
                                         struct hn_error *err)
{
    if (bench->plan->reference.kind == HN_REFERENCE_NONE)
        return &bench->own_outputs;
    struct hn_reference_run *reference = find_of_point(bench, point, err);
    return reference == NULL ? NULL : &reference->outputs;
}

static void prepare(struct hn_bench *bench, struct hn_reference_run *reference,
                    struct hn_variant *variant, struct hn_record *record, struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    const struct hn_bindings *problem = bench->problem, *point = &reference->depends;
    struct hn_launch launch = {.steps = NULL};
    struct hn_value *values = NULL;
    if (plan->reference.kind == HN_REFERENCE_SELF) {
        hn_launch_make(plan, problem, point, &launch, err);
    } else {
        launch = (struct hn_launch){.steps = hn_need(1, sizeof *launch.steps), .step_count = 1};
        hn_launch_make_step(plan, &plan->reference.step, problem, point, launch.steps, err);
    }
    if (!hn_failed(err) && hn_plan_values(plan, problem, point, &values, err) == HN_OK)
        hn_signature_check(plan, values, &launch, &reference->image, err);
    free(values);
    if (hn_failed(err) || !hn_launch_check(&launch, bench->device, record))
        hn_launch_finish(&launch);
    else
        hn_variant_init(variant, &bench->arena, &bench->stage, problem, point, &reference->image,
                        &launch, record, err);
}

void hn_bench_prepare_reference(struct hn_bench *bench, const struct hn_bindings *point,
                                struct hn_variant *variant, struct hn_record *record,
                                struct hn_error *err)
{
    *variant = (struct hn_variant){.record = record};
    struct hn_reference_run *reference = hn_failed(err) ? NULL : find_of_point(bench, point, err);
    if (reference != NULL)
        prepare(bench, reference, variant, record, err);
}

/* In its second run over another poison; what a person can do about it follows. */
static void explain_difference(const struct hn_outputs *outputs, struct hn_record *record)
{
    static const char in_part[] =
        "; where it leaves elements unwritten on purpose: compare: {partial: true}";
    static const char exact[] = "; two runs of it differ: what adds in any order needs a tolerance";
    if (record->outcome != HN_OUTCOME_WRONG_RESULT || record->message == NULL)
        return;
    char *message = NULL;
    if (asprintf(&message, "%s%s", record->message, outputs->partial ? exact : in_part) < 0)
        return;
    free(record->message);
    record->message = message;
}

/* thorough: a second launch over another poison shows elements that it leaves unwritten. What is
 * not compared of outputs that are written in part is found so; nothing at all is no reference. */
static void launch_reference(struct hn_variant *variant, struct hn_outputs *outputs, bool thorough,
                             struct hn_error *err)
{
    static const uint64_t poisons[2] = {ORDINARY_POISON, NAN_POISON};
    bool partial = outputs->partial;
    size_t empty = SIZE_MAX;
    hn_verify_launch(variant, ORDINARY_POISON, err);
    if (hn_goes_on(variant, err))
        hn_outputs_capture(outputs, err);
    if (thorough || partial)
        hn_verify_launch(variant, NAN_POISON, err);
    if (hn_goes_on(variant, err) && partial)
        empty = hn_outputs_find_written(outputs, poisons, err);
    if (!hn_failed(err) && empty != SIZE_MAX)
        hn_record_fail(variant->record, HN_OUTCOME_WRONG_RESULT,
                       "it writes no element of '%s': nothing would be compared",
                       variant->arena->plan->arguments[empty].name);
    if (!hn_goes_on(variant, err))
        return;
    hn_verify_check(variant, outputs, thorough ? "in a second run " : "", err);
    if (!hn_failed(err))
        explain_difference(outputs, variant->record);
}

/* The files of a reference, through the buffers whose contents they are to be. What was damaged is
 * read again, and has to be what it was. */
static void load_files(struct hn_bench *bench, struct hn_outputs *outputs, bool again,
                       struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    size_t count = plan->argument_count;
    struct hn_output *before = hn_need(count + 1, sizeof *before);
    struct hn_value *values = NULL;
    size_t empty = SIZE_MAX;
    memcpy(before, outputs->of, count * sizeof *before);
    if (!hn_failed(err))
        hn_plan_values(plan, bench->problem, &plan->defaults, &values, err);
    for (size_t i = 0; !hn_failed(err) && i < plan->reference.file_count; i++) {
        const struct hn_expected_file *expected = &plan->reference.files[i];
        char *path = NULL;
        hn_plan_data_path(plan, expected->file, values, &path, err);
        hn_arena_load(&bench->arena, expected->argument, path, err);
        free(path);
    }
    free(values);
    hn_outputs_capture(outputs, err);
    if (outputs->partial)
        empty = hn_outputs_find_written(outputs, NULL, err);
    if (!hn_failed(err) && empty != SIZE_MAX)
        hn_fail(err, HN_ECONFIG,
                "the reference's file of '%s' holds nothing but NaN: nothing would be compared",
                plan->arguments[empty].name);
    for (size_t i = 0; again && i < count && !hn_failed(err); i++)
        if (before[i].checksum != outputs->of[i].checksum)
            hn_fail(err, HN_ERUN,
                    "a data file of the reference changed while it was in use; run again");
    free(before);
}

static void run_reference(struct hn_bench *bench, struct hn_reference_run *reference, bool thorough,
                          struct hn_error *err)
{
    struct hn_record record;
    struct hn_variant variant = {.record = &record};
    struct hn_error reason;
    hn_record_init(&record);
    hn_error_init(&reason);
    prepare(bench, reference, &variant, &record, &reason);
    if (hn_goes_on(&variant, &reason))
        launch_reference(&variant, &reference->outputs, thorough, &reason);
    hn_variant_finish(&variant);
    if (hn_failed(&reason))
        hn_fail(err, reason.status, "the reference failed: %.4000s", reason.message);
    else if (record.outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "the reference failed: %s: %s", hn_outcome_name(record.outcome),
                record.message == NULL ? "no message" : record.message);
    hn_record_finish(&record);
}

static void compute(struct hn_bench *bench, struct hn_reference_run *reference, bool thorough,
                    struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (bench->plan->reference.kind != HN_REFERENCE_FILES)
        run_reference(bench, reference, thorough, err);
    else
        load_files(bench, &reference->outputs, !thorough, err);
}

/* In the place of the one for the same values. */
static void put_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                          const struct hn_image *image, struct hn_error *err)
{
    char *key = hn_failed(err) ? NULL : make_key(bench->plan, depends, err);
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
    compute(bench, made, true, err);
    if (hn_failed(err)) {
        destroy_reference(made);
        return;
    }
    bench->references = hn_need_more(bench->references, bench->reference_count + 1, sizeof made);
    bench->references[bench->reference_count++] = made;
}

enum hn_status hn_bench_set_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                      const struct hn_image *image, struct hn_error *err)
{
    hn_error_init(err);
    if (image->outcome != HN_OUTCOME_OK || image->cubin == NULL)
        return hn_fail(err, HN_ERUN, "the reference did not compile: %s",
                       image->message == NULL ? "no message" : image->message);
    hn_bench_clear_unchecked(bench, err);
    put_reference(bench, depends, image, err);
    return err->status;
}

void hn_bench_read_reference(struct hn_bench *bench, struct hn_error *err)
{
    struct hn_bindings nothing;
    struct hn_image none;
    hn_bindings_init(&nothing);
    hn_image_init(&none);
    put_reference(bench, &nothing, &none, err);
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

void hn_bench_drop_references(struct hn_bench *bench)
{
    for (size_t i = 0; i < bench->reference_count; i++)
        destroy_reference(bench->references[i]);
    free(bench->references);
    bench->references = NULL;
    bench->reference_count = 0;
}
