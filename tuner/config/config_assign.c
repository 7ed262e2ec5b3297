/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/config/config_parts.h"

/* -p, -s and --reference: a config after it was read. */

static enum hn_status fail_name(const char *option, const char *name, const char *what,
                                char *const *known, size_t count, struct hn_error *err)
{
    const char *nearest = hn_text_nearest(name, (const char *const *)known, count);
    if (count == 0)
        return hn_fail(err, HN_EUSAGE, "%s: the config has no %ss", option, what);
    if (nearest != NULL)
        return hn_fail(err, HN_EUSAGE, "%s: there is no %s '%s'; nearest is '%s'", option, what,
                       name, nearest);
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    hn_fail(err, HN_EUSAGE, "%s: there is no %s '%s'; there are %s", option, what, name,
            list.data == NULL ? "none" : list.data);
    hn_text_finish(&list);
    return HN_EUSAGE;
}

/* Splits "NAME=VALUE" in place; false without a '='. */
static bool split(char *assignment, char **value)
{
    char *equals = strchr(assignment, '=');
    if (equals == NULL)
        return false;
    *equals = '\0';
    *value = equals + 1;
    return true;
}

static enum hn_status check_problem_value(const struct hn_config *config, const char *name,
                                          const struct hn_value *value, struct hn_error *err)
{
    const struct hn_value *model = hn_bindings_get(&config->problems[0], name);
    if (model->type != value->type && !(model->type == HN_REAL && value->type == HN_INTEGER)) {
        static const char *const kinds[] = {"an integer", "a number", "a boolean", "a word"};
        return hn_fail(err, HN_EUSAGE, "-p %s: found %s, expected %s as in the config", name,
                       kinds[value->type], kinds[model->type]);
    }
    return HN_OK;
}

/* A workload may be one that the config does not name: its word joins the list. Constraints say
 * which words the template understands. */
static enum hn_status add_word(struct hn_plan *plan, const char *name, const char *word,
                               struct hn_error *err)
{
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], word) == 0)
            return hn_fail(err, HN_EUSAGE, "-p %s: '%s' is a name in the config, expected a word",
                           name, word);
    struct hn_word_list *list = plan->word_lists;
    while (strcmp(list->name, name) != 0)
        list++;
    return hn_word_list_add(list, word, err);
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

static enum hn_status set_problem(struct hn_config *config, const char *name,
                                  const struct hn_value *value, struct hn_error *err)
{
    if (hn_bindings_get(&config->problems[0], name) == NULL)
        return fail_name("-p", name, "problem value", config->plan->problem,
                         config->plan->problem_count, err);
    enum hn_status status = check_problem_value(config, name, value, err);
    if (status == HN_OK && value->type == HN_WORD)
        status = add_word(config->plan, name, value->word, err);
    for (size_t i = 0; i < config->problem_count && status == HN_OK; i++)
        status = hn_bindings_set(&config->problems[i], name, value, err);
    if (status == HN_OK)
        drop_repeats(config);
    return status;
}

enum hn_status hn_config_take_problem(struct hn_config *config, const struct hn_bindings *problem,
                                      struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < problem->count; i++)
        status = set_problem(config, problem->names[i], &problem->values[i], err);
    return status == HN_OK ? hn_config_compute(config, err) : status;
}

static enum hn_status fail_value(const struct hn_config_parameter *parameter, const char *text,
                                 struct hn_error *err)
{
    struct hn_text values;
    hn_text_init(&values);
    hn_config_append_values(&values, parameter->values, parameter->count);
    hn_fail(err, HN_EUSAGE, "-s %s: found '%s', expected one of %s", parameter->name, text,
            values.data == NULL ? "none" : values.data);
    hn_text_finish(&values);
    return HN_EUSAGE;
}

/* Marks the values of a list "16,32" in keep, which has an entry for each value of the parameter.
 */
static enum hn_status mark_values(const struct hn_config_parameter *parameter, char *list,
                                  bool *keep, struct hn_error *err)
{
    char *rest = NULL;
    for (char *text = strtok_r(list, ",", &rest); text != NULL; text = strtok_r(NULL, ",", &rest)) {
        struct hn_value value;
        const struct hn_value *found =
            hn_value_parse(text, &value, NULL) == HN_OK
                ? hn_config_find_value(parameter->values, parameter->count, &value)
                : NULL;
        if (found == NULL)
            return fail_value(parameter, text, err);
        keep[found - parameter->values] = true;
    }
    return HN_OK;
}

static enum hn_status restrict_one(struct hn_config *config, const char *name, char *list,
                                   struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_config_parameter *parameter = NULL;
    for (size_t i = 0; i < config->parameter_count; i++)
        if (strcmp(config->parameters[i].name, name) == 0)
            parameter = &config->parameters[i];
    if (parameter == NULL && hn_bindings_get(&config->problems[0], name) != NULL)
        return hn_fail(err, HN_EUSAGE, "-s: '%s' is a problem value; set it with -p %s=%s", name,
                       name, list);
    if (parameter == NULL)
        return fail_name("-s", name, "parameter", plan->parameters, plan->parameter_count, err);
    if (list[strspn(list, ",")] == '\0')
        return fail_value(parameter, list, err);
    bool *keep = calloc(parameter->count, sizeof *keep);
    if (keep == NULL)
        return hn_fail_memory(err);
    enum hn_status status = mark_values(parameter, list, keep, err);
    if (status == HN_OK)
        hn_config_keep_values(parameter, keep);
    free(keep);
    return status;
}

/* Where the next "NAME=" after a comma begins, or NULL: "A=1,2,B=3" holds two assignments. */
static char *next_assignment(char *values)
{
    char *equals = strchr(values, '=');
    if (equals == NULL)
        return NULL;
    *equals = '\0';
    char *comma = strrchr(values, ',');
    *equals = '=';
    if (comma == NULL)
        return NULL;
    *comma = '\0';
    return comma + 1;
}

enum hn_status hn_config_restrict(struct hn_config *config, const char *assignment,
                                  struct hn_error *err)
{
    char *copy = strdup(assignment);
    if (copy == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (char *name = copy; name != NULL && status == HN_OK;) {
        char *values = NULL;
        if (!split(name, &values)) {
            status = hn_fail(err, HN_EUSAGE, "-s: found '%s', expected NAME=VALUE,...", name);
            break;
        }
        char *next = next_assignment(values);
        status = restrict_one(config, name, values, err);
        name = next;
    }
    free(copy);
    return status;
}

/* From the folder that we are in, as paths on a command line are; a config's are from its own. */
static enum hn_status add_expected(struct hn_plan *plan, size_t argument, const char *file,
                                   struct hn_error *err)
{
    char *path = NULL;
    char *folder = file[0] == '/' ? strdup("") : getcwd(NULL, 0);
    if (folder == NULL)
        return hn_fail(err, HN_ERUN, "the folder that we are in: %s", strerror(errno));
    enum hn_status status = HN_OK;
    if (asprintf(&path, "%s%s%s", folder, file[0] == '/' ? "" : "/", file) < 0)
        status = hn_fail_memory(err);
    else
        status = hn_reference_add_file(&plan->reference, argument, path, err);
    free(folder);
    free(path);
    return status;
}

static bool has_file(const struct hn_plan *plan, size_t argument)
{
    for (size_t i = 0; i < plan->reference.file_count; i++)
        if (plan->reference.files[i].argument == argument)
            return true;
    return false;
}

static enum hn_status fail_result(const struct hn_plan *plan, const char *name,
                                  struct hn_error *err)
{
    size_t count = 0;
    char **names = calloc(plan->argument_count + 1, sizeof *names);
    if (names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]))
            names[count++] = plan->arguments[i].name;
    enum hn_status status = fail_name("--reference", name, "result", names, count, err);
    free(names);
    return status;
}

static enum hn_status set_expected(struct hn_plan *plan, const char *name, const char *file,
                                   struct hn_error *err)
{
    size_t i = 0;
    while (i < plan->argument_count && !(hn_argument_is_compared(&plan->arguments[i]) &&
                                         strcmp(plan->arguments[i].name, name) == 0))
        i++;
    if (i == plan->argument_count)
        return fail_result(plan, name, err);
    return has_file(plan, i) ? hn_fail(err, HN_EUSAGE, "--reference: '%s' is given twice", name)
                             : add_expected(plan, i, file, err);
}

enum hn_status hn_config_set_reference(struct hn_config *config, const char *const *assignments,
                                       size_t count, struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    enum hn_status status = HN_OK;
    hn_reference_finish(&plan->reference);
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        char *file = NULL;
        char *name = strdup(assignments[i]);
        if (name == NULL)
            return hn_fail_memory(err);
        status = split(name, &file)
                     ? set_expected(plan, name, file, err)
                     : hn_fail(err, HN_EUSAGE, "--reference: found '%s', expected NAME=FILE", name);
        free(name);
    }
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        if (hn_argument_is_compared(&plan->arguments[i]) && !has_file(plan, i))
            status = hn_fail(err, HN_EUSAGE,
                             "--reference: '%s' is compared and has no file; give one for each",
                             plan->arguments[i].name);
    return status == HN_OK ? hn_plan_bind(plan, NULL, err) : status;
}
