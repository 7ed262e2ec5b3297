/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "tuner/config/config_parts.h"

/* What the text of a template decides: whether words are its types or numbers of its macros, and
 * which names are parameters of its C++ templates. */

/* A template and its includes. */
static const char *source_of(const struct hn_template *template, size_t index)
{
    return index == 0 ? template->text : template->includes[index - 1].text;
}

static bool are_types(const struct hn_word_list *list)
{
    enum hn_element element;
    unsigned lanes;
    for (size_t i = 0; i < list->count; i++) {
        bool of_configs = hn_type_parse(list->words[i], &element, &lanes);
        if (hn_type_bytes(list->words[i]) == 0 || of_configs)
            return false;
    }
    return true;
}

/* "T_float" in the source asks for the numbers. */
static bool asks_for_numbers(const struct hn_template *template, const struct hn_word_list *list)
{
    bool asks = false;
    for (size_t i = 0; i < list->count && !asks; i++) {
        struct hn_text number = {0};
        hn_text_printf(&number, "%s_%s", list->name, list->words[i]);
        for (size_t s = 0; s <= template->include_count && !asks && !number.failed; s++)
            asks = hn_text_has_word(source_of(template, s), number.data, number.length);
        hn_text_finish(&number);
    }
    return asks;
}

static bool is_in_entry(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const char *entry = plan->steps[i].entry;
        if (entry != NULL && !hn_text_is_word(entry) && hn_text_has_word(entry, name, strlen(name)))
            return true;
    }
    return false;
}

static bool is_declared(const struct hn_template *template, const char *name)
{
    for (size_t s = 0; s <= template->include_count; s++) {
        if (hn_template_parameter_is_declared(source_of(template, s), name))
            return true;
    }
    return false;
}

void hn_config_read_types(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    struct hn_template template;
    for (size_t i = 0; i < config->typed_count; i++) {
        const struct hn_argument *argument = &plan->arguments[config->typed[i].argument];
        if (argument->fill.kind == HN_FILL_FILE)
            hn_config_fail(
                reader, hn_yaml_get(reader->root, "arguments"),
                "argument '%s' has the type '%s', and contents from a file, which are of "
                "one type; expected that one",
                argument->name, config->typed[i].name);
    }
    /* Whether it is there is asked by others. */
    if (hn_failed(reader->err) || hn_template_load(plan->template_path, &template, NULL) != HN_OK)
        return;
    for (size_t i = 0; i < plan->word_list_count; i++)
        plan->word_lists[i].types =
            are_types(&plan->word_lists[i]) && !asks_for_numbers(&template, &plan->word_lists[i]);
    plan->template_parameters = hn_need(plan->name_count, sizeof *plan->template_parameters);
    for (size_t i = 0; i < plan->name_count; i++)
        if (is_in_entry(plan, plan->names[i]) && is_declared(&template, plan->names[i]))
            plan->template_parameters[plan->template_parameter_count++] =
                hn_need_copy(plan->names[i]);
    hn_template_finish(&template);
}

/* Types of arguments. A result of one type is none of another, so that such a type is part of the
 * problem: each is tuned on its own, with inputs and a reference of its own. */

enum { PROBLEMS_MOST = 10000 };

static bool is_type_of_argument(const struct hn_config_reader *reader, const char *name)
{
    static const char *const lists[] = {"arguments", "symbols"};
    for (int i = 0; i < 2; i++) {
        const struct hn_yaml *list = hn_yaml_get(reader->root, lists[i]);
        for (const struct hn_yaml *item = list == NULL ? NULL : list->child; item != NULL;
             item = item->next) {
            const struct hn_yaml *type = hn_yaml_get(item, "type");
            if (type != NULL && type->kind == HN_YAML_SCALAR && strcmp(type->text, name) == 0)
                return true;
        }
    }
    return false;
}

/* Each problem once for each value; the values vary fastest. */
static void multiply_problems(struct hn_config_reader *reader,
                              const struct hn_config_parameter *parameter)
{
    struct hn_config *config = reader->config;
    size_t total = config->problem_count * parameter->count;
    if (total > PROBLEMS_MOST)
        hn_config_fail(
            reader, hn_yaml_get(reader->root, "parameters"),
            "found more than %d problems, since '%s' is the type of an argument; expected "
            "fewer",
            PROBLEMS_MOST, parameter->name);
    if (hn_failed(reader->err))
        return;
    struct hn_bindings *all = hn_need(total, sizeof *all);
    for (size_t i = 0; i < total; i++) {
        hn_bindings_copy(&all[i], &config->problems[i / parameter->count], reader->err);
        hn_bindings_set(&all[i], parameter->name, &parameter->values[i % parameter->count],
                        reader->err);
    }
    for (size_t i = 0; i < config->problem_count; i++)
        hn_bindings_finish(&config->problems[i]);
    free(config->problems);
    config->problems = all;
    config->problem_count = total;
}

static bool is_of_words(const struct hn_config_parameter *parameter)
{
    return parameter->count > 0 && parameter->values[0].type == HN_WORD;
}

void hn_config_move_types(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    for (size_t i = 0; i < config->parameter_count && !hn_failed(reader->err);) {
        struct hn_config_parameter *parameter = &config->parameters[i];
        if (!is_of_words(parameter) || !is_type_of_argument(reader, parameter->name)) {
            i++;
            continue;
        }
        if (hn_bindings_get(&config->problems[0], parameter->name) != NULL)
            hn_config_fail(reader, hn_yaml_get(reader->root, "parameters"),
                           "'%s' is a parameter and a problem value", parameter->name);
        if (config->family != NULL)
            hn_config_fail(reader, hn_yaml_get(reader->root, "parameters"),
                           "'%s' is the type of an argument, and so a problem value; in a config "
                           "with a family it stands there, as a list",
                           parameter->name);
        multiply_problems(reader, parameter);
        plan->problem[plan->problem_count++] = parameter->name;
        hn_config_free_values(parameter->values, parameter->count);
        memmove(parameter, parameter + 1, (config->parameter_count - i - 1) * sizeof *parameter);
        config->parameter_count--;
    }
    if (config->parameter_count == 0)
        hn_config_fail(reader, hn_yaml_get(reader->root, "parameters"),
                       "found no parameter beside those that are types of arguments, which each "
                       "make a problem of its own; expected at least one");
}

bool hn_config_read_type_name(struct hn_config_reader *reader, const struct hn_yaml *node,
                              struct hn_argument *argument)
{
    struct hn_config *config = reader->config;
    const struct hn_word_list *list = hn_plan_find_words(config->plan, node->text);
    if (list == NULL || hn_bindings_get(&config->problems[0], node->text) == NULL)
        return false;
    char type[HN_TYPE_SIZE];
    for (size_t i = 0; i < list->count; i++) {
        if (!hn_type_of_c(list->words[i], type))
            hn_config_fail(
                reader, node,
                "'%s' is a type here, but its word '%s' is no type of an element in CUDA "
                "C++; expected words such as float, double or __half",
                node->text, list->words[i]);
    }
    config->typed = hn_need_more(config->typed, config->typed_count + 1, sizeof *config->typed);
    config->typed[config->typed_count++] = (struct hn_config_typed){
        (size_t)(argument - config->plan->arguments), hn_need_copy(node->text)};
    if (!hn_failed(reader->err) && hn_type_of_c(list->words[0], type))
        hn_type_parse(type, &argument->element, &argument->lanes);
    return true;
}

bool hn_config_is_typed(const struct hn_config *config, size_t argument)
{
    for (size_t i = 0; i < config->typed_count; i++) {
        if (config->typed[i].argument == argument)
            return true;
    }
    return false;
}

/* What halves can not keep to is not asked of them, where the config gives no bounds of its own. */
static void set_compare(const struct hn_argument *argument, const char *type, json_t *json)
{
    enum hn_element element;
    unsigned lanes;
    const struct hn_compare *compare = argument->compare;
    if (!hn_argument_is_compared(argument) || !hn_type_parse(type, &element, &lanes))
        return;
    if (compare == NULL || compare->mode != HN_COMPARE_MAX_NORM || compare->relative == NULL ||
        strcmp(hn_expression_text(compare->relative),
               hn_config_default_relative(argument->element)) != 0)
        return;
    json_object_set_new(json_object_get(json, "compare"), "relative",
                        json_string(hn_config_default_relative(element)));
}

static void fail_type(const struct hn_argument *argument, const char *name,
                      const struct hn_value *found, struct hn_error *err)
{
    struct hn_text text = {0};
    if (found != NULL)
        hn_value_append(&text, found);
    hn_fail(err, HN_ECONFIG,
            "'%s' is the type of argument '%s'; found '%s' in a problem, expected a type of an "
            "element in CUDA C++ such as float, double or __half",
            name, argument->name, text.length > 0 ? text.data : "nothing");
    hn_text_finish(&text);
}

enum hn_status hn_config_make_plan(const struct hn_config *config,
                                   const struct hn_bindings *problem, struct hn_plan **plan,
                                   struct hn_error *err)
{
    *plan = NULL;
    if (config->typed_count == 0)
        return HN_OK;
    enum hn_status status = HN_OK;
    json_t *json = hn_needed(hn_plan_to_json(config->plan));
    json_t *arguments = json_object_get(json, "arguments");
    for (size_t i = 0; i < config->typed_count && status == HN_OK; i++) {
        const struct hn_config_typed *typed = &config->typed[i];
        const struct hn_argument *argument = &config->plan->arguments[typed->argument];
        const struct hn_value *word = hn_bindings_get(problem, typed->name);
        char type[HN_TYPE_SIZE];
        if (word == NULL || word->type != HN_WORD || !hn_type_of_c(word->word, type)) {
            fail_type(argument, typed->name, word, err);
            status = HN_ECONFIG;
            break;
        }
        json_t *own = json_array_get(arguments, typed->argument);
        json_object_set_new(own, "type", json_string(type));
        set_compare(argument, type, own);
    }
    if (status == HN_OK)
        status = hn_plan_from_json(json, plan, err);
    json_decref(json);
    return status;
}
