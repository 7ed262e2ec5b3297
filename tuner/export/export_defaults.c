/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config.h"
#include "tuner/export/export_parts.h"

/* What stands in for results where nothing was tuned: the default point of the config, or of its
 * family, for each of its problems that allows it. It names no device and has no time. */

static enum hn_status fill(const struct hn_config *config, const struct hn_bindings *problem,
                           const struct hn_bindings *point, struct hn_tuned *tuned,
                           struct hn_error *err)
{
    *tuned = (struct hn_tuned){0};
    hn_identity_init(&tuned->identity);
    hn_record_init(&tuned->best);
    tuned->best.outcome = HN_OUTCOME_OK;
    tuned->identity.kernel = strdup(config->plan->kernel);
    tuned->identity.signature = strdup("");
    tuned->identity.regime = strdup("cold");
    tuned->identity.objective = strdup("time");
    if (tuned->identity.kernel == NULL || tuned->identity.signature == NULL ||
        tuned->identity.regime == NULL || tuned->identity.objective == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_bindings_copy(&tuned->identity.problem, problem, err);
    return status == HN_OK ? hn_bindings_copy(&tuned->best.point, point, err) : status;
}

/* The default point for the problem; what the family has instead comes before. */
static enum hn_status find_point(const struct hn_config *config, const struct hn_bindings *problem,
                                 struct hn_bindings *point, struct hn_error *err)
{
    enum hn_status status = hn_bindings_copy(point, hn_plan_default(config->plan, problem), err);
    return status == HN_OK && config->family != NULL
               ? hn_bindings_merge(point, &config->family->defaults, err)
               : status;
}

static enum hn_status list(const struct hn_config *config, struct hn_export *export,
                           struct hn_error *err)
{
    enum hn_status status = HN_OK;
    export->all.items = calloc(config->problem_count + 1, sizeof *export->all.items);
    if (export->all.items == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < config->problem_count && status == HN_OK; i++) {
        const struct hn_bindings *problem = &config->problems[i];
        struct hn_bindings point;
        bool allows = false;
        status = find_point(config, problem, &point, err);
        if (status == HN_OK)
            status = hn_plan_allows(config->plan, problem, &point, &allows, err);
        if (status == HN_OK && allows)
            status = fill(config, problem, &point, &export->all.items[export->all.count++], err);
        hn_bindings_finish(&point);
    }
    if (status == HN_OK && export->all.count == 0)
        return hn_fail(err, HN_ENOTFOUND,
                       "--defaults: the default point of '%s' is valid for none of its problems",
                       config->path);
    return status;
}

enum hn_status hn_export_list_defaults(struct hn_export *export,
                                       const struct hn_export_request *request,
                                       struct hn_error *err)
{
    struct hn_config *config;
    const struct hn_config_for use = {.problem = request->problem};
    enum hn_status status = hn_config_load_for(request->config, &use, &config, err);
    if (status != HN_OK)
        return status;
    if (strcmp(config->plan->kernel, request->kernel) != 0)
        status = hn_fail(err, HN_EUSAGE, "--config: '%s' is of kernel '%s', expected '%s'",
                         config->path, config->plan->kernel, request->kernel);
    if (status == HN_OK)
        status = hn_config_take_problem(config, request->problem, err);
    if (status == HN_OK)
        status = list(config, export, err);
    hn_config_destroy(config);
    return status;
}
