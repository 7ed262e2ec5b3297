/* SPDX-License-Identifier: MIT */
#include "tuner/config/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
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
    struct hn_capture *made = hn_need(1, sizeof *made);
    const char *reason = NULL;
    hn_error_init(err);
    made->path = hn_need_copy(path);
    made->stream = hn_file_stream(path, &reason);
    if (made->stream == NULL)
        hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, reason);
    else
        hn_capture_read_head(made->stream, path, &made->head, err);
    if (hn_failed(err))
        hn_capture_close(made);
    else
        *capture = made;
    return err->status;
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

static void set_problem(const struct hn_capture *capture, struct hn_config *config,
                        struct hn_error *err)
{
    struct hn_bindings problem;
    hn_bindings_init(&problem);
    if (hn_bindings_from_json(json_object_get(capture->head, "problem"), &problem, err) == HN_OK)
        hn_config_take_problem(config, &problem, err);
    hn_bindings_finish(&problem);
}

/* An argument of the plan that `fits`; NULL: the capture does not belong to the config. */
static struct hn_argument *find_argument(const struct hn_capture *capture, struct hn_plan *plan,
                                         const char *name,
                                         bool (*fits)(const struct hn_argument *argument),
                                         struct hn_error *err)
{
    for (size_t i = 0; name != NULL && i < plan->argument_count; i++)
        if (strcmp(plan->arguments[i].name, name) == 0 && fits(&plan->arguments[i]))
            return &plan->arguments[i];
    if (!hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "'%s' has an argument '%s' that does not fit the config: it was captured with "
                "another one",
                capture->path, name == NULL ? "" : name);
    return NULL;
}

static bool is_scalar(const struct hn_argument *argument)
{
    return argument->value != NULL;
}

static void set_scalars(const struct hn_capture *capture, struct hn_plan *plan,
                        struct hn_error *err)
{
    const char *name;
    json_t *json;
    json_object_foreach(json_object_get(capture->head, "scalars"), name, json)
    {
        struct hn_value value;
        struct hn_text text;
        struct hn_argument *argument = find_argument(capture, plan, name, is_scalar, err);
        if (hn_failed(err) || hn_value_from_json(json, &value, err) != HN_OK)
            return;
        hn_text_init(&text);
        hn_value_append(&text, &value);
        hn_expression_destroy(argument->value);
        argument->value = NULL;
        hn_expression_parse(hn_needed(text.data), &argument->value, err);
        hn_text_finish(&text);
    }
}

static void make_folder(struct hn_capture *capture, struct hn_error *err)
{
    const char *base = getenv("TMPDIR");
    size_t most = json_array_size(json_object_get(capture->head, "inputs")) +
                  json_array_size(json_object_get(capture->head, "expected"));
    if (hn_failed(err))
        return;
    capture->files = hn_need(most, sizeof *capture->files);
    if (asprintf(&capture->folder, "%s/hone-capture-XXXXXX",
                 base != NULL && base[0] != '\0' ? base : "/tmp") < 0)
        hn_needed(NULL);
    if (mkdtemp(capture->folder) != NULL)
        return;
    hn_fail(err, HN_ERUN, "'%s' can not be made: %s", capture->folder, strerror(errno));
    free(capture->folder);
    capture->folder = NULL;
}

/* The file, which the capture removes. */
static const char *unpack(struct hn_capture *capture, const json_t *item, struct hn_error *err)
{
    json_int_t offset = json_integer_value(json_object_get(item, "offset"));
    json_int_t packed = json_integer_value(json_object_get(item, "packed"));
    json_int_t bytes = json_integer_value(json_object_get(item, "bytes"));
    char *file = NULL;
    if (asprintf(&file, "%s/%zu-%s", capture->folder, capture->file_count,
                 json_string_value(json_object_get(item, "name"))) < 0)
        hn_needed(NULL);
    capture->files[capture->file_count++] = file;
    hn_capture_unpack(capture->stream, capture->path, (uint64_t)offset, (uint64_t)packed,
                      (uint64_t)bytes, file, err);
    return file;
}

static void set_inputs(struct hn_capture *capture, struct hn_plan *plan, struct hn_error *err)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(capture->head, "inputs"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        struct hn_argument *argument =
            find_argument(capture, plan, name, hn_argument_is_filled, err);
        if (hn_failed(err))
            return;
        const char *file = unpack(capture, item, err);
        hn_fields_finish(&hn_fill_structure, &argument->fill);
        argument->fill = (struct hn_fill){.kind = HN_FILL_FILE, .file = hn_need_copy(file)};
    }
}

/* In place of the config's own, one of all that is compared. */
static void set_reference(struct hn_capture *capture, struct hn_plan *plan, struct hn_error *err)
{
    const json_t *expected = json_object_get(capture->head, "expected");
    size_t i, compared = 0;
    json_t *item;
    if (json_array_size(expected) == 0 || hn_failed(err))
        return;
    hn_reference_finish(&plan->reference);
    json_array_foreach(expected, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const struct hn_argument *argument =
            find_argument(capture, plan, name, hn_argument_is_compared, err);
        if (hn_failed(err))
            return;
        const char *file = unpack(capture, item, err);
        if (!hn_failed(err))
            hn_reference_add_file(&plan->reference, (size_t)(argument - plan->arguments), file,
                                  err);
    }
    for (i = 0; i < plan->argument_count; i++)
        compared += hn_argument_is_compared(&plan->arguments[i]);
    if (!hn_failed(err) && plan->reference.file_count != compared)
        hn_fail(err, HN_ECONFIG,
                "'%s' has %zu of the %zu results that the config compares: it was captured "
                "with another one",
                capture->path, plan->reference.file_count, compared);
}

enum hn_status hn_capture_apply(struct hn_capture *capture, struct hn_config *config,
                                struct hn_error *err)
{
    struct hn_plan *plan = config->plan;
    const char *kernel = json_string_value(json_object_get(capture->head, "kernel"));
    if (strcmp(kernel, plan->kernel) != 0)
        return hn_fail(err, HN_ECONFIG, "'%s' is of kernel '%s', and %s is of '%s'", capture->path,
                       kernel, config->path, plan->kernel);
    hn_error_init(err);
    set_problem(capture, config, err);
    set_scalars(capture, plan, err);
    make_folder(capture, err);
    if (!hn_failed(err))
        set_inputs(capture, plan, err);
    set_reference(capture, plan, err);
    return hn_failed(err) ? err->status : hn_plan_bind(plan, NULL, err);
}
