/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/data_file.h"
#include "runtime/plan/plan.h"

/* The data files of a plan, of which each problem may have its own. */

static const struct hn_value *find_problem_value(const struct hn_plan *plan, const char *name,
                                                 size_t length, const struct hn_value *values)
{
    bool given = false;
    for (size_t i = 0; i < plan->problem_count; i++)
        given = given || (strlen(plan->problem[i]) == length &&
                          strncmp(plan->problem[i], name, length) == 0);
    for (size_t i = 0; given && i < plan->name_count; i++)
        if (strlen(plan->names[i]) == length && strncmp(plan->names[i], name, length) == 0)
            return &values[i];
    return NULL;
}

enum hn_status hn_plan_data_path(const struct hn_plan *plan, const char *file,
                                 const struct hn_value *values, char **path, struct hn_error *err)
{
    struct hn_text text;
    const char *slash = strrchr(file, '/');
    const char *at = slash == NULL ? file : slash;
    enum hn_status status = HN_OK;
    *path = NULL;
    hn_text_init(&text);
    hn_text_append_bytes(&text, file, (size_t)(at - file));
    while (status == HN_OK && *at != '\0') {
        size_t before = strcspn(at, "{");
        hn_text_append_bytes(&text, at, before);
        at += before;
        if (*at == '\0')
            break;
        size_t length = strcspn(at + 1, "}");
        const struct hn_value *value = find_problem_value(plan, at + 1, length, values);
        if (at[1 + length] == '\0' || value == NULL) {
            status = hn_fail(err, HN_ECONFIG,
                             "data file %s: found '%.*s', expected the name of a problem value in "
                             "{}",
                             file, (int)(length < 60 ? length + 2 : 60), at);
            break;
        }
        hn_value_append(&text, value);
        at += length + 2;
    }
    if (status == HN_OK) {
        *path = hn_text_take(&text);
        status = *path == NULL ? hn_fail_memory(err) : HN_OK;
    }
    hn_text_finish(&text);
    return status;
}

static enum hn_status add_file(const struct hn_plan *plan, char **name,
                               const struct hn_value *values, struct hn_plan_files *files,
                               struct hn_error *err)
{
    struct hn_plan_file *items = realloc(files->items, (files->count + 1) * sizeof *items);
    if (items == NULL)
        return hn_fail_memory(err);
    files->items = items;
    items[files->count] = (struct hn_plan_file){name, NULL};
    return hn_plan_data_path(plan, *name, values, &items[files->count++].path, err);
}

enum hn_status hn_plan_list_files(const struct hn_plan *plan, const struct hn_bindings *problem,
                                  struct hn_plan_files *files, struct hn_error *err)
{
    struct hn_value *values = NULL;
    *files = (struct hn_plan_files){NULL, 0};
    enum hn_status status = hn_plan_values(plan, problem, &plan->defaults, &values, err);
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        if (plan->arguments[i].fill.file != NULL)
            status = add_file(plan, &plan->arguments[i].fill.file, values, files, err);
    for (size_t i = 0; i < plan->reference.file_count && status == HN_OK; i++)
        status = add_file(plan, &plan->reference.files[i].file, values, files, err);
    free(values);
    if (status != HN_OK)
        hn_plan_files_finish(files);
    return status;
}

void hn_plan_files_finish(struct hn_plan_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    *files = (struct hn_plan_files){NULL, 0};
}

enum hn_status hn_plan_add_data_hash(const struct hn_plan *plan, const struct hn_bindings *problem,
                                     struct hn_hash *hash, struct hn_error *err)
{
    struct hn_hash own;
    struct hn_plan_files files;
    enum hn_status status = hn_plan_list_files(plan, problem, &files, err);
    for (size_t i = 0; i < files.count && status == HN_OK; i++) {
        status = hn_data_file_hash(files.items[i].path, &own, err);
        if (status == HN_OK)
            *hash = hn_hash_join(hash, &own);
    }
    hn_plan_files_finish(&files);
    return status;
}
