/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/kernel_templates.h"
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
    struct hn_plan *plan = reader->config->plan;
    struct hn_template template;
    /* Whether it is there is asked by others. */
    if (reader->status != HN_OK || hn_template_load(plan->template_path, &template, NULL) != HN_OK)
        return;
    for (size_t i = 0; i < plan->word_list_count; i++)
        plan->word_lists[i].types =
            are_types(&plan->word_lists[i]) && !asks_for_numbers(&template, &plan->word_lists[i]);
    plan->template_parameters =
        hn_config_allocate(reader, plan->name_count, sizeof *plan->template_parameters);
    for (size_t i = 0; i < plan->name_count && reader->status == HN_OK; i++) {
        if (is_in_entry(plan, plan->names[i]) && is_declared(&template, plan->names[i]))
            hn_config_copy(reader, plan->names[i],
                           &plan->template_parameters[plan->template_parameter_count++]);
    }
    hn_template_finish(&template);
}
