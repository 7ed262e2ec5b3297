/* SPDX-License-Identifier: MIT */
#include "runtime/plan/capture_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"

static enum hn_status write_bytes(struct hn_capture_file *file, const void *bytes, size_t size,
                                  struct hn_error *err)
{
    if (fwrite(bytes, 1, size, file->stream) != size)
        return hn_fail(err, HN_ERUN, "'%s' can not be written: %s", file->temporary,
                       strerror(errno));
    file->written += size;
    return HN_OK;
}

enum hn_status hn_capture_create(const char *path, struct hn_capture_file *file,
                                 struct hn_error *err)
{
    *file = (struct hn_capture_file){.path = strdup(path)};
    if (file->path == NULL || asprintf(&file->temporary, "%s.%ld", path, (long)getpid()) < 0) {
        file->temporary = NULL;
        return hn_fail_memory(err);
    }
    file->stream = fopen(file->temporary, "wbe");
    if (file->stream == NULL)
        return hn_fail(err, HN_ERUN, "'%s' can not be written: %s", file->temporary,
                       strerror(errno));
    return write_bytes(file, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
}

static enum hn_status pack_piece(struct hn_capture_file *file, z_stream *stream, int flush,
                                 unsigned char *room, size_t size, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    do {
        stream->next_out = room;
        stream->avail_out = (uInt)size;
        if (deflate(stream, flush) == Z_STREAM_ERROR)
            return hn_fail(err, HN_ERUN, "zlib can not pack");
        status = write_bytes(file, room, size - stream->avail_out, err);
    } while (status == HN_OK && stream->avail_out == 0);
    return status;
}

enum hn_status hn_capture_pack(struct hn_capture_file *file, uint64_t bytes, hn_capture_read *read,
                               void *from, uint64_t *packed, struct hn_error *err)
{
    z_stream stream = {.next_in = NULL};
    uint64_t before = file->written;
    unsigned char *piece = malloc(2 * (size_t)HN_CAPTURE_PIECE);
    if (piece == NULL || deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        free(piece);
        return hn_fail_memory(err);
    }
    enum hn_status status = HN_OK;
    for (uint64_t at = 0; status == HN_OK && at < bytes;) {
        uint64_t left = bytes - at;
        size_t size = left < HN_CAPTURE_PIECE ? (size_t)left : HN_CAPTURE_PIECE;
        status = read(from, at, piece, size, err);
        at += size;
        stream.next_in = piece;
        stream.avail_in = (uInt)size;
        if (status == HN_OK)
            status = pack_piece(file, &stream, at == bytes ? Z_FINISH : Z_NO_FLUSH,
                                piece + HN_CAPTURE_PIECE, HN_CAPTURE_PIECE, err);
    }
    deflateEnd(&stream);
    free(piece);
    *packed = file->written - before;
    return status;
}

enum hn_status hn_capture_commit(struct hn_capture_file *file, const json_t *head,
                                 struct hn_error *err)
{
    char *text = head == NULL ? NULL : json_dumps(head, JSON_COMPACT);
    if (text == NULL)
        return hn_fail_memory(err);
    uint64_t size = strlen(text);
    enum hn_status status = write_bytes(file, text, size, err);
    if (status == HN_OK)
        status = write_bytes(file, &size, sizeof size, err);
    if (status == HN_OK)
        status = write_bytes(file, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
    free(text);
    int closed = fclose(file->stream);
    file->stream = NULL;
    if (status == HN_OK && (closed != 0 || rename(file->temporary, file->path) != 0))
        return hn_fail(err, HN_ERUN, "'%s' can not be written: %s", file->path, strerror(errno));
    return status;
}

void hn_capture_abandon(struct hn_capture_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    if (file->temporary != NULL)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (struct hn_capture_file){.stream = NULL};
}

static enum hn_status unpack(FILE *in, z_stream *stream, uint64_t packed, uint64_t bytes, FILE *out,
                             unsigned char *room)
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

enum hn_status hn_capture_unpack(FILE *stream, const char *path, uint64_t offset, uint64_t packed,
                                 uint64_t bytes, const char *to, struct hn_error *err)
{
    z_stream inflating = {.next_in = NULL};
    unsigned char *room = malloc(2 * (size_t)HN_CAPTURE_PIECE);
    FILE *out = fopen(to, "wbe");
    enum hn_status status = HN_ERUN;
    if (room == NULL || inflateInit(&inflating) != Z_OK)
        status = HN_ENOMEM;
    else if (out != NULL && offset <= INT64_MAX && fseek(stream, (long)offset, SEEK_SET) == 0)
        status = unpack(stream, &inflating, packed, bytes, out, room);
    inflateEnd(&inflating);
    free(room);
    if (out != NULL && fclose(out) != 0)
        status = HN_ERUN;
    if (status == HN_ENOMEM)
        return hn_fail_memory(err);
    if (status == HN_ERUN)
        return hn_fail(err, HN_ERUN, "'%s' can not be written: %s", to, strerror(errno));
    return status == HN_OK ? HN_OK : hn_fail(err, HN_EFORMAT, "'%s' is damaged", path);
}

/* The gate of captures: behind it names are words, numbers can be what they say, and each part lies
 * in the file. */

/* A JSON object larger than this is none of ours; nor has a launch more parts. */
static const uint64_t MAX_HEAD = 64u << 20;
enum { PARTS_MOST = 1024, PROBLEM_MOST = 1024 };
/* zlib makes at most so many bytes of one. */
static const json_int_t inflation = 1032;

static enum hn_status read_text(FILE *stream, const char *path, char **text, size_t *size,
                                struct hn_error *err)
{
    char magic[sizeof HN_CAPTURE_MAGIC] = "";
    const long tail = (long)(sizeof(uint64_t) + strlen(HN_CAPTURE_MAGIC));
    uint64_t length = 0;
    if (fseek(stream, -tail, SEEK_END) != 0 || fread(&length, sizeof length, 1, stream) != 1 ||
        fread(magic, strlen(HN_CAPTURE_MAGIC), 1, stream) != 1 ||
        strcmp(magic, HN_CAPTURE_MAGIC) != 0)
        return hn_fail(err, HN_EFORMAT, "'%s' is no capture of libhone, or is truncated", path);
    long end = ftell(stream) - tail;
    if (length > MAX_HEAD || end < (long)length)
        return hn_fail(err, HN_EFORMAT, "'%s' is damaged: its description has %llu bytes", path,
                       (unsigned long long)length);
    *text = malloc((size_t)length + 1);
    if (*text == NULL)
        return hn_fail_memory(err);
    *size = (size_t)length;
    if (fseek(stream, end - (long)length, SEEK_SET) != 0 || fread(*text, 1, *size, stream) != *size)
        return hn_fail(err, HN_EFORMAT, "'%s' is damaged: it can not be read", path);
    return HN_OK;
}

static enum hn_status check_format(const json_t *head, const char *path, struct hn_error *err)
{
    const json_t *format = json_object_get(head, "format");
    if (!json_is_integer(format) || json_integer_value(format) < 1)
        return hn_fail(err, HN_EFORMAT, "'%s' is damaged: it does not say its format", path);
    if (json_integer_value(format) > HN_CAPTURE_FORMAT)
        return hn_fail(err, HN_EFORMAT, "'%s' has format %lld, this Hone knows up to %d", path,
                       (long long)json_integer_value(format), HN_CAPTURE_FORMAT);
    return HN_OK;
}

static void check_names(const json_t *head, struct hn_error *err)
{
    const char *kernel = json_string_value(json_object_get(head, "kernel"));
    const char *config = json_string_value(json_object_get(head, "config"));
    if (kernel == NULL || !hn_text_is_word(kernel))
        hn_fail(err, HN_EFORMAT, "its kernel is named '%.60s', expected a word",
                kernel == NULL ? "" : kernel);
    else if (config != NULL)
        hn_gate_line("the path of its config", config, HN_NAME_MOST, err);
}

static void check_problem(const json_t *head, struct hn_error *err)
{
    struct hn_bindings problem;
    const json_t *json = json_object_get(head, "problem");
    if (!hn_failed(err) && json_object_size(json) > PROBLEM_MOST)
        hn_fail(err, HN_EFORMAT, "its problem has %zu values, expected at most %d",
                json_object_size(json), PROBLEM_MOST);
    hn_bindings_init(&problem);
    if (!hn_failed(err))
        hn_bindings_from_json(json, &problem, err);
    for (size_t i = 0; !hn_failed(err) && i < problem.count; i++)
        if (problem.values[i].type == HN_REAL && !isfinite(problem.values[i].real))
            hn_fail(err, HN_EFORMAT, "'%s' of its problem is not finite", problem.names[i]);
    hn_bindings_finish(&problem);
}

static void check_scalars(json_t *head, struct hn_error *err)
{
    const char *name;
    json_t *json;
    json_t *scalars = json_object_get(head, "scalars");
    if (hn_failed(err))
        return;
    if (!json_is_object(scalars) || json_object_size(scalars) > PARTS_MOST)
        hn_fail(err, HN_EFORMAT, "'scalars' has to be an object of at most %d numbers", PARTS_MOST);
    json_object_foreach(scalars, name, json)
    {
        if (!hn_failed(err) && (!hn_text_is_word(name) || !json_is_number(json)))
            hn_fail(err, HN_EFORMAT, "scalar '%.60s' is no word with a number", name);
    }
}

/* end: where the description begins. */
static void check_part(const json_t *part, json_int_t end, struct hn_error *err)
{
    const char *name = json_string_value(json_object_get(part, "name"));
    json_int_t offset = json_integer_value(json_object_get(part, "offset"));
    json_int_t packed = json_integer_value(json_object_get(part, "packed"));
    json_int_t bytes = json_integer_value(json_object_get(part, "bytes"));
    if (name == NULL || !hn_text_is_word(name))
        hn_fail(err, HN_EFORMAT, "a part is named '%.60s', expected a word",
                name == NULL ? "" : name);
    else if (offset < 0 || offset > end || packed < 1 || packed > end - offset)
        hn_fail(err, HN_EFORMAT, "'%s' lies at byte %lld with %lld bytes, beyond the file", name,
                (long long)offset, (long long)packed);
    else if (bytes < 1 || bytes / inflation > packed)
        hn_fail(err, HN_EFORMAT, "'%s' has %lld bytes, which are not made of %lld packed", name,
                (long long)bytes, (long long)packed);
}

static void check_parts(const json_t *head, const char *key, json_int_t end, struct hn_error *err)
{
    const json_t *parts = json_object_get(head, key);
    json_t *seen = json_object();
    if (!hn_failed(err) && seen == NULL)
        hn_fail_memory(err);
    if (!hn_failed(err) && (!json_is_array(parts) || json_array_size(parts) > PARTS_MOST))
        hn_fail(err, HN_EFORMAT, "'%s' has to be a list of at most %d parts", key, PARTS_MOST);
    for (size_t i = 0; !hn_failed(err) && i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const char *name = json_string_value(json_object_get(part, "name"));
        check_part(part, end, err);
        if (hn_failed(err))
            break;
        if (json_object_get(seen, name) != NULL)
            hn_fail(err, HN_EFORMAT, "'%s' is twice among its %s", name, key);
        else if (json_object_set_new(seen, name, json_true()) != 0)
            hn_fail_memory(err);
    }
    json_decref(seen);
}

static void parse(const char *text, size_t size, json_t **head, struct hn_error *err)
{
    json_error_t place;
    hn_gate_json(text, size, err);
    if (hn_failed(err))
        return;
    *head = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    if (*head == NULL)
        hn_fail(err, HN_EFORMAT, "%s", place.text);
}

enum hn_status hn_capture_read_head(FILE *stream, const char *path, json_t **head,
                                    struct hn_error *err)
{
    char *text = NULL;
    size_t size = 0;
    struct hn_error reason;
    *head = NULL;
    enum hn_status status = read_text(stream, path, &text, &size, err);
    hn_error_init(&reason);
    if (status == HN_OK)
        parse(text, size, head, &reason);
    if (*head != NULL)
        status = check_format(*head, path, err);
    if (*head != NULL && status == HN_OK) {
        json_int_t end = ftell(stream) - (long)size;
        check_names(*head, &reason);
        check_problem(*head, &reason);
        check_scalars(*head, &reason);
        check_parts(*head, "inputs", end, &reason);
        check_parts(*head, "expected", end, &reason);
    }
    if (reason.status == HN_ENOMEM)
        status = hn_fail_memory(err);
    else if (hn_failed(&reason))
        status = hn_fail(err, reason.status, "'%s' is damaged: %.1000s", path, reason.message);
    if (status != HN_OK) {
        json_decref(*head);
        *head = NULL;
    }
    free(text);
    return status;
}
