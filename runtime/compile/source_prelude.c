/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source_prelude.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* 1 for the first word of the list; 0 when it is not in it. */
static size_t word_number(const struct hn_word_list *list, const char *word)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        if (strcmp(list->words[i], word) == 0)
            return i + 1;
    }
    return 0;
}

enum hn_status hn_source_append_value(const struct hn_plan *plan, const char *name,
                                      const struct hn_value *value, struct hn_text *text,
                                      struct hn_error *err)
{
    const struct hn_word_list *list =
        value->type == HN_WORD ? hn_plan_find_words(plan, name) : NULL;
    if (value->type == HN_WORD) {
        size_t number = word_number(list, value->word);
        if (number == 0)
            return hn_fail(err, HN_ECONFIG, "'%s' is no word of %s", value->word, name);
        if (list->types)
            hn_text_append(text, value->word);
        else
            hn_text_printf(text, "%zu", number);
    } else if (value->type == HN_BOOLEAN) {
        hn_text_append(text, value->boolean ? "1" : "0");
    } else if (value->type == HN_REAL && !isfinite(value->real)) {
        return hn_fail(err, HN_ECONFIG, "%s is not finite and can not be a constant of the program",
                       name);
    } else if (value->type == HN_INTEGER && value->integer == INT64_MIN) {
        /* C has no literal for it: the minus sign is applied to a number that does not fit. */
        hn_text_append(text, "(-9223372036854775807 - 1)");
    } else {
        bool negative = hn_value_number(value) < 0;
        hn_text_append(text, negative ? "(" : "");
        hn_value_append(text, value);
        hn_text_append(text, negative ? ")" : "");
    }
    return HN_OK;
}

static enum hn_status append_define(const struct hn_plan *plan, const char *name,
                                    const struct hn_value *value, struct hn_text *text,
                                    struct hn_error *err)
{
    const struct hn_word_list *list =
        value->type == HN_WORD ? hn_plan_find_words(plan, name) : NULL;
    for (size_t i = 0; list != NULL && !list->types && i < list->count; i++)
        hn_text_printf(text, "#define %s_%s %zu\n", name, list->words[i], i + 1);
    hn_text_printf(text, "#define %s ", name);
    enum hn_status status = hn_source_append_value(plan, name, value, text, err);
    hn_text_append(text, "\n");
    return status;
}

/* The template's own parameters are no macros; another template's neither, where its entry gives
 * them. */
static bool is_hidden(const struct hn_plan *plan, const char *entry, const char *name)
{
    for (size_t i = 0; i < plan->template_parameter_count; i++) {
        if (strcmp(plan->template_parameters[i], name) == 0)
            return entry == NULL || hn_text_has_word(entry, name, strlen(name));
    }
    return false;
}

/* Of a name that may be pasted together nobody knows. */
static bool may_name(const struct hn_template *template, const char *name)
{
    bool may = hn_text_has_word(template->text, name, strlen(name)) ||
               strstr(template->text, "##") != NULL;
    for (size_t i = 0; i < template->include_count && !may; i++)
        may = hn_text_has_word(template->includes[i].text, name, strlen(name)) ||
              strstr(template->includes[i].text, "##") != NULL;
    return may;
}

enum hn_status hn_source_append_frozen(const struct hn_plan *plan, const char *entry,
                                       const struct hn_template *template,
                                       const struct hn_bindings *problem,
                                       const struct hn_bindings *point, struct hn_text *text,
                                       struct hn_error *err)
{
    point = entry == NULL ? point : NULL;
    for (size_t i = 0; i < plan->problem_count; i++) {
        const char *name = plan->problem[i];
        const struct hn_value *value = hn_bindings_get(problem, name);
        if (value == NULL || !hn_plan_is_frozen(plan, point, name, value) ||
            is_hidden(plan, entry, name))
            continue;
        if (template != NULL && value->type != HN_WORD && !may_name(template, name))
            continue;
        enum hn_status status = append_define(plan, name, value, text, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_source_append_parameters(const struct hn_plan *plan, const char *entry,
                                           char *const *names, size_t count,
                                           const struct hn_bindings *point, struct hn_text *text,
                                           struct hn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (is_hidden(plan, entry, names[i]))
            continue;
        const struct hn_value *value = hn_bindings_get(point, names[i]);
        if (value == NULL)
            return hn_fail(err, HN_ECONFIG, "parameter '%s' has no value", names[i]);
        enum hn_status status = append_define(plan, names[i], value, text, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_source_append_hidden(const struct hn_plan *plan,
                                       const struct hn_bindings *problem,
                                       const struct hn_bindings *point, struct hn_text *text,
                                       struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->template_parameter_count && status == HN_OK; i++) {
        const char *name = plan->template_parameters[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        if (value == NULL)
            value = hn_bindings_get(problem, name);
        if (value != NULL)
            status = append_define(plan, name, value, text, err);
    }
    return status;
}
