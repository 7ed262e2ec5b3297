/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/recording/recording.h"
#include "tuner/config/config_files.h"
#include "tuner/export/export_parts.h"

/* The plan of what is exported: as the cache, a recording or a config has it; which results go with
 * it; and the types of arguments that it has for each configuration. */

static void read_plan(struct hn_export *export, struct hn_error *err)
{
    json_error_t where;
    json_t *json = json_loads(export->stored.json, 0, &where);
    if (json == NULL)
        hn_fail(err, HN_EFORMAT, "the plan kept of '%s' is not JSON: %s", export->kernel,
                where.text);
    else
        hn_plan_from_json(json, &export->plan, err);
    json_decref(json);
}

/* As it was kept with the results; without one there may be none. */
static void find_plan(struct hn_store *store, const struct hn_export_request *request,
                      struct hn_export *export, struct hn_error *err)
{
    const struct hn_version *version = &export->results[0]->version;
    struct hn_stored_plan *stored = &export->stored;
    struct hn_error reason;
    hn_error_init(&reason);
    if (store != NULL)
        hn_store_get_plan(store, export->kernel, version, stored, &reason);
    for (size_t i = 0; !hn_failed(&reason) && stored->json == NULL && i < request->recorded_count;
         i++)
        hn_recording_plan_find(request->recorded[i], export->kernel, version, stored, &reason);
    if (hn_failed(&reason) && reason.status != HN_ENOTFOUND)
        *err = reason;
    else if (!hn_failed(&reason) && stored->json != NULL)
        read_plan(export, err);
}

/* A result that was measured with another state of template, options or plan is said to be stale.
 */
static void mark_stale(struct hn_export *export, const struct hn_config *config,
                       const struct hn_version *version)
{
    for (size_t i = 0; export->untuned && i < export->all.count; i++)
        export->all.items[i].version = *version;
    memcpy(export->template_hash, version->template_hash, sizeof export->template_hash);
    for (size_t i = 0; i < export->all.count; i++) {
        struct hn_tuned *tuned = &export->all.items[i];
        tuned->stale |= hn_config_has_changed(config, &tuned->identity, &tuned->version);
    }
}

void hn_export_check_config(const struct hn_config *config, const char *kernel,
                            struct hn_error *err)
{
    if (!hn_failed(err) && strcmp(config->plan->kernel, kernel) != 0)
        hn_fail(err, HN_EUSAGE, "--config: '%s' is of kernel '%s', expected '%s'", config->path,
                config->plan->kernel, kernel);
}

static bool lacks_freezing(const struct hn_plan *plan, const struct hn_bindings *point)
{
    for (size_t slot = 0; slot < plan->name_count; slot++)
        if (hn_plan_uses(plan, plan->freeze_if, slot) &&
            hn_bindings_get(point, plan->names[slot]) == NULL)
            return true;
    return false;
}

/* A point that was tuned before points could say whether problem values are constants had them so:
 * it is the point with the other parameters at their defaults, where these freeze too. */
static void complete_points(struct hn_export *export, struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < export->all.count && !hn_failed(err); i++) {
        struct hn_bindings *point = &export->all.items[i].best.point;
        if (!lacks_freezing(plan, point) || !hn_plan_freezes(plan, &plan->defaults))
            continue;
        for (size_t k = 0; k < plan->parameter_count; k++) {
            const char *name = plan->parameters[k];
            const struct hn_value *value = hn_bindings_get(&plan->defaults, name);
            if (value != NULL && hn_bindings_get(point, name) == NULL)
                hn_bindings_set(point, name, value, err);
        }
    }
}

/* Plan and template of a config, for results that come without: recordings, and what was imported
 * from them. */
static void take_config(struct hn_export *export, const char *path, struct hn_error *err)
{
    struct hn_config_kept kept;
    if (hn_config_load(path, &export->config, err) != HN_OK)
        return;
    hn_export_check_config(export->config, export->kernel, err);
    if (hn_failed(err) ||
        hn_config_keep(export->config, &export->results[0]->identity.problem, &kept, err) != HN_OK)
        return;
    mark_stale(export, export->config, &kept.version);
    export->stored = kept.plan;
    kept.plan = (struct hn_stored_plan){.json = NULL};
    hn_config_kept_finish(&kept);
    read_plan(export, err);
    complete_points(export, err);
}

void hn_export_take_plan(struct hn_export *export, struct hn_store *store,
                         const struct hn_export_request *request, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (request->config != NULL)
        take_config(export, request->config, err);
    else
        find_plan(store, request, export, err);
    if (request->config == NULL && store != NULL)
        hn_config_mark_changed(store, &export->all);
}

enum hn_status hn_export_need_plan(const struct hn_export *export, struct hn_error *err)
{
    if (export->plan != NULL)
        return HN_OK;
    return hn_fail(err, HN_ENOTFOUND,
                   "there is no plan and template of '%s' (older recordings and what was imported "
                   "from them have none): name its config with --config, run 'hone tune CONFIG' on "
                   "this cache, or export json",
                   export->kernel);
}

enum hn_status hn_export_make_source(const struct hn_export *export, const struct hn_tuned *tuned,
                                     struct hn_source *source, struct hn_error *err)
{
    const struct hn_template none = {.path = export->plan->template_path, .text = (char[]){""}};
    enum hn_status status = hn_source_make(export->plan, &none, &tuned->identity.problem,
                                           &tuned->best.point, source, err);
    source->template = NULL;
    return status;
}

bool hn_export_problem_is_real(const struct hn_export *export, const char *name)
{
    for (size_t i = 0; i < export->result_count; i++) {
        const struct hn_value *value = hn_bindings_get(&export->results[i]->identity.problem, name);
        if (value != NULL && value->type == HN_REAL)
            return true;
    }
    return false;
}

bool hn_export_has_names(const struct hn_bindings *bindings, char *const *names, size_t count)
{
    bool all = bindings->count == count;
    for (size_t i = 0; i < count && all; i++)
        all = hn_bindings_get(bindings, names[i]) != NULL;
    return all;
}

/* A problem can have been tuned for a word that the chosen one's config did not list (-p
 * LAYOUT=column): it gets the next number. False: a name with words here has none in the plan, or
 * the other way round. */
static bool add_words(const struct hn_export *export, const struct hn_bindings *bindings,
                      struct hn_error *err)
{
    bool known = true;
    for (size_t i = 0; i < bindings->count; i++) {
        struct hn_word_list *list =
            (struct hn_word_list *)hn_plan_find_words(export->plan, bindings->names[i]);
        bool is_word = bindings->values[i].type == HN_WORD;
        known = known && is_word == (list != NULL);
        if (is_word && list != NULL && !hn_failed(err))
            hn_word_list_add(list, bindings->values[i].word, err);
    }
    return known;
}

bool hn_export_is_compatible(const struct hn_export *export, const struct hn_tuned *result,
                             struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    const struct hn_tuned *first = export->results[0];
    const struct hn_bindings *point = &result->best.point;
    const struct hn_bindings *problem = &result->identity.problem;
    if (plan == NULL)
        return hn_export_has_names(point, first->best.point.names, first->best.point.count) &&
               hn_export_has_names(problem, first->identity.problem.names,
                                   first->identity.problem.count);
    return hn_export_has_names(point, plan->parameters, plan->parameter_count) &&
           hn_export_has_names(problem, plan->problem, plan->problem_count) &&
           add_words(export, point, err) && add_words(export, problem, err);
}

void hn_export_drop_incompatible(struct hn_export *export, struct hn_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < export->result_count && !hn_failed(err); i++) {
        bool fits = hn_export_is_compatible(export, export->results[i], err);
        export->left_out += !fits;
        if (fits)
            export->results[kept++] = export->results[i];
    }
    if (hn_failed(err))
        return;
    export->result_count = kept;
    if (kept > 0)
        return;
    struct hn_text found = {0};
    hn_bindings_append(&found, &export->results[0]->identity.problem);
    hn_text_append(&found, ": ");
    hn_bindings_append(&found, &export->results[0]->best.point);
    hn_fail(err, HN_ENOTFOUND,
            "nothing of '%s' was tuned with the parameters and problem values of its config; found "
            "%s",
            export->kernel, found.data);
    hn_text_finish(&found);
}

/* Types of arguments may follow from words of the problem: each configuration has a plan with its
 * own. They stand in the config, or the signature of results. */

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
    for (size_t k = 0; k < plan->problem_count; k++) {
        const struct hn_word_list *list = hn_plan_find_words(plan, plan->problem[k]);
        if (list != NULL && list->types)
            return true;
    }
    return false;
}

/* Configurations of a family's rule are no results: another of the same words tells. */
static const char *find_signature(const struct hn_export *export, const struct hn_tuned *tuned,
                                  struct hn_error *err)
{
    const struct hn_bindings *problem = &tuned->identity.problem;
    if (!has_types(export->plan))
        return tuned->identity.signature;
    for (size_t i = 0; i < export->result_count; i++)
        if (export->results[i] == tuned)
            return tuned->identity.signature;
    for (size_t i = 0; i < export->result_count; i++)
        if (same_words(problem, &export->results[i]->identity.problem))
            return export->results[i]->identity.signature;
    char *text = hn_needed(hn_bindings_text(problem));
    hn_fail(err, HN_ENOTFOUND,
            "no result of '%s' says of which types its arguments are at %s, which the family's "
            "rule serves; expected one that was tuned with these words: name the config with "
            "--config, or leave the rule out with --no-family",
            export->kernel, text);
    free(text);
    return NULL;
}

static char *make_signature(const struct hn_export *export, const struct hn_tuned *tuned,
                            struct hn_error *err)
{
    struct hn_plan *own = NULL;
    if (export->config == NULL)
        return hn_need_copy(find_signature(export, tuned, err));
    if (hn_config_make_plan(export->config, &tuned->identity.problem, &own, err) != HN_OK)
        return NULL;
    char *signature = hn_needed(hn_plan_signature(own != NULL ? own : export->config->plan));
    hn_plan_destroy(own);
    return signature;
}

/* Sets the types of a signature, "A:float32:input,…", in the arguments of a plan. False where it is
 * of other arguments: of another state of the config, or of another tuner. */
static bool set_types(const struct hn_plan *plan, const char *signature, json_t *arguments)
{
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const char *role = hn_role_names[argument->role];
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
static struct hn_plan *make_plan(const struct hn_export *export, const char *signature,
                                 struct hn_error *err)
{
    struct hn_plan *plan = NULL;
    char *common = hn_needed(hn_plan_signature(export->plan));
    if (strcmp(common, signature) != 0) {
        json_t *json = hn_needed(hn_plan_to_json(export->plan));
        if (set_types(export->plan, signature, json_object_get(json, "arguments")))
            hn_plan_from_json(json, &plan, err);
        json_decref(json);
    }
    free(common);
    return plan;
}

void hn_export_make_types(struct hn_export *export, struct hn_error *err)
{
    if (hn_failed(err) || export->plan == NULL)
        return;
    export->plans = hn_need(export->body_count, sizeof *export->plans);
    for (size_t i = 0; i < export->body_count && !hn_failed(err); i++) {
        char *signature = make_signature(export, export->configs[i], err);
        if (!hn_failed(err))
            export->plans[i] = make_plan(export, signature, err);
        free(signature);
    }
}

const struct hn_plan *hn_export_plan_of(const struct hn_export *export, size_t config)
{
    return export->plans[config] != NULL ? export->plans[config] : export->plan;
}

/* An argument of export->plan, as the configuration has it. */
static const struct hn_argument *argument_of(const struct hn_export *export, size_t config,
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
        const struct hn_argument *own = argument_of(export, i, argument);
        char type[32];
        size_t before = 0;
        while (before < i && !same_type(argument_of(export, before, argument), own))
            before++;
        hn_type_format_c(own->element, own->lanes, type, sizeof type);
        if (before == i)
            hn_text_printf(text, "%s%s", i == 0 ? "" : " or ", type);
    }
}

void hn_export_need_one_type(const struct hn_export *export, const struct hn_argument *argument,
                             struct hn_error *err)
{
    for (size_t i = 1; i < export->body_count && !hn_failed(err); i++) {
        struct hn_text types = {0};
        if (same_type(argument_of(export, i, argument), argument_of(export, 0, argument)))
            continue;
        hn_export_append_types(export, argument, &types);
        char *problem = hn_needed(hn_bindings_text(&export->configs[i]->identity.problem));
        hn_fail(err, HN_ECONFIG,
                "argument '%s' of '%s' is %s, by the problem (%s is of another type than "
                "the first); a header passes numbers of one type, expected problems of "
                "one: choose them with -p, into a header for each type",
                argument->name, export->kernel, types.data, problem);
        free(problem);
        hn_text_finish(&types);
    }
}
