/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include "base/text.h"
#include "tuner/init/draft.h"

static const char *make_line(const struct hn_draft *draft, const char *format, va_list arguments)
{
    struct hn_text text = {0};
    hn_text_vprintf(&text, format, arguments);
    char *line = hn_need_kept(&draft->unit->memory, hn_text_take(&text));
    for (char *c = line; *c != '\0'; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : ' ';
    if (strlen(line) > 400)
        memcpy(line + 400, "...", 4);
    return line;
}

const char *hn_draft_line(const struct hn_draft *draft, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *line = make_line(draft, format, arguments);
    va_end(arguments);
    return line;
}

void hn_draft_note(struct hn_draft *draft, enum hn_draft_note section, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hn_text_printf(&draft->notes[section], "%s\n", make_line(draft, format, arguments));
    va_end(arguments);
}

/* YAML takes it for a text as it stands, within brackets too; what looks like a key, a comment or a
 * list does not. */
static bool is_plain(const char *string)
{
    if (!hn_is_word_char(string[0]) && strchr("(./", string[0]) == NULL)
        return false;
    for (const char *c = string; *c != '\0'; c++)
        if (!hn_is_word_char(*c) && strchr(" +-*/%()<>=!.", *c) == NULL)
            return false;
    return string[0] != '\0' && string[strlen(string) - 1] != ' ';
}

static void append_quoted(struct hn_text *text, const char *string)
{
    hn_text_append(text, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            hn_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            hn_text_printf(text, "\\x%02x", (unsigned char)*c);
        else
            hn_text_append_bytes(text, c, 1);
    }
    hn_text_append(text, "\"");
}

/* Whatever stands before it. NULL: it is left out. */
static void append_scalar(struct hn_text *text, const char *before, const char *string)
{
    if (string == NULL)
        return;
    hn_text_append(text, before);
    if (is_plain(string))
        hn_text_append(text, string);
    else
        append_quoted(text, string);
}

static void append_comment(struct hn_text *text, const char *before, const char *comment)
{
    if (comment != NULL)
        hn_text_printf(text, "  # %s%s", before, comment);
    hn_text_append(text, "\n");
}

static void append_notes(const struct hn_draft *draft, enum hn_draft_note section,
                         struct hn_text *text)
{
    if (draft->notes[section].data != NULL)
        hn_text_append(text, draft->notes[section].data);
}

static void write_compiler(const struct hn_draft *draft, struct hn_text *text)
{
    append_notes(draft, HN_NOTE_OPTIONS, text);
    if (draft->options.count == 0 && draft->nvcc != NULL)
        hn_text_printf(text, "compile: {compiler: nvcc}  # %s\n", draft->nvcc);
    hn_text_append(text, draft->options.count > 0 ? "compile:\n" : "");
    if (draft->options.count > 0 && draft->nvcc != NULL)
        hn_text_printf(text, "  compiler: nvcc  # %s\n", draft->nvcc);
    for (size_t i = 0; i < draft->options.count; i++) {
        hn_text_append(text, i == 0 ? "  options:\n    - " : "    - ");
        append_quoted(text, draft->options.items[i]);
        hn_text_append(text, "\n");
    }
}

static void write_head(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_printf(text, "%s\n",
                   hn_draft_line(draft,
                                 "# Written by `hone init %s`. Lines marked TODO are guesses: look "
                                 "at each, then",
                                 draft->origin));
    hn_text_append(text, "#   hone space FILE     is the space what it should be?\n"
                         "#   hone compile FILE --arch sm_90     does the kernel compile?\n"
                         "#   hone tune FILE\n"
                         "# Every key is described in docs/config.md.\n");
    append_notes(draft, HN_NOTE_HEAD, text);
    hn_text_printf(text, "hone: 1\nkernel: %s\n", draft->name);
    append_scalar(text, "template: ", draft->template);
    append_comment(text, "TODO: ", draft->template_todo);
    write_compiler(draft, text);
    hn_text_append(text, "entry: ");
    if (hn_text_is_word(draft->entry))
        hn_text_append(text, draft->entry);
    else
        append_quoted(text, draft->entry);
    append_comment(text, "TODO: ", draft->entry_todo);
}

static void write_sizes(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "problem: {";
    if (draft->sizes.count == 0)
        return;
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_SIZES, text);
    for (size_t i = 0; i < draft->sizes.count; i++, separator = ", ")
        hn_text_printf(text, "%s%s: %lld", separator, draft->sizes.items[i].name,
                       (long long)draft->sizes.items[i].value);
    hn_text_append(text, "}\n");
    separator = "freeze: [";
    for (size_t i = 0; i < draft->sizes.count; i++) {
        if (!draft->sizes.items[i].frozen)
            continue;
        hn_text_printf(text, "%s%s", separator, draft->sizes.items[i].name);
        separator = ", ";
    }
    if (separator[0] == ',')
        hn_text_append(text, "]  # the template sees them as macros\n");
}

/* The step between integers that rise evenly, 0 where they do not. */
static int64_t even_step(const struct hn_draft_parameter *parameter)
{
    const struct hn_value *values = parameter->values.items;
    int64_t step = 0, gap;
    for (size_t i = 0; i + 1 < parameter->values.count; i++) {
        if (values[i].type != HN_INTEGER || values[i + 1].type != HN_INTEGER ||
            __builtin_sub_overflow(values[i + 1].integer, values[i].integer, &gap) || gap <= 0 ||
            (i > 0 && gap != step))
            return 0;
        step = gap;
    }
    return step;
}

/* Five and more that rise evenly are a range. */
static void append_values(const struct hn_draft_parameter *parameter, struct hn_text *text)
{
    const struct hn_value *values = parameter->values.items;
    size_t count = parameter->values.count;
    int64_t step = count > 4 ? even_step(parameter) : 0;
    for (size_t i = 0; i < count; i += step != 0 ? count - 1 : 1) {
        hn_text_append(text, i > 0 ? ", " : step != 0 ? "{range: [" : "[");
        hn_value_append(text, &values[i]);
    }
    hn_text_append(text, "]");
    if (step > 1)
        hn_text_printf(text, ", step: %lld", (long long)step);
    hn_text_append(text, step != 0 ? "}" : "");
}

static void write_defaults(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = draft->defaults_fail ? "# defaults: {" : "defaults: {";
    append_notes(draft, HN_NOTE_DEFAULTS, text);
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        if (!parameter->has_preset)
            continue;
        hn_text_printf(text, "%s%s: ", separator, parameter->name);
        hn_value_append(text, &parameter->preset);
        separator = ", ";
    }
    hn_text_append(text, separator[0] == ',' ? "}\n" : "");
}

static void write_parameters(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "override: {";
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_PARAMETERS, text);
    hn_text_append(text, "parameters:\n");
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        hn_text_printf(text, "  %s: ", parameter->name);
        append_values(parameter, text);
        append_comment(text, "", parameter->comment);
    }
    write_defaults(draft, text);
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        if (parameter->override == NULL)
            continue;
        hn_text_printf(text, "%s%s: %s", separator, parameter->name, parameter->override);
        separator = ", ";
    }
    hn_text_append(text, separator[0] == ',' ? "}  # the source declares them itself\n\n" : "\n");
    append_notes(draft, HN_NOTE_CONSTRAINTS, text);
    for (size_t i = 0; i < draft->constraints.count; i++) {
        append_scalar(text, i == 0 ? "constraints:\n  - " : "  - ", draft->constraints.items[i]);
        hn_text_append(text, "\n");
    }
}

static void write_argument(const struct hn_draft_argument *argument, struct hn_text *text)
{
    static const char *const roles[] = {NULL, "output", "inout"};
    hn_text_printf(text, "  - {name: %s", argument->name);
    append_scalar(text, ", type: ", argument->type);
    append_scalar(text, ", count: ", argument->count);
    append_scalar(text, ", value: ", argument->value);
    append_scalar(text, ", from: ", argument->from);
    if (argument->other != NULL)
        hn_text_printf(text, ", %s", argument->other);
    append_scalar(text, ", role: ", roles[argument->role]);
    append_scalar(text, ", fill: ", argument->fill);
    append_scalar(text, ", file: ", argument->file);
    hn_text_append(text, "}");
    append_comment(text, "TODO: ", argument->todo);
}

static void write_arguments(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_ARGUMENTS, text);
    hn_text_append(text, "arguments:\n");
    for (size_t i = 0; i < draft->arguments.count; i++)
        write_argument(&draft->arguments.items[i], text);
    for (size_t i = 0; i < draft->symbols.count; i++) {
        hn_text_append(text, i == 0 ? "symbols:\n" : "");
        write_argument(&draft->symbols.items[i], text);
    }
    if (draft->symbols.count == 0 && hn_unit_has(draft->unit, "__constant__"))
        hn_text_append(text, "# TODO: `symbols` fills __constant__ variables (docs/config.md).\n");
}

/* A step has to list its arguments where not all of the plan are the kernel's. */
static void write_passed(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "  arguments: [";
    bool all = true;
    for (size_t i = 0; i < draft->arguments.count; i++)
        all = all && !draft->arguments.items[i].hidden;
    for (size_t i = 0; !all && i < draft->arguments.count; i++) {
        if (draft->arguments.items[i].hidden)
            continue;
        hn_text_printf(text, "%s%s", separator, draft->arguments.items[i].name);
        separator = ", ";
    }
    hn_text_append(text, all ? "" : "]\n");
}

static void write_launch(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_LAUNCH, text);
    hn_text_append(text, "launch:\n");
    write_passed(draft, text);
    for (int axis = 0; axis < draft->dimensions; axis++)
        append_scalar(text, axis == 0 ? "  block: [" : ", ", draft->block[axis]);
    for (int axis = 0; axis < draft->dimensions; axis++)
        append_scalar(text, axis == 0 ? "]\n  grid: [" : ", ", draft->grid[axis]);
    hn_text_append(text, "]\n");
    append_scalar(text, "  shared_bytes: ", draft->shared_bytes);
    if (draft->shared_bytes != NULL)
        append_comment(text, "TODO: ", draft->shared_todo);
    if (draft->cooperative)
        hn_text_append(text, "  cooperative: true\n");
}

/* Every buffer once, what is read and written twice. */
static void write_metrics(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "# TODO: what a launch moves at least, and `flops` if it computes "
                            "much: they place times under the roofs.\nmetrics:\n  bytes: ";
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_REFERENCE, text);
    if (draft->notes[HN_NOTE_REFERENCE].data == NULL)
        hn_text_append(
            text, "# TODO: a reference kernel checks results against what is right; without one "
                  "they are compared\n# with the kernel's own at the default point.\n"
                  "# reference: {template: reference.cu, entry: reference, block: 256, grid: ...}\n"
                  "# compare: {relative: 1.0e-5}\n");
    for (size_t i = 0; i < draft->arguments.count; i++) {
        const struct hn_draft_argument *argument = &draft->arguments.items[i];
        bool passed_by_value = argument->hidden && argument->role == HN_DRAFT_INPUT;
        if (argument->count == NULL || passed_by_value)
            continue;
        hn_text_printf(text, "%s%ssizeof(%s) * (%s)", separator,
                       argument->role == HN_DRAFT_INOUT ? "2 * " : "", argument->type,
                       argument->count);
        separator = " + ";
    }
    if (separator[0] == ' ')
        hn_text_append(text, "\n  gb_per_s: bytes / time_us / 1000\n");
}

char *hn_draft_write(const struct hn_draft *draft)
{
    struct hn_text text = {0};
    write_head(draft, &text);
    write_sizes(draft, &text);
    write_parameters(draft, &text);
    write_arguments(draft, &text);
    write_launch(draft, &text);
    write_metrics(draft, &text);
    return hn_needed(hn_text_take(&text));
}
