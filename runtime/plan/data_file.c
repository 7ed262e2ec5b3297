/* SPDX-License-Identifier: MIT */
#include "runtime/plan/data_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/plain_file.h"
#include "base/text.h"

/* The layout is described in NumPy's manual, "numpy.lib.format": magic, version, length of the
 * header, header. */
static const char npy_magic[] = "\x93NUMPY";
enum { NPY_MAGIC_BYTES = 6, NPY_HEADER_MOST = 64 << 10 };

/* What stands behind 'key': in a header, or NULL. */
static const char *find_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

/* "<f4" for float32; one byte has no order. */
static bool is_type(const char *descr, size_t length, enum hn_element element)
{
    char expected[8];
    const char *name = hn_element_name(element);
    char kind = name[0] == 'b' ? 'V' : name[0];
    size_t size = hn_element_size(element);
    if (length < 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '='))
        return false;
    snprintf(expected, sizeof expected, "%c%zu", kind, size);
    if (strlen(expected) == length - 1 && strncmp(descr + 1, expected, length - 1) == 0)
        return true;
    return (element == HN_BFLOAT16 && length == 3 && descr[2] == '2') ||
           (element == HN_FLOAT8_E4M3 && length == 3 && descr[2] == '1');
}

static enum hn_status check_descr(const char *header, enum hn_element element, struct hn_error *err)
{
    const char *descr = find_value(header, "'descr'");
    if (descr == NULL || *descr != '\'')
        return hn_fail(err, HN_ECONFIG, "found no plain type in the header, expected %s",
                       hn_element_name(element));
    size_t length = strcspn(descr + 1, "'");
    if (is_type(descr + 1, length, element))
        return HN_OK;
    return hn_fail(err, HN_ECONFIG, "found elements of type '%.*s', expected %s, little endian",
                   length > 40 ? 40 : (int)length, descr + 1, hn_element_name(element));
}

/* "(3, 4)" multiplied out; counts the dimensions of more than one. */
static bool read_shape(const char *shape, uint64_t *count, int *dimensions)
{
    *count = 1;
    *dimensions = 0;
    if (*shape++ != '(')
        return false;
    while (*(shape += strspn(shape, " ,")) != ')') {
        char *end = NULL;
        errno = 0;
        uintmax_t length = hn_is_digit(*shape) ? strtoumax(shape, &end, 10) : 0;
        if (end == NULL || errno != 0 || (length > 0 && *count > (UINT64_C(1) << 50) / length))
            return false;
        *count *= length;
        *dimensions += length > 1;
        shape = end;
    }
    return true;
}

enum hn_status hn_npy_check(const char *header, enum hn_element element, uint64_t *count,
                            struct hn_error *err)
{
    int dimensions = 0;
    const char *order = find_value(header, "'fortran_order'");
    const char *shape = find_value(header, "'shape'");
    enum hn_status status = check_descr(header, element, err);
    if (status != HN_OK)
        return status;
    if (shape == NULL || !read_shape(shape, count, &dimensions))
        return hn_fail(err, HN_ECONFIG, "found no shape in the header");
    if (order == NULL || (strncmp(order, "False", 5) != 0 && dimensions > 1))
        return hn_fail(err, HN_ECONFIG,
                       "found an array that is stored column by column; save "
                       "numpy.ascontiguousarray of it");
    return HN_OK;
}

static enum hn_status fail_file(const char *path, const char *reason, struct hn_error *err)
{
    return hn_fail(err, HN_ECONFIG, "data file %s: %s", path, reason);
}

/* Reads the header behind the magic; its length has two bytes in version 1, four from there on. */
static enum hn_status read_npy(const char *path, enum hn_element element, struct hn_data_file *file,
                               uint64_t *count, struct hn_error *err)
{
    unsigned char start[6] = {0};
    struct hn_error reason = {.message = ""};
    size_t length_bytes = 2;
    if (fread(start, 1, 2, file->stream) == 2 && start[0] > 1)
        length_bytes = 4;
    if (fread(start + 2, 1, length_bytes, file->stream) != length_bytes)
        return fail_file(path, "the header is cut off", err);
    uint32_t length = (uint32_t)start[2] | (uint32_t)start[3] << 8 | (uint32_t)start[4] << 16 |
                      (uint32_t)start[5] << 24;
    if (length > NPY_HEADER_MOST)
        return fail_file(path, "the header is longer than 64 KiB", err);
    char *header = calloc(length + 1, 1);
    if (header == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    if (fread(header, 1, length, file->stream) != length)
        status = fail_file(path, "the header is cut off", err);
    else if (hn_npy_check(header, element, count, &reason) != HN_OK)
        status = fail_file(path, reason.message, err);
    free(header);
    return status;
}

static enum hn_status check_size(const char *path, const struct hn_data_file *file,
                                 enum hn_element element, uint64_t found, uint64_t count,
                                 struct hn_error *err)
{
    struct stat about;
    long start = ftell(file->stream);
    uint64_t expected = count * hn_element_size(element);
    if (fstat(fileno(file->stream), &about) != 0 || start < 0)
        return fail_file(path, strerror(errno), err);
    if (found != count)
        return hn_fail(err, HN_ECONFIG,
                       "data file %s: found an array of %" PRIu64 " elements, expected %" PRIu64,
                       path, found, count);
    uint64_t bytes = (uint64_t)about.st_size - (uint64_t)start;
    if (bytes != expected)
        return hn_fail(err, HN_ECONFIG,
                       "data file %s: found %" PRIu64 " bytes of data, expected %" PRIu64
                       " (%" PRIu64 " elements of %s)",
                       path, bytes, expected, count, hn_element_name(element));
    return HN_OK;
}

enum hn_status hn_data_file_open(const char *path, enum hn_element element, uint64_t count,
                                 struct hn_data_file *file, struct hn_error *err)
{
    char magic[NPY_MAGIC_BYTES];
    uint64_t found = count;
    enum hn_status status = HN_OK;
    const char *reason = NULL;
    file->stream = hn_plain_file_stream(path, &reason);
    if (file->stream == NULL)
        return fail_file(path, reason, err);
    bool npy = fread(magic, 1, sizeof magic, file->stream) == sizeof magic &&
               memcmp(magic, npy_magic, sizeof magic) == 0;
    if (npy)
        status = read_npy(path, element, file, &found, err);
    else
        rewind(file->stream);
    if (status == HN_OK)
        status = check_size(path, file, element, found, count, err);
    if (status != HN_OK)
        hn_data_file_close(file);
    return status;
}

enum hn_status hn_data_file_read(struct hn_data_file *file, void *bytes, size_t size,
                                 struct hn_error *err)
{
    if (fread(bytes, 1, size, file->stream) == size)
        return HN_OK;
    return hn_fail(err, HN_ECONFIG, "a data file became shorter while it was read");
}

void hn_data_file_close(struct hn_data_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    file->stream = NULL;
}

enum hn_status hn_data_file_hash(const char *path, struct hn_hash *hash, struct hn_error *err)
{
    const char *reason = NULL;
    return hn_plain_file_hash(path, hash, &reason) ? HN_OK : fail_file(path, reason, err);
}

enum hn_status hn_npy_create(const char *path, enum hn_element element, const uint64_t *shape,
                             size_t dimensions, FILE **stream, struct hn_error *err)
{
    enum { START = NPY_MAGIC_BYTES + 4, ALIGNMENT = 64 };
    struct hn_text header;
    size_t size = hn_element_size(element);
    bool has_type = element != HN_BFLOAT16 && element != HN_FLOAT8_E4M3;
    char kind = has_type ? hn_element_name(element)[0] : 'u';
    hn_text_init(&header);
    hn_text_printf(&header, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                   size == 1 ? '|' : '<', kind, size);
    for (size_t i = 0; i < dimensions; i++)
        hn_text_printf(&header, "%s%" PRIu64, i == 0 ? "" : ", ", shape[i]);
    hn_text_append(&header, dimensions == 1 ? ",), }" : "), }");
    while (!header.failed && (START + header.length + 1) % ALIGNMENT != 0)
        hn_text_append(&header, " ");
    hn_text_append(&header, "\n");
    *stream = header.failed ? NULL : fopen(path, "wb");
    enum hn_status status = HN_OK;
    if (header.failed)
        status = hn_fail_memory(err);
    else if (*stream == NULL)
        status = hn_fail(err, HN_ERUN, "cannot write '%s': %s", path, strerror(errno));
    if (status == HN_OK) {
        const unsigned char rest[] = {1, 0, (unsigned char)header.length,
                                      (unsigned char)(header.length >> 8)};
        fwrite(npy_magic, 1, NPY_MAGIC_BYTES, *stream);
        fwrite(rest, 1, sizeof rest, *stream);
        fwrite(header.data, 1, header.length, *stream);
    }
    hn_text_finish(&header);
    return status;
}

enum hn_status hn_npy_finish(const char *path, FILE *stream, struct hn_error *err)
{
    bool failed = ferror(stream) != 0;
    failed = fclose(stream) != 0 || failed;
    return failed ? hn_fail(err, HN_ERUN, "cannot write '%s': %s", path, strerror(errno)) : HN_OK;
}
