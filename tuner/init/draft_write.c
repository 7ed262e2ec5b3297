/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "tuner/init/draft.h"

/* Whether NVRTC has the header, itself or of the toolkit, or might have it. */
static bool suits_nvrtc(const struct hn_include *include)
{
    static const char *const for_nvcc[] = {"cub/cub.cuh", "thrust/"};
    static const char *const of_toolkit[] = {"cuda/", "nv/"};
    for (size_t i = 0; i < sizeof for_nvcc / sizeof *for_nvcc; i++)
        if (strncmp(include->name, for_nvcc[i], strlen(for_nvcc[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof of_toolkit / sizeof *of_toolkit; i++)
        if (strncmp(include->name, of_toolkit[i], strlen(of_toolkit[i])) == 0)
            return true;
    return include->quoted || hn_host_header_find(include->name, include->length) != NULL ||
           !hn_is_header_of_host(include->name, include->length);
}

/* Code that NVRTC cannot compile is for the host; where it is guarded there is a word for it. */
static void write_compiler(const struct hn_draft *draft, struct hn_text *text)
{
    struct hn_include_scan lines = {.next = draft->unit->text};
    struct hn_include include;
    if (hn_unit_has(draft->unit, "__CUDACC_RTC__"))
        return;
    while (hn_include_next(&lines, &include)) {
        if (suits_nvrtc(&include))
            continue;
        hn_text_printf(text, "compile: {compiler: nvcc}  # NVRTC has no <%.*s>\n",
                       (int)include.length, include.name);
        return;
    }
    if (draft->has_host_code)
        hn_text_append(text, "compile: {compiler: nvcc}  # NVRTC compiles no code of the host\n");
}

/* One of several of its name is told by its type. */
static void write_overload(const struct hn_kernel *kernel, struct hn_text *text)
{
    hn_text_append(text, "entry: \"(void (*)(");
    for (size_t i = 0; i < kernel->argument_count; i++)
        hn_text_printf(text, "%s%s", i > 0 ? ", " : "", kernel->arguments[i].spelled);
    hn_text_printf(text, "))&%s%s\"\n", kernel->scope, kernel->name);
}

static void write_head(const struct hn_draft *draft, const char *template_path,
                       const char *source_path, struct hn_text *text)
{
    const struct hn_kernel *kernel = draft->kernel;
    hn_text_printf(
        text,
        "# Written by `hone init %s`. Lines marked TODO are guesses: look at each, then\n"
        "#   hone space FILE     is the space what it should be?\n"
        "#   hone compile FILE --arch sm_90     does the kernel compile?\n"
        "#   hone tune FILE\n"
        "# Every key is described in docs/config.md.\n"
        "hone: 1\nkernel: %s\ntemplate: %s\n",
        source_path, kernel->name, template_path);
    write_compiler(draft, text);
    if (kernel->parameter_count == 0 && kernel->overloaded) {
        write_overload(kernel, text);
        return;
    }
    if (kernel->parameter_count == 0) {
        hn_text_printf(text, kernel->extern_c ? "entry: %s%s\n" : "entry: \"&%s%s\"\n",
                       kernel->extern_c ? "" : kernel->scope, kernel->name);
        return;
    }
    hn_text_printf(text, "entry: \"%s%s<", kernel->scope, kernel->name);
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const struct hn_kernel_parameter *parameter = &kernel->parameters[i];
        const char *given = draft->instances[i];
        hn_text_append(text, i > 0 ? ", " : "");
        if (given == NULL)
            hn_text_printf(text, "(%s%s)0",
                           strchr(parameter->type, ':') == NULL ? kernel->scope : "",
                           parameter->type);
        else
            hn_text_append(text, given);
    }
    hn_text_printf(text, ">\"%s\n",
                   draft->instances_are_known
                       ? ""
                       : "  # TODO: are these the types and values to instantiate it with?");
}

static void write_sizes(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "";
    hn_text_append(text,
                   "\n# TODO: the sizes that matter to you; a list tunes each of its values.\n"
                   "problem: {");
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

static const char *origin_of(const struct hn_draft_parameter *parameter)
{
    if (parameter->of == HN_OF_DEFINE)
        return parameter->missing ? "  # TODO: which values? The source defines it nowhere" : "";
    if (parameter->of == HN_OF_TEMPLATE)
        return "  # the template's ";
    if (parameter->of == HN_OF_OWN_MACRO || parameter->of == HN_OF_CONSTANT)
        return "";
    return parameter->guessed ? "  # TODO: which block? The kernel does not ask how large it is"
                              : "  # of the launch alone";
}

static void append_value(const struct hn_draft_parameter *parameter, int64_t value,
                         struct hn_text *text)
{
    if (parameter->boolean)
        hn_text_append(text, value != 0 ? "true" : "false");
    else
        hn_text_printf(text, "%lld", (long long)value);
}

static void write_parameters(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text, "\n# TODO: which values are worth a try?\nparameters:\n");
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        hn_text_printf(text, "  %s: [", parameter->name);
        for (size_t v = 0; v < parameter->value_count; v++) {
            hn_text_append(text, v > 0 ? ", " : "");
            append_value(parameter, parameter->values[v], text);
        }
        for (size_t w = 0; w < parameter->word_count; w++)
            hn_text_printf(text, "%s%s", w > 0 ? ", " : "", parameter->words[w]);
        bool template = parameter->of == HN_OF_TEMPLATE;
        hn_text_printf(text, "]%s%s%s\n", origin_of(parameter), template ? parameter->own : "",
                       template && parameter->guessed ? "; TODO: which values?" : "");
    }
    hn_text_append(text, "defaults: {");
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        hn_text_printf(text, "%s%s: ", i > 0 ? ", " : "", parameter->name);
        if (parameter->value_count > 0)
            append_value(parameter, parameter->preset, text);
        else
            hn_text_append(text, parameter->word);
    }
    hn_text_append(text, "}\n");
    const char *separator = "override: {";
    for (size_t i = 0; i < draft->parameters.count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        bool macro = parameter->of == HN_OF_OWN_MACRO;
        if (!macro && parameter->of != HN_OF_CONSTANT)
            continue;
        hn_text_printf(text, "%s%s: %s", separator, parameter->name,
                       macro ? "define" : "constexpr");
        separator = ", ";
    }
    hn_text_append(text, separator[0] == ',' ? "}  # the source declares them itself\n\n" : "\n");
}

static void write_constraints(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(
        text, "# TODO: which combinations are valid? What fails to compile or run is found out "
              "too, but costs time.\n");
    if (draft->constraints.count == 0)
        hn_text_append(text, "# constraints:\n#   - BLOCK * ITEMS <= 4096\n");
    for (size_t i = 0; i < draft->constraints.count; i++)
        hn_text_printf(text, "%s  - %s\n", i == 0 ? "constraints:\n" : "",
                       draft->constraints.items[i]);
}

static const char *size_named(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->sizes.count; i++)
        if (draft->sizes.items[i].is_extent &&
            hn_same_letters(draft->sizes.items[i].name, name, SIZE_MAX))
            return draft->sizes.items[i].name;
    return NULL;
}

/* Elements of a buffer: as the source allocates it, or those of the whole problem; of matrices A, B
 * and C their own. */
static void append_count(const struct hn_draft *draft, const struct hn_draft_argument *argument,
                         struct hn_text *text)
{
    const char *name = argument->declared->name;
    if (argument->multiple > 1)
        hn_text_printf(text, "%lld * ", (long long)argument->multiple);
    const char *m = size_named(draft, "M");
    const char *n = size_named(draft, "N");
    const char *k = size_named(draft, "K");
    if (m != NULL && n != NULL && k != NULL && hn_draft_is_one_of(name, "a b c")) {
        bool a = hn_same_letters(name, "a", SIZE_MAX);
        bool b = hn_same_letters(name, "b", SIZE_MAX);
        hn_text_printf(text, "%s * %s", b ? k : m, a ? k : n);
        return;
    }
    hn_text_append(text, draft->elements);
}

static void write_buffer(const struct hn_draft *draft, const struct hn_draft_argument *argument,
                         struct hn_text *text)
{
    static const char *const roles[] = {"", ", role: output", ", role: inout"};
    const char *name = argument->declared->name;
    hn_text_printf(text, "  - {name: %s, type: %s, count: ", name, argument->type);
    append_count(draft, argument, text);
    hn_text_printf(text, "%s}", roles[argument->role]);
    if (!argument->type_is_known)
        hn_text_printf(text, "  # TODO: %s: which type?", argument->declared->type_name);
    if (!argument->role_is_known)
        hn_text_append(text, "  # TODO: output, inout, scratch or counter?");
    hn_text_append(text, "\n");
}

static void write_scalar(const struct hn_draft *draft, const struct hn_draft_argument *argument,
                         struct hn_text *text)
{
    const char *name = argument->declared->name;
    for (size_t i = 0; i < draft->sizes.count; i++) {
        const char *declared = draft->sizes.items[i].declared;
        if (declared == NULL || strcmp(declared, name) != 0)
            continue;
        hn_text_printf(text, "  - {name: %s, type: %s, value: %s}\n", name, argument->type,
                       draft->sizes.items[i].name);
        return;
    }
    hn_text_printf(text, "  - {name: %s, type: %s, value: 1}  # TODO: which value", name,
                   argument->type);
    if (!argument->type_is_known)
        hn_text_printf(text, ", and how is %s passed (`from`, docs/config.md)",
                       argument->declared->type_name);
    hn_text_append(text, "?\n");
}

static const char *first_input(const struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->kernel->argument_count; i++)
        if (draft->arguments[i].declared->pointer && draft->arguments[i].role == HN_DRAFT_INPUT &&
            draft->arguments[i].type_is_known && strcmp(draft->arguments[i].type, "float32") == 0)
            return draft->arguments[i].declared->name;
    return NULL;
}

static void write_map(const char *name, struct hn_text *text)
{
    hn_text_printf(text,
                   "  - {name: %s_data, type: float32, count: %d, role: inout}  # TODO: what is "
                   "the buffer under %s?\n"
                   "  - {name: %s, tensor_map: %s_data, dims: %d, box: 32}  # TODO: dims, "
                   "strides in bytes, box, swizzle (docs/tensor-maps.md)\n",
                   name, HN_DRAFT_MAPPED, name, name, name, HN_DRAFT_MAPPED);
}

/* Passed by value, as bytes that somebody has to know. */
static void write_structure(const struct hn_kernel_argument *declared, struct hn_text *text)
{
    hn_text_printf(text,
                   "  - {name: %s_data, type: uint8, count: %lld}  # TODO: which contents has "
                   "%s? `file` or `fill`; a pointer in it cannot be described\n"
                   "  - {name: %s, from: %s_data}\n",
                   declared->name, (long long)declared->bytes, declared->type_name, declared->name,
                   declared->name);
}

/* A step has to list its arguments where not all of the plan are the kernel's. */
static void write_passed(const struct hn_draft *draft, struct hn_text *text)
{
    bool any = false;
    for (size_t i = 0; i < draft->kernel->argument_count; i++)
        any = any || draft->arguments[i].passed == HN_PASSED_MAP ||
              draft->arguments[i].passed == HN_PASSED_STRUCTURE;
    for (size_t i = 0; any && i < draft->kernel->argument_count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "  arguments: [" : ", ",
                       draft->arguments[i].declared->name);
    hn_text_append(text, any ? "]\n" : "");
}

static void write_arguments(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text, "\n# In the order of the signature. TODO: how many elements has each "
                         "buffer?\narguments:\n");
    for (size_t i = 0; i < draft->kernel->argument_count; i++) {
        const struct hn_draft_argument *argument = &draft->arguments[i];
        if (argument->passed == HN_PASSED_TEXTURE && first_input(draft) != NULL)
            hn_text_printf(text, "  - {name: %s, texture: %s}  # TODO: over which buffer?\n",
                           argument->declared->name, first_input(draft));
        else if (argument->passed == HN_PASSED_MAP)
            write_map(argument->declared->name, text);
        else if (argument->passed == HN_PASSED_STRUCTURE)
            write_structure(argument->declared, text);
        else if (argument->passed == HN_PASSED_BUFFER)
            write_buffer(draft, argument, text);
        else
            write_scalar(draft, argument, text);
    }
    if (hn_unit_has(draft->unit, "__constant__"))
        hn_text_append(text, "# TODO: `symbols` fills __constant__ variables (docs/config.md).\n");
}

static void append_list(struct hn_text *text, const char *key, const char *const items[3],
                        int count)
{
    hn_text_printf(text, "  %s: [", key);
    for (int axis = 0; axis < count; axis++) {
        bool plain = strpbrk(items[axis], "(,") == NULL;
        hn_text_printf(text, plain ? "%s%s" : "%s\"%s\"", axis > 0 ? ", " : "", items[axis]);
    }
    hn_text_append(text, "]\n");
}

static void write_launch(const struct hn_draft *draft, struct hn_text *text)
{
    hn_text_append(text,
                   draft->block_is_known
                       ? "\n# TODO: does the kernel want this many blocks?\n"
                       : "\n# TODO: is the block's size free, and does the kernel want this many "
                         "blocks?\n");
    if (!draft->block_is_known && draft->bounds != NULL)
        hn_text_printf(text, "# The source has __launch_bounds__(%s).\n", draft->bounds);
    hn_text_append(text, "launch:\n");
    write_passed(draft, text);
    append_list(text, "block", draft->block, draft->dimensions);
    append_list(text, "grid", draft->grid, draft->dimensions);
    if (draft->has_extern)
        hn_text_append(text,
                       "  shared_bytes: 0  # TODO: the bytes of the extern __shared__ array\n");
    if (draft->cooperative)
        hn_text_append(text, "  cooperative: true\n");
}

/* Every buffer once, what is read and written twice. */
static void write_metrics(const struct hn_draft *draft, struct hn_text *text)
{
    const char *separator = "";
    hn_text_append(
        text, "\n# TODO: a reference kernel checks results against what is right; without one "
              "they are compared\n# with the kernel's own at the default point.\n"
              "# reference: {template: reference.cu, entry: reference, block: 256, grid: ...}\n"
              "# compare: {relative: 1.0e-5}\n"
              "# TODO: what a launch moves at least, and `flops` if it computes much: they place "
              "times under the roofs.\nmetrics:\n  bytes: ");
    for (size_t i = 0; i < draft->kernel->argument_count; i++) {
        const struct hn_draft_argument *argument = &draft->arguments[i];
        bool map = argument->passed == HN_PASSED_MAP;
        if (map)
            hn_text_printf(text, "%s2 * sizeof(float32) * %d", separator, HN_DRAFT_MAPPED);
        separator = map ? " + " : separator;
        if (argument->passed != HN_PASSED_BUFFER)
            continue;
        hn_text_printf(text, "%s%ssizeof(%s) * (", separator,
                       argument->role == HN_DRAFT_INOUT ? "2 * " : "", argument->type);
        append_count(draft, argument, text);
        hn_text_append(text, ")");
        separator = " + ";
    }
    hn_text_append(text, "\n  gb_per_s: bytes / time_us / 1000\n");
}

char *hn_draft_write(const struct hn_draft *draft, const char *template_path,
                     const char *source_path)
{
    struct hn_text text = {0};
    write_head(draft, template_path, source_path, &text);
    write_sizes(draft, &text);
    write_parameters(draft, &text);
    write_constraints(draft, &text);
    write_arguments(draft, &text);
    write_launch(draft, &text);
    write_metrics(draft, &text);
    return hn_needed(hn_text_take(&text));
}
