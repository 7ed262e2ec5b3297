/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/device/device.h"
#include "runtime/plan/option_list.h"

/* What an instantiation sees. */
struct scope {
    const struct hn_plan *plan;
    const struct hn_bindings *problem;
    const struct hn_bindings *point;
    char *const *parameters; /* those of the point that count */
    size_t parameter_count;
    /* Of a template that is not the plan's: the reference's. It sees all that can be constants, but
     * for numbers that are in no line of it, so that one program serves all of them. */
    const char *entry;
    const struct hn_template *template;
};

/* Integers and reals are literals (negative ones in parentheses), booleans 1 and 0, a word is its
 * place in the declared list, from 1, or itself where it is a type or, behind "Mode::", an
 * enumerator. */
static void append_value(const struct hn_plan *plan, const char *name, const struct hn_value *value,
                         struct hn_text *text, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (value->type == HN_WORD) {
        const struct hn_word_list *list = hn_plan_find_words(plan, name);
        size_t i = list == NULL
                       ? 0
                       : hn_text_place(value->word, (const char *const *)list->words, list->count);
        if (list == NULL || i == list->count)
            hn_fail(err, HN_ECONFIG, "'%s' is no word of %s", value->word, name);
        else if (list->types ||
                 (text->length > 2 && strcmp(text->data + text->length - 2, "::") == 0))
            hn_text_append(text, value->word);
        else
            hn_text_printf(text, "%zu", i + 1);
    } else if (value->type == HN_BOOLEAN) {
        hn_text_append(text, value->boolean ? "1" : "0");
    } else if (value->type == HN_REAL && !isfinite(value->real)) {
        hn_fail(err, HN_ECONFIG, "%s is not finite and cannot be a constant of the program", name);
    } else if (value->type == HN_INTEGER && value->integer == INT64_MIN) {
        /* C has no literal for it: the minus sign is applied to a number that does not fit. */
        hn_text_append(text, "(-9223372036854775807 - 1)");
    } else {
        bool negative = hn_value_number(value) < 0;
        hn_text_append(text, negative ? "(" : "");
        hn_value_append(text, value);
        hn_text_append(text, negative ? ")" : "");
    }
}

static void append_define(const struct hn_plan *plan, const char *name,
                          const struct hn_value *value, struct hn_text *text, struct hn_error *err)
{
    const struct hn_word_list *list =
        value->type == HN_WORD ? hn_plan_find_words(plan, name) : NULL;
    for (size_t i = 0; list != NULL && !list->types && i < list->count; i++)
        hn_text_printf(text, "#define %s_%s %zu\n", name, list->words[i], i + 1);
    hn_text_printf(text, "#define %s ", name);
    append_value(plan, name, value, text, err);
    hn_text_append(text, "\n");
}

/* The template's own parameters and constants are no macros; another template's neither, where its
 * entry gives them. */
static bool is_hidden(const struct scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->plan->override_count && scope->entry == NULL; i++)
        if (strcmp(scope->plan->overrides[i].name, name) == 0)
            return true;
    return hn_text_is_among(name, (const char *const *)scope->plan->template_parameters,
                            scope->plan->template_parameter_count) &&
           (scope->entry == NULL || hn_text_find_word(scope->entry, name, strlen(name)));
}

/* Of a name that may be pasted together nobody knows. */
static bool may_name(const struct hn_template *template, const char *name)
{
    bool may = false;
    for (size_t i = 0; i < template->file_count && !may; i++)
        may = hn_text_find_word(template->files[i].text, name, strlen(name)) ||
              strstr(template->files[i].text, "##") != NULL;
    return may;
}

static bool is_constant(const struct scope *scope, const char *name, const struct hn_value *value)
{
    const struct hn_bindings *point = scope->entry == NULL ? scope->point : NULL;
    return value != NULL && hn_plan_is_frozen(scope->plan, point, name, value);
}

/* "#define K 4096\n" for each problem value that the template sees as a constant at the point, in
 * declared order, then for each parameter. */
static void append_prelude(const struct scope *scope, struct hn_text *text, struct hn_error *err)
{
    for (size_t i = 0; i < scope->plan->problem_count && !hn_failed(err); i++) {
        const char *name = scope->plan->problem[i];
        const struct hn_value *value = hn_bindings_get(scope->problem, name);
        bool serves = is_constant(scope, name, value) && !is_hidden(scope, name);
        if (serves &&
            (scope->template == NULL || value->type == HN_WORD || may_name(scope->template, name)))
            append_define(scope->plan, name, value, text, err);
    }
    for (size_t i = 0; i < scope->parameter_count && !hn_failed(err); i++) {
        const char *name = scope->parameters[i];
        const struct hn_value *value = hn_bindings_get(scope->point, name);
        if (is_hidden(scope, name))
            continue;
        if (value == NULL)
            hn_fail(err, HN_ECONFIG, "parameter '%s' has no value", name);
        else
            append_define(scope->plan, name, value, text, err);
    }
}

static struct scope plan_scope(const struct hn_plan *plan, const struct hn_bindings *problem,
                               const struct hn_bindings *point)
{
    return (struct scope){.plan = plan,
                          .problem = problem,
                          .point = point,
                          .parameters = plan->parameters,
                          .parameter_count = plan->parameter_count};
}

void hn_source_append_macros(const struct hn_plan *plan, const struct hn_bindings *problem,
                             const struct hn_bindings *point, struct hn_text *prelude,
                             struct hn_text *hidden, struct hn_error *err)
{
    const struct scope scope = plan_scope(plan, problem, point);
    append_prelude(&scope, prelude, err);
    for (size_t i = 0; hidden != NULL && i < plan->override_count && !hn_failed(err); i++)
        append_define(plan, plan->overrides[i].name,
                      hn_bindings_get(point, plan->overrides[i].name), hidden, err);
    for (size_t i = 0; hidden != NULL && i < plan->template_parameter_count; i++) {
        const char *name = plan->template_parameters[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        if (value == NULL)
            value = hn_bindings_get(problem, name);
        if (value != NULL && !hn_failed(err))
            append_define(plan, name, value, hidden, err);
    }
}

/* Lines stay where they are. A macro may have a value in each branch of an #if. */
static char *replace_value(const struct hn_plan *plan, const struct hn_override *override,
                           const char *body, const char *own, struct hn_error *err)
{
    const bool is_macro = override->of == HN_OVERRIDE_DEFINE;
    const char *at = body;
    struct hn_text text = {0};
    struct hn_code_text value;
    size_t count = 0;
    for (; hn_code_next_value(&at, override->name, is_macro, &value); count++) {
        const char *end = value.text + value.length;
        hn_text_append_bytes(&text, body, (size_t)(value.text - body));
        hn_text_printf(&text, "%s%s", value.length == 0 ? " " : "", own);
        for (const char *line = value.text; line < end; line++)
            hn_text_append(&text, *line == '\n' ? "\n" : "");
        body = end;
    }
    hn_text_append(&text, body);
    at = body;
    bool other = count == 0 && hn_code_next_value(&at, override->name, !is_macro, &value);
    if (!hn_failed(err) && (count == 0 || (count > 1 && !is_macro)))
        hn_fail(err, HN_ECONFIG, "override: %s gives '%s' a value %zu times by %s, expected once%s",
                plan->template_path, override->name, count,
                is_macro ? "#define" : "constexpr or const",
                !other     ? ""
                : is_macro ? "; it is a constexpr or const there: write `constexpr`"
                           : "; it is a #define there: write `define`");
    return hn_made(hn_text_take(&text), err);
}

char *hn_source_body(const struct hn_plan *plan, const char *text, const struct hn_bindings *point,
                     struct hn_error *err)
{
    char *body = hn_failed(err) ? NULL : hn_copy_string(text, err);
    for (size_t i = 0; i < plan->override_count && !hn_failed(err); i++) {
        const struct hn_override *override = &plan->overrides[i];
        struct hn_text own = {0};
        const struct hn_value *found = hn_bindings_get(point, override->name);
        if (found == NULL)
            hn_fail(err, HN_ECONFIG, "parameter '%s' has no value", override->name);
        else
            append_value(plan, override->name, found, &own, err);
        char *value HN_FREED = hn_made(hn_text_take(&own), err);
        char *replaced = hn_failed(err) ? NULL : replace_value(plan, override, body, value, err);
        free(body);
        body = replaced;
    }
    return body;
}

/* "matmul<TILE_WIDTH, PAD>" becomes "matmul<16, 0>"; a plain name stays. */
static char *fill_entry(const struct scope *scope, const char *entry, struct hn_error *err)
{
    struct hn_text text = {0};
    bool plain = hn_text_is_word(entry);
    while (*entry != '\0' && !hn_failed(err)) {
        size_t length = hn_word_length(entry);
        size_t taken = length > 0 ? length : 1;
        char name[HN_WORD_MOST + 1] = "";
        if (length <= HN_WORD_MOST && !plain)
            memcpy(name, entry, length);
        /* Of a name that is a parameter or a constant; others are C++. */
        bool parameter =
            hn_text_is_among(name, (const char *const *)scope->parameters, scope->parameter_count);
        const struct hn_value *value =
            hn_bindings_get(parameter ? scope->point : scope->problem, name);
        if (value != NULL && (parameter || is_constant(scope, name, value)))
            append_value(scope->plan, name, value, &text, err);
        else
            hn_text_append_bytes(&text, entry, taken);
        entry += taken;
    }
    return hn_made(hn_text_take(&text), err);
}

/* The table hone_members_NAME, in which the compiler says where the structure's fields are, and
 * that they are all. Errors are told of the config. */
static void append_structure(const struct scope *scope, const struct hn_argument *argument,
                             struct hn_text *text, struct hn_error *err)
{
    static const char signs[] =
        ".[]ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789:<>()*+-, ";
    const char *name = argument->name, *wrong = argument->structure;
    char *type HN_FREED = fill_entry(scope, argument->structure, err);
    if (strstr(text->data, hn_fields_program) == NULL)
        hn_text_printf(text, "\n#line 1 \"fields\"\n%s", hn_fields_program);
    hn_text_printf(text,
                   "#line 1 \"argument '%s' of the config\"\n"
                   "hone_structure(hone_type_%s, hone_members_%s, %zu, %s)",
                   name, name, name, argument->member_count, type);
    for (size_t i = 0; i < argument->member_count && wrong[strspn(wrong, signs)] == '\0'; i++) {
        wrong = argument->members[i].name;
        hn_text_printf(
            text, ",\n#line 1 \"field '%s' of '%s' in the config\"\nhone_field(hone_type_%s, %s)",
            wrong, name, name, wrong);
        for (const char *at = wrong; (at = strchr(at, '[')) != NULL; at++)
            hn_text_printf(text, " + hone_index(hone_type_%s, %.*s, %.*s)", name, (int)(at - wrong),
                           wrong, (int)strcspn(at + 1, "]"), at + 1);
    }
    hn_text_append(text, "};\n");
    if (wrong[strspn(wrong, signs)] != '\0' && !hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "argument '%s': found '%s', expected the name of a structure or a field in C++, as "
                "n, a.b or w[2]",
                name, wrong);
}

/* The kernel, and the structures that it takes. */
static void add_step(const struct scope *scope, const struct hn_step *step,
                     struct hn_source *source, struct hn_text *text, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    source->entries[source->entry_count++] = fill_entry(scope, step->entry, err);
    for (size_t i = 0; i < step->argument_count && !text->failed; i++) {
        const struct hn_argument *argument = &scope->plan->arguments[step->arguments[i]];
        char table[HN_WORD_MOST + 16];
        snprintf(table, sizeof table, "hone_members_%s[", argument->name);
        if (argument->structure != NULL && strstr(text->data, table) == NULL)
            append_structure(scope, argument, text, err);
    }
}

/* "--maxrregcount={MAX_REGISTERS}": each {…} is replaced by the value of its hole. */
static char *expand_option(const struct hn_option *option, const struct hn_value *values,
                           struct hn_error *err)
{
    struct hn_text text = {0};
    const char *at = option->text;
    for (size_t i = 0; i < option->hole_count; i++) {
        size_t before = strcspn(at, "{");
        hn_text_append_bytes(&text, at, before);
        struct hn_value value;
        if (hn_expression_evaluate(option->holes[i], values, &value, err) != HN_OK)
            break;
        hn_value_append(&text, &value);
        at += before + strcspn(at + before, "}");
        at += *at == '}';
    }
    hn_text_append(&text, at);
    return hn_made(hn_text_take(&text), err);
}

/* A path is relative to the config's folder, as the template is. Where a recording does not say
 * where that was it stays as it is, and is not compiled with. */
static void resolve_path(const struct hn_plan *plan, char **option, struct hn_error *err)
{
    const char *path = hn_option_path(*option);
    const char *slash = plan->config != NULL ? strrchr(plan->config, '/') : NULL;
    struct hn_text resolved = {0};
    if (path == NULL || *path == '/' || slash == NULL)
        return;
    hn_text_printf(&resolved, "%.*s%.*s/%s", (int)(path - *option), *option,
                   (int)(slash - plan->config), plan->config, path);
    free(*option);
    *option = hn_made(hn_text_take(&resolved), err);
}

/* The steps that are launched at this point, since a kernel that is not need not be there, and the
 * options. */
static void add_steps_and_options(const struct scope *scope, struct hn_source *source,
                                  struct hn_text *text, struct hn_error *err)
{
    const struct hn_plan *plan = scope->plan;
    struct hn_value *values HN_FREED = NULL;
    if (hn_failed(err) || hn_plan_values(plan, scope->problem, scope->point, &values, err) != HN_OK)
        return;
    for (size_t i = 0; i < plan->step_count; i++)
        if (hn_expression_holds(plan->steps[i].condition, values, err))
            add_step(scope, &plan->steps[i], source, text, err);
    for (size_t i = 0; i < plan->option_count; i++) {
        if (!hn_expression_holds(plan->options[i].condition, values, err))
            continue;
        char **expanded = &source->options[source->option_count++];
        *expanded = expand_option(&plan->options[i], values, err);
        if (!hn_failed(err) && hn_option_check(*expanded, err) == HN_OK)
            resolve_path(plan, expanded, err);
    }
}

static enum hn_status make(const struct scope *scope, const struct hn_template *template,
                           struct hn_source *source, struct hn_error *err)
{
    const struct hn_plan *plan = scope->plan;
    struct hn_text text = {0};
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *source = (struct hn_source){.template = template,
                                 .compiler = plan->compiler,
                                 .arch_specific = plan->arch_specific,
                                 .entries = hn_allocate(plan->step_count + 1, sizeof(char *), err),
                                 .options = hn_allocate(plan->option_count, sizeof(char *), err)};
    append_prelude(scope, &text, err);
    hn_text_append(&text, HN_TEMPLATE_START);
    /* Who asks for entries and options alone has no text. */
    const char *whole = template->files->text;
    char *body HN_FREED = scope->entry == NULL && *whole != '\0'
                              ? hn_source_body(plan, whole, scope->point, err)
                              : NULL;
    hn_text_append(&text, body != NULL ? body : whole);
    if (scope->entry != NULL)
        add_step(scope, &plan->reference.step, source, &text, err);
    else
        add_steps_and_options(scope, source, &text, err);
    source->text = hn_made(hn_text_take(&text), err);
    if (hn_failed(err))
        hn_source_finish(source);
    return err->status;
}

enum hn_status hn_source_make(const struct hn_plan *plan, const struct hn_template *template,
                              const struct hn_bindings *problem, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err)
{
    const struct scope scope = plan_scope(plan, problem, point);
    return make(&scope, template, source, err);
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
    struct scope scope = plan_scope(plan, problem, point);
    scope.parameters = reference->depends;
    scope.parameter_count = reference->depends_count;
    scope.entry = reference->step.entry;
    scope.template = template;
    return make(&scope, template, source, err);
}

void hn_source_finish(struct hn_source *source)
{
    HN_FREE_EACH(entry, source->entries, source->entry_count, free(*entry));
    HN_FREE_EACH(option, source->options, source->option_count, free(*option));
    free(source->text);
    *source = (struct hn_source){.template = NULL};
}

/* The key of a source. */

/* A source begins with a #define a line. */
struct line {
    const char *text;
    size_t length;
    const char *name;
    size_t name_length;
    bool read;
    bool asked; /* whether it is defined, and no more */
};

struct prelude {
    struct line *lines;
    size_t count;
    const char *body; /* behind it */
    bool uncertain;   /* the program may read more than its words */
    bool undefines;   /* and what a line defines may not last */
};

static const char define[] = "#define ";

static void read_prelude(const char *text, struct prelude *prelude, struct hn_error *err)
{
    *prelude = (struct prelude){0};
    while (strncmp(text, define, sizeof define - 1) == 0 &&
           hn_word_length(text + sizeof define - 1) > 0 &&
           hn_make_room(&prelude->lines, prelude->count, sizeof *prelude->lines, err)) {
        const char *name = text + sizeof define - 1;
        size_t length = strcspn(text, "\n");
        prelude->lines[prelude->count++] =
            (struct line){text, length, name, hn_word_length(name), *name == '_', false};
        text += length + (text[length] == '\n');
    }
    prelude->body = text;
}

static void mark_words(struct prelude *prelude, const char *text, size_t size)
{
    for (const char *end = text + size; text < end;) {
        size_t length = hn_word_length(text);
        HN_EACH_OF(line, prelude->lines, prelude->count)
            line->read |= line->name_length == length && memcmp(line->name, text, length) == 0;
        text += length > 0 ? length : 1;
    }
}

/* Marks the names that ## may put together: they begin with the word in front of it. False: any
 * may, since that stands elsewhere, too, and so may be a parameter of a macro. */
static bool mark_pasted(struct prelude *prelude, const char *text, const char *at)
{
    const char *word = at, *other = text;
    while (word > text && hn_is_word_char(word[-1]))
        word--;
    size_t length = (size_t)(at - word);
    while (length > 0 && (other = hn_text_find_word(other, word, length)) != NULL &&
           strncmp(other + length, "##", 2) == 0)
        other += length;
    HN_EACH_OF(line, prelude->lines, prelude->count)
        line->read |= line->name_length >= length && memcmp(line->name, word, length) == 0;
    return length > 0 && *word != '_' && other == NULL; /* __VA_ARGS__ */
}

/* Whether more may be read there than words tell: names that ## or a line's end within them put
 * together, and includes of what a macro says. */
static bool may_make_words(struct prelude *prelude, const char *text, const char *at)
{
    if (*at == '\\' && (at[1] == '\n' || at[1] == '\r'))
        return at == text || strchr(" \t;,(){}", at[-1]) == NULL;
    if (*at == '#' && at[1] == '#')
        return !mark_pasted(prelude, text, at);
    const char *file = *at == '#' ? hn_code_directive(at, at + strlen(at), "include") : NULL;
    return file != NULL && *file != '"' && *file != '<';
}

static bool begins_line(const char *text, const char *at)
{
    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return at == text || at[-1] == '\n';
}

/* Behind what `#ifndef NAME` leaves out, since the prelude defines it, whatever its value; `at`
 * where no such group begins. */
static const char *pass_defaults(struct prelude *prelude, const char *text, const char *at)
{
    size_t depth = 1, i = 0;
    int number = 0;
    const char *name = hn_code_directive(at, at + strlen(at), "ifndef");
    while (name != NULL && i < prelude->count &&
           (prelude->lines[i].name_length != hn_word_length(name) ||
            memcmp(prelude->lines[i].name, name, hn_word_length(name)) != 0))
        i++;
    if (name == NULL || i == prelude->count || prelude->undefines || !begins_line(text, at))
        return at;
    prelude->lines[i].asked = true;
    for (at = hn_code_next_line(name, &number); *at != '\0' && depth > 0;
         at = hn_code_next_line(at, &number)) {
        const char *end = at + strcspn(at, "\n");
        if (depth == 1 && hn_code_directive(at, end, "el") != NULL)
            break;
        depth += hn_code_directive(at, end, "if") != NULL;
        depth -= hn_code_directive(at, end, "endif") != NULL;
    }
    prelude->uncertain = prelude->uncertain || depth > 0;
    return at;
}

/* Marks the headers of the host that a text of the program includes. False: it includes others. */
static bool use_headers(const struct hn_source *source, const char *text,
                        bool uses[HN_HOST_HEADER_COUNT])
{
    struct hn_include_scan scan = {.next = text};
    struct hn_include include;
    bool known = true;
    while (known && hn_include_next(&scan, &include)) {
        const struct hn_host_header *header = hn_host_header_find(include.name, include.length);
        known = hn_template_find(source->template, include.name, include.length) > 0 ||
                (header != NULL && !header->fallback && source->compiler == HN_COMPILER_NVRTC &&
                 hn_host_header_use(header, uses));
    }
    return known;
}

bool hn_source_includes_others(const struct hn_source *source)
{
    bool uses[HN_HOST_HEADER_COUNT] = {false};
    bool known = use_headers(source, source->text, uses);
    for (size_t i = 1; i < source->template->file_count && known; i++)
        known = use_headers(source, source->template->files[i].text, uses);
    return !known;
}

/* A text of the program, and headers of the host that it includes. Others are not looked into. */
static void mark_text(struct prelude *prelude, const struct hn_source *source, const char *text)
{
    /* signs that stand for others, strings in which a comment's mark is none, and backslashes with
     * blanks behind them, which may continue a line or not */
    static const char *const signs[] = {"?\?", "%:", "R\"", "\\ ", "\\\t"};
    bool uses[HN_HOST_HEADER_COUNT] = {false};
    enum hn_code kind;
    const char *behind;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        prelude->uncertain = prelude->uncertain || strstr(text, signs[i]) != NULL;
    for (const char *at = text; *at != '\0' && !prelude->uncertain; at = behind) {
        at = *at == '#' ? pass_defaults(prelude, text, at) : at;
        if (prelude->uncertain)
            break;
        behind = hn_code_behind(at, &kind);
        if (kind == HN_CODE_OTHER)
            prelude->uncertain = may_make_words(prelude, text, at);
        else if (kind == HN_CODE_OPEN)
            prelude->uncertain = true;
        else if (kind != HN_CODE_COMMENT)
            mark_words(prelude, at, (size_t)(behind - at));
    }
    prelude->uncertain = prelude->uncertain || !use_headers(source, text, uses);
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++)
        if (uses[i])
            mark_words(prelude, hn_host_headers[i].text, strlen(hn_host_headers[i].text));
}

/* The values of macros are words, too. */
static void mark_program(struct prelude *prelude, const struct hn_source *source)
{
    for (size_t i = 0; i < source->option_count; i++) {
        const char *option = source->options[i];
        prelude->uncertain = prelude->uncertain || hn_option_value(option, "include-path") != NULL;
        mark_words(prelude, option, strlen(option));
    }
    for (size_t i = 0; i < source->entry_count; i++)
        mark_words(prelude, source->entries[i], strlen(source->entries[i]));
    HN_EACH_OF(line, prelude->lines, prelude->count) {
        const char *value = line->name + line->name_length;
        mark_words(prelude, value, (size_t)(line->text + line->length - value));
    }
    prelude->undefines = strstr(prelude->body, "undef") != NULL;
    for (size_t i = 1; i < source->template->file_count; i++)
        prelude->undefines |= strstr(source->template->files[i].text, "undef") != NULL;
    mark_text(prelude, source, prelude->body);
    for (size_t i = 1; i < source->template->file_count; i++)
        mark_text(prelude, source, source->template->files[i].text);
    for (size_t i = 0; prelude->uncertain && i < prelude->count; i++)
        prelude->lines[i].read = true;
}

/* LOAD_ldg, which stands before LOAD, one for each of its words. */
static bool is_word_of(const struct prelude *prelude, size_t number)
{
    const struct line *line = &prelude->lines[number];
    for (size_t i = number + 1; i < prelude->count; i++) {
        const struct line *other = &prelude->lines[i];
        if (other->name_length < line->name_length && line->name[other->name_length] == '_' &&
            memcmp(line->name, other->name, other->name_length) == 0)
            return true;
    }
    return false;
}

static void append_part(struct hn_text *text, const char *part)
{
    hn_text_append_bytes(text, part, strlen(part) + 1);
}

static void append_program(const struct prelude *prelude, const struct hn_source *source,
                           const char *architecture, struct hn_text *text)
{
    const struct hn_template *template = source->template;
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    append_part(text, name);
    append_part(text, hn_compiler_names[source->compiler]);
    append_part(text, template->files->name);
    for (size_t i = 0; i < prelude->count; i++)
        if (prelude->lines[i].read)
            hn_text_append_bytes(text, prelude->lines[i].text, prelude->lines[i].length + 1);
        else if (prelude->lines[i].asked)
            hn_text_append_bytes(text, prelude->lines[i].name, prelude->lines[i].name_length + 1);
    append_part(text, prelude->body);
    for (size_t i = 1; i < template->file_count; i++) {
        append_part(text, template->files[i].name);
        append_part(text, template->files[i].text);
    }
    if (template->other_count > 0) /* of their texts, too, which may be many */
        append_part(text, template->hash.hex);
    hn_text_printf(text, "%zu", source->entry_count);
    for (size_t i = 0; i < source->entry_count; i++)
        append_part(text, source->entries[i]);
    for (size_t i = 0; i < source->option_count; i++)
        append_part(text, source->options[i]);
}

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture,
                             struct hn_source_key *key, struct hn_error *err)
{
    struct prelude prelude;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_error own;
    err = hn_error_begin(err, &own);
    read_prelude(source->text, &prelude, err);
    mark_program(&prelude, source);
    append_program(&prelude, source, architecture, &text);
    *key = (struct hn_source_key){.leaves_out = false};
    if (text.failed)
        hn_fail_memory(err);
    else
        key->hash = hn_hash_bytes(text.data, text.length);
    for (size_t i = 0; i < prelude.count; i++)
        key->leaves_out |= !prelude.lines[i].read && !is_word_of(&prelude, i);
    free(prelude.lines);
    return err->status;
}
