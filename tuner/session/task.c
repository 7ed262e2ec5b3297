/* SPDX-License-Identifier: MIT */
#include "tuner/session/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/config/config_files.h"

static enum hn_status load_templates(struct hn_task *task, struct hn_error *err)
{
    const struct hn_plan *plan = task->plan;
    if (plan->template_path == NULL)
        return hn_fail(err, HN_ECONFIG,
                       "%s: there is no 'template', so there is nothing to compile; only `hone "
                       "space` works with such a config",
                       task->config->path);
    enum hn_status status = hn_template_load(plan->template_path, &task->template, err);
    if (status != HN_OK || plan->reference.kind != HN_REFERENCE_TEMPLATE)
        return status;
    status = hn_template_load(plan->reference.template_path, &task->reference, err);
    task->has_reference = status == HN_OK;
    return status;
}

static char *objective_text(const struct hn_plan *plan)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_append(&text, plan->objective);
    if (strcmp(plan->objective, "time") != 0)
        hn_text_append(&text, plan->maximize ? " maximize" : " minimize");
    return hn_needed(hn_text_take(&text));
}

static enum hn_status identify(struct hn_task *task, bool measures, struct hn_error *err)
{
    const struct hn_plan *plan = task->plan;
    struct hn_identity *identity = &task->identity;
    identity->kernel = hn_need_copy(plan->kernel);
    identity->signature = hn_needed(hn_plan_signature(plan));
    identity->regime = hn_need_copy(hn_regime_name(task->regime));
    identity->objective = objective_text(plan);
    enum hn_status status =
        measures
            ? hn_config_version(plan, task->problem, &task->template,
                                task->has_reference ? &task->reference : NULL, &task->version, err)
            : HN_OK;
    return status == HN_OK ? hn_bindings_copy(&identity->problem, task->problem, err) : status;
}

enum purpose {
    COMPILES, /* not with the data that arguments are filled from */
    MEASURES,
    SEARCHES, /* with other things to do while the space is built */
};

static enum hn_status make(const struct hn_config *config, size_t problem, enum hn_regime regime,
                           enum purpose purpose, struct hn_task *task, struct hn_error *err)
{
    *task = (struct hn_task){.config = config,
                             .plan = config->plan,
                             .problem = &config->problems[problem],
                             .regime = regime};
    hn_identity_init(&task->identity);
    enum hn_status status = hn_config_make_plan(config, task->problem, &task->own_plan, err);
    if (task->own_plan != NULL)
        task->plan = task->own_plan;
    if (status == HN_OK)
        status = load_templates(task, err);
    if (status == HN_OK && purpose != COMPILES)
        status = hn_config_check_data(config, problem, err);
    if (status == HN_OK)
        status = purpose == SEARCHES ? hn_config_begin_space(config, problem, &task->space, err)
                                     : hn_config_space(config, problem, &task->space, err);
    if (status == HN_OK)
        status = identify(task, purpose != COMPILES, err);
    if (status != HN_OK)
        hn_task_finish(task);
    return status;
}

enum hn_status hn_task_make(const struct hn_config *config, size_t problem, enum hn_regime regime,
                            struct hn_task *task, struct hn_error *err)
{
    return make(config, problem, regime, MEASURES, task, err);
}

enum hn_status hn_task_make_search(const struct hn_config *config, size_t problem,
                                   enum hn_regime regime, struct hn_task *task,
                                   struct hn_error *err)
{
    return make(config, problem, regime, SEARCHES, task, err);
}

enum hn_status hn_task_make_sources(const struct hn_config *config, size_t problem,
                                    struct hn_task *task, struct hn_error *err)
{
    return make(config, problem, HN_COLD, COMPILES, task, err);
}

void hn_task_finish(struct hn_task *task)
{
    hn_space_destroy(task->space);
    hn_template_finish(&task->template);
    if (task->has_reference)
        hn_template_finish(&task->reference);
    hn_identity_finish(&task->identity);
    hn_plan_destroy(task->own_plan);
    *task = (struct hn_task){0};
}

void hn_task_set_device(struct hn_task *task, const struct hn_device_identity *device,
                        const char *driver, const char *nvrtc)
{
    task->identity.device = *device;
    snprintf(task->version.driver, sizeof task->version.driver, "%s", driver);
    snprintf(task->version.nvrtc, sizeof task->version.nvrtc, "%s", nvrtc);
}

enum hn_status hn_task_set_measured(struct hn_task *task, const struct hn_identity *measured,
                                    struct hn_error *err)
{
    (void)err;
    free(task->identity.regime);
    task->identity.regime = hn_need_copy(measured->regime);
    task->identity.device = measured->device;
    return HN_OK;
}

enum hn_status hn_task_begin(const struct hn_task *task, struct hn_store *store,
                             const char *command, bool simulated, int64_t *session,
                             struct hn_error *err)
{
    const struct hn_template *template = &task->template;
    json_t *json = hn_needed(hn_plan_to_json(task->plan));
    char *text = hn_needed(json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS));
    struct hn_stored_file *files = hn_need(template->include_count + 1, sizeof *files);
    files[0] = (struct hn_stored_file){template->path, template->text};
    for (size_t i = 0; i < template->include_count; i++)
        files[i + 1] =
            (struct hn_stored_file){template->includes[i].name, template->includes[i].text};
    struct hn_stored_plan plan = {text, files, template->include_count + 1};
    struct hn_store_session begun = {.identity = &task->identity,
                                     .version = &task->version,
                                     .plan = task->stale ? NULL : &plan,
                                     .command = command,
                                     .simulated = simulated};
    enum hn_status status = hn_store_begin(store, &begun, session, err);
    free(files);
    free(text);
    json_decref(json);
    return status;
}

enum hn_status hn_task_source(const struct hn_task *task, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err)
{
    return hn_source_make(task->plan, &task->template, task->problem, point, source, err);
}

static enum hn_status program_of(const struct hn_task *task, const struct hn_bindings *point,
                                 struct hn_hash *program, struct hn_error *err)
{
    struct hn_source source;
    struct hn_source_key key;
    enum hn_status status = hn_task_source(task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_source_key(&source, "", &key, err);
    hn_source_finish(&source);
    *program = key.hash;
    return status;
}

/* Points that differ from one in a parameter have its program. Some values of a long list tell. One
 * for which there is no program decides nothing. *asked: there was another. */
static bool is_unread(const struct hn_task *task, const struct hn_bindings *point, size_t parameter,
                      bool *asked)
{
    enum { ASKED_MOST = 8 };
    const struct hn_space *space = task->space;
    size_t count = hn_space_value_count(space, parameter);
    bool same = true;
    struct hn_hash program;
    struct hn_bindings other;
    *asked = false;
    if (program_of(task, point, &program, NULL) != HN_OK ||
        hn_bindings_copy(&other, point, NULL) != HN_OK)
        return true;
    for (size_t i = 0; i < count && same; i += 1 + count / ASKED_MOST) {
        struct hn_hash changed;
        if (hn_bindings_set(&other, hn_space_parameter_name(space, parameter),
                            hn_space_value(space, parameter, i), NULL) != HN_OK ||
            hn_bindings_equal(&other, point) || program_of(task, &other, &changed, NULL) != HN_OK)
            continue;
        same = strcmp(changed.hex, program.hex) == 0;
        *asked = true;
    }
    hn_bindings_finish(&other);
    return same;
}

enum hn_status hn_task_find_unread(const struct hn_task *task, bool *unread, bool *shares,
                                   struct hn_error *err)
{
    struct hn_bindings point;
    hn_bindings_init(&point);
    enum hn_status status = hn_config_default_point(task->config, task->space, &point, err);
    *shares = false;
    for (size_t i = 0; status == HN_OK && i < hn_space_parameter_count(task->space); i++) {
        bool asked;
        unread[i] = is_unread(task, &point, i, &asked);
        *shares = *shares || (unread[i] && asked);
    }
    hn_bindings_finish(&point);
    return status;
}

enum hn_status hn_task_reference_source(const struct hn_task *task, const struct hn_bindings *point,
                                        struct hn_source *source, struct hn_error *err)
{
    if (!task->has_reference)
        return hn_task_source(task, point, source, err);
    return hn_source_make_reference(task->plan, &task->reference, task->problem, point, source,
                                    err);
}

enum hn_status hn_task_depends(const struct hn_task *task, const struct hn_bindings *point,
                               struct hn_bindings *depends, struct hn_error *err)
{
    const struct hn_reference *reference = &task->plan->reference;
    hn_bindings_init(depends);
    if (reference->kind == HN_REFERENCE_SELF)
        return hn_bindings_copy(depends, &task->plan->defaults, err);
    for (size_t i = 0; i < reference->depends_count; i++) {
        const char *name = reference->depends[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        enum hn_status status = value != NULL ? hn_bindings_set(depends, name, value, err)
                                              : hn_fail(err, HN_ECONFIG,
                                                        "the reference depends on '%s', which the "
                                                        "point does not have",
                                                        name);
        if (status != HN_OK) {
            hn_bindings_finish(depends);
            return status;
        }
    }
    return HN_OK;
}
