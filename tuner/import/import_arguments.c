/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/import/import_part.h"
#include "tuner/init/draft.h"

static const char *const problem_names[] = {"PROBLEM_X", "PROBLEM_Y", "PROBLEM_Z"};

/* What the formats call the element types. */
static const struct {
    const char *name;
    const char *type;
} types[] = {
    {"bool", "uint8"},         {"int8", "int8"},         {"uint8", "uint8"},
    {"int16", "int16"},        {"uint16", "uint16"},     {"int32", "int32"},
    {"int", "int32"},          {"uint32", "uint32"},     {"uint", "uint32"},
    {"int64", "int64"},        {"uint64", "uint64"},     {"half", "float16"},
    {"half2", "float16x2"},    {"half4", "float16x4"},   {"half8", "float16x8"},
    {"half16", "float16x16"},  {"float", "float32"},     {"float2", "float32x2"},
    {"float3", "float32x3"},   {"float4", "float32x4"},  {"float8", "float32x8"},
    {"float16", "float32x16"}, {"double", "float64"},    {"double2", "float64x2"},
    {"double4", "float64x4"},  {"double8", "float64x8"}, {"double16", "float64x16"},
};

static const char *find_type(const json_t *argument)
{
    const char *name = hn_import_text(argument, "Type");
    for (size_t i = 0; name != NULL && i < sizeof types / sizeof types[0]; i++)
        if (hn_same_letters(name, types[i].name))
            return types[i].type;
    return NULL;
}

static const json_t *arguments_of(const struct hn_import *import)
{
    return json_object_get(import->kernel, "Arguments");
}

static bool has_memory(const json_t *argument, const char *memory)
{
    const char *found = hn_import_text(argument, "MemoryType");
    return found != NULL && hn_same_letters(found, memory);
}

static bool is_free(const struct hn_import *import, const char *name)
{
    return name != NULL && hn_text_is_word(name) && !hn_draft_is_reserved(name) &&
           hn_import_find(import, name) == NULL && hn_bindings_get(&import->problem, name) == NULL;
}

/* Whole numbers that are passed by value are what the work is measured in, and so are those of
 * ProblemSize. */
enum hn_status hn_import_read_problem(struct hn_import *import, struct hn_error *err)
{
    const json_t *sizes = json_object_get(import->kernel, "ProblemSize");
    const json_t *arguments = arguments_of(import);
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < json_array_size(sizes) && i < 3; i++) {
        const json_t *size = json_array_get(sizes, i);
        struct hn_value value = hn_integer(json_integer_value(size));
        if (json_is_integer(size) && is_free(import, problem_names[i]))
            status = hn_bindings_set(&import->problem, problem_names[i], &value, err);
    }
    for (size_t i = 0; status == HN_OK && i < json_array_size(arguments); i++) {
        const json_t *argument = json_array_get(arguments, i);
        const json_t *fill = json_object_get(argument, "FillValue");
        const char *name = hn_import_text(argument, "Name");
        struct hn_value value = hn_integer(json_integer_value(fill));
        if (has_memory(argument, "Scalar") && json_is_integer(fill) && is_free(import, name))
            status = hn_bindings_set(&import->problem, name, &value, err);
    }
    return status;
}

/* The largest or smallest of a parameter's numbers. */
static struct hn_value find_end(const struct hn_import_parameter *parameter, bool largest)
{
    struct hn_value end = parameter->list.values[0];
    for (size_t i = 1; i < parameter->list.count; i++) {
        int order = hn_value_compare(&parameter->list.values[i], &end);
        if (largest ? order > 0 : order < 0)
            end = parameter->list.values[i];
    }
    return end;
}

/* "ProblemSize[1]"; returns how much of the text it is, 0 when it is none. */
static size_t append_problem_size(const struct hn_import *import, const char *at,
                                  struct hn_text *text)
{
    static const char name[] = "ProblemSize[";
    size_t length = strlen(name);
    if (strncmp(at, name, length) != 0 || at[length] < '0' || at[length] > '2' ||
        at[length + 1] != ']')
        return 0;
    int axis = at[length] - '0';
    if (hn_bindings_get(&import->problem, problem_names[axis]) == NULL)
        return 0;
    hn_text_append(text, problem_names[axis]);
    return length + 2;
}

/* "max(tile)" and "min(tile)" over the values of a parameter. */
static size_t append_end(const struct hn_import *import, const char *at, struct hn_text *text)
{
    bool largest = strncmp(at, "max(", 4) == 0;
    if (!largest && strncmp(at, "min(", 4) != 0)
        return 0;
    size_t length = 4;
    while (hn_is_word_char(at[length]))
        length++;
    char *name = strndup(at + 4, length - 4);
    const struct hn_import_parameter *parameter =
        name != NULL && at[length] == ')' ? hn_import_find(import, name) : NULL;
    free(name);
    if (parameter == NULL)
        return 0;
    struct hn_value end = find_end(parameter, largest);
    hn_value_append(text, &end);
    return length + 1;
}

/* A number of elements, an expression of the problem; NULL when the file has none. */
static char *count_of(const struct hn_import *import, const json_t *argument)
{
    char *given = hn_import_number_text(json_object_get(argument, "Size"));
    struct hn_text text = {0};
    for (const char *at = given; at != NULL && *at != '\0';) {
        bool begins = at == given || !hn_is_word_char(at[-1]);
        size_t length = begins ? append_problem_size(import, at, &text) : 0;
        if (length == 0 && begins)
            length = append_end(import, at, &text);
        if (length == 0)
            hn_text_append_bytes(&text, at, 1);
        at += length > 0 ? length : 1;
    }
    char *count = hn_text_take(&text);
    if (given != NULL && count != NULL && hn_import_holds(import, count, false, NULL)) {
        free(given);
        return count;
    }
    free(given);
    free(count);
    return NULL;
}

static const struct hn_kernel_argument *declared_at(const struct hn_import *import, size_t index)
{
    return import->declared != NULL && index < import->declared->argument_count
               ? &import->declared->arguments[index]
               : NULL;
}

/* MemType Constant: a variable of the source that is a copy of the argument. */
static bool is_copied(const json_t *argument)
{
    const char *kind = hn_import_text(argument, "MemType");
    return kind != NULL && hn_same_letters(kind, "Constant");
}

/* The file's name, or the source's, or none that means anything. Free it. */
static char *name_of(const struct hn_import *import, const json_t *argument, size_t index)
{
    const json_t *all = arguments_of(import);
    const struct hn_kernel_argument *declared = declared_at(import, index);
    const char *name = hn_import_text(argument, "Name");
    char *own = NULL;
    if (name == NULL && declared != NULL)
        name = declared->name;
    /* The variable has the name then. */
    bool usable = name != NULL && hn_text_is_word(name) && !is_copied(argument);
    for (size_t i = 0; usable && json_array_get(all, i) != argument; i++) {
        const char *other = hn_import_text(json_array_get(all, i), "Name");
        usable = other == NULL || strcmp(other, name) != 0;
    }
    if (usable)
        return strdup(name);
    return asprintf(&own, "argument_%zu", index + 1) < 0 ? NULL : own;
}

static void append_name(struct hn_import *import, const json_t *argument, size_t index)
{
    char *name = name_of(import, argument, index);
    hn_text_printf(&import->text, "  - {name: %s", name != NULL ? name : "");
    import->text.failed = import->text.failed || name == NULL;
    free(name);
}

enum role { ROLE_INPUT, ROLE_OUTPUT, ROLE_INOUT, ROLE_UNKNOWN };

static enum role role_of(const json_t *argument)
{
    const char *access = hn_import_text(argument, "AccessType");
    if (access == NULL)
        return ROLE_UNKNOWN;
    return hn_same_letters(access, "ReadOnly")    ? ROLE_INPUT
           : hn_same_letters(access, "WriteOnly") ? ROLE_OUTPUT
           : hn_same_letters(access, "ReadWrite") ? ROLE_INOUT
                                                  : ROLE_UNKNOWN;
}

/* "2 * i + 1" of KTT's generators is iota(1, 2). */
static bool append_iota(struct hn_text *text, const char *generator)
{
    struct hn_value_list list = {.count = 0};
    struct hn_text probe = {0};
    hn_text_printf(&probe, "[%s for i in range(5)]", generator);
    char *comprehension = hn_text_take(&probe);
    bool even = comprehension != NULL && strpbrk(generator, "[](){},'\"") == NULL &&
                hn_value_list_parse(comprehension, &list, NULL) == HN_OK && list.count == 5 &&
                list.values[0].type != HN_WORD;
    double first = even ? hn_value_number(&list.values[0]) : 0;
    double gap = even ? hn_value_number(&list.values[1]) - first : 0;
    for (size_t i = 2; i < 5 && even; i++)
        even = hn_value_number(&list.values[i]) == first + gap * (double)i;
    if (even) {
        bool whole = list.values[0].type == HN_INTEGER && list.values[1].type == HN_INTEGER;
        struct hn_value step = whole ? hn_integer((int64_t)gap) : hn_real(gap);
        hn_text_append(text, ", fill: \"iota(");
        hn_value_append(text, &list.values[0]);
        hn_text_append(text, ", ");
        hn_value_append(text, &step);
        hn_text_append(text, ")\"");
    }
    hn_value_list_finish(&list);
    free(comprehension);
    return even;
}

/* Returns what is left to do, or "". */
static const char *append_fill(struct hn_import *import, const json_t *argument)
{
    const char *fill = hn_import_text(argument, "FillType");
    const char *source = hn_import_text(argument, "DataSource");
    char *value = hn_import_number_text(json_object_get(argument, "FillValue"));
    bool number = value != NULL && hn_import_holds(import, value, false, NULL);
    const char *todo = "";
    if (fill != NULL && hn_same_letters(fill, "Constant") && number) {
        hn_text_printf(&import->text, ", fill: constant(%s)", value);
    } else if (fill != NULL && hn_same_letters(fill, "Random")) {
        if (number)
            hn_text_printf(&import->text, ", fill: \"uniform(0, %s)\"", value);
    } else if (fill != NULL && hn_same_letters(fill, "BinaryRaw") && source != NULL) {
        struct hn_text path = {0};
        hn_text_printf(&path, "%s%s", source[0] == '/' ? "" : import->place->prefix, source);
        char *joined = hn_text_take(&path);
        hn_text_append(&import->text, ", file: ");
        hn_import_append_quoted(&import->text, joined != NULL ? joined : "");
        free(joined);
    } else if (fill == NULL || !hn_same_letters(fill, "Generator") || source == NULL ||
               !append_iota(&import->text, source)) {
        todo = "which fill?";
    }
    free(value);
    return todo;
}

static void append_todo(struct hn_import *import, const char *what, const char *found)
{
    if (what[0] == '\0')
        return;
    hn_text_printf(&import->text, "  # TODO: %s", what);
    if (found != NULL) {
        hn_text_append(&import->text, " The file says: ");
        hn_import_append_comment(&import->text, found);
    }
}

/* "type: float32, count: 4096" */
static void append_elements(struct hn_import *import, const json_t *argument)
{
    const char *type = find_type(argument);
    char *count = count_of(import, argument);
    hn_text_printf(&import->text, ", type: %s, count: ", type != NULL ? type : "uint8");
    if (type == NULL && count != NULL && json_is_integer(json_object_get(argument, "TypeSize")))
        hn_text_printf(&import->text, "%lld * (%s)",
                       (long long)json_integer_value(json_object_get(argument, "TypeSize")), count);
    else
        hn_import_append(&import->text, count != NULL ? count : "1");
    free(count);
}

static void write_buffer(struct hn_import *import, const json_t *argument, size_t index)
{
    static const char *const roles[] = {"", ", role: output", ", role: inout", ""};
    const struct hn_kernel_argument *declared = declared_at(import, index);
    enum role role = role_of(argument);
    const char *todo = "";
    char *count = count_of(import, argument);
    append_name(import, argument, index);
    append_elements(import, argument);
    if (role == ROLE_UNKNOWN && declared != NULL && !declared->constant)
        role = ROLE_INOUT;
    hn_text_append(&import->text, roles[role]);
    if (role != ROLE_OUTPUT)
        todo = append_fill(import, argument);
    hn_text_append(&import->text, "}");
    char *size = count == NULL ? hn_import_number_text(json_object_get(argument, "Size")) : NULL;
    if (count == NULL)
        append_todo(import, "how many elements?", size);
    else if (find_type(argument) == NULL)
        append_todo(import, "which type?", hn_import_text(argument, "Type"));
    else if (role_of(argument) == ROLE_UNKNOWN)
        append_todo(import, "input, output or inout?", hn_import_text(argument, "AccessType"));
    else
        append_todo(import, todo, hn_import_text(argument, "DataSource"));
    hn_text_append(&import->text, "\n");
    free(size);
    free(count);
}

static void write_scalar(struct hn_import *import, const json_t *argument, size_t index)
{
    const char *name = hn_import_text(argument, "Name");
    const char *type = find_type(argument);
    char *value = hn_import_number_text(json_object_get(argument, "FillValue"));
    bool known = value != NULL && hn_import_holds(import, value, true, NULL);
    append_name(import, argument, index);
    hn_text_printf(&import->text, ", type: %s, value: ", type != NULL ? type : "int32");
    if (name != NULL && hn_bindings_get(&import->problem, name) != NULL)
        hn_text_append(&import->text, name);
    else
        hn_import_append(&import->text, known ? value : "1");
    hn_text_append(&import->text, "}");
    if (!known)
        append_todo(import, "which value?", value);
    else if (type == NULL)
        append_todo(import, "which type?", hn_import_text(argument, "Type"));
    hn_text_append(&import->text, "\n");
    free(value);
}

static bool is_passed(const json_t *argument)
{
    return !has_memory(argument, "Symbol") && !has_memory(argument, "Local");
}

/* What the signature says, where the file says something else. */
static void write_signature(struct hn_import *import)
{
    const struct hn_kernel *declared = import->declared;
    const json_t *arguments = arguments_of(import);
    size_t passed = 0;
    for (size_t i = 0; i < json_array_size(arguments); i++)
        passed += is_passed(json_array_get(arguments, i));
    if (declared == NULL || declared->argument_count == passed)
        return;
    hn_text_printf(&import->text, "# TODO: the file has %zu arguments, the kernel %zu: ", passed,
                   declared->argument_count);
    for (size_t i = 0; i < declared->argument_count; i++) {
        hn_text_append(&import->text, i > 0 ? ", " : "");
        hn_import_append_comment(&import->text, declared->arguments[i].name);
    }
    hn_text_append(&import->text, "\n");
}

static void write_symbol(struct hn_import *import, const json_t *argument, size_t index)
{
    const char *todo = "";
    hn_text_printf(&import->text, "  - {name: %s", hn_import_text(argument, "Name"));
    if (is_copied(argument)) {
        char *from = name_of(import, argument, index);
        hn_text_printf(&import->text, ", from: %s", from != NULL ? from : "");
        free(from);
    } else {
        append_elements(import, argument);
        todo = append_fill(import, argument);
    }
    hn_text_append(&import->text, "}");
    append_todo(import, todo, hn_import_text(argument, "DataSource"));
    hn_text_append(&import->text, "\n");
}

/* MemoryType Symbol is a variable of the source. */
static void write_symbols(struct hn_import *import)
{
    const json_t *arguments = arguments_of(import);
    const char *head = "symbols:\n";
    size_t index = 0;
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *argument = json_array_get(arguments, i);
        const char *name = hn_import_text(argument, "Name");
        bool symbol =
            has_memory(argument, "Symbol") || (is_copied(argument) && is_passed(argument));
        if (symbol && name != NULL && hn_text_is_word(name)) {
            hn_text_append(&import->text, head);
            head = "";
            write_symbol(import, argument, index);
        }
        index += is_passed(argument);
    }
}

/* A file of results can be one as it is, if the inputs are what they were. */
static void suggest_reference(struct hn_import *import, const json_t *reference)
{
    const char *target = hn_import_text(reference, "TargetName");
    const char *fill = hn_import_text(reference, "FillType");
    const char *source = hn_import_text(reference, "DataSource");
    const char *method = hn_import_text(reference, "ValidationMethod");
    const json_t *threshold = json_object_get(reference, "ValidationThreshold");
    if (target != NULL && source != NULL && fill != NULL && hn_same_letters(fill, "BinaryRaw")) {
        hn_text_append(&import->text, "# reference: {files: {");
        hn_import_append_comment(&import->text, target);
        hn_text_append(&import->text, ": ");
        hn_import_append_comment(&import->text, import->place->prefix);
        hn_import_append_comment(&import->text, source);
        hn_text_append(&import->text, "}}\n");
    }
    if (json_is_number(threshold)) {
        bool relative = method != NULL && hn_find_letters(method, "Relative") != NULL;
        struct hn_value value = hn_real(json_number_value(threshold));
        hn_text_printf(&import->text, "# compare: {%s: ", relative ? "relative" : "absolute");
        hn_value_append(&import->text, &value);
        hn_text_append(&import->text, "}\n");
    }
}

/* Results that the file has are not read: what is right is a kernel's to say, or a file's. */
static void write_reference(struct hn_import *import)
{
    const json_t *references = json_object_get(import->kernel, "ReferenceArguments");
    for (size_t i = 0; i < json_array_size(references); i++) {
        const json_t *reference = json_array_get(references, i);
        const char *target = hn_import_text(reference, "TargetName");
        const char *source = hn_import_text(reference, "DataSource");
        hn_text_append(&import->text, "# TODO: what ");
        hn_import_append_comment(&import->text, target != NULL ? target : "an argument");
        hn_text_append(&import->text, " should be (`reference`, docs/config.md). The file says: ");
        hn_import_append_comment(&import->text, source != NULL ? source : "nothing");
        hn_text_append(&import->text, "\n");
        suggest_reference(import, reference);
    }
    if (json_array_size(references) == 0)
        hn_text_append(
            &import->text,
            "# TODO: a reference kernel says what is right; without one results are "
            "compared with those of the default point.\n"
            "# reference: {template: reference.cu, entry: reference, block: 256, grid: ...}\n"
            "# compare: {relative: 1.0e-5}\n");
}

void hn_import_write_arguments(struct hn_import *import)
{
    const json_t *arguments = arguments_of(import);
    bool written = false;
    size_t index = 0;
    hn_text_append(&import->text, "\n# In the order of the signature.\n");
    write_signature(import);
    hn_text_append(&import->text, "arguments:\n");
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *argument = json_array_get(arguments, i);
        if (!is_passed(argument))
            continue;
        written = written || role_of(argument) == ROLE_OUTPUT || role_of(argument) == ROLE_INOUT;
        if (has_memory(argument, "Scalar"))
            write_scalar(import, argument, index++);
        else
            write_buffer(import, argument, index++);
    }
    if (!written)
        hn_text_append(&import->text,
                       "# TODO: which argument has the result? Give it `role: output`.\n");
    write_symbols(import);
    write_reference(import);
}
