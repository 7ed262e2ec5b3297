/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/front.h"
#include "cache/record/gate.h"
#include "runtime/plan/plan.h"

enum { FORMAT = 3 };

json_t *hn_plan_to_json(const struct hn_plan *plan)
{
    json_t *json = hn_fields_to_json(&hn_plan_structure, plan);
    if (json != NULL && json_object_set_new(json, "format", json_integer(FORMAT)) == 0)
        return json;
    json_decref(json);
    return NULL;
}

/* Reading. */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum hn_status hn_plan_collect_names(struct hn_plan *plan, struct hn_error *err)
{
    size_t total = plan->parameter_count + plan->problem_count;
    plan->names = calloc(total + 1, sizeof *plan->names);
    if (plan->names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < total; i++) {
        plan->names[i] =
            strdup(i < plan->parameter_count ? plan->parameters[i]
                                             : plan->problem[i - plan->parameter_count]);
        if (plan->names[i] == NULL)
            return hn_fail_memory(err);
        plan->name_count++;
    }
    qsort(plan->names, total, sizeof *plan->names, compare_names);
    for (size_t i = 1; i < total; i++)
        if (strcmp(plan->names[i - 1], plan->names[i]) == 0)
            return hn_fail(err, HN_EFORMAT, "plan: '%s' is there twice", plan->names[i]);
    return HN_OK;
}

static bool contains(char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static void check_names(struct hn_json_reader *reader, const struct hn_plan *plan)
{
    const struct hn_reference *reference = &plan->reference;
    for (size_t i = 0; i < plan->freeze_count; i++)
        hn_json_expect(reader, contains(plan->problem, plan->problem_count, plan->freeze[i]),
                       "freeze", "a list of problem values");
    for (size_t i = 0; i < plan->word_list_count; i++)
        hn_json_expect(reader, contains(plan->names, plan->name_count, plan->word_lists[i].name),
                       plan->word_lists[i].name, "a parameter or problem value");
    for (size_t i = 0; i < reference->depends_count; i++)
        hn_json_expect(reader,
                       contains(plan->parameters, plan->parameter_count, reference->depends[i]),
                       "depends", "a list of parameters");
    enum hn_front_by by;
    bool known = strcmp(plan->objective, "time") == 0 || hn_front_parse(plan->objective, &by);
    for (size_t i = 0; i < plan->metric_count; i++)
        known = known || strcmp(plan->metrics[i].name, plan->objective) == 0;
    hn_json_expect(reader, known, "objective", "time, energy, energy_delay or a metric");
}

bool hn_plan_is_length(const struct hn_plan *plan, const struct hn_argument *argument)
{
    const struct hn_argument *length = hn_plan_find_argument(plan, argument->length);
    return hn_argument_is_compared(argument) && length != NULL && length != argument &&
           hn_argument_is_compared(length) && length->length == NULL &&
           !hn_element_is_real(length->element);
}

/* That what arguments name is there: symbols and values take the contents of inputs. */
static void check_argument(struct hn_json_reader *reader, const struct hn_plan *plan,
                           const struct hn_argument *argument)
{
    const struct hn_argument *source =
        argument->from == NULL ? NULL : hn_plan_find_argument(plan, argument->from);
    if (argument->role == HN_ROLE_TEXTURE)
        hn_json_expect(reader,
                       source != NULL && source->count != NULL &&
                           hn_texture_check(&argument->texture, source) == NULL,
                       argument->from, "a buffer that the texture can read");
    else if (argument->role == HN_ROLE_TENSOR_MAP)
        hn_json_expect(reader, source != NULL && hn_argument_is_buffer(source), argument->from,
                       "a buffer that a tensor map can lie over");
    else if (argument->from != NULL)
        hn_json_expect(reader, source != NULL && source->role == HN_ROLE_INPUT, argument->from,
                       "an input");
    if (argument->length != NULL)
        hn_json_expect(reader, hn_plan_is_length(plan, argument), argument->length,
                       "an output of integers");
}

static void read_format(struct hn_json_reader *reader, const json_t *json)
{
    const json_t *format = json_object_get(json, "format");
    json_int_t version = json_integer_value(format);
    if (hn_json_expect(reader, json_is_integer(format) && version >= 1, "format", "a version") &&
        version > FORMAT)
        reader->status = hn_fail(reader->err, HN_EFORMAT,
                                 "plan: format %lld is newer than this Hone, which knows %d",
                                 (long long)version, FORMAT);
}

static enum hn_status read_plan(const json_t *json, struct hn_plan *plan, struct hn_error *err)
{
    struct hn_json_reader reader = {.what = "plan", .err = err, .root = plan};
    read_format(&reader, json);
    hn_fields_read(&reader, &hn_plan_structure, json, plan);
    /* Exports name it in comments and in #line. */
    if (reader.status == HN_OK)
        hn_json_take(&reader, hn_gate_line("the name of a template", plan->template_path,
                                           HN_NAME_MOST, err));
    if (reader.status == HN_OK && hn_json_take(&reader, hn_plan_collect_names(plan, err)))
        check_names(&reader, plan);
    for (size_t i = 0; reader.status == HN_OK && i < plan->argument_count; i++)
        check_argument(&reader, plan, &plan->arguments[i]);
    if (reader.status == HN_OK && hn_json_take(&reader, hn_plan_name_pitches(plan, err)) &&
        hn_json_take(&reader, hn_plan_bind(plan, NULL, err)))
        hn_json_expect(&reader, hn_plan_problem_used(plan, plan->freeze_if) == NULL, "freeze_if",
                       "an expression of parameters");
    return reader.status;
}

enum hn_status hn_plan_from_json(const json_t *json, struct hn_plan **plan, struct hn_error *err)
{
    struct hn_plan *made = hn_plan_create();
    if (made == NULL)
        return hn_fail_memory(err);
    enum hn_status status = read_plan(json, made, err);
    if (status == HN_OK)
        *plan = made;
    else
        hn_plan_destroy(made);
    return status;
}

/* Hashes. */

/* Takes json. Out of memory gives the hash of nothing, which equals no plan's. */
static struct hn_hash hash_json(json_t *json)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
    struct hn_hash hash = hn_hash_string(text == NULL ? "" : text);
    free(text);
    json_decref(json);
    return hash;
}

/* A path without its folder: a checkout elsewhere is the same plan. */
static void drop_folder(json_t *object, const char *key)
{
    const char *path = json_string_value(json_object_get(object, key));
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash != NULL)
        json_object_set_new(object, key, json_string(slash + 1));
}

struct hn_hash hn_plan_hash(const struct hn_plan *plan)
{
    static const char *const parts[] = {"arguments", "steps",   "pipeline", "freeze",
                                        "freeze_if", "compare", "reference"};
    json_t *all = hn_plan_to_json(plan);
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (json_object_get(all, parts[i]) != NULL)
            json_object_set(json, parts[i], json_object_get(all, parts[i]));
    if (plan->reference.kind == HN_REFERENCE_SELF)
        json_object_set(json, "defaults", json_object_get(all, "defaults"));
    drop_folder(json_object_get(json, "reference"), "template");
    size_t index;
    json_t *argument;
    /* Data is known by its contents: hn_plan_add_data_hash. */
    json_array_foreach(json_object_get(json, "arguments"), index, argument)
        drop_folder(json_object_get(argument, "fill"), "file");
    json_array_foreach(json_object_get(json_object_get(json, "reference"), "files"), index,
                       argument) drop_folder(argument, "file");
    json_decref(all);
    return hash_json(json);
}

/* What is not there is no part of it. */
static struct hn_hash join_if(bool there, const struct hn_hash *hash, const char *word)
{
    struct hn_hash own = hn_hash_string(word);
    return there ? hn_hash_join(hash, &own) : *hash;
}

/* What is refused has no time, and what was measured before it was refused is to have none. */
struct hn_hash hn_plan_options_hash(const struct hn_plan *plan)
{
    json_t *all = hn_plan_to_json(plan);
    json_t *options = json_incref(json_object_get(all, "options"));
    json_decref(all);
    struct hn_hash hash = hash_json(options);
    hash = join_if(plan->compiler != HN_COMPILER_NVRTC, &hash, hn_compiler_names[plan->compiler]);
    hash = join_if(plan->arch_specific, &hash, "arch_specific");
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        hash = join_if((plan->refused >> i & 1) != 0, &hash, hn_warning_names[i]);
    return hash;
}
