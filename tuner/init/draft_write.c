/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include "base/text.h"
#include "tuner/init/draft.h"

const char *hn_draft_line(const struct hn_draft *draft, const char *format, ...)
{
    struct hn_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&text, format, arguments);
    va_end(arguments);
    char *line = hn_need_kept(&draft->unit->memory, hn_text_take(&text));
    for (char *c = line; *c != '\0'; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : ' ';
    if (strlen(line) > 400)
        memcpy(line + 400, "...", 4);
    return line;
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
    hn_text_append(text, draft->notes[section].data != NULL ? draft->notes[section].data : "");
}

/* A list that is written on its own, and is not there where it has no items. */
struct list {
    const char *open, *apart, *close;
    struct hn_text text;
};

__attribute__((format(printf, 2, 3))) static void put(struct list *list, const char *format, ...)
{
    va_list arguments;
    hn_text_append(&list->text, list->text.length > 0 ? list->apart : list->open);
    va_start(arguments, format);
    hn_text_vprintf(&list->text, format, arguments);
    va_end(arguments);
}

static void append_list(struct hn_text *text, struct list *list)
{
    if (list->text.length > 0)
        hn_text_printf(text, "%s%s", list->text.data, list->close);
    hn_text_finish(&list->text);
}

static void write_compiler(const struct hn_draft *draft, struct hn_text *text)
{
    struct list options = {"  options:\n    - ", "\n    - ", "\n", {0}};
    bool alone = draft->options.count == 0;
    append_notes(draft, HN_NOTE_OPTIONS, text);
    hn_text_append(text, alone ? "" : "compile:\n");
    if (draft->nvcc != NULL)
        hn_text_printf(text,
                       alone ? "compile: {compiler: nvcc}  # %s\n" : "  compiler: nvcc  # %s\n",
                       draft->nvcc);
    HN_EACH(option, draft->options) {
        put(&options, "%s", "");
        append_quoted(&options.text, *option);
    }
    append_list(text, &options);
}

static void write_head(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text, hn_draft_line(draft,
                                       "# Written by `hone init %s`. Lines marked TODO are "
                                       "guesses: look at each, then",
                                       draft->origin));
    hn_text_append(text, "\n#   hone space FILE     is the space what it should be?\n"
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

/* The step between integers that rise evenly, 0 where they do not. */
static int64_t even_step(const struct hn_draft_name *parameter)
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
static void append_values(const struct hn_draft_name *parameter, struct hn_text *text)
{
    size_t count = parameter->values.count;
    int64_t step = count > 4 ? even_step(parameter) : 0;
    hn_text_append(text, step != 0 ? "{range: [" : "[");
    for (size_t i = 0; i < count; i += step != 0 ? count - 1 : 1) {
        hn_text_append(text, i > 0 ? ", " : "");
        hn_value_append(text, &parameter->values.items[i]);
    }
    hn_text_append(text, "]");
    if (step > 1)
        hn_text_printf(text, ", step: %lld", (long long)step);
    hn_text_append(text, step != 0 ? "}" : "");
}

static void write_names(const struct hn_draft *draft, struct hn_text *text)
{
    struct list sizes = {"problem: {", ", ", "}\n", {0}};
    struct list frozen = {"freeze: [", ", ", "]  # the template sees them as macros\n", {0}};
    struct list parameters = {"parameters:\n", "", "", {0}};
    struct list presets = {
        draft->defaults_fail ? "# defaults: {" : "defaults: {", ", ", "}\n", {0}};
    struct list overrides = {"override: {", ", ", "}  # the source declares them itself\n", {0}};
    HN_EACH(each, draft->names) {
        if (each->is_size)
            put(&sizes, "%s: %lld", each->name, (long long)each->preset.integer);
        if (each->frozen)
            put(&frozen, "%s", each->name);
        if (each->override != NULL)
            put(&overrides, "%s: %s", each->name, each->override);
        if (each->is_size)
            continue;
        put(&parameters, "  %s: ", each->name);
        append_values(each, &parameters.text);
        append_comment(&parameters.text, "", each->comment);
        if (!each->has_preset)
            continue;
        put(&presets, "%s: ", each->name);
        hn_value_append(&presets.text, &each->preset);
    }
    append_notes(draft, HN_NOTE_SIZES, text);
    append_list(text, &sizes);
    append_list(text, &frozen);
    hn_text_append(text, "\n");
    append_notes(draft, HN_NOTE_PARAMETERS, text);
    append_list(text, &parameters);
    append_notes(draft, HN_NOTE_DEFAULTS, text);
    append_list(text, &presets);
    append_list(text, &overrides);
}

static void write_constraints(const struct hn_draft *draft, struct hn_text *text)
{
    struct list lines = {"constraints:\n  - ", "\n  - ", "\n", {0}};
    append_notes(draft, HN_NOTE_CONSTRAINTS, text);
    HN_EACH(constraint, draft->constraints) {
        put(&lines, "%s", "");
        append_scalar(&lines.text, "", *constraint);
    }
    append_list(text, &lines);
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
    append_notes(draft, HN_NOTE_ARGUMENTS, text);
    hn_text_append(text, "arguments:\n");
    HN_EACH(argument, draft->arguments)
        write_argument(argument, text);
    hn_text_append(text, draft->symbols.count > 0 ? "symbols:\n" : "");
    HN_EACH(symbol, draft->symbols)
        write_argument(symbol, text);
    if (draft->symbols.count == 0 && hn_unit_has(draft->unit, "__constant__"))
        hn_text_append(text, "# TODO: `symbols` fills __constant__ variables (docs/config.md).\n");
}

static void write_launch(const struct hn_draft *draft, struct hn_text *text)
{
    struct list passed = {"  arguments: [", ", ", "]\n", {0}};
    bool all = true;
    append_notes(draft, HN_NOTE_LAUNCH, text);
    hn_text_append(text, "launch:\n");
    /* A step has to list its arguments where not all of the plan are the kernel's. */
    HN_EACH(argument, draft->arguments)
        all &= !argument->hidden;
    HN_EACH(argument, draft->arguments)
        if (!all && !argument->hidden)
            put(&passed, "%s", argument->name);
    append_list(text, &passed);
    for (int axis = 0; axis < draft->dimensions; axis++)
        append_scalar(text, axis == 0 ? "  block: [" : ", ", draft->block[axis]);
    for (int axis = 0; axis < draft->dimensions; axis++)
        append_scalar(text, axis == 0 ? "]\n  grid: [" : ", ", draft->grid[axis]);
    hn_text_append(text, "]\n");
    append_scalar(text, "  shared_bytes: ", draft->shared_bytes);
    if (draft->shared_bytes != NULL)
        append_comment(text, "TODO: ", draft->shared_todo);
    hn_text_append(text, draft->cooperative ? "  cooperative: true\n" : "");
}

/* Every buffer once, what is read and written twice. */
static void write_metrics(const struct hn_draft *draft, struct hn_text *text)
{
    struct list bytes = {
        "# TODO: what a launch moves at least, and `flops` if it computes much: they place times "
        "under the roofs.\nmetrics:\n  bytes: ",
        " + ",
        "\n  gb_per_s: bytes / time_us / 1000\n",
        {0}};
    append_notes(draft, HN_NOTE_REFERENCE, text);
    if (draft->notes[HN_NOTE_REFERENCE].data == NULL)
        hn_text_append(
            text, "# TODO: a reference kernel checks results against what is right; without one "
                  "they are compared\n# with the kernel's own at the default point.\n"
                  "# reference: {template: reference.cu, entry: reference, block: 256, grid: ...}\n"
                  "# compare: {relative: 1.0e-5}\n");
    HN_EACH(argument, draft->arguments) {
        bool passed_by_value = argument->hidden && argument->role == HN_DRAFT_INPUT;
        if (argument->count == NULL || passed_by_value)
            continue;
        put(&bytes, "%ssizeof(%s) * (%s)", argument->role == HN_DRAFT_INOUT ? "2 * " : "",
            argument->type, argument->count);
    }
    append_list(text, &bytes);
}

char *hn_draft_write(const struct hn_draft *draft)
{
    static void (*const sections[])(const struct hn_draft *draft, struct hn_text *text) = {
        write_head, write_names, write_constraints, write_arguments, write_launch, write_metrics};
    struct hn_text text = {0};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        hn_text_append(&text, i > 0 ? "\n" : "");
        sections[i](draft, &text);
    }
    return hn_needed(hn_text_take(&text));
}
