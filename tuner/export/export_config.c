/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/config/config_files.h"
#include "tuner/export/export_parts.h"

/* Plan and template of a config, for results that come without: recordings, and what was imported
 * from them. */

/* What was measured with another state of template, options or plan is said to be stale. */
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

static enum hn_status take(struct hn_export *export, const struct hn_config *config,
                           struct hn_error *err)
{
    struct hn_config_kept kept;
    if (strcmp(config->plan->kernel, export->kernel) != 0)
        return hn_fail(err, HN_EUSAGE, "--config: '%s' is of kernel '%s', expected '%s'",
                       config->path, config->plan->kernel, export->kernel);
    enum hn_status status =
        hn_config_keep(config, &export->results[0]->identity.problem, &kept, err);
    if (status != HN_OK)
        return status;
    mark_stale(export, config, &kept.version);
    export->stored = kept.plan;
    kept.plan = (struct hn_stored_plan){.json = NULL};
    hn_config_kept_finish(&kept);
    return hn_export_read_plan(export, err);
}

static bool lacks_freezing(const struct hn_plan *plan, const struct hn_bindings *point)
{
    for (size_t slot = 0; slot < plan->name_count; slot++)
        if (hn_plan_uses(plan, plan->freeze_if, slot) &&
            hn_bindings_get(point, plan->names[slot]) == NULL)
            return true;
    return false;
}

static enum hn_status complete(const struct hn_plan *plan, struct hn_bindings *point,
                               struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->parameter_count && status == HN_OK; i++) {
        const char *name = plan->parameters[i];
        const struct hn_value *value = hn_bindings_get(&plan->defaults, name);
        if (value != NULL && hn_bindings_get(point, name) == NULL)
            status = hn_bindings_set(point, name, value, err);
    }
    return status;
}

/* What was tuned before a point could say whether problem values are constants had them so: it is
 * the point with the other parameters at their defaults, where these freeze too. */
static enum hn_status complete_points(struct hn_export *export, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < export->all.count && status == HN_OK; i++) {
        struct hn_bindings *point = &export->all.items[i].best.point;
        if (lacks_freezing(plan, point) && hn_plan_freezes(plan, &plan->defaults))
            status = complete(plan, point, err);
    }
    return status;
}

enum hn_status hn_export_take_config(struct hn_export *export, const char *path,
                                     struct hn_error *err)
{
    enum hn_status status = hn_config_load(path, &export->config, err);
    if (status != HN_OK)
        return status;
    status = take(export, export->config, err);
    return status == HN_OK ? complete_points(export, err) : status;
}
