/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "runtime/compile/source_prelude.h"
#include "runtime/plan/option_list.h"

/* What an instantiation sees. */
struct scope {
    const struct hn_plan *plan;
    const struct hn_bindings *problem;
    const struct hn_bindings *point;
    char *const *parameters; /* those of the point that count */
    size_t parameter_count;
    /* Of a template that is not the plan's: the reference's. */
    const char *entry;
    const struct hn_template *template;
};

static enum hn_status append_prelude(const struct scope *scope, struct hn_text *text,
                                     struct hn_error *err)
{
    enum hn_status status = hn_source_append_frozen(scope->plan, scope->entry, scope->template,
                                                    scope->problem, scope->point, text, err);
    if (status != HN_OK)
        return status;
    return hn_source_append_parameters(scope->plan, scope->entry, scope->parameters,
                                       scope->parameter_count, scope->point, text, err);
}

enum hn_status hn_source_append_prelude(const struct hn_plan *plan,
                                        const struct hn_bindings *problem,
                                        const struct hn_bindings *point, struct hn_text *text,
                                        struct hn_error *err)
{
    struct scope scope = {plan, problem, point, plan->parameters, plan->parameter_count,
                          NULL, NULL};
    return append_prelude(&scope, text, err);
}

/* The value that a name of a name expression stands for; NULL when it is C++. */
static const struct hn_value *find_value(const struct scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->parameter_count; i++) {
        if (strcmp(scope->parameters[i], name) == 0)
            return hn_bindings_get(scope->point, name);
    }
    const struct hn_value *value = hn_bindings_get(scope->problem, name);
    const struct hn_bindings *point = scope->entry == NULL ? scope->point : NULL;
    return value != NULL && hn_plan_is_frozen(scope->plan, point, name, value) ? value : NULL;
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_letter_or_digit(text[length]) || text[length] == '_')
        length++;
    return length;
}

static enum hn_status append_word(const struct scope *scope, const char *word, size_t length,
                                  struct hn_text *text, struct hn_error *err)
{
    char *name = strndup(word, length);
    if (name == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    const struct hn_value *value = find_value(scope, name);
    if (value != NULL)
        status = hn_source_append_value(scope->plan, name, value, text, err);
    else
        hn_text_append(text, name);
    free(name);
    return status;
}

/* "matmul<TILE_WIDTH, PAD>" becomes "matmul<16, 0>"; a plain name stays. */
static enum hn_status expand_entry(const struct scope *scope, const char *entry, char **expanded,
                                   struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    enum hn_status status = HN_OK;
    if (hn_text_is_word(entry)) {
        hn_text_append(&text, entry);
        entry = "";
    }
    while (status == HN_OK && *entry != '\0') {
        size_t length = word_length(entry);
        if (length > 0)
            status = append_word(scope, entry, length, &text, err);
        else
            hn_text_append_bytes(&text, entry, length = 1);
        entry += length;
    }
    *expanded = hn_text_take(&text);
    if (status == HN_OK && *expanded == NULL)
        return hn_fail_memory(err);
    return status;
}

static enum hn_status add_entry(const struct scope *scope, const char *entry,
                                struct hn_source *source, struct hn_error *err)
{
    char **slot = &source->entries[source->entry_count++];
    return expand_entry(scope, entry, slot, err);
}

/* A kernel that is not launched need not be there. */
static enum hn_status add_entries(const struct scope *scope, struct hn_source *source,
                                  struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(scope->plan, scope->problem, scope->point, &values, err);
    for (size_t i = 0; status == HN_OK && i < scope->plan->step_count; i++) {
        bool applies = false;
        status = hn_step_applies(&scope->plan->steps[i], values, &applies, err);
        if (status == HN_OK && applies)
            status = add_entry(scope, scope->plan->steps[i].entry, source, err);
    }
    free(values);
    return status;
}

/* "--maxrregcount={MAX_REGISTERS}": each {…} is replaced by the value of its hole. */
static enum hn_status expand_option(const struct hn_option *option, const struct hn_value *values,
                                    char **expanded, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    enum hn_status status = HN_OK;
    const char *at = option->text;
    for (size_t i = 0; status == HN_OK && i < option->hole_count; i++) {
        size_t before = strcspn(at, "{");
        hn_text_append_bytes(&text, at, before);
        struct hn_value value;
        status = hn_expression_evaluate(option->holes[i], values, &value, err);
        if (status == HN_OK)
            hn_value_append(&text, &value);
        at += before + strcspn(at + before, "}");
        at += *at == '}';
    }
    hn_text_append(&text, at);
    *expanded = hn_text_take(&text);
    if (status == HN_OK && *expanded == NULL)
        return hn_fail_memory(err);
    return status == HN_OK ? hn_option_check(*expanded, err) : status;
}

/* A folder of includes is relative to the config's, as the template is. Where a recording does not
 * say where that was it stays as it is, and is not compiled with. */
static enum hn_status resolve_folder(const struct hn_plan *plan, char **option,
                                     struct hn_error *err)
{
    const char *folder = hn_option_folder(*option);
    const char *slash = plan->config != NULL ? strrchr(plan->config, '/') : NULL;
    char *resolved = NULL;
    if (folder == NULL || *folder == '/' || slash == NULL)
        return HN_OK;
    if (asprintf(&resolved, "-I%.*s/%s", (int)(slash - plan->config), plan->config, folder) < 0)
        return hn_fail_memory(err);
    free(*option);
    *option = resolved;
    return HN_OK;
}

static enum hn_status add_option(const struct hn_plan *plan, const struct hn_option *option,
                                 const struct hn_value *values, struct hn_source *source,
                                 struct hn_error *err)
{
    struct hn_value holds = hn_boolean(true);
    if (option->condition != NULL) {
        enum hn_status status = hn_expression_evaluate(option->condition, values, &holds, err);
        if (status != HN_OK)
            return status;
    }
    if (!hn_value_truth(&holds))
        return HN_OK;
    char **expanded = &source->options[source->option_count++];
    enum hn_status status = expand_option(option, values, expanded, err);
    return status == HN_OK ? resolve_folder(plan, expanded, err) : status;
}

static enum hn_status add_options(const struct scope *scope, struct hn_source *source,
                                  struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(scope->plan, scope->problem, scope->point, &values, err);
    for (size_t i = 0; status == HN_OK && i < scope->plan->option_count; i++)
        status = add_option(scope->plan, &scope->plan->options[i], values, source, err);
    free(values);
    return status;
}

static enum hn_status make_text(const struct scope *scope, struct hn_source *source,
                                struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    enum hn_status status = append_prelude(scope, &text, err);
    hn_text_append(&text, "#line 1\n");
    hn_text_append(&text, source->template->text);
    source->text = hn_text_take(&text);
    if (status == HN_OK && source->text == NULL)
        return hn_fail_memory(err);
    return status;
}

static enum hn_status start(const struct hn_plan *plan, const struct hn_template *template,
                            size_t entries, size_t options, struct hn_source *source,
                            struct hn_error *err)
{
    *source = (struct hn_source){
        .template = template, .compiler = plan->compiler, .arch_specific = plan->arch_specific};
    source->entries = calloc(entries + 1, sizeof *source->entries);
    source->options = calloc(options + 1, sizeof *source->options);
    return source->entries == NULL || source->options == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status finish_on_failure(struct hn_source *source, enum hn_status status)
{
    if (status != HN_OK)
        hn_source_finish(source);
    return status;
}

enum hn_status hn_source_make(const struct hn_plan *plan, const struct hn_template *template,
                              const struct hn_bindings *problem, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err)
{
    struct scope scope = {plan, problem, point, plan->parameters, plan->parameter_count,
                          NULL, NULL};
    enum hn_status status =
        start(plan, template, plan->step_count, plan->option_count, source, err);
    if (status == HN_OK)
        status = make_text(&scope, source, err);
    if (status == HN_OK)
        status = add_entries(&scope, source, err);
    if (status == HN_OK)
        status = add_options(&scope, source, err);
    return finish_on_failure(source, status);
}

enum hn_status hn_source_make_reference(const struct hn_plan *plan,
                                        const struct hn_template *template,
                                        const struct hn_bindings *problem,
                                        const struct hn_bindings *point, struct hn_source *source,
                                        struct hn_error *err)
{
    const struct hn_reference *reference = &plan->reference;
    if (reference->kind != HN_REFERENCE_TEMPLATE)
        return hn_source_make(plan, template, problem, &plan->defaults, source, err);
    struct scope scope = {plan,
                          problem,
                          point,
                          reference->depends,
                          reference->depends_count,
                          reference->step.entry,
                          template};
    enum hn_status status = start(plan, template, 1, 0, source, err);
    if (status == HN_OK)
        status = make_text(&scope, source, err);
    if (status == HN_OK)
        status = add_entry(&scope, reference->step.entry, source, err);
    return finish_on_failure(source, status);
}

void hn_source_finish(struct hn_source *source)
{
    for (size_t i = 0; i < source->entry_count; i++)
        free(source->entries[i]);
    for (size_t i = 0; i < source->option_count; i++)
        free(source->options[i]);
    free(source->entries);
    free(source->options);
    free(source->text);
    *source = (struct hn_source){.template = NULL};
}
