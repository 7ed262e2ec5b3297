/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "runtime/compile/template.h"

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_letter_or_digit(text[length]) || text[length] == '_')
        length++;
    return length;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    while (*text != '\0') {
        size_t here = word_length(text);
        if (here == length && strncmp(text, word, length) == 0)
            return true;
        text += here > 0 ? here : 1;
    }
    return false;
}

/* The last name before template arguments: "matmul" of "&mine::matmul<TILE>". length 0: it has
 * another form. */
static const char *name_of(const char *entry, size_t *length)
{
    const char *name = entry;
    *length = 0;
    for (const char *at = entry; *at != '\0' && *at != '<';) {
        size_t here = word_length(at);
        if (here > 0) {
            name = at;
            *length = here;
        } else if (strchr("&: ", *at) == NULL) {
            *length = 0;
            return entry;
        }
        at += here > 0 ? here : 1;
    }
    return name;
}

/* A name may be pasted together by the preprocessor, or come from a folder that an option names. */
static bool may_hide_names(const struct hn_plan *plan, const struct hn_template *template)
{
    bool hidden = strstr(template->text, "##") != NULL;
    for (size_t i = 0; i < template->include_count; i++)
        hidden = hidden || strstr(template->includes[i].text, "##") != NULL;
    for (size_t i = 0; i < plan->option_count; i++)
        hidden = hidden || strncmp(plan->options[i].text, "-I", 2) == 0 ||
                 strncmp(plan->options[i].text, "--include-path", 14) == 0;
    return hidden;
}

static enum hn_status check_entry(const struct hn_config *config,
                                  const struct hn_template *template, const char *entry,
                                  struct hn_error *err)
{
    size_t length;
    const char *name = name_of(entry, &length);
    bool found = length == 0 || has_word(template->text, name, length);
    for (size_t i = 0; !found && i < template->include_count; i++)
        found = has_word(template->includes[i].text, name, length);
    if (found || may_hide_names(config->plan, template))
        return HN_OK;
    return hn_fail(err, HN_ECONFIG,
                   "%s: entry '%s': neither '%s' nor what it includes with quotes has the name "
                   "'%.*s'; expected the name of a kernel there",
                   config->path, entry, template->path, (int)length, name);
}

static enum hn_status check_template(const struct hn_config *config, const char *path,
                                     const struct hn_step *steps, size_t count,
                                     struct hn_error *err)
{
    struct hn_template template;
    enum hn_status status = hn_template_load(path, &template, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        if (steps[i].entry != NULL)
            status = check_entry(config, &template, steps[i].entry, err);
    hn_template_finish(&template);
    return status;
}

enum hn_status hn_config_check_sources(const struct hn_config *config, struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    if (plan->template_path == NULL)
        return HN_OK;
    enum hn_status status = hn_config_check_files(config, err);
    if (status == HN_OK)
        status = check_template(config, plan->template_path, plan->steps, plan->step_count, err);
    if (status == HN_OK && plan->reference.kind == HN_REFERENCE_TEMPLATE)
        status =
            check_template(config, plan->reference.template_path, &plan->reference.step, 1, err);
    for (size_t i = 0; status == HN_OK && i < config->problem_count; i++)
        status = hn_config_check_data(config, i, err);
    return status;
}
