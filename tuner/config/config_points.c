/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"
#include "tuner/config/family.h"

static void read_choice(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_parameter *parameter = hn_config_find_parameter(config, node->key->text);
    if (parameter == NULL) {
        hn_config_fail_unknown(reader, node->key, "parameter", node->key->text,
                               (const char *const *)config->plan->parameters,
                               config->plan->parameter_count);
        return;
    }
    struct hn_value value = hn_config_read_value(reader, node);
    if (hn_failed(reader->err))
        return;
    const struct hn_value *listed =
        hn_config_find_value(parameter->values, parameter->count, &value);
    if (listed != NULL) {
        hn_bindings_set(point, parameter->name, listed, reader->err);
        return;
    }
    struct hn_text text;
    hn_text_init(&text);
    hn_config_append_values(&text, parameter->values, parameter->count);
    hn_config_fail(reader, node, "found '%s', expected a value of '%s': %s", node->text,
                   parameter->name, text.data == NULL ? "" : text.data);
    hn_text_finish(&text);
}

/* A point, maybe partial, without `beside`, which says something of it. */
static void read_point(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const struct hn_yaml *beside, struct hn_bindings *point)
{
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of parameters to values");
    for (; child != NULL && !hn_failed(reader->err); child = child->next)
        if (child != beside)
            read_choice(reader, child, point);
}

/* A point, or a list of points with conditions, of which the last has none. */
static void read_defaults(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    if (node == NULL || node->kind != HN_YAML_SEQUENCE) {
        read_point(reader, node, NULL, &reader->config->defaults);
        return;
    }
    plan->other_defaults = hn_need(node->count, sizeof *plan->other_defaults);
    const struct hn_yaml *item = node->child;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        const struct hn_yaml *condition = hn_yaml_get(item, "if");
        struct hn_bindings *point = &reader->config->defaults;
        if (item->next != NULL) {
            struct hn_default *other = &plan->other_defaults[plan->other_default_count++];
            point = &other->point;
            hn_bindings_init(point);
            hn_config_read_expression(reader, condition, &other->condition);
        }
        if (item->next != NULL && condition == NULL)
            hn_config_fail(reader, item,
                           "expected 'if' here: of several default points only the last is for all "
                           "problems of which no condition holds");
        if (item->next == NULL && condition != NULL)
            hn_config_fail(reader, condition->key,
                           "the last of several default points is for all other problems; put one "
                           "without 'if' behind it");
        read_point(reader, item, condition, point);
    }
}

static void read_ladder(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings **ladder, size_t *count)
{
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of points");
    *ladder = hn_need(hn_config_count(node), sizeof **ladder);
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        struct hn_bindings *point = &(*ladder)[(*count)++];
        hn_bindings_init(point);
        read_point(reader, item, NULL, point);
    }
}

void hn_config_read_points(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    struct hn_family *family = config->family;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    read_defaults(reader, hn_yaml_get(reader->root, "defaults"));
    if (family != NULL) {
        read_point(reader, hn_yaml_get(node, "defaults"), NULL, &family->defaults);
        read_ladder(reader, hn_yaml_get(node, "ladder"), &family->ladder, &family->ladder_count);
    }
    read_ladder(reader, hn_yaml_get(reader->root, "ladder"), &config->ladder,
                &config->ladder_count);
}

/* The values of names for constraints: the point before the problem. */
static bool gather_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                          const struct hn_bindings *point, struct hn_value *values)
{
    for (size_t i = 0; i < plan->name_count; i++) {
        const struct hn_value *value = hn_bindings_get(point, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(problem, plan->names[i]);
        if (value == NULL)
            return false;
        values[i] = *value;
    }
    return true;
}

const struct hn_config_constraint *hn_config_find_broken(const struct hn_config *config,
                                                         size_t problem,
                                                         const struct hn_bindings *point,
                                                         struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    const struct hn_config_constraint *broken = NULL;
    struct hn_value *values = hn_need(plan->name_count, sizeof *values);
    if (!hn_failed(err) && !gather_values(plan, &config->problems[problem], point, values))
        hn_fail(err, HN_ECONFIG, "a point without a value for every parameter");
    for (size_t i = 0; i < config->constraint_count && broken == NULL && !hn_failed(err); i++) {
        const struct hn_config_constraint *constraint = &config->constraints[i];
        struct hn_value holds;
        struct hn_error reason = {0};
        if (hn_expression_evaluate(constraint->expression, values, &holds, &reason) != HN_OK)
            hn_fail(err, HN_ECONFIG, "%s: in '%s': %s", constraint->where, constraint->text,
                    reason.message);
        else if (!hn_value_truth(&holds))
            broken = constraint;
    }
    free(values);
    return broken;
}

/* The index of a parameter's value in the space, or -1 when the space has not got it. */
static int choose(const struct hn_space *space, size_t parameter, const struct hn_bindings *point)
{
    const struct hn_value *wanted =
        hn_bindings_get(point, hn_space_parameter_name(space, parameter));
    for (size_t v = 0; wanted != NULL && v < hn_space_value_count(space, parameter); v++)
        if (hn_value_equal(hn_space_value(space, parameter, v), wanted))
            return (int)v;
    return -1;
}

bool hn_config_has_defaults(const struct hn_config *config, const struct hn_space *space)
{
    size_t count = hn_space_parameter_count(space);
    uint16_t *choice = hn_need(count, sizeof *choice);
    bool has = true;
    for (size_t i = 0; has && i < count; i++) {
        int chosen = choose(space, i, &config->defaults);
        has = chosen >= 0;
        choice[i] = has ? (uint16_t)chosen : 0;
    }
    has = has && hn_space_contains(space, choice);
    free(choice);
    return has;
}

enum hn_status hn_config_default_point(const struct hn_config *config, const struct hn_space *space,
                                       struct hn_bindings *point, struct hn_error *err)
{
    size_t count = hn_space_parameter_count(space);
    int *wanted = hn_need(count, sizeof *wanted);
    uint16_t *choice = hn_need(count, sizeof *choice);
    for (size_t i = 0; i < count; i++)
        wanted[i] = choose(space, i, &config->defaults);
    /* -p and -s may leave no valid point with the defaults of the file. */
    if (!hn_space_first(space, wanted, choice))
        hn_space_first(space, NULL, choice);
    enum hn_status status = hn_space_bindings(space, choice, point, err);
    free(choice);
    free(wanted);
    return status;
}

static enum hn_status fail_invalid(const struct hn_config *config, const struct hn_bindings *point,
                                   struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_text text;
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    for (size_t i = 0; i < config->problem_count && broken == NULL; i++)
        broken = hn_config_find_broken(config, i, point, err);
    if (hn_failed(err))
        return err->status;
    hn_text_init(&text);
    hn_bindings_append(&text, point);
    if (broken != NULL)
        hn_fail(err, HN_ECONFIG, "point %s is not valid: constraint '%s' (%s) does not hold",
                text.data, broken->text, broken->where);
    else
        hn_fail(err, HN_ECONFIG, "point %s is not in the space", text.data);
    hn_text_finish(&text);
    return err->status;
}

enum hn_status hn_config_complete(const struct hn_config *config, const struct hn_space *space,
                                  const struct hn_bindings *partial, struct hn_bindings *point,
                                  struct hn_error *err)
{
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    enum hn_status status = hn_config_default_point(config, space, point, err);
    if (status == HN_OK)
        status = hn_bindings_merge(point, partial, err);
    if (status == HN_OK)
        status = hn_space_choice(space, point, choice, err);
    if (status == HN_OK && !hn_space_contains(space, choice))
        status = fail_invalid(config, point, err);
    free(choice);
    return status;
}

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
    config->only = hn_need(count, sizeof *config->only);
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        status = hn_bindings_copy(&config->only[i], points[i], err);
        config->only_count += status == HN_OK;
    }
    return status;
}

/* Those of `only` that the plan allows for the problem. */
void hn_config_build_only(const struct hn_config *config, size_t problem, struct hn_space *space,
                          struct hn_error *err)
{
    uint64_t count = 0;
    size_t width = config->parameter_count;
    if (hn_failed(err))
        return;
    uint16_t *choices = hn_need((config->only_count + 1) * (width + 1), sizeof *choices);
    for (size_t i = 0; i < config->only_count && !hn_failed(err); i++) {
        const struct hn_bindings *point = &config->only[i];
        bool allowed = false;
        if (hn_plan_allows(config->plan, &config->problems[problem], point, &allowed, NULL) ==
                HN_OK &&
            allowed)
            hn_space_choice(space, point, choices + count++ * width, err);
    }
    if (!hn_failed(err) && count == 0)
        hn_fail(err, HN_ENOTFOUND, "none of the points is valid for the problem");
    if (!hn_failed(err))
        hn_space_build_from(space, choices, count, err);
    free(choices);
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
static void thaw(struct hn_config *config, struct hn_config_parameter *parameter,
                 struct hn_error *err)
{
    const struct hn_value *own = hn_bindings_get(&config->defaults, parameter->name);
    bool *keep = hn_need(parameter->count, sizeof *keep);
    size_t first = parameter->count;
    for (size_t v = parameter->count; v-- > 0 && !hn_failed(err);) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        hn_bindings_set(&point, parameter->name, &parameter->values[v], err);
        keep[v] = !hn_plan_freezes(config->plan, &point);
        first = keep[v] ? v : first;
        hn_bindings_finish(&point);
    }
    if (first < parameter->count && own != NULL && !hn_failed(err)) {
        const struct hn_value *now = parameter->values;
        while (now < parameter->values + parameter->count && !hn_value_equal(own, now))
            now++;
        size_t v = (size_t)(now - parameter->values);
        if (v < parameter->count && !keep[v])
            hn_bindings_set(&config->defaults, parameter->name, &parameter->values[first], err);
    }
    hn_config_keep_values(parameter, keep);
    free(keep);
}

/* From here on the default point and the ladder are the family's. Entries of the config's are
 * written for its own default point: what they leave out is its, not the family's. */
static void take_family_points(struct hn_config *config, struct hn_error *err)
{
    const struct hn_family *family = config->family;
    size_t total = config->ladder_count + family->ladder_count;
    config->ladder = hn_need_more(config->ladder, total, sizeof *config->ladder);
    for (size_t i = 0; i < family->ladder_count && !hn_failed(err); i++)
        hn_bindings_copy(&config->ladder[config->ladder_count++], &family->ladder[i], err);
    for (size_t i = 0; i < config->ladder_count && !hn_failed(err); i++) {
        struct hn_bindings whole;
        if (hn_bindings_copy(&whole, &config->defaults, err) == HN_OK)
            hn_bindings_merge(&whole, &config->ladder[i], err);
        hn_bindings_finish(&config->ladder[i]);
        config->ladder[i] = whole;
    }
    if (!hn_failed(err))
        hn_bindings_merge(&config->defaults, &family->defaults, err);
}

enum hn_status hn_config_thaw(struct hn_config *config, struct hn_error *err)
{
    const char *frozen = find_frozen(config);
    const struct hn_plan *plan = config->plan;
    struct hn_config_parameter *deciding = NULL;
    size_t count = 0;
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    for (size_t slot = 0; frozen != NULL && plan->freeze_if != NULL && slot < plan->name_count;
         slot++) {
        if (!hn_expression_uses(plan->freeze_if, slot))
            continue;
        count++;
        struct hn_config_parameter *named = hn_config_find_parameter(config, plan->names[slot]);
        deciding = named != NULL ? named : deciding;
    }
    if (count == 1 && deciding != NULL)
        thaw(config, deciding, err);
    if (!hn_failed(err))
        take_family_points(config, err);
    if (!hn_failed(err) && frozen != NULL &&
        (count != 1 || deciding == NULL || deciding->count == 0))
        hn_fail(err, HN_ECONFIG,
                "%s: 'freeze' makes %s a constant of the program, so that each size of "
                "the family would be compiled; give it as an argument too, and let one "
                "parameter say whether it is frozen: 'freeze: {values: [%s], if: FROZEN}' "
                "with FROZEN: [0, 1]",
                config->path, frozen, frozen);
    return err->status;
}
