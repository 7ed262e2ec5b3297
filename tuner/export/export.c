/* SPDX-License-Identifier: MIT */
#include "tuner/export/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/recording/recording.h"
#include "cache/store/lookup.h"
#include "tuner/config/config_files.h"
#include "tuner/export/export_parts.h"

/* The plan of what is exported: as the cache, a recording or a config has it; which results go with
 * it; and the types of arguments that it has for each configuration. */

/* As it was kept with results of a version; there may be none. */
static void get_plan(const struct hn_export *export, const struct hn_export_request *request,
                     const struct hn_version *version, struct hn_stored_plan *stored,
                     struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    if (export->store != NULL)
        hn_store_get_plan(export->store, export->kernel, version, stored, &reason);
    for (size_t i = 0; !hn_failed(&reason) && stored->json == NULL && i < request->recorded_count;
         i++)
        hn_recording_plan_find(request->recorded[i], export->kernel, version, stored, &reason);
    if (hn_failed(&reason) && reason.status != HN_ENOTFOUND)
        *err = reason;
}

static void check_config(const struct hn_config *config, const char *kernel, struct hn_error *err)
{
    if (!hn_failed(err) && strcmp(config->plan->kernel, kernel) != 0)
        hn_fail(err, HN_EUSAGE, "--config: '%s' is of kernel '%s', expected '%s'", config->path,
                config->plan->kernel, kernel);
}

/* Plan and template of a config, for results that come without: recordings, and what was imported
 * from them. */
static void take_config(struct hn_export *export, struct hn_store *store, struct hn_error *err)
{
    struct hn_config_kept kept;
    if (hn_failed(err) ||
        hn_config_keep(export->config, &export->results[0]->identity.problem, &kept, err) != HN_OK)
        return;
    memcpy(export->template_hash, kept.version.template_hash, sizeof export->template_hash);
    /* What was measured with another state of template, options or plan is said to be stale. */
    HN_EACH(tuned, export->all) {
        if (export->untuned && tuned->version.protocol == 0)
            tuned->version = kept.version;
        hn_config_mark_tuned(export->config, store, tuned);
    }
    export->stored = kept.plan;
}

enum hn_status hn_export_need_plan(const struct hn_export *export, struct hn_error *err)
{
    hn_error_init(err);
    if (export->plan != NULL && export->plan->program != NULL)
        return hn_fail(err, HN_EUSAGE,
                       "'%s' is a program, which has no kernel to export: expected --format json, "
                       "or --template",
                       export->kernel);
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
    struct hn_text_file empty = {export->plan->template_path, (char[]){""}};
    const struct hn_template none = {.files = &empty, .file_count = 1};
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

static bool has_names(const struct hn_bindings *bindings, char *const *names, size_t count)
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
        return has_names(point, first->best.point.names, first->best.point.count) &&
               has_names(problem, first->identity.problem.names, first->identity.problem.count);
    return has_names(point, plan->parameters, plan->parameter_count) &&
           has_names(problem, plan->problem, plan->problem_count) &&
           add_words(export, point, err) && add_words(export, problem, err);
}

static void drop_incompatible(struct hn_export *export, struct hn_error *err)
{
    const struct hn_tuned *first = hn_failed(err) ? NULL : export->results[0];
    size_t kept = 0;
    for (size_t i = 0; i < export->result_count && !hn_failed(err); i++) {
        bool fits = hn_export_is_compatible(export, export->results[i], err);
        export->left_out += !fits;
        if (fits)
            export->results[kept++] = export->results[i];
    }
    export->result_count = kept;
    if (hn_failed(err) || kept > 0)
        return;
    struct hn_text found HN_ENDED_BY(hn_text_finish) = {0};
    hn_bindings_append(&found, &first->identity.problem);
    hn_text_append(&found, found.length > 0 ? ": " : "");
    hn_bindings_append(&found, &first->best.point);
    hn_fail(err, HN_ENOTFOUND,
            "nothing of '%s' was tuned with the parameters and problem values of its config; found "
            "%s",
            export->kernel, found.data);
}

/* Types of arguments may follow from words of the problem: each configuration has a plan with its
 * own. They stand in the config, or the signature of results. */

static bool same_words(const struct hn_bindings *a, const struct hn_bindings *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct hn_value *own = &a->values[i], *other = hn_bindings_get(b, a->names[i]);
        if (own->type == HN_WORD && (other == NULL || !hn_value_equal(other, own)))
            return false;
    }
    return true;
}

/* Configurations of a family's rule are no results: another of the same words tells. */
static const char *find_signature(const struct hn_export *export, const struct hn_tuned *tuned,
                                  struct hn_error *err)
{
    const struct hn_bindings *problem = &tuned->identity.problem;
    bool own = true; /* no word of the problem can be an argument's type, or it is a result */
    for (size_t k = 0; k < export->plan->problem_count; k++) {
        const struct hn_word_list *list =
            hn_plan_find_words(export->plan, export->plan->problem[k]);
        own = own && (list == NULL || !list->types);
    }
    for (size_t i = 0; i < export->result_count; i++)
        own = own || export->results[i] == tuned;
    if (own)
        return tuned->identity.signature;
    for (size_t i = 0; i < export->result_count; i++)
        if (same_words(problem, &export->results[i]->identity.problem))
            return export->results[i]->identity.signature;
    char *text HN_FREED = hn_needed(hn_bindings_text(problem));
    hn_fail(err, HN_ENOTFOUND,
            "no result of '%s' says of which types its arguments are at %s, which the family's "
            "rule serves; expected one that was tuned with these words: name the config with "
            "--config, or leave the rule out with --no-family",
            export->kernel, text);
    return NULL;
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
    char *common HN_FREED = hn_needed(hn_plan_signature(export->plan));
    if (strcmp(common, signature) != 0) {
        json_auto_t *json = hn_needed(hn_plan_to_json(export->plan));
        if (set_types(export->plan, signature, json_object_get(json, "arguments")))
            hn_plan_from_json(json, &plan, err);
    }
    return plan;
}

static void make_types(struct hn_export *export, struct hn_error *err)
{
    if (hn_failed(err) || export->plan == NULL)
        return;
    const struct hn_config *config = export->config;
    export->plans = hn_need_block(&export->memory, export->body_count, sizeof *export->plans);
    for (size_t i = 0; i < export->body_count && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = export->configs[i];
        struct hn_plan *own = NULL;
        const char *signature = NULL;
        if (config == NULL)
            signature = find_signature(export, tuned, err);
        else if (hn_config_make_plan(config, &tuned->identity.problem, &own, err) == HN_OK)
            signature =
                hn_need_kept(&export->memory, hn_plan_signature(own != NULL ? own : config->plan));
        hn_plan_destroy(own);
        if (!hn_failed(err))
            export->plans[i] = make_plan(export, signature, err);
    }
}

/* An argument of export->plan, as the configuration has it. */
static const struct hn_argument *argument_of(const struct hn_export *export, size_t config,
                                             const struct hn_argument *argument)
{
    const struct hn_plan *plan =
        export->plans[config] != NULL ? export->plans[config] : export->plan;
    return &plan->arguments[argument - export->plan->arguments];
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
        while (!same_type(argument_of(export, before, argument), own))
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
        struct hn_text types HN_ENDED_BY(hn_text_finish) = {0};
        if (same_type(argument_of(export, i, argument), argument_of(export, 0, argument)))
            continue;
        hn_export_append_types(export, argument, &types);
        char *problem HN_FREED = hn_needed(hn_bindings_text(&export->configs[i]->identity.problem));
        hn_fail(err, HN_ECONFIG,
                "argument '%s' of '%s' is %s, by the problem (%s is of another type than "
                "the first); a header passes numbers of one type, expected problems of "
                "one: choose them with -p, into a header for each type",
                argument->name, export->kernel, types.data, problem);
    }
}

/* The results that are exported: those of the cache, of recordings, or in their place the default
 * point of a config; the chosen one of them, and the configurations that they come down to. */

/* Puts in the place of a result's best the one that costs least. True: there is one. */
static bool choose_by(struct hn_store *store, enum hn_front_by by, struct hn_tuned *tuned,
                      struct hn_error *err)
{
    struct hn_records records HN_ENDED_BY(hn_records_free) = {0};
    size_t least = 0;
    if (hn_failed(err) || hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated,
                                        &records, err) != HN_OK)
        return false;
    for (size_t i = 1; i < records.count; i++)
        if (hn_front_cost(&records.items[i], by) < hn_front_cost(&records.items[least], by))
            least = i;
    bool found = records.count > 0 && isfinite(hn_front_cost(&records.items[least], by));
    if (found) {
        hn_record_finish(&tuned->best);
        hn_record_copy(&tuned->best, &records.items[least], err);
    }
    return found;
}

/* Problems whose energy was not measured keep their fastest result. */
static void choose_all_by(struct hn_store *store, const struct hn_export_request *request,
                          struct hn_tuned_list *all, struct hn_error *err)
{
    bool found = false;
    if (request->by == HN_FRONT_TIME)
        return;
    if (store == NULL) {
        hn_fail(err, HN_EUSAGE, "--objective chooses among results of a cache");
        return;
    }
    for (size_t i = 0; i < all->count; i++)
        found |= choose_by(store, request->by, &all->items[i], err);
    if (!hn_failed(err) && !found)
        hn_fail(err, HN_ENOTFOUND,
                "the energy of '%s' was not measured: run 'hone tune CONFIG --energy'",
                request->kernel);
}

/* In place of a result, what a rule chooses for the least of its problems. */
static void add_choice(const struct hn_tuned *stored, struct hn_tuned_list *all,
                       struct hn_error *err)
{
    const struct hn_rule *rule = stored->rule;
    struct hn_tuned *tuned = hn_tuned_list_add(all, err);
    bool sure;
    if (tuned == NULL)
        return;
    tuned->version = stored->version;
    tuned->best.outcome = HN_OUTCOME_OK;
    hn_identity_copy(&tuned->identity, &stored->identity, err);
    hn_rule_set_end(rule, false, &tuned->identity.problem, err);
    int choice = hn_rule_choose(rule, &tuned->identity.problem, NULL, NULL, &sure);
    if (!hn_failed(err))
        hn_bindings_copy(&tuned->best.point, &rule->configurations[choice < 0 ? 0 : choice], err);
}

/* Where nothing was tuned the rules of families serve alone. */
static void list_results(struct hn_export *export, const struct hn_export_request *request,
                         struct hn_error *err)
{
    struct hn_store *store = export->store;
    struct hn_tuned_list *all = &export->all, *rules = &export->rules;
    if (store == NULL && request->recorded_count == 0)
        hn_fail(err, HN_ENOTFOUND, "there is no cache: nothing was tuned yet");
    else if (store != NULL &&
             hn_store_list(store, HN_STORE_RESULTS, request->kernel, NULL, all, err) == HN_OK)
        hn_store_list(store, HN_STORE_RULES, request->kernel, NULL, rules, err);
    for (size_t i = 0; i < request->recorded_count && !hn_failed(err); i++)
        if (!request->defaults || access(request->recorded[i], F_OK) == 0) {
            hn_recording_list(request->recorded[i], request->kernel, all, err);
            hn_recording_add_rules(request->recorded[i], request->kernel, rules, err);
        }
    export->untuned = all->count == 0;
    if (hn_failed(err))
        return;
    if (all->count > 0)
        choose_all_by(store, request, all, err);
    else if (rules->count > 0 && request->problem->count == 0 && !request->no_family &&
             request->rule_alone)
        for (size_t i = 0; i < rules->count; i++)
            add_choice(&rules->items[i], all, err);
    else if (rules->count > 0)
        hn_fail(err, HN_ENOTFOUND,
                "no problem of '%s' is tuned, there is the rule of a family alone: a header has "
                "it, without -p and --no-family",
                request->kernel);
    else if (store != NULL)
        hn_store_fail_missing(store, request->kernel, err);
    else
        hn_fail(err, HN_ENOTFOUND, "there is no recording of '%s' in '%s'%s", request->kernel,
                request->recorded[0], request->recorded_count > 1 ? ", …" : "");
}

/* Adds the default point for a problem, where it is valid: that of the plan, and before it what the
 * family has instead. It names no device and has no time. */
static void add_default(const struct hn_config *config, const struct hn_bindings *problem,
                        struct hn_tuned_list *all, struct hn_error *err)
{
    struct hn_tuned *tuned = &all->items[all->count];
    struct hn_bindings point;
    if (hn_failed(err))
        return;
    hn_bindings_copy(&point, hn_plan_default(config->plan, problem), err);
    if (config->family != NULL)
        hn_bindings_merge(&point, &config->family->defaults, err);
    if (hn_failed(err) || !hn_plan_allows(config->plan, problem, &point, err)) {
        hn_bindings_finish(&point);
        return;
    }
    all->count++;
    tuned->best.point = point;
    tuned->best.outcome = HN_OUTCOME_OK;
    tuned->identity.kernel = hn_need_copy(config->plan->kernel);
    tuned->identity.signature = hn_need_copy("");
    tuned->identity.regime = hn_need_copy("cold");
    tuned->identity.objective = hn_need_copy("time");
    hn_bindings_copy(&tuned->identity.problem, problem, err);
}

/* In place of results, the default point of the request's config for each of its problems. */
static void list_defaults(const struct hn_export_request *request, struct hn_tuned_list *all,
                          struct hn_error *err)
{
    struct hn_config *config;
    const struct hn_config_for use = {.problem = request->problem};
    if (hn_config_load(request->config, &use, &config, err) != HN_OK)
        return;
    check_config(config, request->kernel, err);
    if (!hn_failed(err))
        hn_config_take_problem(config, request->problem, err);
    all->items = hn_need(config->problem_count, sizeof *all->items);
    for (size_t i = 0; i < config->problem_count; i++)
        add_default(config, &config->problems[i], all, err);
    if (!hn_failed(err) && all->count == 0)
        hn_fail(err, HN_ENOTFOUND,
                "--defaults: the default point of '%s' is valid for none of its problems",
                config->path);
    hn_config_destroy(config);
}

/* Of two results for one device and problem: by what they cost, where that is asked for, and that
 * of the config's objective. */
static bool is_preferred(const struct hn_export *export, enum hn_front_by by,
                         const struct hn_tuned *own, const struct hn_tuned *other)
{
    const char *asked = export->config == NULL ? NULL : export->config->plan->objective;
    bool fits = hn_lookup_is_objective(asked, own->identity.objective);
    if (by != HN_FRONT_TIME && strcmp(own->identity.regime, other->identity.regime) == 0 &&
        strcmp(own->identity.objective, other->identity.objective) != 0)
        return hn_front_cost(&own->best, by) < hn_front_cost(&other->best, by);
    return hn_lookup_is_objective(asked, other->identity.objective) == fits
               ? hn_lookup_order(own, other) < 0
               : fits;
}

static void add_result(struct hn_export *export, enum hn_front_by by, const struct hn_tuned *tuned)
{
    size_t i = 0;
    while (i < export->result_count &&
           !hn_lookup_same_task(&export->results[i]->identity, &tuned->identity))
        i++;
    if (i == export->result_count) {
        export->results[export->result_count++] = tuned;
        return;
    }
    const char *own = tuned->identity.objective, *other = export->results[i]->identity.objective;
    bool preferred = is_preferred(export, by, tuned, export->results[i]);
    if (strcmp(own, other) != 0)
        export->left_objective = preferred ? other : own;
    if (preferred)
        export->results[i] = tuned;
}

static void collect(struct hn_export *export, const struct hn_export_request *request,
                    struct hn_error *err)
{
    struct hn_text problems HN_ENDED_BY(hn_text_finish) = {0};
    if (hn_failed(err))
        return;
    export->results = hn_need_block(&export->memory, export->all.count, sizeof *export->results);
    for (size_t i = 0; i < export->all.count; i++) {
        const struct hn_tuned *tuned = &export->all.items[i];
        /* A problem that has the asked values stays what it is with them. */
        struct hn_bindings with HN_ENDED_BY(hn_bindings_finish) =
            hn_need_bindings(&tuned->identity.problem, request->problem);
        bool matches = hn_bindings_equal(&with, &tuned->identity.problem);
        if (tuned->best.outcome == HN_OUTCOME_OK && matches &&
            (request->regime == NULL || strcmp(request->regime, tuned->identity.regime) == 0))
            add_result(export, request->by, tuned);
        hn_text_append(&problems, i > 0 ? "; " : "");
        hn_bindings_append(&problems, &tuned->identity.problem);
        hn_text_printf(&problems, " (%s)", tuned->identity.regime);
    }
    if (export->result_count == 0)
        hn_fail(err, HN_ENOTFOUND, "'%s' was not tuned for that problem%s; cached are: %s",
                request->kernel, request->regime != NULL ? " in that regime" : "", problems.data);
}

/* The devices among the results, each once, as "NVIDIA A100, NVIDIA H200". */
static size_t list_devices(const struct hn_export *export, struct hn_text *text)
{
    size_t devices = 0;
    for (size_t i = 0; i < export->result_count; i++) {
        const char *name = export->results[i]->identity.device.name;
        size_t before = 0;
        while (strcmp(export->results[before]->identity.device.name, name) != 0)
            before++;
        if (before == i)
            hn_text_printf(text, "%s%s", devices++ > 0 ? ", " : "", name);
    }
    return devices;
}

/* The whole name, or a part of it that only one device has: "H200". */
static size_t find_device_name(const struct hn_export *export, const char *name)
{
    const size_t none = export->result_count;
    size_t found = none;
    bool several = false;
    for (size_t i = 0; i < none; i++) {
        const char *other = export->results[i]->identity.device.name;
        if (strcmp(other, name) == 0)
            return i;
        if (hn_find_letters(other, name) == NULL)
            continue;
        several |= found < none && strcmp(export->results[found]->identity.device.name, other) != 0;
        found = found < none ? found : i;
    }
    return several ? none : found;
}

static size_t choose(const struct hn_export *export, const struct hn_export_request *request,
                     struct hn_error *err)
{
    struct hn_text devices HN_ENDED_BY(hn_text_finish) = {0};
    size_t count = list_devices(export, &devices), chosen = export->result_count;
    if (request->device_name != NULL)
        chosen = find_device_name(export, request->device_name);
    /* This device, or else one of its capability. */
    for (size_t i = 0; request->present != NULL && i < 2 * export->result_count; i++) {
        size_t at = i % export->result_count;
        const struct hn_device_identity *device = &export->results[at]->identity.device;
        if (chosen == export->result_count &&
            (i == at ? hn_device_identity_equal(device, request->present)
                     : device->capability == request->present->capability))
            chosen = at;
    }
    if (chosen == export->result_count && request->device_name != NULL)
        hn_fail(err, HN_ENOTFOUND,
                "'%s' was not tuned on '%s', or that names several; cached are: %s",
                request->kernel, request->device_name, devices.data);
    else if (chosen == export->result_count && count > 1)
        hn_fail(err, HN_EUSAGE, "'%s' was tuned on %zu devices: %s; choose one with --device-name",
                request->kernel, count, devices.data);
    return chosen == export->result_count ? 0 : chosen;
}

/* All take one plan. Results of another template, other options or another plan than the newest
 * are stale; types, tolerances and data may be those of a problem. */
static void mark_older(struct hn_export *export, const struct hn_export_request *request,
                       struct hn_error *err)
{
    const char *const of_problem[] = {"fill", "type", "compare", NULL};
    const struct hn_tuned *newest = NULL;
    struct hn_stored_plan latest HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
    if (export->store != NULL)
        hn_config_mark_changed(export->store, &export->all);
    for (size_t i = 0; i < export->result_count; i++) {
        const struct hn_tuned *one = export->results[i];
        if (!one->stale && hn_version_knows_template(&one->version) &&
            (newest == NULL || one->best.time > newest->best.time))
            newest = one;
    }
    if (newest != NULL)
        get_plan(export, request, &newest->version, &latest, err);
    HN_EACH(tuned, export->all) {
        const struct hn_version *version = &tuned->version;
        struct hn_stored_plan own HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
        if (newest == NULL || !hn_version_knows_template(version))
            continue;
        if (strcmp(version->plan_hash, newest->version.plan_hash) != 0)
            get_plan(export, request, version, &own, err);
        tuned->stale |= strcmp(version->template_hash, newest->version.template_hash) != 0 ||
                        strcmp(version->options_hash, newest->version.options_hash) != 0 ||
                        (own.json != NULL && latest.json != NULL &&
                         !hn_config_is_plan(own.json, latest.json, of_problem));
    }
}

/* The chosen device's results first, stale ones last of these: all take the first one's plan. */
static void order(struct hn_export *export, size_t chosen)
{
    const struct hn_tuned **results = export->results;
    const struct hn_tuned **ordered =
        hn_need_block(&export->memory, export->result_count, sizeof *ordered);
    for (int place = 0, count = 0; place < 3; place++)
        for (size_t i = 0; i < export->result_count; i++) {
            bool own = hn_device_identity_equal(&results[i]->identity.device,
                                                &results[chosen]->identity.device);
            if ((own ? results[i]->stale : 2) == place)
                ordered[count++] = results[i];
        }
    export->results = ordered;
}

/* Everything that makes the code of a result: its point, the problem values that the template sees
 * as constants, and the compile options. */
static char *make_key(struct hn_export *export, const struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_text key = {0};
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    const struct hn_bindings *problem = &tuned->identity.problem;
    if (hn_failed(err) || hn_export_make_source(export, tuned, &source, err) != HN_OK)
        return NULL;
    hn_bindings_append(&key, &tuned->best.point);
    for (size_t i = 0; i < problem->count; i++) {
        if (!hn_plan_is_frozen(export->plan, &tuned->best.point, problem->names[i],
                               &problem->values[i]))
            continue;
        hn_text_printf(&key, " %s=", problem->names[i]);
        hn_value_append(&key, &problem->values[i]);
    }
    for (size_t i = 0; i < source.option_count; i++)
        hn_text_printf(&key, " %s", source.options[i]);
    return hn_need_kept(&export->memory, hn_text_take(&key));
}

/* The number of the configuration with that result's key, or of a new one; without a plan it always
 * is. */
static size_t number_one(struct hn_export *export, char **keys, const struct hn_tuned *tuned,
                         struct hn_error *err)
{
    char *key = export->plan == NULL ? NULL : make_key(export, tuned, err);
    for (size_t i = 0; key != NULL && i < export->count; i++)
        if (strcmp(keys[i], key) == 0)
            return i;
    keys[export->count] = key;
    export->configs[export->count] = tuned;
    return export->count++;
}

/* Numbers the configurations, those of a family behind the others: results of the same code share
 * one. */
static void number(struct hn_export *export, struct hn_error *err)
{
    struct hn_export_family *family = export->family;
    if (hn_failed(err))
        return;
    size_t most = export->result_count + (family == NULL ? 0 : family->row_count);
    char **keys = hn_need_block(&export->memory, most, sizeof *keys);
    export->configs = hn_need_block(&export->memory, most + 1, sizeof *export->configs);
    export->config_of =
        hn_need_block(&export->memory, export->result_count, sizeof *export->config_of);
    for (size_t i = 0; i < export->result_count; i++)
        export->config_of[i] = number_one(export, keys, export->results[i], err);
    for (size_t i = 0; family != NULL && i < family->row_count; i++)
        family->config_of[i] = number_one(export, keys, &family->rows[i], err);
    export->body_count = export->count;
    const struct hn_plan *plan = export->plan;
    if (plan == NULL || !has_names(&plan->defaults, plan->parameters, plan->parameter_count))
        return;
    export->fallback = hn_need_block(&export->memory, 1, sizeof *export->fallback);
    *export->fallback = *export->configs[0];
    export->fallback->best.point = plan->defaults;
    export->configs[export->body_count++] = export->fallback;
}

/* "HONE_MATMUL" for "matmul"; "MY_MM" for a given "my_mm". */
static char *make_identifier(struct hn_export *export, const char *prefix, bool upper)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s%s", prefix == NULL ? "hone_" : "",
                   prefix == NULL ? export->kernel : prefix);
    for (char *c = hn_needed(text.data); *c != '\0'; c++)
        *c = !hn_is_letter_or_digit(*c) ? '_' : upper ? hn_upper(*c) : hn_lower(*c);
    return hn_need_kept(&export->memory, hn_text_take(&text));
}

static void open_results(struct hn_store *store, const struct hn_export_request *request,
                         bool untuned, struct hn_export *export, struct hn_error *err)
{
    *export = (struct hn_export){.kernel = request->kernel,
                                 .rows = request->rows,
                                 .untuned = untuned,
                                 .store = store,
                                 .compiling = request->compiling};
    export->upper = make_identifier(export, request->prefix, true);
    export->lower = make_identifier(export, request->prefix, false);
    hn_error_init(err);
    if (untuned)
        list_defaults(request, &export->all, err);
    else
        list_results(export, request, err);
    if (request->config != NULL && !hn_failed(err) &&
        hn_config_load(request->config, NULL, &export->config, err) == HN_OK)
        check_config(export->config, export->kernel, err);
    collect(export, request, err);
    size_t chosen = untuned || hn_failed(err) ? 0 : choose(export, request, err);
    if (hn_failed(err))
        return;
    if (request->config == NULL)
        mark_older(export, request, err);
    order(export, chosen);
    memcpy(export->template_hash, export->results[0]->version.template_hash,
           sizeof export->template_hash);
    if (request->config != NULL)
        take_config(export, store, err);
    else
        get_plan(export, request, &export->results[0]->version, &export->stored, err);
    if (export->plan == NULL && export->stored.json != NULL && !hn_failed(err))
        hn_plan_from_json(export->stored.json, &export->plan, err);
    drop_incompatible(export, err);
    if (!untuned && export->plan != NULL && export->plan->pipeline == NULL && !request->no_family &&
        request->problem->count == 0)
        hn_export_take_family(export, err);
    if (!untuned && export->untuned && !hn_failed(err) && export->rule == NULL)
        hn_fail(err, HN_ENOTFOUND, "the rule of '%s' does not go with its plan", export->kernel);
    number(export, err);
    make_types(export, err);
}

enum hn_status hn_export_open(struct hn_store *store, const struct hn_export_request *request,
                              struct hn_export *export, struct hn_error *err)
{
    open_results(store, request, false, export, err);
    if (err->status != HN_ENOTFOUND || !request->defaults)
        return err->status;
    struct hn_error reason = *err;
    hn_export_finish(export);
    open_results(NULL, request, true, export, err);
    if (!hn_failed(err)) {
        *err = reason;
        err->status = HN_OK;
    }
    return err->status;
}

void hn_export_finish(struct hn_export *export)
{
    for (size_t i = 0; export->plans != NULL && i < export->body_count; i++)
        hn_plan_destroy(export->plans[i]);
    hn_config_destroy(export->config);
    hn_plan_destroy(export->plan);
    hn_stored_plan_free(&export->stored);
    hn_export_family_finish(export->family);
    hn_tuned_list_free(&export->all);
    hn_tuned_list_free(&export->rules);
    hn_blocks_finish(&export->memory);
    *export = (struct hn_export){0};
}

static enum hn_status write_cubin(const struct hn_export *export, struct hn_text *text,
                                  struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    void *cubin HN_FREED = NULL;
    char *entry HN_FREED = NULL;
    size_t size = 0;
    if (export->store == NULL)
        return hn_fail(
            err, HN_EUSAGE,
            "a recording has no machine code; export from a cache without --recorded, or "
            "--format=cubin-header, which compiles it");
    if (hn_store_get_image(export->store, &tuned->identity, &tuned->version, &tuned->best.point,
                           &cubin, &size, &entry, err) != HN_OK)
        return err->status;
    hn_text_append_bytes(text, cubin, size);
    for (char *end = entry; (end = strchr(end, '\n')) != NULL;)
        *end = ' ';
    fprintf(stderr, "hone: cubin for sm_%d, entry %s\n", tuned->identity.device.capability, entry);
    return HN_OK;
}

static const struct hn_export_format hn_export_cubin = {.name = "cubin", .write = write_cubin};

const struct hn_export_format *const hn_export_formats[] = {
    [HN_EXPORT_HEADER] = &hn_export_header,
    [HN_EXPORT_JSON] = &hn_export_json,
    [HN_EXPORT_SOURCE] = &hn_export_source,
    [HN_EXPORT_PATCH] = &hn_export_patch,
    [HN_EXPORT_ROWS] = &hn_export_rows,
    [HN_EXPORT_CUBIN] = &hn_export_cubin,
    [HN_EXPORT_CUBIN_HEADER] = &hn_export_cubin_header,
};
