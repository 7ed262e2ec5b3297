/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/config/config_parts.h"

/* -p, -s and --reference: a config after it was read. */

static void fail_name(const char *option, const char *name, const char *what, char *const *known,
                      size_t count, struct hn_error *err)
{
    const char *nearest = hn_text_nearest(name, (const char *const *)known, count);
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    if (count == 0)
        hn_fail(err, HN_EUSAGE, "%s: the config has no %ss", option, what);
    else if (nearest != NULL)
        hn_fail(err, HN_EUSAGE, "%s: there is no %s '%s'; nearest is '%s'", option, what, name,
                nearest);
    else
        hn_fail(err, HN_EUSAGE, "%s: there is no %s '%s'; there are %s", option, what, name,
                list.data);
    hn_text_finish(&list);
}

/* Splits "NAME=VALUE" in place; NULL without a '='. */
static char *split(char *assignment)
{
    char *equals = strchr(assignment, '=');
    if (equals == NULL)
        return NULL;
    *equals = '\0';
    return equals + 1;
}

static void check_problem_value(const struct hn_config *config, const char *name,
                                const struct hn_value *value, struct hn_error *err)
{
    static const char *const kinds[] = {"an integer", "a number", "a boolean", "a word"};
    const struct hn_value *model = hn_bindings_get(&config->problems[0], name);
    if (model->type != value->type && !(model->type == HN_REAL && value->type == HN_INTEGER))
        hn_fail(err, HN_EUSAGE, "-p %s: found %s, expected %s as in the config", name,
                kinds[value->type], kinds[model->type]);
}

/* A workload may be one that the config does not name: its word joins the list. Constraints say
 * which words the template understands. */
static void add_word(struct hn_plan *plan, const char *name, const char *word, struct hn_error *err)
{
    if (hn_plan_has_name(plan, word) && !hn_failed(err))
        hn_fail(err, HN_EUSAGE, "-p %s: '%s' is a name in the config, expected a word", name, word);
    struct hn_word_list *list = plan->word_lists;
    while (!hn_failed(err) && strcmp(list->name, name) != 0)
        list++;
    if (!hn_failed(err))
        hn_word_list_add(list, word, err);
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

static void set_problem(struct hn_config *config, const char *name, const struct hn_value *value,
                        struct hn_error *err)
{
    if (hn_bindings_get(&config->problems[0], name) == NULL) {
        fail_name("-p", name, "problem value", config->plan->problem, config->plan->problem_count,
                  err);
        return;
    }
    check_problem_value(config, name, value, err);
    if (value->type == HN_WORD)
        add_word(config->plan, name, value->word, err);
    for (size_t i = 0; i < config->problem_count && !hn_failed(err); i++)
        hn_bindings_set(&config->problems[i], name, value, err);
    if (!hn_failed(err))
        drop_repeats(config);
}

enum hn_status hn_config_take_problem(struct hn_config *config, const struct hn_bindings *problem,
                                      struct hn_error *err)
{
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    for (size_t i = 0; i < problem->count && !hn_failed(err); i++)
        set_problem(config, problem->names[i], &problem->values[i], err);
    hn_config_compute(config, err);
    return err->status;
}

static void fail_value(const struct hn_config_parameter *parameter, const char *text,
                       struct hn_error *err)
{
    struct hn_text values;
    hn_text_init(&values);
    hn_config_append_values(&values, parameter->values, parameter->count);
    hn_fail(err, HN_EUSAGE, "-s %s: found '%s', expected one of %s", parameter->name, text,
            values.data == NULL ? "none" : values.data);
    hn_text_finish(&values);
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
    bool *keep = hn_need(parameter->count, sizeof *keep);
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
        hn_config_keep_values(parameter, keep);
    free(keep);
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
    struct hn_error ignored;
    char *copy = hn_need_copy(assignment), *next = NULL;
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    for (char *name = copy; name != NULL && !hn_failed(err); name = next) {
        char *values = split(name);
        if (values == NULL) {
            hn_fail(err, HN_EUSAGE, "-s: found '%s', expected NAME=VALUE,...", name);
            break;
        }
        next = next_assignment(values);
        restrict_one(config, name, values, err);
    }
    free(copy);
    return err->status;
}

/* From the folder that we are in, as paths on a command line are; a config's are from its own. */
static void add_expected(struct hn_plan *plan, size_t argument, const char *file,
                         struct hn_error *err)
{
    char *path = NULL;
    char *folder = file[0] == '/' ? hn_need_copy("") : getcwd(NULL, 0);
    if (folder == NULL) {
        hn_fail(err, HN_ERUN, "the folder that we are in: %s", strerror(errno));
        return;
    }
    if (asprintf(&path, "%s%s%s", folder, file[0] == '/' ? "" : "/", file) < 0)
        hn_needed(NULL);
    hn_reference_add_file(&plan->reference, argument, path, err);
    free(folder);
    free(path);
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
    char **names = hn_need(plan->argument_count, sizeof *names);
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
    else
        add_expected(plan, found, file, err);
    free(names);
}

enum hn_status hn_config_set_reference(struct hn_config *config, const char *const *assignments,
                                       size_t count, struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    hn_error_init(err);
    hn_reference_finish(&plan->reference);
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        char *name = hn_need_copy(assignments[i]);
        const char *file = split(name);
        if (file != NULL)
            set_expected(plan, name, file, err);
        else
            hn_fail(err, HN_EUSAGE, "--reference: found '%s', expected NAME=FILE", name);
        free(name);
    }
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++)
        if (hn_argument_is_compared(&plan->arguments[i]) && !has_file(plan, i))
            hn_fail(err, HN_EUSAGE,
                    "--reference: '%s' is compared and has no file; give one for each",
                    plan->arguments[i].name);
    return hn_failed(err) ? err->status : hn_plan_bind(plan, NULL, err);
}
