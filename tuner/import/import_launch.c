/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "base/text.h"
#include "runtime/plan/option_list.h"
#include "tuner/import/import_part.h"

static const char *const axes[] = {"X", "Y", "Z"};
static const char *const block_names[] = {"block_size_x", "block_size_y", "block_size_z"};

/* "LocalSize": {"X": "block_size_x"}; what means nothing here is 1 and left to do. Free it. */
static char *size_of(struct hn_import *import, const char *key, int axis)
{
    const json_t *sizes = json_object_get(import->kernel, key);
    const json_t *given = json_object_get(sizes, axes[axis]);
    char *size = hn_import_number_text(given);
    struct hn_error reason;
    if (size == NULL)
        return strdup("1");
    if (hn_import_holds(import, size, true, &reason))
        return size;
    hn_text_printf(&import->text, "# TODO: %s.%s: ", key, axes[axis]);
    hn_import_append_comment(&import->text, reason.message);
    hn_text_append(&import->text, "; the file says: ");
    hn_import_append_comment(&import->text, size);
    hn_text_append(&import->text, "\n");
    free(size);
    return strdup("1");
}

static void append_factor(struct hn_text *text, const char *factor, bool alone)
{
    bool word = factor[strspn(factor, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789")] == '\0';
    hn_text_printf(text, word || alone ? "%s" : "(%s)", factor);
}

/* By what the problem is divided: GridDivX, or where there is none the block's size, as Kernel
 * Tuner does. Free it. */
static char *divisor_of(struct hn_import *import, int axis, const char *block)
{
    char key[16];
    struct hn_text text = {0};
    snprintf(key, sizeof key, "GridDiv%s", axes[axis]);
    const json_t *divisors = json_object_get(import->kernel, key);
    for (size_t i = 0; i < json_array_size(divisors); i++) {
        char *divisor = hn_import_number_text(json_array_get(divisors, i));
        if (divisor != NULL && hn_import_holds(import, divisor, true, NULL)) {
            hn_text_append(&text, text.length > 0 ? " * " : "");
            append_factor(&text, divisor, json_array_size(divisors) == 1);
        } else {
            hn_text_printf(&import->text, "# TODO: %s: ", key);
            hn_import_append_comment(&import->text, divisor != NULL ? divisor : "no text");
            hn_text_append(&import->text, "\n");
        }
        free(divisor);
    }
    if (json_array_size(divisors) == 0)
        hn_text_append(&text, hn_import_find(import, block_names[axis]) != NULL ? block_names[axis]
                                                                                : block);
    if (text.length == 0)
        hn_text_append(&text, "1");
    return hn_text_take(&text);
}

/* Whether GlobalSize counts threads, as OpenCL does, not blocks. */
static bool counts_threads(const struct hn_import *import)
{
    const char *kind = hn_import_text(import->kernel, "GlobalSizeType");
    if (kind == NULL)
        kind = hn_import_text(import->kernel, "Language");
    return kind != NULL && hn_same_letters(kind, "OpenCL");
}

static char *divide(const char *extent, const char *divisor)
{
    char *grid;
    if (strcmp(divisor, "1") == 0)
        return strdup(extent);
    return asprintf(&grid, "ceil_div(%s, %s)", extent, divisor) < 0 ? NULL : grid;
}

/* Blocks along an axis: ProblemSize over GridDiv where the file has them, else GlobalSize. Free it.
 */
static char *grid_of(struct hn_import *import, int axis, const char *block)
{
    static const char *const names[] = {"PROBLEM_X", "PROBLEM_Y", "PROBLEM_Z"};
    const json_t *sizes = json_object_get(import->kernel, "ProblemSize");
    if (json_array_size(sizes) > 0) {
        const json_t *size = json_array_get(sizes, (size_t)axis);
        char *extent = hn_bindings_get(&import->problem, names[axis]) != NULL
                           ? strdup(names[axis])
                           : hn_import_number_text(size);
        bool known = extent != NULL && hn_import_holds(import, extent, true, NULL);
        char *divisor = known ? divisor_of(import, axis, block) : NULL;
        char *grid = divisor != NULL ? divide(extent, divisor) : strdup("1");
        if (size != NULL && !known)
            hn_text_printf(&import->text, "# TODO: ProblemSize in %s\n", axes[axis]);
        free(divisor);
        free(extent);
        return grid;
    }
    char *global = size_of(import, "GlobalSize", axis);
    if (global == NULL || !counts_threads(import) || strcmp(global, "1") == 0)
        return global;
    char *grid = divide(global, block);
    free(global);
    return grid;
}

static void append_sizes(struct hn_text *text, const char *key, char *const sizes[3], int count)
{
    hn_text_printf(text, "  %s: [", key);
    for (int axis = 0; axis < count; axis++) {
        hn_text_append(text, axis > 0 ? ", " : "");
        hn_import_append(text, sizes[axis] != NULL ? sizes[axis] : "1");
    }
    hn_text_append(text, "]\n");
}

static bool has_dynamic_memory(const struct hn_import *import)
{
    const struct hn_kernel *kernel = import->declared;
    return kernel == NULL ||
           hn_find_identifier(import->source.code, kernel->body, kernel->end, "extern") != SIZE_MAX;
}

/* SharedMemory is of the launch: of an array that is extern. */
static void write_shared(struct hn_import *import)
{
    char *bytes = hn_import_number_text(json_object_get(import->kernel, "SharedMemory"));
    bool known = bytes != NULL && hn_import_holds(import, bytes, true, NULL);
    if (known && strcmp(bytes, "0") != 0 && has_dynamic_memory(import)) {
        hn_text_append(&import->text, "  shared_bytes: ");
        hn_import_append(&import->text, bytes);
        hn_text_append(&import->text, "\n");
    } else if (bytes != NULL && strcmp(bytes, "0") != 0) {
        hn_text_append(&import->text,
                       "  # TODO: shared_bytes? The source has no extern __shared__ array; "
                       "the file says SharedMemory: ");
        hn_import_append_comment(&import->text, bytes);
        hn_text_append(&import->text, "\n");
    }
    free(bytes);
}

static bool defines(const struct hn_source_text *source, const char *name)
{
    static const char keyword[] = "define";
    for (size_t at = hn_find_identifier(source->directives, 0, source->length, name);
         at != SIZE_MAX;
         at = hn_find_identifier(source->directives, at + 1, source->length, name)) {
        size_t before = at;
        while (before > 0 && hn_is_space(source->directives[before - 1]))
            before--;
        if (before >= strlen(keyword) &&
            strncmp(source->directives + before - strlen(keyword), keyword, strlen(keyword)) == 0)
            return true;
    }
    return false;
}

/* What Kernel Tuner defines in every source. */
static void write_macros(struct hn_import *import, char *const block[3], const char **head)
{
    if (import->source.path == NULL)
        return;
    if (hn_source_has(&import->source, "kernel_tuner")) {
        hn_text_printf(&import->text, "%s    - -Dkernel_tuner=1\n", *head);
        *head = "";
    }
    for (int axis = 0; axis < 3; axis++) {
        if (hn_import_find(import, block_names[axis]) != NULL || block[axis] == NULL ||
            !hn_source_has(&import->source, block_names[axis]) ||
            defines(&import->source, block_names[axis]))
            continue;
        hn_text_printf(&import->text, "%s    - \"-D%s={%s}\"\n", *head, block_names[axis],
                       block[axis]);
        *head = "";
    }
}

static void append_option(struct hn_import *import, const char *option)
{
    const char *folder = hn_option_folder(option);
    struct hn_text text = {0};
    if (folder != NULL && folder[0] != '/') {
        hn_text_append_bytes(&text, option, (size_t)(folder - option));
        hn_text_printf(&text, "%s%s", import->place->prefix, folder);
    } else {
        hn_text_append(&text, option);
    }
    char *whole = hn_text_take(&text);
    hn_import_append_quoted(&import->text, whole != NULL ? whole : "");
    free(whole);
}

static void write_options(struct hn_import *import, char *const block[3])
{
    const json_t *options = json_object_get(import->kernel, "CompilerOptions");
    const char *head = "compile:\n  options:\n";
    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        bool allowed = option != NULL && hn_option_check(option, NULL) == HN_OK &&
                       hn_option_architecture(option) == NULL && strpbrk(option, "{}") == NULL;
        if (!allowed) {
            hn_text_append(&import->text, "# TODO: the file's compiler option ");
            hn_import_append_comment(&import->text, option != NULL ? option : "that is no text");
            hn_text_append(&import->text, " (docs/config.md, compile)\n");
        }
    }
    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        if (option == NULL || hn_option_check(option, NULL) != HN_OK ||
            hn_option_architecture(option) != NULL || strpbrk(option, "{}") != NULL)
            continue;
        hn_text_printf(&import->text, "%s    - ", head);
        append_option(import, option);
        hn_text_append(&import->text, "\n");
        head = "";
    }
    write_macros(import, block, &head);
}

void hn_import_write_launch(struct hn_import *import)
{
    char *block[3];
    char *grid[3];
    int count = 1;
    hn_text_append(&import->text, "\n");
    for (int axis = 0; axis < 3; axis++) {
        block[axis] = size_of(import, "LocalSize", axis);
        grid[axis] = grid_of(import, axis, block[axis] != NULL ? block[axis] : "1");
        if (block[axis] == NULL || grid[axis] == NULL)
            import->text.failed = true;
        else if (strcmp(block[axis], "1") != 0 || strcmp(grid[axis], "1") != 0)
            count = axis + 1;
    }
    hn_text_append(&import->text, "launch:\n");
    append_sizes(&import->text, "block", block, count);
    append_sizes(&import->text, "grid", grid, count);
    write_shared(import);
    write_options(import, block);
    for (int axis = 0; axis < 3; axis++) {
        free(block[axis]);
        free(grid[axis]);
    }
}
