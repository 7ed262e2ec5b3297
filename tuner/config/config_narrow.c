/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"
#include "tuner/config/family.h"

/* Spaces that are parts of a config's, for families. */

void hn_config_keep_values(struct hn_config_parameter *parameter, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < parameter->count; i++) {
        if (keep[i])
            parameter->values[kept++] = parameter->values[i];
        else if (parameter->values[i].type == HN_WORD)
            free((char *)parameter->values[i].word);
    }
    parameter->count = kept;
}

enum hn_status hn_config_keep_points(struct hn_config *config,
                                     const struct hn_bindings *const *points, size_t count,
                                     struct hn_error *err)
{
    enum hn_status status = HN_OK;
    config->only = calloc(count + 1, sizeof *config->only);
    if (config->only == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        status = hn_bindings_copy(&config->only[i], points[i], err);
        config->only_count += status == HN_OK;
    }
    return status;
}

/* Those of `only` that the plan allows for the problem. */
enum hn_status hn_config_build_only(const struct hn_config *config, size_t problem,
                                    struct hn_space *space, struct hn_error *err)
{
    uint64_t count = 0;
    uint16_t *choices =
        calloc((config->only_count + 1) * (config->parameter_count + 1), sizeof *choices);
    enum hn_status status = choices != NULL ? HN_OK : hn_fail_memory(err);
    for (size_t i = 0; i < config->only_count && status == HN_OK; i++) {
        bool allowed = false;
        if (hn_plan_allows(config->plan, &config->problems[problem], &config->only[i], &allowed,
                           NULL) != HN_OK ||
            !allowed)
            continue;
        status = hn_space_choice(space, &config->only[i],
                                 choices + count++ * config->parameter_count, err);
    }
    if (status == HN_OK && count == 0)
        status = hn_fail(err, HN_ENOTFOUND, "none of the points is valid for the problem");
    if (status == HN_OK)
        status = hn_space_build_from(space, choices, count, err);
    free(choices);
    return status;
}

/* A program for each of so many values is no more than one for each of two words. */
enum { FROZEN_MOST = 2 };

/* A value that varies too much within the family, of those that `freeze` names; NULL: none does. */
static const char *find_frozen(const struct hn_config *config)
{
    const struct hn_family *family = config->family;
    for (size_t i = 0; i < family->value_count; i++)
        for (size_t f = 0; f < config->plan->freeze_count; f++)
            if (strcmp(config->plan->freeze[f], family->values[i].name) == 0 &&
                (family->values[i].kind == HN_FAMILY_RANGE ||
                 family->values[i].count > FROZEN_MOST))
                return family->values[i].name;
    return NULL;
}

/* Keeps those values of a parameter with which nothing is frozen; the default is one of them. */
static enum hn_status thaw(struct hn_config *config, struct hn_config_parameter *parameter,
                           struct hn_error *err)
{
    enum hn_status status = HN_OK;
    bool *keep = calloc(parameter->count + 1, sizeof *keep);
    if (keep == NULL)
        return hn_fail_memory(err);
    size_t first = parameter->count;
    for (size_t v = parameter->count; v-- > 0 && status == HN_OK;) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        status = hn_bindings_set(&point, parameter->name, &parameter->values[v], err);
        keep[v] = status == HN_OK && !hn_plan_freezes(config->plan, &point);
        first = keep[v] ? v : first;
        hn_bindings_finish(&point);
    }
    const struct hn_value *own = hn_bindings_get(&config->defaults, parameter->name);
    for (size_t v = 0; v < parameter->count && own != NULL && status == HN_OK; v++)
        if (!keep[v] && first < parameter->count && hn_value_equal(own, &parameter->values[v])) {
            status =
                hn_bindings_set(&config->defaults, parameter->name, &parameter->values[first], err);
            break;
        }
    if (status == HN_OK)
        hn_config_keep_values(parameter, keep);
    free(keep);
    return status;
}

/* Entries are written for the config's own default point: what they leave out is its, not the
 * family's. */
static enum hn_status complete_ladder(struct hn_config *config, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < config->ladder_count && status == HN_OK; i++) {
        struct hn_bindings whole;
        status = hn_bindings_copy(&whole, &config->defaults, err);
        if (status == HN_OK)
            status = hn_bindings_merge(&whole, &config->ladder[i], err);
        hn_bindings_finish(&config->ladder[i]);
        config->ladder[i] = whole;
    }
    return status;
}

static enum hn_status add_family_ladder(struct hn_config *config, struct hn_error *err)
{
    const struct hn_family *family = config->family;
    enum hn_status status = HN_OK;
    struct hn_bindings *ladder =
        realloc(config->ladder, (config->ladder_count + family->ladder_count + 1) * sizeof *ladder);
    if (ladder == NULL)
        return hn_fail_memory(err);
    config->ladder = ladder;
    for (size_t i = 0; i < family->ladder_count && status == HN_OK; i++) {
        status = hn_bindings_copy(&ladder[config->ladder_count], &family->ladder[i], err);
        config->ladder_count += status == HN_OK;
    }
    return status;
}

/* From here on the default point and the ladder are the family's. */
static enum hn_status take_family_points(struct hn_config *config, struct hn_error *err)
{
    enum hn_status status = add_family_ladder(config, err);
    if (status == HN_OK)
        status = complete_ladder(config, err);
    return status == HN_OK ? hn_bindings_merge(&config->defaults, &config->family->defaults, err)
                           : status;
}

enum hn_status hn_config_thaw(struct hn_config *config, struct hn_error *err)
{
    const char *frozen = find_frozen(config);
    const struct hn_plan *plan = config->plan;
    struct hn_config_parameter *deciding = NULL;
    size_t count = 0;
    if (frozen == NULL)
        return take_family_points(config, err);
    for (size_t slot = 0; plan->freeze_if != NULL && slot < plan->name_count; slot++) {
        if (!hn_expression_uses(plan->freeze_if, slot))
            continue;
        count++;
        for (size_t p = 0; p < config->parameter_count; p++)
            if (strcmp(config->parameters[p].name, plan->names[slot]) == 0)
                deciding = &config->parameters[p];
    }
    enum hn_status status = HN_OK;
    if (count == 1 && deciding != NULL)
        status = thaw(config, deciding, err);
    if (status == HN_OK)
        status = take_family_points(config, err);
    if (status == HN_OK && (count != 1 || deciding == NULL || deciding->count == 0))
        status = hn_fail(err, HN_ECONFIG,
                         "%s: 'freeze' makes %s a constant of the program, so that each size of "
                         "the family would be compiled; give it as an argument too, and let one "
                         "parameter say whether it is frozen: 'freeze: {values: [%s], if: FROZEN}' "
                         "with FROZEN: [0, 1]",
                         config->path, frozen, frozen);
    return status;
}
