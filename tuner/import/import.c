/* SPDX-License-Identifier: MIT */
#include "tuner/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/schema.h"
#include "base/text.h"
#include "tuner/import/import_part.h"
#include "tuner/init/source_text.h"

static const size_t size_limit = 4u << 20;

/* What else other tuners write as JSON. */
static const char *hint_of(const json_t *root)
{
    bool results =
        json_object_get(root, "cache") != NULL || json_object_get(root, "results") != NULL;
    return results ? "; results of a tuning are for `hone cache import`" : "";
}

enum hn_status hn_import_load(const char *path, json_t **root, struct hn_error *err)
{
    json_error_t place;
    char *text;
    size_t size;
    *root = NULL;
    enum hn_status status = hn_file_read(path, size_limit, &text, &size, err);
    if (status != HN_OK)
        return status;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    free(text);
    if (*root == NULL)
        return hn_fail(err, HN_EFORMAT, "%s:%d:%d: %s", path, place.line, place.column, place.text);
    const json_t *parameters =
        json_object_get(json_object_get(*root, "ConfigurationSpace"), "TuningParameters");
    const json_t *kernel = json_object_get(*root, "KernelSpecification");
    if (json_array_size(parameters) > 0 && json_is_object(kernel))
        return HN_OK;
    status = hn_fail(
        err, HN_EFORMAT, "%s: found %s without %s; expected a tuning problem (T1 or CAFF)%s", path,
        hn_json_type_name(*root),
        json_is_object(kernel) ? "TuningParameters in ConfigurationSpace" : "KernelSpecification",
        hint_of(*root));
    json_decref(*root);
    *root = NULL;
    return status;
}

static const json_t *kernel_of(const json_t *root)
{
    return json_object_get(root, "KernelSpecification");
}

/* "ns::sum" of "ns::sum<float, 4>". */
static char *plain_name(const json_t *root)
{
    const char *name = hn_import_text(kernel_of(root), "KernelName");
    return strndup(name != NULL ? name : "", name != NULL ? strcspn(name, "<( ") : 0);
}

char *hn_import_kernel(const json_t *root)
{
    char *plain = plain_name(root);
    if (plain == NULL)
        return NULL;
    const char *scope = strrchr(plain, ':');
    const char *name = scope != NULL ? scope + 1 : plain;
    char *kernel = strdup(hn_text_is_word(name) ? name : "kernel");
    free(plain);
    return kernel;
}

static char *join(const char *a, const char *b, const char *c)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s%s%s", a, b, c);
    return hn_text_take(&text);
}

/* The kernel's file from the config's folder: in the file's folder or the one above it. *found: it
 * is there, and where. */
static char *find_source(const struct hn_import *import, char **found)
{
    static const char *const places[] = {"", "../"};
    const char *file = hn_import_text(import->kernel, "KernelFile");
    *found = NULL;
    if (file == NULL || file[0] == '\0')
        return strdup("TODO.cu");
    for (size_t i = 0; i < 2 && file[0] != '/'; i++) {
        char *part = join("/", places[i], file);
        char *path = part != NULL ? join(import->place->folder, part, "") : NULL;
        free(part);
        if (path != NULL && access(path, R_OK) == 0) {
            *found = path;
            return join(import->place->prefix, places[i], file);
        }
        free(path);
    }
    return join(file[0] == '/' ? "" : import->place->prefix, file, "");
}

/* Reads the source where it is there and can be read; where it can not, nothing is known of it. */
static enum hn_status read_source(struct hn_import *import, const char *path, const char *kernel,
                                  struct hn_error *err)
{
    struct hn_error reason;
    if (path == NULL)
        return HN_OK;
    enum hn_status status = hn_source_text_load(path, &import->source, &reason);
    if (status == HN_OK)
        status = hn_kernels_find(&import->source, &import->kernels, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(err);
    for (size_t i = 0; i < import->kernels.count && import->declared == NULL; i++)
        if (strcmp(import->kernels.items[i].name, kernel) == 0)
            import->declared = &import->kernels.items[i];
    return HN_OK;
}

/* How the kernel is asked for. */
static void write_entry(struct hn_import *import, const char *kernel)
{
    const char *name = hn_import_text(import->kernel, "KernelName");
    const struct hn_kernel *declared = import->declared;
    hn_text_append(&import->text, "entry: ");
    if (name != NULL && strchr(name, '<') != NULL) {
        hn_import_append_quoted(&import->text, name);
    } else if (declared != NULL && declared->parameter_count > 0) {
        struct hn_text entry = {0};
        hn_text_printf(&entry, "%s%s<>", declared->scope, kernel);
        char *text = hn_text_take(&entry);
        hn_import_append_quoted(&import->text, text != NULL ? text : "");
        free(text);
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
    hn_text_append(&import->text, "# Written by `hone init ");
    hn_import_append_comment(&import->text, import->place->path);
    hn_text_printf(&import->text,
                   "`. Lines marked TODO are what the file does not say.\n"
                   "# Every key is described in docs/config.md, other tuners' terms in "
                   "docs/from-kernel-tuner.md.\nhone: 1\nkernel: %s\n",
                   kernel);
    if (language != NULL && !hn_same_letters(language, "CUDA")) {
        hn_text_append(&import->text, "# TODO: the kernel has to be CUDA. The file says: ");
        hn_import_append_comment(&import->text, language);
        hn_text_append(&import->text, "\n");
    }
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

static enum hn_status collect_names(struct hn_import *import, struct hn_error *err)
{
    import->names =
        calloc(import->parameter_count + import->problem.count + 1, sizeof *import->names);
    if (import->names == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < import->parameter_count; i++)
        import->names[import->name_count++] = import->parameters[i].name;
    for (size_t i = 0; i < import->problem.count; i++)
        import->names[import->name_count++] = import->problem.names[i];
    return HN_OK;
}

static void finish(struct hn_import *import)
{
    for (size_t i = 0; i < import->parameter_count; i++)
        hn_value_list_finish(&import->parameters[i].list);
    free(import->parameters);
    free(import->names);
    hn_bindings_finish(&import->problem);
    hn_kernels_finish(&import->kernels);
    hn_source_text_finish(&import->source);
    hn_text_finish(&import->text);
}

static enum hn_status read_file(struct hn_import *import, const char *source, const char *kernel,
                                struct hn_error *err)
{
    enum hn_status status = read_source(import, source, kernel, err);
    if (status == HN_OK)
        status = hn_import_read_parameters(import, err);
    if (status == HN_OK)
        status = hn_import_read_problem(import, err);
    return status == HN_OK ? collect_names(import, err) : status;
}

enum hn_status hn_import_write(const json_t *root, const struct hn_import_place *place,
                               char **config, struct hn_error *err)
{
    struct hn_import import = {.space = json_object_get(root, "ConfigurationSpace"),
                               .kernel = kernel_of(root),
                               .place = place};
    char *source;
    char *kernel = hn_import_kernel(root);
    char *template = find_source(&import, &source);
    hn_bindings_init(&import.problem);
    hn_text_init(&import.text);
    enum hn_status status = kernel != NULL && template != NULL
                                ? read_file(&import, source, kernel, err)
                                : hn_fail_memory(err);
    if (status == HN_OK) {
        write_head(&import, kernel, template, source != NULL);
        write_problem(&import);
        hn_import_write_parameters(&import);
        hn_import_write_arguments(&import);
        hn_import_write_launch(&import);
        *config = hn_text_take(&import.text);
        status = *config != NULL ? HN_OK : hn_fail_memory(err);
    }
    free(kernel);
    free(template);
    free(source);
    finish(&import);
    return status;
}
