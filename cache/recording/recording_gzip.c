/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/plain_file.h"
#include "cache/recording/recording_parts.h"

/* Larger recordings than this would not fit into memory as JSON. */
enum { MAX_BYTES = 256 << 20, STEP_BYTES = 1 << 16 };
/* Recordings pack 5 to 30 times. What packs far better than that is made to fill the memory. */
enum { FREE_BYTES = 16 << 20, MAX_RATIO = 200 };

static enum hn_status read_all(gzFile file, const char *path, struct hn_text *text,
                               struct hn_error *err)
{
    static const char damaged[] = "'%s' is truncated or damaged: %s";
    char buffer[STEP_BYTES];
    int count;
    int code = Z_OK;
    while ((count = gzread(file, buffer, sizeof buffer)) > 0) {
        hn_text_append_bytes(text, buffer, (size_t)count);
        if (text->length > MAX_BYTES)
            return hn_fail(err, HN_EFORMAT, "'%s' has more than 256 MiB of text", path);
        if (text->length > FREE_BYTES &&
            (z_off_t)(text->length / MAX_RATIO) > gzoffset(file) + STEP_BYTES)
            return hn_fail(err, HN_EFORMAT,
                           "'%s' unpacks to more than %d times its size, which no recording does",
                           path, MAX_RATIO);
    }
    const char *reason = gzerror(file, &code);
    if (code == Z_ERRNO)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    if (count < 0 || code != Z_OK)
        return hn_fail(err, HN_EFORMAT, damaged, path, reason);
    return text->failed ? hn_fail_memory(err) : HN_OK;
}

enum hn_status hn_gzip_read(const char *path, char **text, size_t *size, struct hn_error *err)
{
    struct hn_text all;
    hn_text_init(&all);
    const char *reason = NULL;
    int fd = hn_plain_file_open(path, &reason);
    if (fd < 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, reason);
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        return hn_fail_memory(err);
    }
    enum hn_status status = read_all(file, path, &all, err);
    /* A stream that ends early shows only here. */
    if (gzclose_r(file) != Z_OK && status == HN_OK)
        status = hn_fail(err, HN_EFORMAT, "'%s' is truncated: its gzip stream has no end", path);
    *size = all.length;
    *text = status == HN_OK ? hn_text_take(&all) : NULL;
    hn_text_finish(&all);
    return status == HN_OK && *text == NULL ? hn_fail_memory(err) : status;
}

enum hn_status hn_gzip_pack(const char *text, size_t size, unsigned char **packed, size_t *count,
                            struct hn_error *err)
{
    enum { GZIP_WRAPPER = 16, MEMORY_LEVEL = 8 };
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)text, .avail_in = (uInt)size};
    *packed = NULL;
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return hn_fail_memory(err);
    uLong bound = deflateBound(&stream, size);
    *packed = malloc(bound);
    if (*packed != NULL) {
        stream.next_out = *packed;
        stream.avail_out = (uInt)bound;
        (void)deflate(&stream, Z_FINISH);
        *count = stream.total_out;
    }
    (void)deflateEnd(&stream);
    return *packed == NULL ? hn_fail_memory(err) : HN_OK;
}

enum hn_status hn_gzip_write(const char *path, const char *text, size_t size, struct hn_error *err)
{
    size_t length = strlen(path);
    if (length < 3 || strcmp(path + length - 3, ".gz") != 0)
        return hn_text_write_file(path, text, size, err);
    if (size > MAX_BYTES)
        return hn_fail(err, HN_ERUN, "'%s' would have more than 256 MiB of text", path);
    unsigned char *packed;
    size_t count = 0;
    enum hn_status status = hn_gzip_pack(text, size, &packed, &count, err);
    if (status == HN_OK)
        status = hn_text_write_file(path, packed, count, err);
    free(packed);
    return status;
}
