/* SPDX-License-Identifier: MIT */
#include "runtime/plan/capture_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"

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
