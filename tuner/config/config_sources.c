/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "runtime/compile/template.h"
#include "runtime/plan/option_list.h"

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_letter_or_digit(text[length]) || text[length] == '_')
        length++;
    return length;
}

/* A name may be pasted together by the preprocessor, or come from a folder that an option names. */
static bool may_hide_names(const struct hn_plan *plan, const struct hn_template *template)
{
    bool hides = strstr(template->text, "##") != NULL;
    for (size_t i = 0; i < template->include_count && !hides; i++)
        hides = strstr(template->includes[i].text, "##") != NULL;
    for (size_t i = 0; i < plan->option_count && !hides; i++)
        hides = hn_option_folder(plan->options[i].text) != NULL;
    return hides;
}

/* Whether what the config names is there. */

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

static enum hn_status check_entry(const struct hn_config *config,
                                  const struct hn_template *template, const char *entry,
                                  struct hn_error *err)
{
    size_t length;
    const char *name = name_of(entry, &length);
    bool found = length == 0 || hn_text_has_word(template->text, name, length);
    for (size_t i = 0; !found && i < template->include_count; i++)
        found = hn_text_has_word(template->includes[i].text, name, length);
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

/* Whether what the config names changes anything. */

/* Behind the comment or the string that starts here; the same place where there is none. */
static const char *skip_quoted(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    if (*at != '"')
        return at;
    for (at++; *at != '\0' && *at != '"' && *at != '\n'; at++)
        at += at[0] == '\\' && at[1] != '\0';
    return at + (*at != '\0');
}

/* Behind "#ifndef NAME", "#define NAME" and their like, with which a template gives a default and
 * does nothing else; the same place where there is none. */
static const char *skip_default(const char *at)
{
    static const char *const words[] = {"ifndef", "define", "ifdef", "undef"};
    const char *word = at + 1 + strspn(at + (*at != '\0'), " \t");
    for (size_t i = 0; *at == '#' && i < sizeof words / sizeof *words; i++) {
        const char *name = word + strlen(words[i]);
        if (strncmp(word, words[i], strlen(words[i])) != 0)
            continue;
        name += strspn(name, " \t");
        return name + word_length(name);
    }
    return at;
}

/* A token `name`, or name_word, which the prelude defines for each word. code: comments and strings
 * do not count. */
static bool occurs(const char *text, const char *name, bool code)
{
    size_t length = strlen(name);
    while (*text != '\0') {
        const char *behind = code ? skip_default(skip_quoted(text)) : text;
        if (behind != text) {
            text = behind;
            continue;
        }
        size_t token = word_length(text);
        if (token >= length && strncmp(text, name, length) == 0 &&
            (token == length || text[length] == '_'))
            return true;
        text += token > 0 ? token : 1;
    }
    return false;
}

static bool occurs_in_template(const struct hn_template *template, const char *name)
{
    bool found = occurs(template->text, name, true);
    for (size_t i = 0; i < template->include_count && !found; i++)
        found = occurs(template->includes[i].text, name, true);
    return found;
}

/* All of the plan in which a name has an effect. */
static char *launch_text(const struct hn_plan *plan)
{
    static const char *const others[] = {"kernel",   "template", "parameters",  "problem",
                                         "freeze",   "words",    "metrics",     "objective",
                                         "defaults", "config",   "constraints", NULL};
    json_t *json = hn_plan_to_json(plan);
    for (const char *const *key = others; json != NULL && *key != NULL; key++)
        json_object_del(json, *key);
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

static char *list_unused(const struct hn_config *config, const struct hn_template *template)
{
    struct hn_text names;
    hn_text_init(&names);
    char *launch = launch_text(config->plan);
    names.failed = launch == NULL;
    for (size_t i = 0; launch != NULL && i < config->parameter_count; i++) {
        const struct hn_config_parameter *parameter = &config->parameters[i];
        if (parameter->count > 1 && !occurs_in_template(template, parameter->name) &&
            !occurs(launch, parameter->name, false))
            hn_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", parameter->name);
    }
    free(launch);
    char *list = hn_text_take(&names);
    hn_text_finish(&names);
    return list;
}

char *hn_config_find_unused(const struct hn_config *config)
{
    struct hn_template template;
    if (config->plan->template_path == NULL ||
        hn_template_load(config->plan->template_path, &template, NULL) != HN_OK)
        return NULL;
    char *list =
        may_hide_names(config->plan, &template) ? strdup("") : list_unused(config, &template);
    hn_template_finish(&template);
    return list;
}
