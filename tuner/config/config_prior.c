/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tuner/config/config_parts.h"

/* `prior`: what a point may cost. It changes nothing of what is measured, so that the limits of the
 * device that it names are no problem values, and where the device is not known those of an H200
 * do. */

static bool has_name(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], name) == 0)
            return true;
    return false;
}

static void take_limits(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < HN_DEVICE_LIMITS && reader->status == HN_OK; i++) {
        const char *name = hn_device_limit_names[i];
        struct hn_error reason = {0};
        if (has_name(config->plan, name) ||
            !hn_config_mentions(hn_expression_text(config->prior), name))
            continue;
        int64_t found = reader->use != NULL ? hn_config_find_limit(reader, i, &reason) : 0;
        const struct hn_value value = hn_integer(found > 0 ? found : hn_config_nominal_limit(i));
        hn_config_take(reader, hn_bindings_set(&config->prior_limits, name, &value, reader->err));
    }
}

/* Names of the plan, then the limits. */
static void bind(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    const struct hn_bindings *limits = &config->prior_limits;
    struct hn_error reason = {0};
    size_t word_count = 0;
    const char **words = hn_config_words(reader, &word_count);
    const char **names =
        hn_config_allocate(reader, plan->name_count + limits->count, sizeof *names);
    if (words != NULL && names != NULL) {
        for (size_t i = 0; i < plan->name_count; i++)
            names[i] = plan->names[i];
        for (size_t i = 0; i < limits->count; i++)
            names[plan->name_count + i] = limits->names[i];
        const struct hn_scope scope = {names, plan->name_count + limits->count, words, word_count};
        enum hn_status status = hn_expression_bind(config->prior, &scope, &reason);
        hn_config_take_in(reader, node, node->text, status, &reason);
    }
    free(names);
    free(words);
}

/* That it is above 0 at the default point of a problem, where there is one. */
static void try_default(struct hn_config_reader *reader, const struct hn_yaml *node, size_t problem)
{
    const struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    const struct hn_bindings *limits = &config->prior_limits;
    struct hn_error reason = {0};
    struct hn_value *own = NULL;
    double estimate = 0;
    if (plan->defaults.count == 0 || reader->status != HN_OK)
        return;
    enum hn_status status =
        hn_plan_values(plan, &config->problems[problem], &plan->defaults, &own, &reason);
    struct hn_value values[plan->name_count + limits->count + 1];
    for (size_t i = 0; i < plan->name_count && status == HN_OK; i++)
        values[i] = own[i];
    for (size_t i = 0; i < limits->count; i++)
        values[plan->name_count + i] = limits->values[i];
    free(own);
    if (status == HN_OK)
        status = hn_expression_number(config->prior, values, &estimate, &reason);
    if (status == HN_OK && !(estimate > 0))
        status = hn_fail(&reason, HN_ECONFIG, "'%.60s' is %g, expected a time, above 0",
                         hn_expression_text(config->prior), estimate);
    char *where = status == HN_OK ? NULL : hn_config_describe_default(reader, problem);
    if (status != HN_OK && reader->status == HN_OK)
        hn_config_fail(reader, node, "%s (at the default point: %s)", reason.message, where);
    free(where);
}

void hn_config_read_prior(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "prior");
    if (node == NULL || reader->status != HN_OK)
        return;
    hn_config_read_expression(reader, node, &config->prior);
    if (reader->status == HN_OK)
        take_limits(reader);
    if (reader->status == HN_OK)
        bind(reader, node);
    for (size_t i = 0; i < config->problem_count; i++)
        try_default(reader, node, i);
}
