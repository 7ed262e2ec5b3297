/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "tuner/import/import_part.h"

const struct hn_import_parameter *hn_import_find(const struct hn_import *import, const char *name)
{
    for (size_t i = 0; i < import->parameter_count; i++)
        if (strcmp(import->parameters[i].name, name) == 0)
            return &import->parameters[i];
    return NULL;
}

static const json_t *parameters_of(const struct hn_import *import)
{
    return json_object_get(import->space, "TuningParameters");
}

static enum hn_status read_values(const json_t *json, struct hn_value_list *list,
                                  struct hn_error *err)
{
    const json_t *values = json_object_get(json, "Values");
    if (json_is_array(values))
        return hn_value_list_read(values, list, err);
    *list = (struct hn_value_list){.values = NULL};
    return json_is_string(values)
               ? hn_value_list_parse(json_string_value(values), list, err)
               : hn_fail(err, HN_ECONFIG, "found no 'Values', expected a list of values");
}

/* All numbers, all booleans or all words. */
static enum hn_status check_values(const struct hn_value_list *list, struct hn_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_value *value = &list->values[i];
        bool word = value->type == HN_WORD;
        if (word && !hn_text_is_word(value->word))
            return hn_fail(err, HN_ECONFIG, "found '%.40s', expected a word of letters and digits",
                           value->word);
        if (word != (list->values[0].type == HN_WORD) ||
            (value->type == HN_BOOLEAN) != (list->values[0].type == HN_BOOLEAN))
            return hn_fail(err, HN_ECONFIG, "found values of several kinds");
    }
    return HN_OK;
}

/* "Default": one of the values. */
static void read_preset(const json_t *json, struct hn_import_parameter *parameter)
{
    const json_t *preset = json_object_get(json, "Default");
    struct hn_value value;
    if (json_is_integer(preset))
        value = hn_integer(json_integer_value(preset));
    else if (json_is_real(preset))
        value = hn_real(json_real_value(preset));
    else if (json_is_boolean(preset))
        value = hn_boolean(json_is_true(preset));
    else if (json_is_string(preset))
        value = hn_word(json_string_value(preset));
    else
        return;
    for (size_t i = 0; i < parameter->list.count; i++)
        if (hn_value_equal(&parameter->list.values[i], &value)) {
            parameter->preset = parameter->list.values[i];
            parameter->has_preset = true;
        }
}

/* HN_ECONFIG: as the file has it, it can not be one. */
static enum hn_status read_parameter(const struct hn_import *import, const json_t *json,
                                     struct hn_import_parameter *parameter, struct hn_error *err)
{
    const char *name = hn_import_text(json, "Name");
    *parameter = (struct hn_import_parameter){.name = name};
    if (name == NULL || !hn_text_is_word(name))
        return hn_fail(err, HN_ECONFIG, "found a name that is no word");
    if (hn_import_find(import, name) != NULL)
        return hn_fail(err, HN_ECONFIG, "found the name twice");
    enum hn_status status = read_values(json, &parameter->list, err);
    if (status == HN_OK)
        status = check_values(&parameter->list, err);
    if (status != HN_OK) {
        hn_value_list_finish(&parameter->list);
        return status;
    }
    if (parameter->list.count == 1) {
        parameter->preset = parameter->list.values[0];
        parameter->has_preset = true;
    }
    read_preset(json, parameter);
    return HN_OK;
}

enum hn_status hn_import_read_parameters(struct hn_import *import, struct hn_error *err)
{
    const json_t *list = parameters_of(import);
    import->parameters = calloc(json_array_size(list) + 1, sizeof *import->parameters);
    if (import->parameters == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct hn_error reason;
        enum hn_status status = read_parameter(
            import, json_array_get(list, i), &import->parameters[import->parameter_count], &reason);
        if (status == HN_ENOMEM)
            return hn_fail_memory(err);
        import->parameter_count += status == HN_OK;
    }
    return HN_OK;
}

/* What could not be read, and why. */
static void write_unreadable(struct hn_import *import, const json_t *json)
{
    struct hn_import none = {.parameter_count = 0};
    struct hn_import_parameter parameter;
    struct hn_error reason = {"found the name twice", HN_ECONFIG};
    const char *name = hn_import_text(json, "Name");
    const char *values = hn_import_text(json, "Values");
    if (read_parameter(&none, json, &parameter, &reason) == HN_OK)
        hn_value_list_finish(&parameter.list);
    hn_text_append(&import->text, "  # TODO: ");
    hn_import_append_comment(&import->text, name != NULL ? name : "a parameter without a name");
    hn_text_append(&import->text, ": ");
    hn_import_append_comment(&import->text, reason.message);
    if (values != NULL) {
        hn_text_append(&import->text, "; its values: ");
        hn_import_append_comment(&import->text, values);
    }
    hn_text_append(&import->text, "\n");
}

/* The step between integers that rise evenly, 0 where they do not. */
static int64_t even_step(const struct hn_value_list *list)
{
    int64_t step = 0;
    for (size_t i = 0; i + 1 < list->count; i++) {
        int64_t gap;
        if (list->values[i].type != HN_INTEGER || list->values[i + 1].type != HN_INTEGER ||
            __builtin_sub_overflow(list->values[i + 1].integer, list->values[i].integer, &gap) ||
            gap <= 0 || (i > 0 && gap != step))
            return 0;
        step = gap;
    }
    return step;
}

static bool are_powers_of_two(const struct hn_value_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_value *value = &list->values[i];
        if (value->type != HN_INTEGER || value->integer <= 0 ||
            (value->integer & (value->integer - 1)) != 0 ||
            (i > 0 && value->integer / 2 != list->values[i - 1].integer))
            return false;
    }
    return true;
}

/* Five and more in a short form. */
static void append_list(struct hn_text *text, const struct hn_value_list *list)
{
    int64_t step = list->count > 4 ? even_step(list) : 0;
    const struct hn_value *last = &list->values[list->count - 1];
    if (step != 0) {
        hn_text_printf(text, "{range: [%lld, %lld]", (long long)list->values[0].integer,
                       (long long)last->integer);
        if (step != 1)
            hn_text_printf(text, ", step: %lld", (long long)step);
        hn_text_append(text, "}");
        return;
    }
    if (list->count > 4 && are_powers_of_two(list)) {
        hn_text_printf(text, "{powers_of_two: [%lld, %lld]}", (long long)list->values[0].integer,
                       (long long)last->integer);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        hn_text_append(text, i == 0 ? "[" : ", ");
        hn_value_append(text, &list->values[i]);
    }
    hn_text_append(text, "]");
}

static bool has_zero(const struct hn_value_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i].type == HN_INTEGER && list->values[i].integer == 0)
            return true;
    return false;
}

static void write_parameter(struct hn_import *import, const struct hn_import_parameter *parameter)
{
    hn_text_printf(&import->text, "  %s: ", parameter->name);
    append_list(&import->text, &parameter->list);
    if (parameter->list.values[0].type == HN_WORD)
        hn_text_append(&import->text,
                       "  # TODO: the source gets a number for a word (docs/config.md, template)");
    else if (strncmp(parameter->name, "loop_unroll_factor", 18) == 0 && has_zero(&parameter->list))
        hn_text_append(&import->text,
                       "  # TODO: at 0 Kernel Tuner takes the pragma out of the source");
    hn_text_append(&import->text, "\n");
}

/* Evaluates a condition at the default point: the names in their order. */
static bool fails_at_default(const struct hn_import *import, const char *condition)
{
    struct hn_expression *parsed = NULL;
    struct hn_value result = hn_boolean(true);
    struct hn_scope scope = {.names = import->names, .name_count = import->name_count};
    struct hn_value *values = calloc(import->name_count + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < import->name_count; i++)
        values[i] = i < import->parameter_count
                        ? import->parameters[i].preset
                        : *hn_bindings_get(&import->problem, import->names[i]);
    bool fails = values == NULL || hn_expression_parse(condition, &parsed, NULL) != HN_OK ||
                 hn_expression_bind(parsed, &scope, NULL) != HN_OK ||
                 hn_expression_evaluate(parsed, values, &result, NULL) != HN_OK ||
                 !hn_value_truth(&result);
    hn_expression_destroy(parsed);
    free(values);
    return fails;
}

/* Why the file's defaults can be none; NULL: they can. */
static const char *find_flaw(const struct hn_import *import)
{
    const json_t *conditions = json_object_get(import->space, "Conditions");
    for (size_t i = 0; i < import->parameter_count; i++)
        if (!import->parameters[i].has_preset)
            return import->parameters[i].name;
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        if (condition != NULL && hn_import_holds(import, condition, true, NULL) &&
            fails_at_default(import, condition))
            return condition;
    }
    return NULL;
}

static void write_defaults(struct hn_import *import)
{
    const char *flaw = find_flaw(import);
    const char *separator = "defaults: {";
    if (flaw != NULL) {
        hn_text_append(&import->text,
                       "# TODO: which point to begin with? The file's defaults lack or break ");
        hn_import_append_comment(&import->text, flaw);
        hn_text_append(&import->text, "\n");
    }
    for (size_t i = 0; i < import->parameter_count; i++) {
        const struct hn_import_parameter *parameter = &import->parameters[i];
        if (!parameter->has_preset || parameter->list.count == 1)
            continue;
        hn_text_printf(&import->text, "%s%s%s: ", flaw != NULL && separator[0] == 'd' ? "# " : "",
                       separator, parameter->name);
        hn_value_append(&import->text, &parameter->preset);
        separator = ", ";
    }
    hn_text_append(&import->text, separator[0] == ',' ? "}\n" : "");
}

static void write_condition(struct hn_import *import, const char *condition)
{
    struct hn_error reason = {0};
    bool holds = hn_import_holds(import, condition, true, &reason);
    hn_text_append(&import->text, holds ? "  - " : "  # TODO: ");
    if (holds)
        hn_import_append(&import->text, condition);
    else
        hn_import_append_comment(&import->text, condition);
    if (!holds) {
        hn_text_append(&import->text, "  (");
        hn_import_append_comment(&import->text, reason.message);
        hn_text_append(&import->text, ")");
    }
    hn_text_append(&import->text, "\n");
}

/* "(BX*BY)<=1024" without blanks and brackets, up to the comparison. */
static bool bounds_product(const char *condition, const char *product)
{
    for (; *condition != '\0' && *product != '\0'; condition++) {
        if (strchr(" ()", *condition) != NULL)
            continue;
        product += strspn(product, " ");
        if (*condition != *product++)
            return false;
    }
    condition += strspn(condition, " )");
    return *product == '\0' && *condition == '<';
}

/* The parameters that are the block's sizes, "BX * BY"; NULL where they can not be too many
 * threads. Free it. */
static char *threads_of(const struct hn_import *import)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    const json_t *sizes = json_object_get(import->kernel, "LocalSize");
    struct hn_text text = {0};
    double threads = 1;
    for (size_t axis = 0; axis < 3; axis++) {
        const char *name = hn_import_text(sizes, axes[axis]);
        const struct hn_import_parameter *parameter =
            name != NULL ? hn_import_find(import, name) : NULL;
        if (parameter == NULL)
            continue;
        threads *= hn_value_number(&parameter->list.values[parameter->list.count - 1]);
        hn_text_printf(&text, "%s%s", text.length > 0 ? " * " : "", name);
    }
    char *product = hn_text_take(&text);
    if (threads > 1024)
        return product;
    free(product);
    return NULL;
}

/* Kernel Tuner leaves out what is more than a block may have; a file says so or does not. */
static char *find_missing_bound(const struct hn_import *import)
{
    const json_t *conditions = json_object_get(import->space, "Conditions");
    char *product = threads_of(import);
    for (size_t i = 0; product != NULL && i < json_array_size(conditions); i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        if (condition == NULL || !bounds_product(condition, product))
            continue;
        free(product);
        return NULL;
    }
    return product;
}

static void write_conditions(struct hn_import *import)
{
    const json_t *conditions = json_object_get(import->space, "Conditions");
    char *bound = find_missing_bound(import);
    bool any = bound != NULL;
    for (size_t i = 0; i < json_array_size(conditions) && !any; i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        any = condition != NULL && hn_import_holds(import, condition, true, NULL);
    }
    /* A key without a list is none. */
    if (any)
        hn_text_append(&import->text, "constraints:\n");
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *condition = hn_import_text(json_array_get(conditions, i), "Expression");
        if (condition != NULL)
            write_condition(import, condition);
        else
            hn_text_append(&import->text, "  # TODO: a condition without an expression\n");
    }
    if (bound != NULL)
        hn_text_printf(&import->text, "  - %s <= 1024  # threads of a block\n", bound);
    free(bound);
}

void hn_import_write_parameters(struct hn_import *import)
{
    const json_t *list = parameters_of(import);
    size_t next = 0;
    hn_text_append(&import->text, "\nparameters:\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        const char *name = hn_import_text(json, "Name");
        if (next < import->parameter_count && name == import->parameters[next].name)
            write_parameter(import, &import->parameters[next++]);
        else
            write_unreadable(import, json);
    }
    write_defaults(import);
    write_conditions(import);
}
