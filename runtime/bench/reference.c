/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/bench_internal.h"
#include "runtime/compile/signature.h"

/* Outputs are filled with ordinary numbers before the first run of a reference and with NaN before
 * the second: what it leaves unwritten can not agree. */
enum { ORDINARY_POISON = 1, NAN_POISON = 0 };

static enum hn_status copy_image(struct hn_image *to, const struct hn_image *from,
                                 struct hn_error *err)
{
    hn_image_init(to);
    to->outcome = from->outcome;
    to->cubin = malloc(from->size > 0 ? from->size : 1);
    to->entries = calloc(from->entry_count + 1, sizeof *to->entries);
    if (to->cubin == NULL || to->entries == NULL)
        return hn_fail_memory(err);
    if (from->size > 0)
        memcpy(to->cubin, from->cubin, from->size);
    to->size = from->size;
    for (; to->entry_count < from->entry_count; to->entry_count++) {
        to->entries[to->entry_count] = strdup(from->entries[to->entry_count]);
        if (to->entries[to->entry_count] == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

static void destroy_reference(struct hn_reference_run *reference)
{
    if (reference == NULL)
        return;
    hn_outputs_finish(&reference->outputs);
    hn_image_finish(&reference->image);
    hn_bindings_finish(&reference->depends);
    free(reference->key);
    free(reference);
}

/* The values among `point` that the reference depends on, as canonical text. A self reference
 * depends on none: it is the same for all points. */
static enum hn_status make_key(const struct hn_plan *plan, const struct hn_bindings *point,
                               char **key, struct hn_error *err)
{
    struct hn_bindings depends;
    struct hn_text text;
    hn_bindings_init(&depends);
    hn_text_init(&text);
    enum hn_status status = HN_OK;
    *key = NULL;
    for (size_t i = 0; i < plan->reference.depends_count && status == HN_OK; i++) {
        const char *name = plan->reference.depends[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        status = value == NULL
                     ? hn_fail(err, HN_ERUN, "the reference depends on '%s', which the point lacks",
                               name)
                     : hn_bindings_set(&depends, name, value, err);
    }
    if (status == HN_OK) {
        hn_bindings_append(&text, &depends);
        *key = hn_text_take(&text);
        status = *key == NULL ? hn_fail_memory(err) : HN_OK;
    }
    hn_text_finish(&text);
    hn_bindings_finish(&depends);
    return status;
}

static struct hn_reference_run *find(const struct hn_bench *bench, const char *key)
{
    for (size_t i = 0; i < bench->reference_count; i++)
        if (strcmp(bench->references[i]->key, key) == 0)
            return bench->references[i];
    return NULL;
}

static enum hn_status find_of_point(const struct hn_bench *bench, const struct hn_bindings *point,
                                    struct hn_reference_run **reference, struct hn_error *err)
{
    char *key = NULL;
    enum hn_status status = make_key(bench->plan, point, &key, err);
    if (status != HN_OK)
        return status;
    *reference = find(bench, key);
    if (*reference == NULL)
        status = hn_fail(err, HN_ERUN, "no reference was computed for '%s'", key);
    free(key);
    return status;
}

enum hn_status hn_bench_find_outputs(struct hn_bench *bench, const struct hn_bindings *point,
                                     struct hn_outputs **outputs, struct hn_error *err)
{
    struct hn_reference_run *reference = NULL;
    *outputs = &bench->own_outputs;
    if (bench->plan->reference.kind == HN_REFERENCE_NONE)
        return HN_OK;
    enum hn_status status = find_of_point(bench, point, &reference, err);
    if (status == HN_OK)
        *outputs = &reference->outputs;
    return status;
}

static enum hn_status make_launch(struct hn_bench *bench, const struct hn_bindings *point,
                                  struct hn_launch *launch, struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    if (plan->reference.kind == HN_REFERENCE_SELF)
        return hn_launch_make(plan, bench->problem, point, launch, err);
    *launch = (struct hn_launch){.steps = calloc(1, sizeof *launch->steps), .step_count = 1};
    if (launch->steps == NULL)
        return hn_fail_memory(err);
    enum hn_status status =
        hn_launch_make_step(plan, &plan->reference.step, bench->problem, point, launch->steps, err);
    if (status != HN_OK)
        hn_launch_finish(launch);
    return status;
}

static enum hn_status check_arguments(const struct hn_bench *bench,
                                      const struct hn_reference_run *reference,
                                      const struct hn_launch *launch, struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status =
        hn_plan_values(bench->plan, bench->problem, &reference->depends, &values, err);
    if (status == HN_OK)
        status = hn_signature_check(bench->plan, values, launch, &reference->image, err);
    free(values);
    return status;
}

static enum hn_status prepare(struct hn_bench *bench, struct hn_reference_run *reference,
                              struct hn_variant *variant, struct hn_record *record,
                              struct hn_error *err)
{
    struct hn_launch launch;
    *variant = (struct hn_variant){0};
    enum hn_status status = make_launch(bench, &reference->depends, &launch, err);
    if (status != HN_OK)
        return status;
    status = check_arguments(bench, reference, &launch, err);
    if (status != HN_OK || !hn_launch_check(&launch, bench->device, record)) {
        hn_launch_finish(&launch);
        return status;
    }
    return hn_variant_init(variant, &bench->arena, bench->problem, &reference->depends,
                           &reference->image, &launch, record, err);
}

enum hn_status hn_bench_prepare_reference(struct hn_bench *bench, const struct hn_bindings *point,
                                          struct hn_variant *variant, struct hn_record *record,
                                          struct hn_error *err)
{
    struct hn_reference_run *reference = NULL;
    *variant = (struct hn_variant){0};
    enum hn_status status = find_of_point(bench, point, &reference, err);
    return status == HN_OK ? prepare(bench, reference, variant, record, err) : status;
}

/* What is not compared of outputs that are written in part; nothing at all is no reference. */
static enum hn_status find_written(const struct hn_variant *variant, struct hn_outputs *outputs,
                                   struct hn_record *record, struct hn_error *err)
{
    static const uint64_t poisons[2] = {ORDINARY_POISON, NAN_POISON};
    size_t empty = SIZE_MAX;
    enum hn_status status = hn_outputs_find_written(outputs, poisons, &empty, err);
    if (status == HN_OK && empty != SIZE_MAX)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "it writes no element of '%s': nothing would be compared",
                       variant->arena->plan->arguments[empty].name);
    return status;
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
    if (asprintf(&message, "%s%s", record->message,
                 hn_outputs_are_partial(outputs) ? exact : in_part) < 0)
        return;
    free(record->message);
    record->message = message;
}

/* thorough: a second launch over another poison shows elements that it leaves unwritten. */
static enum hn_status launch_reference(struct hn_variant *variant, struct hn_outputs *outputs,
                                       bool thorough, struct hn_record *record,
                                       struct hn_error *err)
{
    bool partial = hn_outputs_are_partial(outputs);
    enum hn_status status = hn_verify_launch(variant, ORDINARY_POISON, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_outputs_capture(outputs, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && (thorough || partial))
        status = hn_verify_launch(variant, NAN_POISON, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && partial)
        status = find_written(variant, outputs, record, err);
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
        return status;
    status = hn_verify_check(variant, outputs, thorough ? "in a second run " : "", record, err);
    if (status == HN_OK)
        explain_difference(outputs, record);
    return status;
}

/* The files of a reference, through the buffers whose contents they are to be. */
static enum hn_status load_files(struct hn_bench *bench, struct hn_outputs *outputs,
                                 struct hn_error *err)
{
    const struct hn_plan *plan = bench->plan;
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(plan, bench->problem, &plan->defaults, &values, err);
    for (size_t i = 0; status == HN_OK && i < plan->reference.file_count; i++) {
        const struct hn_expected_file *expected = &plan->reference.files[i];
        char *path = NULL;
        status = hn_plan_data_path(plan, expected->file, values, &path, err);
        if (status == HN_OK)
            status = hn_arena_load(&bench->arena, expected->argument, path, err);
        free(path);
    }
    free(values);
    if (status == HN_OK)
        status = hn_outputs_capture(outputs, err);
    size_t empty = SIZE_MAX;
    if (status == HN_OK && hn_outputs_are_partial(outputs))
        status = hn_outputs_find_written(outputs, NULL, &empty, err);
    if (status == HN_OK && empty != SIZE_MAX)
        status = hn_fail(err, HN_ECONFIG,
                         "the reference's file of '%s' holds nothing but NaN: nothing would be "
                         "compared",
                         plan->arguments[empty].name);
    return status;
}

/* What was damaged is read again, and has to be what it was. */
static enum hn_status reload_files(struct hn_bench *bench, struct hn_outputs *outputs,
                                   struct hn_error *err)
{
    size_t count = bench->plan->argument_count;
    uint64_t *before = calloc(count + 1, sizeof *before);
    if (before == NULL)
        return hn_fail_memory(err);
    memcpy(before, outputs->checksums, count * sizeof *before);
    enum hn_status status = load_files(bench, outputs, err);
    if (status == HN_OK && memcmp(before, outputs->checksums, count * sizeof *before) != 0)
        status = hn_fail(err, HN_ERUN,
                         "a data file of the reference changed while it was in use; run again");
    free(before);
    return status;
}

static enum hn_status compute(struct hn_bench *bench, struct hn_reference_run *reference,
                              bool thorough, struct hn_error *err)
{
    if (bench->plan->reference.kind == HN_REFERENCE_FILES)
        return thorough ? load_files(bench, &reference->outputs, err)
                        : reload_files(bench, &reference->outputs, err);
    struct hn_variant variant;
    struct hn_record record;
    struct hn_error reason;
    hn_record_init(&record);
    enum hn_status status = prepare(bench, reference, &variant, &record, &reason);
    if (status == HN_OK && record.outcome == HN_OUTCOME_OK)
        status = launch_reference(&variant, &reference->outputs, thorough, &record, &reason);
    hn_variant_finish(&variant);
    const char *message = record.message == NULL ? "no message" : record.message;
    if (status != HN_OK)
        status = hn_fail(err, status, "the reference failed: %.4000s", reason.message);
    else if (record.outcome != HN_OUTCOME_OK)
        status = hn_fail(err, HN_ERUN, "the reference failed: %s: %s",
                         hn_outcome_name(record.outcome), message);
    hn_record_finish(&record);
    return status;
}

static enum hn_status make_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                     const struct hn_image *image,
                                     struct hn_reference_run **reference, struct hn_error *err)
{
    struct hn_reference_run *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_fail_memory(err);
    hn_bindings_init(&made->depends);
    hn_image_init(&made->image);
    enum hn_status status = make_key(bench->plan, depends, &made->key, err);
    if (status == HN_OK)
        status = hn_bindings_copy(&made->depends, depends, err);
    if (status == HN_OK)
        status = copy_image(&made->image, image, err);
    if (status == HN_OK)
        status = hn_outputs_init(&made->outputs, &bench->arena, err);
    if (status == HN_OK)
        status = compute(bench, made, true, err);
    if (status != HN_OK) {
        destroy_reference(made);
        return status;
    }
    *reference = made;
    return HN_OK;
}

static void remove_reference(struct hn_bench *bench, const char *key)
{
    for (size_t i = 0; i < bench->reference_count; i++) {
        if (strcmp(bench->references[i]->key, key) != 0)
            continue;
        destroy_reference(bench->references[i]);
        bench->references[i] = bench->references[--bench->reference_count];
        return;
    }
}

/* In the place of the one for the same values. */
static enum hn_status put_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                    const struct hn_image *image, struct hn_error *err)
{
    char *key = NULL;
    enum hn_status status = make_key(bench->plan, depends, &key, err);
    if (status != HN_OK)
        return status;
    remove_reference(bench, key);
    free(key);
    struct hn_reference_run **grown = realloc(
        bench->references, (bench->reference_count + 1) * sizeof(struct hn_reference_run *));
    if (grown == NULL)
        return hn_fail_memory(err);
    bench->references = grown;
    status = make_reference(bench, depends, image, &grown[bench->reference_count], err);
    if (status == HN_OK)
        bench->reference_count++;
    return status;
}

enum hn_status hn_bench_set_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                      const struct hn_image *image, struct hn_error *err)
{
    if (image->outcome != HN_OUTCOME_OK || image->cubin == NULL)
        return hn_fail(err, HN_ERUN, "the reference did not compile: %s",
                       image->message == NULL ? "no message" : image->message);
    enum hn_status status = hn_bench_clear_unchecked(bench, err);
    return status == HN_OK ? put_reference(bench, depends, image, err) : status;
}

enum hn_status hn_bench_read_reference(struct hn_bench *bench, struct hn_error *err)
{
    struct hn_bindings nothing;
    struct hn_image none;
    hn_bindings_init(&nothing);
    hn_image_init(&none);
    return put_reference(bench, &nothing, &none, err);
}

enum hn_status hn_bench_clear_unchecked(struct hn_bench *bench, struct hn_error *err)
{
    if (!bench->unchecked)
        return HN_OK;
    bench->unchecked = false;
    for (size_t i = 0; i < bench->reference_count; i++)
        bench->references[i]->outputs.damaged = true;
    enum hn_status status = hn_arena_repair(&bench->arena, err);
    return status == HN_OK ? hn_bench_repair_references(bench, err) : status;
}

enum hn_status hn_bench_repair_references(struct hn_bench *bench, struct hn_error *err)
{
    for (size_t i = 0; i < bench->reference_count; i++) {
        if (!bench->references[i]->outputs.damaged)
            continue;
        enum hn_status status = compute(bench, bench->references[i], false, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

void hn_bench_drop_references(struct hn_bench *bench)
{
    for (size_t i = 0; i < bench->reference_count; i++)
        destroy_reference(bench->references[i]);
    free(bench->references);
    bench->references = NULL;
    bench->reference_count = 0;
}
