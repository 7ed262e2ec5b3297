/* SPDX-License-Identifier: MIT */
#include "tuner/import/import.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/expression/expression.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/schema.h"
#include "base/text.h"
#include "tuner/import/import_part.h"

static const size_t size_limit = 4u << 20;

enum hn_status hn_import_load(const char *path, json_t **root, struct hn_error *err)
{
    json_error_t place;
    char *text;
    size_t size;
    *root = NULL;
    if (hn_file_read(path, size_limit, &text, &size, err) != HN_OK)
        return err->status;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    free(text);
    if (*root == NULL)
        return hn_fail(err, HN_EFORMAT, "%s:%d:%d: %s", path, place.line, place.column, place.text);
    const json_t *parameters =
        json_object_get(json_object_get(*root, "ConfigurationSpace"), "TuningParameters");
    const json_t *kernel = json_object_get(*root, "KernelSpecification");
    if (json_array_size(parameters) > 0 && json_is_object(kernel))
        return HN_OK;
    /* Other tuners write results as JSON, too. */
    bool results =
        json_object_get(*root, "cache") != NULL || json_object_get(*root, "results") != NULL;
    hn_fail(err, HN_EFORMAT, "%s: found %s without %s; expected a tuning problem (T1 or CAFF)%s",
            path, hn_json_type_name(*root),
            json_is_object(kernel) ? "TuningParameters in ConfigurationSpace"
                                   : "KernelSpecification",
            results ? "; results of a tuning are for `hone cache import`" : "");
    json_decref(*root);
    *root = NULL;
    return err->status;
}

/* "sum" of "ns::sum<float, 4>". */
char *hn_import_kernel(const json_t *root)
{
    const char *given = hn_import_text(json_object_get(root, "KernelSpecification"), "KernelName");
    const char *whole = given != NULL ? given : "";
    char *name = hn_needed(strndup(whole, strcspn(whole, "<( ")));
    const char *scope = strrchr(name, ':');
    char *kernel = hn_need_copy(scope != NULL ? scope + 1 : name);
    free(name);
    if (hn_text_is_word(kernel))
        return kernel;
    free(kernel);
    return hn_need_copy("kernel");
}

const char *hn_import_keep(const struct hn_import *import, struct hn_text *text)
{
    char *made = hn_needed(hn_text_take(text));
    const char *kept = strcpy(hn_need_block(import->memory, strlen(made) + 1, 1), made);
    free(made);
    return kept;
}

const char *hn_import_format(const struct hn_import *import, const char *format, ...)
{
    struct hn_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&text, format, arguments);
    va_end(arguments);
    return hn_import_keep(import, &text);
}

/* The kernel's file from the config's folder: in the file's folder or the one above it. *found: it
 * is there, and where. */
static const char *find_source(const struct hn_import *import, const char **found)
{
    static const char *const places[] = {"", "../"};
    const char *file = hn_import_text(import->kernel, "KernelFile");
    *found = NULL;
    if (file == NULL || file[0] == '\0')
        return "TODO.cu";
    for (size_t i = 0; i < 2 && file[0] != '/'; i++) {
        const char *path =
            hn_import_format(import, "%s/%s%s", import->place->folder, places[i], file);
        if (access(path, R_OK) != 0)
            continue;
        *found = path;
        return hn_import_format(import, "%s%s%s", import->place->prefix, places[i], file);
    }
    return hn_import_format(import, "%s%s", file[0] == '/' ? "" : import->place->prefix, file);
}

/* Reads the source where it is there and can be read; where it can not, nothing is known of it. */
static void read_source(struct hn_import *import, const char *path, const char *kernel)
{
    struct hn_error ignored;
    if (path == NULL || hn_source_text_load(path, &import->source, &ignored) != HN_OK)
        return;
    hn_kernels_find(&import->source, &import->kernels);
    for (size_t i = 0; i < import->kernels.count && import->declared == NULL; i++)
        if (strcmp(import->kernels.items[i].name, kernel) == 0)
            import->declared = &import->kernels.items[i];
}

/* How the kernel is asked for. */
static void write_entry(struct hn_import *import, const char *kernel)
{
    const char *name = hn_import_text(import->kernel, "KernelName");
    const struct hn_kernel *declared = import->declared;
    hn_text_append(&import->text, "entry: ");
    if (name != NULL && strchr(name, '<') != NULL) {
        hn_import_append_quoted(&import->text, name, "");
    } else if (declared != NULL && declared->parameter_count > 0) {
        const char *entry = hn_import_format(import, "%s%s<>", declared->scope, kernel);
        hn_import_append_quoted(&import->text, entry, "");
        hn_text_append(&import->text, "  # TODO: it is a template: which arguments?");
    } else if (declared != NULL && !declared->extern_c) {
        hn_text_printf(&import->text, "\"&%s%s\"", declared->scope, kernel);
    } else {
        hn_text_append(&import->text, kernel);
    }
    hn_text_append(&import->text, "\n");
}

static void write_head(struct hn_import *import, const char *kernel, const char *template,
                       bool found)
{
    const char *language = hn_import_text(import->kernel, "Language");
    hn_import_append_comment(import, "# Written by `hone init ", import->place->path,
                             "`. Lines marked TODO are what the file does not say.\n"
                             "# Every key is described in docs/config.md, other tuners' terms in "
                             "docs/from-kernel-tuner.md.\n");
    hn_text_printf(&import->text, "hone: 1\nkernel: %s\n", kernel);
    if (language != NULL && !hn_same_letters(language, "CUDA", SIZE_MAX))
        hn_import_append_comment(
            import, "# TODO: the kernel has to be CUDA. The file says: ", language, "\n");
    hn_text_append(&import->text, "template: ");
    hn_import_append(&import->text, template);
    hn_text_append(&import->text, found ? "\n" : "  # TODO: it is not there\n");
    write_entry(import, kernel);
    if (found && import->declared == NULL)
        hn_text_append(&import->text, "# TODO: the source has no kernel of this name\n");
    else if (import->declared != NULL && import->declared->argument_count == 0)
        hn_text_append(&import->text, "# TODO: the kernel has no arguments\n");
}

static void write_problem(struct hn_import *import)
{
    const char *separator = "\nproblem: {";
    for (size_t i = 0; i < import->problem.count; i++) {
        hn_text_printf(&import->text, "%s%s: ", separator, import->problem.names[i]);
        hn_value_append(&import->text, &import->problem.values[i]);
        separator = ", ";
    }
    if (import->problem.count > 0)
        hn_text_append(&import->text,
                       "}\n# TODO: what of the numbers below are these sizes? Written so, "
                       "other sizes can be tuned.\n");
}

char *hn_import_write(const json_t *root, const struct hn_import_place *place)
{
    struct hn_blocks memory = {0};
    struct hn_import import = {.space = json_object_get(root, "ConfigurationSpace"),
                               .kernel = json_object_get(root, "KernelSpecification"),
                               .place = place,
                               .memory = &memory};
    const char *source;
    char *kernel = hn_import_kernel(root);
    const char *template = find_source(&import, &source);
    read_source(&import, source, kernel);
    hn_import_read_parameters(&import);
    hn_import_read_problem(&import);
    import.names = hn_need(import.parameter_count + import.problem.count, sizeof *import.names);
    for (size_t i = 0; i < import.parameter_count; i++)
        import.names[import.name_count++] = import.parameters[i].name;
    for (size_t i = 0; i < import.problem.count; i++)
        import.names[import.name_count++] = import.problem.names[i];
    write_head(&import, kernel, template, source != NULL);
    write_problem(&import);
    hn_import_write_parameters(&import);
    hn_import_write_kernel(&import);
    for (size_t i = 0; i < import.parameter_count; i++)
        hn_value_list_finish(&import.parameters[i].list);
    free(import.parameters);
    free(import.names);
    free(kernel);
    hn_blocks_finish(&memory);
    hn_bindings_finish(&import.problem);
    hn_kernels_finish(&import.kernels);
    hn_source_text_finish(&import.source);
    return hn_needed(hn_text_take(&import.text));
}

/* Texts of the file, in YAML. */

const char *hn_import_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

const char *hn_import_number_text(const struct hn_import *import, const json_t *json)
{
    struct hn_text text = {0};
    if (!json_is_number(json))
        return json_string_value(json);
    struct hn_value value = json_is_integer(json) ? hn_integer(json_integer_value(json))
                                                  : hn_real(json_real_value(json));
    hn_value_append(&text, &value);
    return hn_import_keep(import, &text);
}

bool hn_import_holds(const struct hn_import *import, const char *expression, bool with_parameters,
                     struct hn_error *err)
{
    struct hn_expression *parsed = NULL;
    size_t hidden = with_parameters ? 0 : import->parameter_count;
    struct hn_scope scope = {.names = import->names + hidden,
                             .name_count = import->name_count - hidden};
    bool holds = hn_expression_parse(expression, &parsed, err) == HN_OK &&
                 hn_expression_bind(parsed, &scope, err) == HN_OK;
    hn_expression_destroy(parsed);
    return holds;
}

/* YAML takes it for a text as it stands, within brackets too; what looks like a key, a comment or a
 * list does not. */
static bool is_plain(const char *string)
{
    if (!hn_is_letter_or_digit(string[0]) && string[0] != '(' && string[0] != '_')
        return false;
    for (const char *c = string; *c != '\0'; c++)
        if (!hn_is_letter_or_digit(*c) && strchr("_ +-*/%()<>=!.", *c) == NULL)
            return false;
    return string[strlen(string) - 1] != ' ';
}

static void append_escaped(struct hn_text *text, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            hn_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            hn_text_printf(text, "\\x%02x", (unsigned char)*c);
        else
            hn_text_append_bytes(text, c, 1);
    }
}

void hn_import_append_quoted(struct hn_text *text, const char *string, const char *rest)
{
    hn_text_append(text, "\"");
    append_escaped(text, string);
    append_escaped(text, rest);
    hn_text_append(text, "\"");
}

void hn_import_append(struct hn_text *text, const char *expression)
{
    if (is_plain(expression))
        hn_text_append(text, expression);
    else
        hn_import_append_quoted(text, expression, "");
}

void hn_import_append_comment(struct hn_import *import, const char *before, const char *found,
                              const char *behind)
{
    size_t length = 0;
    hn_text_append(&import->text, before);
    for (; found[length] != '\0' && length < 160; length++) {
        unsigned char c = (unsigned char)found[length];
        hn_text_printf(&import->text, "%c", c < 0x20 || c > 0x7e ? ' ' : c);
    }
    hn_text_append(&import->text, found[length] != '\0' ? "..." : "");
    hn_text_append(&import->text, behind);
}
