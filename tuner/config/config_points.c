/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "tuner/config/config.h"
#include "tuner/config/config_parts.h"

const struct hn_config_constraint *hn_config_find_broken(const struct hn_config *config,
                                                         const struct hn_bindings *problem,
                                                         const struct hn_bindings *point,
                                                         struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    const bool tells = err != NULL;
    struct hn_error own = {0};
    err = tells ? err : &own;
    struct hn_value *values HN_FREED = hn_need(config->plan->name_count, sizeof *values);
    for (size_t i = 0; i < config->plan->name_count && !hn_failed(err); i++) {
        const struct hn_value *value = hn_bindings_get(point, config->plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(problem, config->plan->names[i]);
        if (value != NULL)
            values[i] = *value;
        else
            hn_fail(err, HN_ECONFIG, "a point without a value for every parameter");
    }
    for (size_t i = 0; i < config->constraint_count && broken == NULL && !hn_failed(err); i++) {
        const struct hn_config_constraint *constraint = &config->constraints[i];
        struct hn_error reason = {0};
        bool holds = hn_expression_holds(constraint->expression, values, &reason);
        if (hn_failed(&reason) && tells)
            hn_fail(err, HN_ECONFIG, "%s: in '%s': %s", constraint->where, constraint->text,
                    reason.message);
        else if (!holds)
            broken = constraint;
    }
    return broken;
}

/* Gives a parameter a value by chance: any, or one that a constraint asks for. */
static void change(const struct hn_config *config, const struct hn_config_constraint *broken,
                   struct hn_random *random, struct hn_bindings *point)
{
    size_t one = 0, count = 0, names = config->plan->name_count;
    for (size_t i = 0; i < config->parameter_count; i++) {
        size_t slot = hn_text_place(config->parameters[i].name,
                                    (const char *const *)config->plan->names, names);
        bool asked = broken == NULL ||
                     (slot < names && hn_plan_uses(config->plan, broken->expression, slot));
        if (asked && hn_random_below(random, ++count) == 0)
            one = i;
    }
    size_t value = (size_t)hn_random_below(random, config->parameters[one].count);
    hn_bindings_set(point, config->parameters[one].name, &config->parameters[one].values[value],
                    NULL);
}

bool hn_config_mutate(const struct hn_config *config, const struct hn_bindings *problem,
                      struct hn_random *random, struct hn_bindings *point)
{
    enum { CHANGES_MOST = 9 };
    const struct hn_config_constraint *broken = NULL;
    for (int changes = 0; changes == 0 || (broken != NULL && changes < CHANGES_MOST); changes++) {
        change(config, broken, random, point);
        broken = hn_config_find_broken(config, problem, point, NULL);
    }
    return broken == NULL;
}

/* The index of those of the `defaults` that the space has; -1: another parameter. */
static void find_defaults(const struct hn_config *config, const struct hn_space *space, int *wanted)
{
    for (size_t i = 0; i < hn_space_parameter_count(space); i++) {
        const struct hn_space_parameter *parameter = hn_space_parameter(space, i);
        const struct hn_value *value = hn_bindings_get(&config->defaults, parameter->name);
        if (value != NULL)
            value = hn_config_find_value(parameter->values, parameter->count, value);
        wanted[i] = value != NULL ? (int)(value - parameter->values) : -1;
    }
}

bool hn_config_default_point(const struct hn_config *config, const struct hn_space *space,
                             struct hn_bindings *point)
{
    size_t count = hn_space_parameter_count(space);
    uint16_t choice[count + 1];
    uint16_t nearer[count + 1];
    int wanted[count + 1], kept[count + 1];
    find_defaults(config, space, wanted);
    bool found = hn_space_first(space, wanted, choice);
    if (!found)
        hn_space_first(space, NULL, choice);
    for (size_t i = 0; i < count; i++)
        kept[i] = -1;
    /* Each look goes through millions of points where the space is large. */
    for (size_t i = 0; i < count && !found; i++) {
        kept[i] = wanted[i];
        if (wanted[i] < 0 || wanted[i] == choice[i])
            continue;
        if (hn_space_first(space, kept, nearer))
            memcpy(choice, nearer, count * sizeof *choice);
        else
            kept[i] = -1;
    }
    hn_space_bindings(space, choice, point);
    return found;
}

static enum hn_status fail_invalid(const struct hn_config *config, const struct hn_bindings *point,
                                   struct hn_error *err)
{
    const struct hn_config_constraint *broken = NULL;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_error own;
    err = hn_error_begin(err, &own);
    for (size_t i = 0; i < config->problem_count && broken == NULL; i++)
        broken = hn_config_find_broken(config, &config->problems[i], point, err);
    if (hn_failed(err))
        return err->status;
    hn_bindings_append(&text, point);
    if (broken != NULL)
        hn_fail(err, HN_ECONFIG, "point %s is not valid: constraint '%s' (%s) does not hold",
                text.data, broken->text, broken->where);
    else
        hn_fail(err, HN_ECONFIG, "point %s is not in the space", text.data);
    return err->status;
}

enum hn_status hn_config_complete(const struct hn_config *config, const struct hn_space *space,
                                  const struct hn_bindings *from, const struct hn_bindings *partial,
                                  struct hn_bindings *point, struct hn_error *err)
{
    uint16_t choice[hn_space_parameter_count(space) + 1];
    *point = hn_need_bindings(from, partial);
    enum hn_status status = hn_space_choice(space, point, choice, err);
    if (status == HN_OK && !hn_space_contains(space, choice))
        status = fail_invalid(config, point, err);
    return status;
}

/* Spaces that are parts of a config's, for families. */

/* Drops the values of a parameter that are not marked. */
static void keep_values(struct hn_config_parameter *parameter, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < parameter->count; i++)
        if (keep[i])
            parameter->values[kept++] = parameter->values[i];
    parameter->count = kept;
}

void hn_config_keep_points(struct hn_config *config, const struct hn_bindings *points, size_t count)
{
    HN_FREE_EACH(point, config->only, config->only_count, hn_bindings_finish(point));
    config->only = count > 0 ? hn_need(count, sizeof *config->only) : NULL;
    for (size_t i = 0; i < count; i++)
        config->only[i] = hn_need_bindings(&points[i], NULL);
    config->only_count = count;
}

/* Those of `only` that the plan allows for the problem. */
static void build_only(const struct hn_config *config, size_t problem, struct hn_space *space,
                       struct hn_error *err)
{
    uint64_t count = 0;
    size_t width = config->parameter_count;
    if (hn_failed(err))
        return;
    uint16_t *choices HN_FREED = hn_need((config->only_count + 1) * (width + 1), sizeof *choices);
    for (size_t i = 0; i < config->only_count && !hn_failed(err); i++) {
        const struct hn_bindings *point = &config->only[i];
        if (hn_plan_allows(config->plan, &config->problems[problem], point, NULL))
            hn_space_choice(space, point, choices + count++ * width, err);
    }
    if (!hn_failed(err) && count == 0)
        hn_fail(err, HN_ENOTFOUND, "none of the points is valid for the problem");
    if (!hn_failed(err))
        hn_space_build_from(space, choices, count, err);
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
    const struct hn_value *chosen = hn_bindings_get(&config->defaults, parameter->name);
    bool *keep HN_FREED = hn_need(parameter->count, sizeof *keep);
    size_t first = parameter->count;
    for (size_t v = parameter->count; v-- > 0 && !hn_failed(err);) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        hn_bindings_set(&point, parameter->name, &parameter->values[v], err);
        keep[v] = !hn_plan_freezes(config->plan, &point);
        first = keep[v] ? v : first;
    }
    if (chosen != NULL)
        chosen = hn_config_find_value(parameter->values, parameter->count, chosen);
    if (chosen != NULL && first < parameter->count && !keep[chosen - parameter->values])
        hn_bindings_set(&config->defaults, parameter->name, &parameter->values[first], err);
    keep_values(parameter, keep);
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
        struct hn_bindings whole = hn_need_bindings(&config->defaults, &config->ladder[i]);
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

/* All but its points. */
static void fill_space(const struct hn_config *config, size_t problem, struct hn_space *made,
                       struct hn_error *err)
{
    HN_EACH_OF(parameter, config->parameters, config->parameter_count)
        hn_space_add_parameter(made, parameter->name, parameter->values, parameter->count);
    const struct hn_bindings *values = &config->problems[problem];
    for (size_t i = 0; i < values->count; i++)
        hn_space_add_constant(made, values->names[i], &values->values[i]);
    /* Constraints may name words of other problems, or that -s has taken from a parameter. */
    for (size_t i = 0; i < config->plan->word_list_count; i++)
        for (size_t w = 0; w < config->plan->word_lists[i].count; w++)
            hn_space_add_word(made, config->plan->word_lists[i].words[w]);
    if (config->prior != NULL)
        hn_space_set_estimate(made, config->prior, err);
    for (size_t i = 0; config->only == NULL && i < config->constraint_count; i++)
        hn_space_add_expression(made, config->constraints[i].expression,
                                config->constraints[i].where);
}

enum hn_status hn_config_space(const struct hn_config *config, size_t problem, bool in_haste,
                               struct hn_space **space, struct hn_error *err)
{
    struct hn_error own;
    struct hn_space *made = hn_space_create();
    uint16_t choice[config->parameter_count + 1];
    int wanted[config->parameter_count + 1];
    err = hn_error_begin(err, &own);
    fill_space(config, problem, made, err);
    if (config->only != NULL)
        build_only(config, problem, made, err);
    else if (!hn_failed(err) && !in_haste)
        hn_space_build(made, err);
    else if (!hn_failed(err) && hn_space_begin(made, err) == HN_OK) {
        find_defaults(config, made, wanted);
        if (hn_space_is_built(made) || !hn_space_first(made, wanted, choice))
            hn_space_wait(made, err); /* tells at once that it is empty, or where that is unknown */
    }
    if (!hn_failed(err))
        *space = made;
    else
        hn_space_destroy(made);
    return err->status;
}

/* -p, -s and --reference: a config after it was read. */

static void fail_name(const char *option, const char *name, const char *what, char *const *known,
                      size_t count, struct hn_error *err)
{
    struct hn_text hint HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_append_known(&hint, name, (const char *const *)known, count);
    hn_fail(err, HN_EUSAGE, "%s: there is no %s '%s'%s", option, what, name, hint.data);
}

static void drop_repeats(struct hn_config *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < config->problem_count; i++) {
        bool repeated = false;
        for (size_t k = 0; k < kept; k++)
            repeated = repeated || hn_bindings_equal(&config->problems[k], &config->problems[i]);
        if (repeated)
            hn_bindings_finish(&config->problems[i]);
        else
            config->problems[kept++] = config->problems[i];
    }
    config->problem_count = kept;
}

/* An integer stands for the real number where the config has only such: 1 / 2 is not 1 / 2.0 in a
 * template that sees the value as a constant. */
static void set_problem(struct hn_config *config, const char *name, const struct hn_value *value,
                        struct hn_error *err)
{
    static const char *const kinds[] = {"an integer in digits", "a number", "a boolean", "a word"};
    const struct hn_value *model = hn_bindings_get(&config->problems[0], name);
    struct hn_value real;
    for (size_t i = 0; model != NULL && i < config->problem_count; i++) {
        const struct hn_value *own = hn_bindings_get(&config->problems[i], name);
        model = own->type == value->type ? own : model;
    }
    if (model != NULL && model->type == HN_REAL && value->type == HN_INTEGER) {
        real = hn_real((double)value->integer);
        value = &real;
    }
    if (model == NULL)
        fail_name("-p", name, "problem value", config->plan->problem, config->plan->problem_count,
                  err);
    else if (model->type != value->type)
        hn_fail(err, HN_EUSAGE, "-p %s: found %s, expected %s as in the config", name,
                kinds[value->type], kinds[model->type]);
    if (hn_failed(err))
        return;
    /* A workload may be one that the config does not name: its word joins the list. Constraints say
     * which words the template understands. */
    if (value->type == HN_WORD && hn_plan_has_name(config->plan, value->word))
        hn_fail(err, HN_EUSAGE, "-p %s: '%s' is a name in the config, expected a word", name,
                value->word);
    else if (value->type == HN_WORD)
        hn_word_list_add((struct hn_word_list *)hn_plan_find_words(config->plan, name), value->word,
                         err);
    for (size_t i = 0; i < config->problem_count && !hn_failed(err); i++)
        hn_bindings_set(&config->problems[i], name, value, err);
    drop_repeats(config);
}

enum hn_status hn_config_take_problem(struct hn_config *config, const struct hn_bindings *problem,
                                      struct hn_error *err)
{
    hn_error_init(err);
    for (size_t i = 0; i < problem->count && !hn_failed(err); i++)
        set_problem(config, problem->names[i], &problem->values[i], err);
    hn_config_compute(config, err);
    return err->status;
}

static void fail_value(const struct hn_config_parameter *parameter, const char *text,
                       struct hn_error *err)
{
    struct hn_text values HN_ENDED_BY(hn_text_finish) = {0};
    hn_values_append(&values, parameter->values, parameter->count);
    hn_fail(err, HN_EUSAGE, "-s %s: found '%s', expected one of %s%s", parameter->name, text,
            values.data == NULL ? "none" : values.data,
            parameter->restricted ? ", which it was restricted to before" : "");
}

/* Restricts a parameter to the values of a list "16,32". */
static void restrict_one(struct hn_config *config, const char *name, char *list,
                         struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_config_parameter *parameter = hn_config_find_parameter(config, name);
    char *rest = NULL;
    if (parameter == NULL && hn_bindings_get(&config->problems[0], name) != NULL)
        hn_fail(err, HN_EUSAGE, "-s: '%s' is a problem value; set it with -p %s=%s", name, name,
                list);
    else if (parameter == NULL)
        fail_name("-s", name, "parameter", plan->parameters, plan->parameter_count, err);
    else if (list[strspn(list, ",")] == '\0')
        fail_value(parameter, list, err);
    if (hn_failed(err))
        return;
    bool *keep HN_FREED = hn_need(parameter->count, sizeof *keep);
    for (char *text = strtok_r(list, ",", &rest); text != NULL && !hn_failed(err);
         text = strtok_r(NULL, ",", &rest)) {
        struct hn_value value;
        const struct hn_value *found =
            hn_value_parse(text, &value, NULL) == HN_OK
                ? hn_config_find_value(parameter->values, parameter->count, &value)
                : NULL;
        if (found == NULL)
            fail_value(parameter, text, err);
        else
            keep[found - parameter->values] = true;
    }
    if (!hn_failed(err))
        keep_values(parameter, keep);
    parameter->restricted = true;
}

enum hn_status hn_config_restrict(struct hn_config *config, const char *assignment,
                                  struct hn_error *err)
{
    char *copy HN_FREED = hn_need_copy(assignment), *next = NULL;
    hn_error_init(err);
    config->restricted = true;
    for (char *name = copy; name != NULL && !hn_failed(err); name = next) {
        char *values = name;
        strsep(&values, "=");
        if (values == NULL) {
            hn_fail(err, HN_EUSAGE, "-s: found '%s', expected NAME=VALUE,...", name);
            break;
        }
        /* Behind a comma "NAME=" may begin: "A=1,2,B=3" holds two assignments. */
        char *equals = strchr(values, '=');
        next = equals != NULL ? memrchr(values, ',', (size_t)(equals - values)) : NULL;
        strsep(&next, ",");
        restrict_one(config, name, values, err);
    }
    return err->status;
}

static bool has_file(const struct hn_plan *plan, size_t argument)
{
    for (size_t i = 0; i < plan->reference.file_count; i++)
        if (plan->reference.files[i].argument == argument)
            return true;
    return false;
}

static void set_expected(struct hn_plan *plan, const char *name, const char *file,
                         struct hn_error *err)
{
    char **names HN_FREED = hn_need(plan->argument_count, sizeof *names);
    size_t count = 0, found = plan->argument_count;
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!hn_argument_is_compared(&plan->arguments[i]))
            continue;
        names[count++] = plan->arguments[i].name;
        found = strcmp(plan->arguments[i].name, name) == 0 ? i : found;
    }
    if (found == plan->argument_count)
        fail_name("--reference", name, "result", names, count, err);
    else if (has_file(plan, found))
        hn_fail(err, HN_EUSAGE, "--reference: '%s' is given twice", name);
    /* From the folder that we are in, as on a command line; a config's are from its own. */
    char *path HN_FREED = hn_file_absolute(file, err);
    if (path != NULL)
        hn_reference_add_file(&plan->reference, found, path, err);
}

enum hn_status hn_config_set_reference(struct hn_config *config, const char *const *assignments,
                                       size_t count, struct hn_error *err)
{
    hn_error_init(err);
    hn_reference_finish(&config->plan->reference);
    config->plan->given = true;
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        char *name HN_FREED = hn_need_copy(assignments[i]), *file = name;
        strsep(&file, "=");
        if (file != NULL)
            set_expected(config->plan, name, file, err);
        else
            hn_fail(err, HN_EUSAGE, "--reference: found '%s', expected NAME=FILE", name);
    }
    for (size_t i = 0; i < config->plan->argument_count && !hn_failed(err); i++)
        if (hn_argument_is_compared(&config->plan->arguments[i]) && !has_file(config->plan, i))
            hn_fail(err, HN_EUSAGE,
                    "--reference: '%s' is compared and has no file; give one for each",
                    config->plan->arguments[i].name);
    return hn_failed(err) ? err->status : hn_plan_bind(config->plan, NULL, err);
}
