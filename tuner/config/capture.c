/* SPDX-License-Identifier: MIT */
#include "tuner/config/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "cache/record/record.h"
#include "runtime/plan/capture_file.h"

struct hn_capture {
    char *path;
    FILE *stream;
    struct hn_capture_head head;
    struct hn_scratch folder; /* of what is unpacked; without a path there is none */
    size_t unpacked;
};

void hn_capture_close(struct hn_capture *capture)
{
    if (capture == NULL)
        return;
    if (capture->folder.path[0] != '\0')
        hn_scratch_remove(&capture->folder);
    if (capture->stream != NULL)
        fclose(capture->stream);
    hn_fields_finish(&hn_capture_structure, &capture->head);
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
        hn_fail(err, HN_ERUN, "'%s' cannot be read: %s", path, reason);
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
    const char *config = capture->head.config;
    if (config != NULL && access(config, R_OK) == 0) {
        *path = config;
        return HN_OK;
    }
    return hn_fail(err, HN_ECONFIG,
                   "'%s' is of config '%s', which cannot be read; name the config: hone tune "
                   "CONFIG --capture %s",
                   capture->path, config == NULL ? "" : config, capture->path);
}

/* An argument of the plan that `fits`; NULL: the capture does not belong to the config. */
static struct hn_argument *find_argument(const struct hn_capture *capture, struct hn_plan *plan,
                                         const char *name,
                                         bool (*fits)(const struct hn_argument *argument),
                                         struct hn_error *err)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (strcmp(plan->arguments[i].name, name) == 0 && fits(&plan->arguments[i]))
            return &plan->arguments[i];
    if (!hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "'%s' has an argument '%s' that does not fit the config: it was captured with "
                "another one",
                capture->path, name);
    return NULL;
}

static bool is_scalar(const struct hn_argument *argument)
{
    return argument->value != NULL;
}

static void set_scalars(const struct hn_capture *capture, struct hn_plan *plan,
                        struct hn_error *err)
{
    const struct hn_bindings *scalars = &capture->head.scalars;
    for (size_t i = 0; i < scalars->count && !hn_failed(err); i++) {
        struct hn_text text = {0};
        struct hn_argument *argument =
            find_argument(capture, plan, scalars->names[i], is_scalar, err);
        if (argument == NULL)
            return;
        hn_value_append(&text, &scalars->values[i]);
        hn_expression_destroy(argument->value);
        argument->value = NULL;
        hn_expression_parse(hn_needed(text.data), &argument->value, err);
        hn_text_finish(&text);
    }
}

static enum hn_status inflate_all(FILE *in, z_stream *stream, uint64_t packed, uint64_t bytes,
                                  FILE *out, unsigned char *room)
{
    int code = Z_OK;
    uint64_t unpacked = 0;
    while (code == Z_OK && unpacked <= bytes) {
        if (stream->avail_in == 0) {
            size_t size = packed < HN_CAPTURE_PIECE ? (size_t)packed : HN_CAPTURE_PIECE;
            stream->next_in = room;
            stream->avail_in = (uInt)fread(room, 1, size, in);
            packed -= stream->avail_in;
            if (stream->avail_in == 0)
                return HN_EFORMAT;
        }
        stream->next_out = room + HN_CAPTURE_PIECE;
        stream->avail_out = HN_CAPTURE_PIECE;
        code = inflate(stream, Z_NO_FLUSH);
        size_t made = HN_CAPTURE_PIECE - stream->avail_out;
        unpacked += made;
        if (fwrite(room + HN_CAPTURE_PIECE, 1, made, out) != made)
            return HN_ERUN;
    }
    return code == Z_STREAM_END && unpacked == bytes ? HN_OK : HN_EFORMAT;
}

/* One stream of the capture, into a file. */
static void unpack_part(const struct hn_capture *capture, const struct hn_capture_part *part,
                        const char *to, struct hn_error *err)
{
    z_stream inflating = {.next_in = NULL};
    unsigned char *room = hn_need(2, HN_CAPTURE_PIECE);
    FILE *out = fopen(to, "wbe");
    enum hn_status status = HN_ERUN;
    if (inflateInit(&inflating) != Z_OK)
        hn_needed(NULL);
    if (out != NULL && part->offset <= INT64_MAX &&
        fseek(capture->stream, (long)part->offset, SEEK_SET) == 0)
        status = inflate_all(capture->stream, &inflating, part->packed, part->bytes, out, room);
    inflateEnd(&inflating);
    free(room);
    if (out != NULL && fclose(out) != 0)
        status = HN_ERUN;
    if (status == HN_ERUN)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", to, strerror(errno));
    else if (status != HN_OK)
        hn_fail(err, HN_EFORMAT, "'%s' is damaged", capture->path);
}

/* The path of the file, which the capture removes. The caller frees it. */
static char *unpack(struct hn_capture *capture, const struct hn_capture_part *part,
                    struct hn_error *err)
{
    char *file = NULL;
    if (asprintf(&file, "%s/%zu-%s", capture->folder.path, capture->unpacked++, part->name) < 0)
        hn_needed(NULL);
    unpack_part(capture, part, file, err);
    return file;
}

static void set_inputs(struct hn_capture *capture, struct hn_plan *plan, struct hn_error *err)
{
    for (size_t i = 0; i < capture->head.input_count && !hn_failed(err); i++) {
        const struct hn_capture_part *part = &capture->head.inputs[i];
        struct hn_argument *argument =
            find_argument(capture, plan, part->name, hn_argument_is_filled, err);
        if (argument == NULL)
            return;
        hn_fields_finish(&hn_fill_structure, &argument->fill);
        argument->fill = (struct hn_fill){.kind = HN_FILL_FILE, .file = unpack(capture, part, err)};
    }
}

/* In place of the config's own, one of all that is compared. */
static void set_reference(struct hn_capture *capture, struct hn_plan *plan, struct hn_error *err)
{
    size_t compared = 0;
    if (capture->head.expected_count == 0 || hn_failed(err))
        return;
    hn_reference_finish(&plan->reference);
    for (size_t i = 0; i < capture->head.expected_count && !hn_failed(err); i++) {
        const struct hn_capture_part *part = &capture->head.expected[i];
        const struct hn_argument *argument =
            find_argument(capture, plan, part->name, hn_argument_is_compared, err);
        if (argument == NULL)
            return;
        char *file = unpack(capture, part, err);
        hn_reference_add_file(&plan->reference, (size_t)(argument - plan->arguments), file, err);
        free(file);
    }
    for (size_t i = 0; i < plan->argument_count; i++)
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
    const char *kernel = capture->head.kernel;
    if (strcmp(kernel, plan->kernel) != 0)
        return hn_fail(err, HN_ECONFIG, "'%s' is of kernel '%s', and %s is of '%s'", capture->path,
                       kernel, config->path, plan->kernel);
    hn_config_take_problem(config, &capture->head.problem, err);
    set_scalars(capture, plan, err);
    if (!hn_failed(err) && hn_scratch_make(&capture->folder, err) != HN_OK)
        capture->folder.path[0] = '\0';
    if (!hn_failed(err))
        set_inputs(capture, plan, err);
    set_reference(capture, plan, err);
    return hn_failed(err) ? err->status : hn_plan_bind(plan, NULL, err);
}
