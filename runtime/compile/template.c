/* SPDX-License-Identifier: MIT */
#include "runtime/compile/template.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/plan/option_list.h"
#include "runtime/plan/plan.h"

enum { FILE_LIMIT = 16 << 20, INCLUDE_LIMIT = 256 };

struct loader {
    struct hn_template *template;
    const struct hn_plan *plan; /* NULL: not known */
    bool program;               /* its compiler may find other includes than these */
    char **paths;               /* where files[i] was found */
    bool uses[HN_HOST_HEADER_COUNT];
};

/* What is not UTF-8 can be neither kept in a cache nor sent to a worker. */
static void read_text(const char *path, struct hn_text_file *file, struct hn_error *err)
{
    struct hn_error reason;
    if (hn_failed(err))
        return;
    enum hn_status status = hn_file_read(path, FILE_LIMIT, &file->text, NULL, &reason);
    const char *wrong = status == HN_OK ? hn_text_find_not_utf8(file->text) : NULL;
    int line = 1;
    for (const char *at = file->text; wrong != NULL && at < wrong; at++)
        line += *at == '\n';
    if (status != HN_OK)
        hn_fail(err, status == HN_ERUN ? HN_ECONFIG : status, "template: %.3000s", reason.message);
    else if (hn_text_find_not_utf8(path) != NULL)
        hn_fail(err, HN_ECONFIG, "the path '%s' is not UTF-8; rename the folder or the file", path);
    else if (wrong != NULL)
        hn_fail(err, HN_ECONFIG,
                "%s:%d: found byte 0x%02x, expected text in UTF-8; save it as such", path, line,
                (unsigned char)*wrong);
}

/* The compiler is given each include under its name alone, so that none can stand for two files. */
static void add_found(struct loader *loader, const char *file, int line, const char *name,
                      const char *path, struct hn_error *err)
{
    struct hn_template *template = loader->template;
    size_t known = hn_template_find(template, name, strlen(name)), number = template->file_count;
    if (loader->program && (known > 0 || number > INCLUDE_LIMIT))
        return;
    if (known > 0 && strcmp(loader->paths[known], path) != 0)
        hn_fail(err, HN_ECONFIG,
                "%s:%d: \"%s\" is %s here, but %s for another file; give them different names",
                file, line, name, path, loader->paths[known]);
    else if (known == 0 && number > INCLUDE_LIMIT)
        hn_fail(err, HN_ECONFIG, "%s:%d: more than %d quoted includes", file, line, INCLUDE_LIMIT);
    if (known > 0 || hn_failed(err))
        return;
    template->file_count++;
    struct hn_text_file *include = &template->files[number];
    include->name = hn_copy_string(name, err);
    loader->paths[number] = hn_copy_string(path, err);
    read_text(path, include, err);
}

/* "" where it cannot be read: the compiler says so. What is no text stands as its hash. */
static char *read_other(const char *path, struct hn_error *err)
{
    char *text;
    size_t size;
    if (hn_file_read(path, FILE_LIMIT, &text, &size, NULL) != HN_OK)
        return hn_copy_string("", err);
    if (strlen(text) == size)
        return text;
    struct hn_hash hash = hn_hash_bytes(text, size);
    free(text);
    return hn_copy_string(hash.hex, err);
}

static void add_other(struct hn_template *template, const char *path, struct hn_error *err)
{
    HN_EACH_OF(other, template->others, template->other_count) {
        if (strcmp(other->name, path) == 0)
            return;
    }
    if (hn_make_room(&template->others, template->other_count, sizeof *template->others, err))
        template->others[template->other_count++] =
            (struct hn_text_file){.name = hn_copy_string(path, err)};
}

/* A file in a folder, which may be relative to that of another file. */
static bool is_there(const char *file, const char *folder, const char *name, char real[PATH_MAX])
{
    char path[2 * PATH_MAX];
    int length = *folder == '/' || file == NULL ? 0 : (int)(basename(file) - file);
    snprintf(path, sizeof path, "%.*s%s/%s", length, length > 0 ? file : "", folder, name);
    return realpath(*name == '/' ? name : path, real) != NULL && !hn_is_folder(real);
}

static bool is_in_folder(const struct hn_plan *plan, const char *name, char real[PATH_MAX])
{
    bool found = false;
    for (size_t i = 0; plan != NULL && i < plan->option_count && !found; i++) {
        const char *folder = hn_option_value(plan->options[i].text, "include-path");
        found = folder != NULL && is_there(plan->config, folder, name, real);
    }
    return found;
}

/* One that is not there may be for others who compile the file: the compiler says whether it is
 * needed. */
static void add_include(struct loader *loader, const char *file, bool given,
                        const struct hn_include *include, struct hn_error *err)
{
    char real[PATH_MAX];
    char *name HN_FREED = strndup(include->name, include->length);
    int folder = *include->name != '/' ? (int)(basename(file) - file) : 0;
    bool beside = name != NULL && include->quoted && is_there(file, ".", name, real);
    const struct hn_host_header *header = hn_host_header_find(include->name, include->length);
    if (name == NULL)
        hn_fail_memory(err);
    else if (beside && given)
        add_found(loader, file, include->line, name, real, err);
    else if (beside || is_in_folder(loader->plan, name, real))
        add_other(loader->template, real, err);
    else if (header != NULL && (include->quoted || !include->host))
        hn_host_header_use(header, loader->uses);
    else if (given && include->quoted && !include->conditional && !loader->program)
        hn_fail(err, HN_ECONFIG,
                "%s:%d: include \"%s\" was not found: no file %.*s%s, nor in a folder of -I "
                "(headers of the CUDA toolkit are included with <>)",
                file, include->line, name, folder, file, name);
}

static void scan(struct loader *loader, const char *file, const char *text, bool given,
                 struct hn_error *err)
{
    const struct hn_template *template = loader->template;
    struct hn_include_scan lines = {
        .next = text, .macros = template->files, .text_count = template->file_count};
    struct hn_include include;
    while (!hn_failed(err) && hn_include_next(&lines, &include))
        add_include(loader, file, given, &include, err);
}

static void add_control(const char *path, void *loader, struct hn_error *err)
{
    add_other(((struct loader *)loader)->template, path, err);
}

/* The control files of all values: those of the folder that end as the name does. */
static void add_controls(struct loader *loader, const char *name, struct hn_error *err)
{
    const char *config = loader->plan->config != NULL ? loader->plan->config : "";
    const char *hole = strchr(name, '{'), *file = hole != NULL ? basename(name) : strchr(name, 0);
    const char *const ends[] = {hole != NULL ? strrchr(name, '}') + 1 : NULL, NULL};
    int folder = *name != '/' ? (int)(basename(config) - config) : 0;
    char path[2 * PATH_MAX];
    if (hole != NULL && hole < file)
        hn_fail(err, HN_ECONFIG, "control file '%s': a '/' stands behind a value", name);
    snprintf(path, sizeof path, "%.*s%.*s", folder, config, (int)(file - name), name);
    hn_files_visit(path, ends, add_control, loader, err);
}

/* The texts of -D, whose macros #include lines may name, and control files. */
static void scan_options(struct loader *loader, struct hn_error *err)
{
    const struct hn_plan *plan = loader->plan;
    for (size_t i = 0; plan != NULL && i < plan->option_count && !hn_failed(err); i++) {
        const char *macro = hn_option_value(plan->options[i].text, "define-macro");
        const char *controls = hn_option_value(plan->options[i].text, HN_OPTION_CONTROLS);
        struct hn_text text = {0};
        size_t length = macro != NULL ? hn_word_length(macro) : 0;
        if (controls != NULL)
            add_controls(loader, controls, err);
        if (macro == NULL || macro[length] != '=')
            continue;
        hn_text_printf(&text, "#define %.*s %s", (int)length, macro, macro + length + 1);
        char *line HN_FREED = hn_made(hn_text_take(&text), err);
        if (line != NULL)
            scan(loader, loader->paths[0], line, true, err);
    }
}

static void hash(struct loader *loader, struct hn_error *err)
{
    struct hn_template *template = loader->template;
    struct hn_text all HN_ENDED_BY(hn_text_finish) = {0};
    if (hn_failed(err))
        return;
    for (size_t i = 0; i < template->file_count; i++) {
        const struct hn_text_file *one = &template->files[i];
        if (i > 0)
            hn_text_append_bytes(&all, one->name, strlen(one->name) + 1);
        hn_text_append_bytes(&all, one->text, strlen(one->text) + 1);
    }
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++)
        if (loader->uses[i])
            hn_text_printf(&all, "<%s>\n%s", hn_host_headers[i].name, hn_host_headers[i].text);
    HN_EACH_OF(other, template->others, template->other_count)
        hn_text_printf(&all, "<>\n%s", other->text);
    if (all.failed)
        hn_fail_memory(err);
    else
        template->hash = hn_hash_bytes(all.data, all.length);
}

static void load(const char *path, struct loader *loader, struct hn_error *err)
{
    struct hn_template *template = loader->template;
    struct hn_text_file *own = &template->files[template->file_count++];
    own->name = realpath(path, NULL);
    if (own->name == NULL) {
        hn_fail(err, HN_ECONFIG, "template %s: %s", path, strerror(errno));
        return;
    }
    read_text(own->name, own, err);
    loader->paths[0] = hn_copy_string(own->name, err);
    for (size_t i = 0; i < template->file_count; i++) {
        scan(loader, loader->paths[i], template->files[i].text, true, err);
        if (i + 1 == template->file_count)
            scan_options(loader, err);
    }
    for (size_t i = 0; i < template->other_count && !hn_failed(err); i++) {
        struct hn_text_file *other = &template->others[i];
        other->text = read_other(other->name, err);
        scan(loader, other->name, other->text, false, err);
    }
    hash(loader, err);
}

enum hn_status hn_template_load(const char *path, struct hn_template *template,
                                const struct hn_plan *plan, struct hn_error *err)
{
    struct hn_error own;
    struct loader loader = {
        .template = template, .plan = plan, .program = plan != NULL && plan->program != NULL};
    err = hn_error_begin(err, &own);
    *template = (struct hn_template){.files = NULL};
    template->files = hn_allocate(INCLUDE_LIMIT + 1, sizeof *template->files, err);
    loader.paths = hn_allocate(INCLUDE_LIMIT + 1, sizeof *loader.paths, err);
    if (!hn_failed(err))
        load(path, &loader, err);
    HN_FREE_EACH(one, loader.paths, template->file_count, free(*one));
    if (hn_failed(err))
        hn_template_finish(template);
    return err->status;
}

size_t hn_template_find(const struct hn_template *template, const char *name, size_t length)
{
    for (size_t i = 1; i < template->file_count; i++)
        if (strlen(template->files[i].name) == length &&
            strncmp(template->files[i].name, name, length) == 0)
            return i;
    return 0;
}

void hn_template_check(const struct hn_template *template, const struct hn_plan *plan,
                       struct hn_error *err)
{
    const char *changed = NULL;
    struct hn_template now HN_ENDED_BY(hn_template_finish) = {.files = NULL};
    for (size_t i = 0; !hn_failed(err) && changed == NULL && i < template->other_count; i++) {
        const struct hn_text_file *other = &template->others[i];
        char *text HN_FREED = read_other(other->name, err);
        changed = text != NULL && strcmp(text, other->text) != 0 ? other->name : NULL;
    }
    /* A program's compiler reads all. */
    if (!hn_failed(err) && changed == NULL && plan->program != NULL && template->files != NULL &&
        (hn_template_load(template->files->name, &now, plan, NULL) != HN_OK ||
         strcmp(now.hash.hex, template->hash.hex) != 0))
        changed = template->files->name;
    if (changed != NULL)
        hn_fail(err, HN_ERUN, "%s changed while variants were compiled from it; run again",
                changed);
}

void hn_template_finish(struct hn_template *template)
{
    HN_FREE_EACH(file, template->files, template->file_count,
                 hn_fields_finish(&hn_text_file_structure, file));
    HN_FREE_EACH(file, template->others, template->other_count,
                 hn_fields_finish(&hn_text_file_structure, file));
    *template = (struct hn_template){.files = NULL};
}

#define X(file, name, fallback) extern const char hn_header_##file[];
HN_HOST_HEADERS(X)
#undef X

const struct hn_host_header hn_host_headers[HN_HOST_HEADER_COUNT] = {
#define X(file, name, fallback) {name, hn_header_##file, fallback},
    HN_HOST_HEADERS(X)
#undef X
};

const struct hn_host_header *hn_host_header_find(const char *name, size_t length)
{
    HN_EACH_OF(header, hn_host_headers, HN_HOST_HEADER_COUNT) {
        if (strlen(header->name) == length && strncmp(header->name, name, length) == 0)
            return header;
    }
    return NULL;
}

bool hn_host_header_use(const struct hn_host_header *header, bool uses[HN_HOST_HEADER_COUNT])
{
    struct hn_include_scan lines = {.next = header->text};
    struct hn_include include;
    bool *own = &uses[header - hn_host_headers], known = *own;
    *own = true;
    while (!known && *own && hn_include_next(&lines, &include)) {
        const struct hn_host_header *next = hn_host_header_find(include.name, include.length);
        *own = next != NULL && hn_host_header_use(next, uses);
    }
    return *own;
}

/* Names of C++'s headers have no dot, and no folder as those of CUDA; C's lie where the host's
 * compiler looks. */
bool hn_is_header_of_host(const char *name, size_t length)
{
    char path[512];
    if (memchr(name, '.', length) == NULL)
        return memchr(name, '/', length) == NULL;
    snprintf(path, sizeof path, "/usr/include/%.*s", (int)length, name);
    return access(path, F_OK) == 0;
}
