/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/template.h"
#include "tuner/config/config.h"
#include "tuner/export/export_parts.h"

/* Plan and template of a config, for results that come without: recordings, and what was imported
 * from them. */

/* A plan of its own: the config's goes with the config. */
static enum hn_status copy_plan(struct hn_export *export, const struct hn_plan *plan,
                                struct hn_error *err)
{
    json_t *json = hn_plan_to_json(plan);
    if (json == NULL)
        return hn_fail_memory(err);
    export->stored.json = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    enum hn_status status = hn_plan_from_json(json, &export->plan, err);
    json_decref(json);
    return export->stored.json == NULL ? hn_fail_memory(err) : status;
}

static enum hn_status copy_files(struct hn_export *export, const struct hn_template *template,
                                 struct hn_error *err)
{
    struct hn_stored_plan *stored = &export->stored;
    stored->files = calloc(template->include_count + 1, sizeof *stored->files);
    if (stored->files == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i <= template->include_count; i++) {
        const char *name = i == 0 ? template->path : template->includes[i - 1].name;
        const char *text = i == 0 ? template->text : template->includes[i - 1].text;
        struct hn_stored_file *file = &stored->files[stored->file_count++];
        *file = (struct hn_stored_file){strdup(name), strdup(text)};
        if (file->name == NULL || file->text == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

/* What was measured with another state of template or options is said to be stale. */
static void mark_stale(struct hn_export *export, const struct hn_plan *plan,
                       const struct hn_template *template)
{
    struct hn_hash options = hn_plan_options_hash(plan);
    memcpy(export->template_hash, template->hash.hex, sizeof export->template_hash);
    for (size_t i = 0; i < export->all.count; i++) {
        struct hn_tuned *tuned = &export->all.items[i];
        if (strcmp(tuned->version.template_hash, template->hash.hex) != 0 ||
            strcmp(tuned->version.options_hash, options.hex) != 0)
            tuned->stale = true;
    }
}

static enum hn_status take(struct hn_export *export, const struct hn_config *config,
                           struct hn_error *err)
{
    struct hn_template template;
    if (strcmp(config->plan->kernel, export->kernel) != 0)
        return hn_fail(err, HN_EUSAGE, "--config: '%s' is of kernel '%s', expected '%s'",
                       config->path, config->plan->kernel, export->kernel);
    enum hn_status status = hn_config_check_files(config, err);
    if (status == HN_OK)
        status = hn_template_load(config->plan->template_path, &template, err);
    if (status != HN_OK)
        return status;
    status = copy_plan(export, config->plan, err);
    if (status == HN_OK)
        status = copy_files(export, &template, err);
    if (status == HN_OK)
        mark_stale(export, config->plan, &template);
    hn_template_finish(&template);
    return status;
}

enum hn_status hn_export_take_config(struct hn_export *export, const char *path,
                                     struct hn_error *err)
{
    struct hn_config *config;
    enum hn_status status = hn_config_load(path, &config, err);
    if (status != HN_OK)
        return status;
    status = take(export, config, err);
    hn_config_destroy(config);
    return status;
}
