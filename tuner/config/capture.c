/* SPDX-License-Identifier: MIT */
#include "tuner/config/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_file.h"
#include "cache/record/record_json.h"
#include "runtime/plan/capture_file.h"

struct hn_capture {
    char *path;
    FILE *stream;
    json_t *head;
    char *folder; /* of what is unpacked; NULL: nothing is */
    char **files;
    size_t file_count;
};

void hn_capture_close(struct hn_capture *capture)
{
    if (capture == NULL)
        return;
    for (size_t i = 0; i < capture->file_count; i++) {
        unlink(capture->files[i]);
        free(capture->files[i]);
    }
    if (capture->folder != NULL)
        rmdir(capture->folder);
    if (capture->stream != NULL)
        fclose(capture->stream);
    json_decref(capture->head);
    free(capture->files);
    free(capture->folder);
    free(capture->path);
    free(capture);
}

enum hn_status hn_capture_open(const char *path, struct hn_capture **capture, struct hn_error *err)
{
    struct hn_capture *made = calloc(1, sizeof *made);
    if (made == NULL || (made->path = strdup(path)) == NULL) {
        free(made);
        return hn_fail_memory(err);
    }
    enum hn_status status = HN_OK;
    const char *reason = NULL;
    made->stream = hn_plain_file_stream(path, &reason);
    if (made->stream == NULL)
        status = hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, reason);
    if (status == HN_OK)
        status = hn_capture_read_head(made->stream, path, &made->head, err);
    if (status == HN_OK)
        *capture = made;
    else
        hn_capture_close(made);
    return status;
}

enum hn_status hn_capture_config(const struct hn_capture *capture, const char **path,
                                 struct hn_error *err)
{
    const char *config = json_string_value(json_object_get(capture->head, "config"));
    if (config != NULL && access(config, R_OK) == 0) {
        *path = config;
        return HN_OK;
    }
    return hn_fail(err, HN_ECONFIG,
                   "'%s' is of config '%s', which can not be read; name the config: hone tune "
                   "CONFIG --capture %s",
                   capture->path, config == NULL ? "" : config, capture->path);
}

static enum hn_status set_problem(const struct hn_capture *capture, struct hn_config *config,
                                  struct hn_error *err)
{
    struct hn_bindings problem;
    hn_bindings_init(&problem);
    enum hn_status status =
        hn_bindings_from_json(json_object_get(capture->head, "problem"), &problem, err);
    if (status == HN_OK)
        status = hn_config_take_problem(config, &problem, err);
    hn_bindings_finish(&problem);
    return status;
}

static enum hn_status fail_argument(const struct hn_capture *capture, const char *name,
                                    struct hn_error *err)
{
    return hn_fail(err, HN_ECONFIG,
                   "'%s' has an argument '%s' that does not fit the config: it was captured with "
                   "another one",
                   capture->path, name == NULL ? "" : name);
}

/* An argument of the plan, which belongs to the caller. */
static struct hn_argument *find_argument(struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; name != NULL && i < plan->argument_count; i++)
        if (strcmp(plan->arguments[i].name, name) == 0)
            return &plan->arguments[i];
    return NULL;
}

static enum hn_status set_scalars(const struct hn_capture *capture, struct hn_plan *plan,
                                  struct hn_error *err)
{
    const char *name;
    json_t *json;
    enum hn_status status = HN_OK;
    json_object_foreach(json_object_get(capture->head, "scalars"), name, json)
    {
        struct hn_value value;
        struct hn_text text;
        struct hn_argument *argument = find_argument(plan, name);
        if (status != HN_OK)
            break;
        if (argument == NULL || argument->value == NULL)
            return fail_argument(capture, name, err);
        status = hn_value_from_json(json, &value, err);
        if (status != HN_OK)
            break;
        hn_text_init(&text);
        hn_value_append(&text, &value);
        hn_expression_destroy(argument->value);
        argument->value = NULL;
        status = text.failed ? hn_fail_memory(err)
                             : hn_expression_parse(text.data, &argument->value, err);
        hn_text_finish(&text);
    }
    return status;
}

static enum hn_status make_folder(struct hn_capture *capture, struct hn_error *err)
{
    const char *base = getenv("TMPDIR");
    size_t most = json_array_size(json_object_get(capture->head, "inputs")) +
                  json_array_size(json_object_get(capture->head, "expected")) + 1;
    capture->files = calloc(most, sizeof *capture->files);
    if (capture->files == NULL || asprintf(&capture->folder, "%s/hone-capture-XXXXXX",
                                           base != NULL && base[0] != '\0' ? base : "/tmp") < 0) {
        capture->folder = NULL;
        return hn_fail_memory(err);
    }
    if (mkdtemp(capture->folder) != NULL)
        return HN_OK;
    enum hn_status status =
        hn_fail(err, HN_ERUN, "'%s' can not be made: %s", capture->folder, strerror(errno));
    free(capture->folder);
    capture->folder = NULL;
    return status;
}

/* NULL when out of memory. The capture removes the file. */
static char *name_file(struct hn_capture *capture, const char *name)
{
    char *file = NULL;
    if (asprintf(&file, "%s/%zu-%s", capture->folder, capture->file_count, name) < 0)
        return NULL;
    capture->files[capture->file_count++] = file;
    return file;
}

static enum hn_status unpack(struct hn_capture *capture, const json_t *item, char **file,
                             uint64_t *bytes, struct hn_error *err)
{
    json_int_t offset = json_integer_value(json_object_get(item, "offset"));
    json_int_t packed = json_integer_value(json_object_get(item, "packed"));
    json_int_t size = json_integer_value(json_object_get(item, "bytes"));
    *bytes = (uint64_t)size;
    *file = name_file(capture, json_string_value(json_object_get(item, "name")));
    if (*file == NULL)
        return hn_fail_memory(err);
    return hn_capture_unpack(capture->stream, capture->path, (uint64_t)offset, (uint64_t)packed,
                             *bytes, *file, err);
}

static enum hn_status set_input(struct hn_capture *capture, const json_t *item,
                                struct hn_plan *plan, struct hn_error *err)
{
    uint64_t bytes = 0;
    char *file = NULL;
    const char *name = json_string_value(json_object_get(item, "name"));
    struct hn_argument *argument = find_argument(plan, name);
    if (argument == NULL || !hn_argument_is_filled(argument))
        return fail_argument(capture, name, err);
    enum hn_status status = unpack(capture, item, &file, &bytes, err);
    if (status != HN_OK)
        return status;
    hn_fields_finish(&hn_fill_structure, &argument->fill);
    argument->fill = (struct hn_fill){.kind = HN_FILL_FILE, .file = strdup(file)};
    return argument->fill.file == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status set_expected(struct hn_capture *capture, const json_t *item,
                                   struct hn_plan *plan, struct hn_error *err)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const struct hn_argument *argument = find_argument(plan, name);
    uint64_t bytes = 0;
    char *file = NULL;
    if (argument == NULL || !hn_argument_is_compared(argument))
        return fail_argument(capture, name, err);
    enum hn_status status = unpack(capture, item, &file, &bytes, err);
    return status == HN_OK ? hn_reference_add_file(&plan->reference,
                                                   (size_t)(argument - plan->arguments), file, err)
                           : status;
}

/* In place of the config's own, one of all that is compared. */
static enum hn_status set_reference(struct hn_capture *capture, const json_t *expected,
                                    struct hn_plan *plan, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (json_array_size(expected) == 0)
        return HN_OK;
    hn_reference_finish(&plan->reference);
    for (size_t i = 0; status == HN_OK && i < json_array_size(expected); i++)
        status = set_expected(capture, json_array_get(expected, i), plan, err);
    size_t compared = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        compared += hn_argument_is_compared(&plan->arguments[i]);
    if (status == HN_OK && plan->reference.file_count != compared)
        status =
            hn_fail(err, HN_ECONFIG,
                    "'%s' has %zu of the %zu results that the config compares: it was captured "
                    "with another one",
                    capture->path, plan->reference.file_count, compared);
    return status;
}

enum hn_status hn_capture_apply(struct hn_capture *capture, struct hn_config *config,
                                struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    const char *kernel = json_string_value(json_object_get(capture->head, "kernel"));
    const json_t *inputs = json_object_get(capture->head, "inputs");
    const json_t *expected = json_object_get(capture->head, "expected");
    if (strcmp(kernel, plan->kernel) != 0)
        return hn_fail(err, HN_ECONFIG, "'%s' is of kernel '%s', and %s is of '%s'", capture->path,
                       kernel, config->path, plan->kernel);
    enum hn_status status = set_problem(capture, config, err);
    if (status == HN_OK)
        status = set_scalars(capture, plan, err);
    if (status == HN_OK)
        status = make_folder(capture, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(inputs); i++)
        status = set_input(capture, json_array_get(inputs, i), plan, err);
    if (status == HN_OK)
        status = set_reference(capture, expected, plan, err);
    return status == HN_OK ? hn_plan_bind(plan, NULL, err) : status;
}
