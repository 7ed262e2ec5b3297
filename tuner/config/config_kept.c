/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_kept.h"

#include <stdlib.h>
#include <string.h>

enum hn_status hn_config_version(const struct hn_plan *plan, const struct hn_bindings *problem,
                                 const struct hn_template *template,
                                 const struct hn_template *reference, struct hn_version *version,
                                 struct hn_error *err)
{
    struct hn_hash plan_hash = hn_plan_hash(plan);
    if (reference != NULL)
        plan_hash = hn_hash_join(&plan_hash, &reference->hash);
    enum hn_status status = hn_plan_add_data_hash(plan, problem, &plan_hash, err);
    if (status != HN_OK)
        return status;
    struct hn_hash options = hn_plan_options_hash(plan);
    memcpy(version->template_hash, template->hash.hex, sizeof options.hex);
    memcpy(version->options_hash, options.hex, sizeof options.hex);
    memcpy(version->plan_hash, plan_hash.hex, sizeof options.hex);
    version->protocol = HN_MEASURING_PROTOCOL;
    return HN_OK;
}

static enum hn_status copy_files(const struct hn_template *template, struct hn_stored_plan *plan,
                                 struct hn_error *err)
{
    plan->files = calloc(template->include_count + 1, sizeof *plan->files);
    if (plan->files == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i <= template->include_count; i++) {
        const char *name = i == 0 ? template->path : template->includes[i - 1].name;
        const char *text = i == 0 ? template->text : template->includes[i - 1].text;
        struct hn_stored_file *file = &plan->files[plan->file_count++];
        *file = (struct hn_stored_file){strdup(name), strdup(text)};
        if (file->name == NULL || file->text == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

static enum hn_status copy_plan(const struct hn_plan *plan, struct hn_config_kept *kept,
                                struct hn_error *err)
{
    json_t *json = hn_plan_to_json(plan);
    kept->plan.json = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    kept->kernel = strdup(plan->kernel);
    return kept->plan.json == NULL || kept->kernel == NULL ? hn_fail_memory(err) : HN_OK;
}

/* A problem of the config has the values that its first has. */
static bool is_of_config(const struct hn_config *config, const struct hn_bindings *problem)
{
    const struct hn_bindings *first = &config->problems[0];
    bool is = problem->count == first->count;
    for (size_t i = 0; i < first->count && is; i++) {
        const struct hn_value *value = hn_bindings_get(problem, first->names[i]);
        is = value != NULL && (value->type == HN_WORD) == (first->values[i].type == HN_WORD);
    }
    return is;
}

enum hn_status hn_config_keep(const struct hn_config *config, const struct hn_bindings *problem,
                              struct hn_config_kept *kept, struct hn_error *err)
{
    struct hn_plan *own = NULL;
    const struct hn_plan *plan = config->plan;
    struct hn_template template = {.path = NULL};
    struct hn_template reference = {.path = NULL};
    bool has_reference = plan->reference.kind == HN_REFERENCE_TEMPLATE;
    *kept = (struct hn_config_kept){.kernel = NULL};
    if (!is_of_config(config, problem))
        problem = &config->problems[0];
    enum hn_status status = hn_config_make_plan(config, problem, &own, err);
    if (own != NULL)
        plan = own;
    if (status == HN_OK)
        status = hn_config_check_files(config, err);
    if (status == HN_OK)
        status = hn_template_load(plan->template_path, &template, err);
    if (status == HN_OK && has_reference)
        status = hn_template_load(plan->reference.template_path, &reference, err);
    if (status == HN_OK)
        status = hn_config_version(plan, problem, &template, has_reference ? &reference : NULL,
                                   &kept->version, err);
    if (status == HN_OK)
        status = copy_plan(plan, kept, err);
    if (status == HN_OK)
        status = copy_files(&template, &kept->plan, err);
    hn_template_finish(&reference);
    hn_template_finish(&template);
    hn_plan_destroy(own);
    if (status != HN_OK)
        hn_config_kept_finish(kept);
    return status;
}

bool hn_config_has_changed(const struct hn_config *config, const struct hn_identity *identity,
                           const struct hn_version *version)
{
    struct hn_config_kept kept;
    if (strcmp(config->plan->kernel, identity->kernel) != 0 ||
        !hn_version_knows_template(version) ||
        hn_config_keep(config, &identity->problem, &kept, NULL) != HN_OK)
        return false;
    bool changed = !hn_version_same_source(&kept.version, version);
    hn_config_kept_finish(&kept);
    return changed;
}

void hn_config_mark_changed(struct hn_store *store, struct hn_tuned_list *list)
{
    struct hn_config *config = NULL; /* that of the last one, mostly that of the next */
    for (size_t i = 0; i < list->count; i++) {
        struct hn_stored_plan plan;
        struct hn_tuned *tuned = &list->items[i];
        if (hn_store_get_plan(store, tuned->identity.kernel, &tuned->version, &plan, NULL) != HN_OK)
            continue;
        json_t *json = json_loads(plan.json, 0, NULL);
        const char *path = json_string_value(json_object_get(json, "config"));
        if (config != NULL && (path == NULL || strcmp(config->path, path) != 0)) {
            hn_config_destroy(config);
            config = NULL;
        }
        if (config != NULL || (path != NULL && hn_config_load(path, &config, NULL) == HN_OK))
            tuned->stale |= hn_config_has_changed(config, &tuned->identity, &tuned->version);
        json_decref(json);
        hn_stored_plan_free(&plan);
    }
    hn_config_destroy(config);
}

void hn_config_kept_finish(struct hn_config_kept *kept)
{
    free(kept->kernel);
    hn_stored_plan_free(&kept->plan);
    *kept = (struct hn_config_kept){.kernel = NULL};
}
