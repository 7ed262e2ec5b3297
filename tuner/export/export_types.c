/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_family_part.h"
#include "tuner/export/export_parts.h"

/* Types of arguments may follow from words of the problem: each configuration has a plan with its
 * own. What says them is the config, or the signature of results. */

static bool same_words(const struct hn_bindings *a, const struct hn_bindings *b)
{
    bool same = true;
    for (size_t i = 0; i < a->count && same; i++) {
        const struct hn_value *other = hn_bindings_get(b, a->names[i]);
        same =
            a->values[i].type != HN_WORD || (other != NULL && hn_value_equal(other, &a->values[i]));
    }
    return same;
}

/* Whether some word of the problem could be the type of an argument. */
static bool has_types(const struct hn_plan *plan)
{
    bool has = false;
    for (size_t i = 0; i < plan->word_list_count && !has; i++)
        for (size_t k = 0; k < plan->problem_count && !has; k++)
            has = plan->word_lists[i].types &&
                  strcmp(plan->word_lists[i].name, plan->problem[k]) == 0;
    return has;
}

static enum hn_status copy_signature(const char *from, char **signature, struct hn_error *err)
{
    *signature = from == NULL ? NULL : strdup(from);
    return *signature == NULL ? hn_fail_memory(err) : HN_OK;
}

/* Configurations of a family's rule are no results: another of the same words tells. */
static enum hn_status find_signature(const struct hn_export *export, const struct hn_tuned *tuned,
                                     char **signature, struct hn_error *err)
{
    const char *found = NULL;
    const struct hn_bindings *problem = &tuned->identity.problem;
    if (!has_types(export->plan))
        return copy_signature(tuned->identity.signature, signature, err);
    for (size_t i = 0; i < export->result_count && found == NULL; i++)
        if (export->results[i] == tuned)
            found = tuned->identity.signature;
    for (size_t i = 0; i < export->result_count && found == NULL; i++)
        if (same_words(problem, &export->results[i]->identity.problem))
            found = export->results[i]->identity.signature;
    if (found != NULL)
        return copy_signature(found, signature, err);
    struct hn_text text = {0};
    hn_bindings_append(&text, problem);
    hn_fail(err, HN_ENOTFOUND,
            "no result of '%s' says of which types its arguments are at %s, which the family's "
            "rule serves; expected one that was tuned with these words: name the config with "
            "--config, or leave the rule out with --no-family",
            export->kernel, text.failed ? "" : text.data);
    hn_text_finish(&text);
    return HN_ENOTFOUND;
}

static enum hn_status make_signature(const struct hn_export *export, const struct hn_tuned *tuned,
                                     char **signature, struct hn_error *err)
{
    struct hn_plan *own = NULL;
    *signature = NULL;
    if (export->config == NULL)
        return find_signature(export, tuned, signature, err);
    enum hn_status status =
        hn_config_make_plan(export->config, &tuned->identity.problem, &own, err);
    if (status == HN_OK)
        *signature = hn_plan_signature(own != NULL ? own : export->config->plan);
    hn_plan_destroy(own);
    return status == HN_OK && *signature == NULL ? hn_fail_memory(err) : status;
}

/* Sets the types of a signature, "A:float32:input,…", in the arguments of a plan. False where it is
 * of other arguments: of another state of the config, or of another tuner. */
static bool set_types(const struct hn_plan *plan, const char *signature, json_t *arguments)
{
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const char *role = hn_role_name(argument->role);
        size_t name = strlen(argument->name), length = strcspn(signature, ",");
        if (length < name + strlen(role) + 2 || memcmp(signature, argument->name, name) != 0 ||
            signature[name] != ':')
            return false;
        size_t type = length - name - strlen(role) - 2;
        const char *end = signature + name + 1 + type;
        if (*end != ':' || memcmp(end + 1, role, strlen(role)) != 0)
            return false;
        char own[HN_TYPE_SIZE];
        hn_argument_format_type(argument, own);
        if (strlen(own) != type || memcmp(own, signature + name + 1, type) != 0)
            json_object_set_new(json_array_get(arguments, i), "type",
                                json_stringn(signature + name + 1, type));
        signature += length + (signature[length] == ',');
    }
    return *signature == '\0';
}

/* NULL: the export's serves. */
static enum hn_status make_plan(const struct hn_export *export, const char *signature,
                                struct hn_plan **plan, struct hn_error *err)
{
    char *common = hn_plan_signature(export->plan);
    bool same = common != NULL && strcmp(common, signature) == 0;
    free(common);
    if (same)
        return HN_OK;
    json_t *json = hn_plan_to_json(export->plan);
    enum hn_status status = json == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK && set_types(export->plan, signature, json_object_get(json, "arguments")))
        status = hn_plan_from_json(json, plan, err);
    json_decref(json);
    return status;
}

enum hn_status hn_export_make_types(struct hn_export *export, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (export->plan == NULL)
        return HN_OK;
    export->plans = calloc(export->body_count + 1, sizeof *export->plans);
    if (export->plans == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++) {
        char *signature;
        status = make_signature(export, export->configs[i], &signature, err);
        if (status == HN_OK)
            status = make_plan(export, signature, &export->plans[i], err);
        free(signature);
    }
    return status;
}

void hn_export_free_types(struct hn_export *export)
{
    for (size_t i = 0; export->plans != NULL && i < export->body_count; i++)
        hn_plan_destroy(export->plans[i]);
    free(export->plans);
    export->plans = NULL;
}

const struct hn_plan *hn_export_plan_of(const struct hn_export *export, size_t config)
{
    return export->plans[config] != NULL ? export->plans[config] : export->plan;
}

const struct hn_argument *hn_export_argument_of(const struct hn_export *export, size_t config,
                                                const struct hn_argument *argument)
{
    return &hn_export_plan_of(export, config)->arguments[argument - export->plan->arguments];
}

static bool same_type(const struct hn_argument *a, const struct hn_argument *b)
{
    return a->element == b->element && a->lanes == b->lanes;
}

void hn_export_append_types(const struct hn_export *export, const struct hn_argument *argument,
                            struct hn_text *text)
{
    for (size_t i = 0; i < export->body_count; i++) {
        const struct hn_argument *own = hn_export_argument_of(export, i, argument);
        char type[32];
        size_t before = 0;
        while (before < i && !same_type(hn_export_argument_of(export, before, argument), own))
            before++;
        hn_type_format_c(own->element, own->lanes, type, sizeof type);
        if (before == i)
            hn_text_printf(text, "%s%s", i == 0 ? "" : " or ", type);
    }
}

enum hn_status hn_export_need_one_type(const struct hn_export *export,
                                       const struct hn_argument *argument, struct hn_error *err)
{
    struct hn_text types = {0}, problem = {0};
    enum hn_status status = HN_OK;
    for (size_t i = 1; i < export->body_count && status == HN_OK; i++) {
        if (same_type(hn_export_argument_of(export, i, argument),
                      hn_export_argument_of(export, 0, argument)))
            continue;
        hn_export_append_types(export, argument, &types);
        hn_bindings_append(&problem, &export->configs[i]->identity.problem);
        status = hn_fail(err, HN_ECONFIG,
                         "argument '%s' of '%s' is %s, by the problem (%s is of another type than "
                         "the first); a header passes numbers of one type, expected problems of "
                         "one: choose them with -p, into a header for each type",
                         argument->name, export->kernel, types.failed ? "" : types.data,
                         problem.failed ? "" : problem.data);
    }
    hn_text_finish(&problem);
    hn_text_finish(&types);
    return status;
}
