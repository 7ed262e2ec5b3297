/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/plan/option_list.h"
#include "tuner/import/import_part.h"
#include "tuner/init/draft.h"

static const char *const problem_names[] = {"PROBLEM_X", "PROBLEM_Y", "PROBLEM_Z"};

/* The names of the element types in the formats. */
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
        if (hn_same_letters(name, types[i].name, SIZE_MAX))
            return types[i].type;
    return NULL;
}

static const json_t *arguments_of(const struct hn_import *import)
{
    return json_object_get(import->kernel, "Arguments");
}

/* Whether that member is the word. */
static bool has(const json_t *object, const char *key, const char *word)
{
    const char *found = hn_import_text(object, key);
    return found != NULL && hn_same_letters(found, word, SIZE_MAX);
}

static bool is_free(const struct hn_import *import, const char *name)
{
    return name != NULL && hn_text_is_word(name) && !hn_draft_is_reserved(name) &&
           hn_import_find(import, name) == NULL && hn_bindings_get(&import->problem, name) == NULL;
}

static void set_problem(struct hn_import *import, const char *name, const json_t *number)
{
    struct hn_value value = hn_integer(json_integer_value(number));
    if (json_is_integer(number) && is_free(import, name) &&
        hn_bindings_set(&import->problem, name, &value, NULL) != HN_OK)
        hn_needed(NULL);
}

/* Whole numbers that are passed by value are what the work is measured in, and so are those of
 * ProblemSize. */
void hn_import_read_problem(struct hn_import *import)
{
    const json_t *sizes = json_object_get(import->kernel, "ProblemSize");
    const json_t *argument;
    size_t i;
    for (i = 0; i < json_array_size(sizes) && i < 3; i++)
        set_problem(import, problem_names[i], json_array_get(sizes, i));
    json_array_foreach(arguments_of(import), i, argument)
    {
        if (has(argument, "MemoryType", "Scalar"))
            set_problem(import, hn_import_text(argument, "Name"),
                        json_object_get(argument, "FillValue"));
    }
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
    const char *name = hn_need_format(import->memory, "%.*s", (int)length - 4, at + 4);
    const struct hn_import_parameter *parameter =
        at[length] == ')' ? hn_import_find(import, name) : NULL;
    if (parameter == NULL)
        return 0;
    struct hn_value end = find_end(parameter, largest);
    hn_value_append(text, &end);
    return length + 1;
}

/* A text, or a number as text. NULL: it is neither. It lives as long as the import, as what is
 * formatted or kept. */
static const char *number_text(const struct hn_import *import, const json_t *json)
{
    struct hn_text text = {0};
    if (!json_is_number(json))
        return json_string_value(json);
    struct hn_value value = json_is_integer(json) ? hn_integer(json_integer_value(json))
                                                  : hn_real(json_real_value(json));
    hn_value_append(&text, &value);
    return hn_need_kept(import->memory, hn_text_take(&text));
}

/* A number of elements, an expression of the problem; NULL when the file has none. */
static const char *count_of(const struct hn_import *import, const json_t *argument)
{
    const char *given = number_text(import, json_object_get(argument, "Size"));
    struct hn_text text = {0};
    if (given == NULL)
        return NULL;
    for (const char *at = given; *at != '\0';) {
        bool begins = at == given || !hn_is_word_char(at[-1]);
        size_t length = begins ? append_problem_size(import, at, &text) : 0;
        if (length == 0 && begins)
            length = append_end(import, at, &text);
        if (length == 0)
            hn_text_append_bytes(&text, at, 1);
        at += length > 0 ? length : 1;
    }
    const char *count = hn_need_kept(import->memory, hn_text_take(&text));
    return hn_import_holds(import, count, false, NULL) ? count : NULL;
}

static const struct hn_kernel_argument *declared_at(const struct hn_import *import, size_t index)
{
    return import->declared != NULL && index < import->declared->argument_count
               ? &import->declared->arguments[index]
               : NULL;
}

/* A variable of the source is a copy of the argument then. */
static bool is_copied(const json_t *argument)
{
    return has(argument, "MemType", "Constant");
}

/* The file's name, or the source's, or none that means anything. */
static const char *name_of(const struct hn_import *import, const json_t *argument, size_t index)
{
    const json_t *all = arguments_of(import);
    const struct hn_kernel_argument *declared = declared_at(import, index);
    const char *name = hn_import_text(argument, "Name");
    if (name == NULL && declared != NULL)
        name = declared->name;
    /* The variable has the name then. */
    bool usable = name != NULL && hn_text_is_word(name) && !is_copied(argument);
    for (size_t i = 0; usable && json_array_get(all, i) != argument; i++) {
        const char *other = hn_import_text(json_array_get(all, i), "Name");
        usable = other == NULL || strcmp(other, name) != 0;
    }
    return usable ? name : hn_need_format(import->memory, "argument_%zu", index + 1);
}

enum role { ROLE_INPUT, ROLE_OUTPUT, ROLE_INOUT, ROLE_UNKNOWN };

static enum role role_of(const json_t *argument)
{
    return has(argument, "AccessType", "ReadOnly")    ? ROLE_INPUT
           : has(argument, "AccessType", "WriteOnly") ? ROLE_OUTPUT
           : has(argument, "AccessType", "ReadWrite") ? ROLE_INOUT
                                                      : ROLE_UNKNOWN;
}

/* "2 * i + 1" of KTT's generators is iota(1, 2). */
static bool append_iota(struct hn_text *text, const char *generator)
{
    struct hn_value_list list = {.count = 0};
    struct hn_text probe = {0};
    hn_text_printf(&probe, "[%s for i in range(5)]", generator);
    bool even = strpbrk(generator, "[](){},'\"") == NULL &&
                hn_value_list_parse(probe.data, &list, NULL) == HN_OK && list.count == 5 &&
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
    hn_text_finish(&probe);
    return even;
}

/* Returns what is left to do, or "". */
static const char *append_fill(struct hn_import *import, const json_t *argument)
{
    const char *source = hn_import_text(argument, "DataSource");
    const char *value = number_text(import, json_object_get(argument, "FillValue"));
    bool number = value != NULL && hn_import_holds(import, value, false, NULL);
    const char *todo = "";
    if (has(argument, "FillType", "Constant") && number) {
        hn_text_printf(&import->text, ", fill: constant(%s)", value);
    } else if (has(argument, "FillType", "Random")) {
        if (number)
            hn_text_printf(&import->text, ", fill: \"uniform(0, %s)\"", value);
    } else if (has(argument, "FillType", "BinaryRaw") && source != NULL) {
        hn_text_append(&import->text, ", file: ");
        hn_import_append_quoted(&import->text, source[0] == '/' ? "" : import->place->prefix,
                                source);
    } else if (!has(argument, "FillType", "Generator") || source == NULL ||
               !append_iota(&import->text, source)) {
        todo = "which fill?";
    }
    return todo;
}

static void append_todo(struct hn_import *import, const char *what, const char *found)
{
    if (what[0] == '\0')
        return;
    hn_text_printf(&import->text, "  # TODO: %s", what);
    if (found != NULL)
        hn_import_append_comment(import, " The file says: ", found, "");
}

/* "type: float32, count: 4096" */
static void append_elements(struct hn_import *import, const json_t *argument)
{
    const char *type = find_type(argument);
    const char *count = count_of(import, argument);
    hn_text_printf(&import->text, ", type: %s, count: ", type != NULL ? type : "uint8");
    if (type == NULL && count != NULL && json_is_integer(json_object_get(argument, "TypeSize")))
        hn_text_printf(&import->text, "%lld * (%s)",
                       (long long)json_integer_value(json_object_get(argument, "TypeSize")), count);
    else
        hn_import_append(&import->text, count != NULL ? count : "1");
}

static void write_buffer(struct hn_import *import, const json_t *argument, size_t index)
{
    static const char *const roles[] = {"", ", role: output", ", role: inout", ""};
    const struct hn_kernel_argument *declared = declared_at(import, index);
    enum role role = role_of(argument);
    const char *todo = "";
    const char *count = count_of(import, argument);
    hn_text_printf(&import->text, "  - {name: %s", name_of(import, argument, index));
    append_elements(import, argument);
    if (role == ROLE_UNKNOWN && declared != NULL && !declared->constant)
        role = ROLE_INOUT;
    hn_text_append(&import->text, roles[role]);
    if (role != ROLE_OUTPUT)
        todo = append_fill(import, argument);
    hn_text_append(&import->text, "}");
    if (count == NULL)
        append_todo(import, "how many elements?",
                    number_text(import, json_object_get(argument, "Size")));
    else if (find_type(argument) == NULL)
        append_todo(import, "which type?", hn_import_text(argument, "Type"));
    else if (role_of(argument) == ROLE_UNKNOWN)
        append_todo(import, "input, output or inout?", hn_import_text(argument, "AccessType"));
    else
        append_todo(import, todo, hn_import_text(argument, "DataSource"));
    hn_text_append(&import->text, "\n");
}

static void write_scalar(struct hn_import *import, const json_t *argument, size_t index)
{
    const char *name = hn_import_text(argument, "Name");
    const char *type = find_type(argument);
    const char *value = number_text(import, json_object_get(argument, "FillValue"));
    bool known = value != NULL && hn_import_holds(import, value, true, NULL);
    hn_text_printf(&import->text, "  - {name: %s", name_of(import, argument, index));
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
}

static bool is_passed(const json_t *argument)
{
    return !has(argument, "MemoryType", "Symbol") && !has(argument, "MemoryType", "Local");
}

/* Writes the arguments of the signature, where the file has another number of them. */
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
    for (size_t i = 0; i < declared->argument_count; i++)
        hn_import_append_comment(import, i > 0 ? ", " : "", declared->arguments[i].name, "");
    hn_text_append(&import->text, "\n");
}

static void write_symbol(struct hn_import *import, const json_t *argument, size_t index)
{
    const char *todo = "";
    hn_text_printf(&import->text, "  - {name: %s", hn_import_text(argument, "Name"));
    if (is_copied(argument)) {
        hn_text_printf(&import->text, ", from: %s", name_of(import, argument, index));
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
            has(argument, "MemoryType", "Symbol") || (is_copied(argument) && is_passed(argument));
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
    const char *source = hn_import_text(reference, "DataSource");
    const char *method = hn_import_text(reference, "ValidationMethod");
    const json_t *threshold = json_object_get(reference, "ValidationThreshold");
    if (target != NULL && source != NULL && has(reference, "FillType", "BinaryRaw")) {
        hn_import_append_comment(import, "# reference: {files: {", target, ": ");
        hn_import_append_comment(import, "", import->place->prefix, "");
        hn_import_append_comment(import, "", source, "}}\n");
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
        hn_import_append_comment(import, "# TODO: what ", target != NULL ? target : "an argument",
                                 " should be (`reference`, docs/config.md). The file says: ");
        hn_import_append_comment(import, "", source != NULL ? source : "nothing", "\n");
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

static void write_arguments(struct hn_import *import)
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
        if (has(argument, "MemoryType", "Scalar"))
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

static const char *const axes[] = {"X", "Y", "Z"};
static const char *const block_names[] = {"block_size_x", "block_size_y", "block_size_z"};

/* "LocalSize": {"X": "block_size_x"}; what means nothing here is 1 and left to do. */
static const char *size_of(struct hn_import *import, const char *key, int axis)
{
    const json_t *sizes = json_object_get(import->kernel, key);
    const char *size = number_text(import, json_object_get(sizes, axes[axis]));
    struct hn_error reason;
    if (size != NULL && hn_import_holds(import, size, true, &reason))
        return size;
    if (size != NULL) {
        hn_text_printf(&import->text, "# TODO: %s.%s", key, axes[axis]);
        hn_import_append_comment(import, ": ", reason.message, "; the file says: ");
        hn_import_append_comment(import, "", size, "\n");
    }
    return "1";
}

static void append_factor(struct hn_text *text, const char *factor, bool alone)
{
    bool word = factor[strspn(factor, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789")] == '\0';
    hn_text_printf(text, word || alone ? "%s" : "(%s)", factor);
}

/* By what the problem is divided: GridDivX, or where there is none the block's size, as Kernel
 * Tuner does. */
static const char *divisor_of(struct hn_import *import, int axis, const char *block)
{
    char key[16];
    struct hn_text text = {0};
    snprintf(key, sizeof key, "GridDiv%s", axes[axis]);
    const json_t *divisors = json_object_get(import->kernel, key);
    for (size_t i = 0; i < json_array_size(divisors); i++) {
        const char *divisor = number_text(import, json_array_get(divisors, i));
        if (divisor != NULL && hn_import_holds(import, divisor, true, NULL)) {
            hn_text_append(&text, text.length > 0 ? " * " : "");
            append_factor(&text, divisor, json_array_size(divisors) == 1);
        } else {
            hn_text_printf(&import->text, "# TODO: %s", key);
            hn_import_append_comment(import, ": ", divisor != NULL ? divisor : "no text", "\n");
        }
    }
    if (json_array_size(divisors) == 0)
        hn_text_append(&text, hn_import_find(import, block_names[axis]) != NULL ? block_names[axis]
                                                                                : block);
    if (text.length == 0)
        hn_text_append(&text, "1");
    return hn_need_kept(import->memory, hn_text_take(&text));
}

/* Whether GlobalSize counts threads, as OpenCL does, not blocks. */
static bool counts_threads(const struct hn_import *import)
{
    const char *kind = hn_import_text(import->kernel, "GlobalSizeType");
    if (kind == NULL)
        kind = hn_import_text(import->kernel, "Language");
    return kind != NULL && hn_same_letters(kind, "OpenCL", SIZE_MAX);
}

static const char *divide(const struct hn_import *import, const char *extent, const char *divisor)
{
    return strcmp(divisor, "1") == 0
               ? extent
               : hn_need_format(import->memory, "ceil_div(%s, %s)", extent, divisor);
}

/* Blocks along an axis: ProblemSize over GridDiv where the file has them, else GlobalSize. */
static const char *grid_of(struct hn_import *import, int axis, const char *block)
{
    const json_t *sizes = json_object_get(import->kernel, "ProblemSize");
    if (json_array_size(sizes) > 0) {
        const json_t *size = json_array_get(sizes, (size_t)axis);
        const char *extent = hn_bindings_get(&import->problem, problem_names[axis]) != NULL
                                 ? problem_names[axis]
                                 : number_text(import, size);
        if (extent != NULL && hn_import_holds(import, extent, true, NULL))
            return divide(import, extent, divisor_of(import, axis, block));
        if (size != NULL)
            hn_text_printf(&import->text, "# TODO: ProblemSize in %s\n", axes[axis]);
        return "1";
    }
    const char *global = size_of(import, "GlobalSize", axis);
    bool threads = counts_threads(import) && strcmp(global, "1") != 0;
    return threads ? divide(import, global, block) : global;
}

static void append_sizes(struct hn_text *text, const char *key, const char *const sizes[3],
                         int count)
{
    hn_text_printf(text, "  %s: [", key);
    for (int axis = 0; axis < count; axis++) {
        hn_text_append(text, axis > 0 ? ", " : "");
        hn_import_append(text, sizes[axis]);
    }
    hn_text_append(text, "]\n");
}

static bool has_dynamic_memory(const struct hn_import *import)
{
    const struct hn_kernel *kernel = import->declared;
    return kernel == NULL || hn_find(&import->source, kernel->body, "extern") != SIZE_MAX;
}

/* SharedMemory is of the launch: of an array that is extern. */
static void write_shared(struct hn_import *import)
{
    const char *bytes = number_text(import, json_object_get(import->kernel, "SharedMemory"));
    bool known = bytes != NULL && hn_import_holds(import, bytes, true, NULL);
    if (known && strcmp(bytes, "0") != 0 && has_dynamic_memory(import)) {
        hn_text_append(&import->text, "  shared_bytes: ");
        hn_import_append(&import->text, bytes);
        hn_text_append(&import->text, "\n");
    } else if (bytes != NULL && strcmp(bytes, "0") != 0) {
        hn_import_append_comment(import,
                                 "  # TODO: shared_bytes? The source has no extern __shared__ "
                                 "array; the file says SharedMemory: ",
                                 bytes, "\n");
    }
}

static bool defines(const struct hn_unit *source, const char *name)
{
    const struct hn_meaning *meaning = hn_unit_meaning(source, name, 0);
    return meaning != NULL && meaning->macro;
}

/* Writes the macros that Kernel Tuner defines in every source. */
static void write_macros(struct hn_import *import, const char *const block[3], const char **head)
{
    if (import->source.path == NULL)
        return;
    if (hn_unit_has(&import->source, "kernel_tuner")) {
        hn_text_printf(&import->text, "%s    - -Dkernel_tuner=1\n", *head);
        *head = "";
    }
    for (int axis = 0; axis < 3; axis++) {
        if (hn_import_find(import, block_names[axis]) != NULL ||
            !hn_unit_has(&import->source, block_names[axis]) ||
            defines(&import->source, block_names[axis]))
            continue;
        hn_text_printf(&import->text, "%s    - \"-D%s={%s}\"\n", *head, block_names[axis],
                       block[axis]);
        *head = "";
    }
}

static void write_options(struct hn_import *import, const char *const block[3])
{
    const json_t *options = json_object_get(import->kernel, "CompilerOptions"), *item;
    const char *head = "compile:\n  options:\n";
    struct hn_text kept = {0};
    size_t i;
    json_array_foreach(options, i, item)
    {
        const char *option = json_string_value(item);
        if (option == NULL || hn_option_check(option, NULL) != HN_OK ||
            hn_option_value(option, "gpu-architecture") != NULL || strpbrk(option, "{}") != NULL) {
            hn_import_append_comment(import, "# TODO: the file's compiler option ",
                                     option != NULL ? option : "that is no text",
                                     " (docs/config.md, compile)\n");
            continue;
        }
        const char *folder = hn_option_value(option, "include-path");
        bool beside = folder != NULL && folder[0] != '/';
        const char *whole =
            hn_need_format(import->memory, "%.*s%s%s", beside ? (int)(folder - option) : 0, option,
                           beside ? import->place->prefix : "", beside ? folder : option);
        hn_text_printf(&kept, "%s    - ", head);
        hn_import_append_quoted(&kept, whole, "");
        hn_text_append(&kept, "\n");
        head = "";
    }
    hn_text_append(&import->text, kept.data != NULL ? kept.data : "");
    hn_text_finish(&kept);
    write_macros(import, block, &head);
}

static void write_launch(struct hn_import *import)
{
    const char *block[3], *grid[3];
    int count = 1;
    hn_text_append(&import->text, "\n");
    for (int axis = 0; axis < 3; axis++) {
        block[axis] = size_of(import, "LocalSize", axis);
        grid[axis] = grid_of(import, axis, block[axis]);
        if (strcmp(block[axis], "1") != 0 || strcmp(grid[axis], "1") != 0)
            count = axis + 1;
    }
    hn_text_append(&import->text, "launch:\n");
    append_sizes(&import->text, "block", block, count);
    append_sizes(&import->text, "grid", grid, count);
    write_shared(import);
    write_options(import, block);
}

void hn_import_write_kernel(struct hn_import *import)
{
    write_arguments(import);
    write_launch(import);
}
