/* SPDX-License-Identifier: MIT */
#include "runtime/plan/capture_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"

/* The gate of captures: behind it names are words, numbers can be what they say, and each part lies
 * in the file. */

/* A JSON object larger than this is none of ours; nor has a launch more parts. */
static const uint64_t MAX_HEAD = 64u << 20;
enum {
    PARTS_MOST = 1024,
    INFLATION = 1032, /* zlib makes at most so many bytes of one */
};

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
        return hn_fail(err, HN_EFORMAT, "'%s' is damaged: it cannot be read", path);
    return HN_OK;
}

static void check_part(struct hn_json_reader *reader, void *owner)
{
    const struct hn_capture_part *part = owner;
    const size_t end = ((const struct hn_capture_head *)reader->root)->begins;
    hn_json_expect(reader,
                   part->offset <= end && part->packed > 0 && part->packed <= end - part->offset,
                   part->name, "within the file");
    hn_json_expect(reader, part->bytes > 0 && part->bytes / INFLATION <= part->packed, part->name,
                   "made of so many bytes");
}

static const struct hn_field part_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_capture_part, name)},
    {HN_NEEDED("bytes"), .kind = HN_FIELD_INDEX, HN_AT(hn_capture_part, bytes)},
    {HN_NEEDED("offset"), .kind = HN_FIELD_INDEX, HN_AT(hn_capture_part, offset)},
    {HN_NEEDED("packed"), .kind = HN_FIELD_INDEX, HN_AT(hn_capture_part, packed)},
};
static const struct hn_structure part_structure =
    HN_STRUCTURE(hn_capture_part, part_fields, check_part);

static void check_values(struct hn_json_reader *reader, const struct hn_bindings *values,
                         bool numbers)
{
    for (size_t i = 0; i < values->count; i++) {
        const struct hn_value *value = &values->values[i];
        bool real = value->type == HN_REAL;
        hn_json_expect(reader,
                       real ? isfinite(value->real) != 0 : !numbers || value->type == HN_INTEGER,
                       values->names[i], "finite, or no number");
    }
}

static void check_repeats(struct hn_json_reader *reader, const struct hn_capture_part *parts,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i && !hn_failed(reader->err); j++)
            hn_json_expect(reader, strcmp(parts[i].name, parts[j].name) != 0, parts[i].name,
                           "once in its list");
}

static void check_head(struct hn_json_reader *reader, void *owner)
{
    struct hn_capture_head *head = owner;
    const char *kernel = head->kernel == NULL ? "" : head->kernel;
    hn_json_expect(
        reader, *kernel != '\0' && !hn_is_digit(*kernel) && kernel[hn_word_length(kernel)] == '\0',
        "kernel", "a name");
    if (head->config != NULL)
        hn_gate_line("the path of its config", head->config, HN_NAME_MOST, reader->err);
    hn_json_expect(reader, !head->positional || head->grid_count + head->block_count == 6, "block",
                   "one of a launch");
    check_values(reader, &head->problem, false);
    check_values(reader, &head->scalars, true);
    check_repeats(reader, head->inputs, head->input_count);
    check_repeats(reader, head->expected, head->expected_count);
}

static const struct hn_field size_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_COUNT, .least = 1}};
static const struct hn_structure size_structure = {sizeof(int), size_fields, 1, NULL};

static const struct hn_field head_fields[] = {
    {HN_NEEDED("kernel"), .kind = HN_FIELD_STRING, HN_AT(hn_capture_head, kernel)},
    {.key = "positional", .kind = HN_FIELD_FLAG, HN_AT(hn_capture_head, positional)},
    {.key = "config", .kind = HN_FIELD_STRING, HN_AT(hn_capture_head, config)},
    {.key = "grid", .most = 3, HN_LIST(hn_capture_head, grid, grid_count, size_structure)},
    {.key = "block", .most = 3, HN_LIST(hn_capture_head, block, block_count, size_structure)},
    {.key = "shared_bytes", .kind = HN_FIELD_COUNT, HN_AT(hn_capture_head, shared_bytes)},
    {HN_NEEDED("problem"), HN_OWN(hn_capture_head, problem, hn_bindings_field)},
    {HN_NEEDED("scalars"), HN_OWN(hn_capture_head, scalars, hn_bindings_field)},
    {HN_NEEDED("inputs"), .most = PARTS_MOST,
     HN_LIST(hn_capture_head, inputs, input_count, part_structure)},
    {HN_NEEDED("expected"), .most = PARTS_MOST,
     HN_LIST(hn_capture_head, expected, expected_count, part_structure)},
};
const struct hn_structure hn_capture_structure =
    HN_STRUCTURE(hn_capture_head, head_fields, check_head);

static void read_head(const char *text, size_t size, size_t end, struct hn_capture_head *head,
                      struct hn_error *err)
{
    json_error_t place;
    json_auto_t *json = NULL;
    head->begins = end;
    hn_gate_json(text, size, err);
    if (!hn_failed(err))
        json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &place);
    json_int_t format = json_integer_value(json_object_get(json, "format"));
    if (json == NULL && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "%s", place.text);
    else if (!hn_failed(err) && format < 1)
        hn_fail(err, HN_EFORMAT, "it does not say its format");
    else if (!hn_failed(err) && format > HN_CAPTURE_FORMAT)
        hn_fail(err, HN_EFORMAT, "it has format %lld, this Hone knows up to %d: use the newer Hone",
                (long long)format, HN_CAPTURE_FORMAT);
    hn_fields_read("capture", &hn_capture_structure, json, head, err);
}

enum hn_status hn_capture_read_head(FILE *stream, const char *path, struct hn_capture_head *head,
                                    struct hn_error *err)
{
    char *text HN_FREED = NULL;
    size_t size = 0;
    struct hn_error reason = {.status = HN_OK};
    *head = (struct hn_capture_head){.kernel = NULL};
    enum hn_status status = read_text(stream, path, &text, &size, err);
    if (status == HN_OK)
        read_head(text, size, (size_t)ftell(stream) - size, head, &reason);
    if (reason.status == HN_ENOMEM)
        status = hn_fail_memory(err);
    else if (hn_failed(&reason))
        status = hn_fail(err, HN_EFORMAT, "'%s' is damaged: %.1000s", path, reason.message);
    if (status != HN_OK) {
        hn_fields_finish(&hn_capture_structure, head);
        *head = (struct hn_capture_head){.kernel = NULL};
    }
    return status;
}

/* "5scale" of "_ZN4mine5scaleIfEEvPKT_i": words with their lengths, as the ABI of C++ has them, the
 * last of which is the kernel's. */
bool hn_capture_is_of(const char *kernel, const char *name)
{
    const char *type = strrchr(name, '&'), *end = type != NULL ? type : name;
    end += strcspn(end, "<");
    const char *word = end;
    while (word > name && hn_is_word_char(word[-1]))
        word--;
    size_t length = (size_t)(end - word);
    bool nested = strncmp(kernel, "_ZN", 3) == 0, same = false;
    const char *at = strncmp(kernel, "_Z", 2) == 0 ? kernel + 2 + nested : "";
    do {
        char *own;
        at += *at == 'L'; /* it is of one file alone */
        size_t bytes = strtoul(at, &own, 10);
        same = bytes > 0 && bytes == length && strncmp(own, word, length) == 0;
        at = strnlen(own, bytes) == bytes ? own + bytes : "";
    } while (nested && (hn_is_digit(*at) || *at == 'L'));
    return same || strcmp(kernel, name) == 0;
}

static void write_bytes(struct hn_capture_writer *writer, const void *bytes, size_t size,
                        struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (fwrite(bytes, 1, size, writer->stream) != size)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", writer->temporary, strerror(errno));
    writer->written += size;
}

void hn_capture_begin(struct hn_capture_writer *writer, char *path, struct hn_error *err)
{
    writer->path = path;
    writer->inputs = json_array();
    writer->expected = json_array();
    writer->scalars = json_object();
    if (asprintf(&writer->temporary, "%s.%ld", path, (long)getpid()) < 0) {
        writer->temporary = NULL;
        hn_fail_memory(err);
        return;
    }
    writer->stream = fopen(writer->temporary, "wbe");
    if (writer->stream == NULL)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", writer->temporary, strerror(errno));
    write_bytes(writer, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
}

/* Piece by piece, as a stream of the file. */
static void pack(struct hn_capture_writer *writer, const struct hn_driver *driver, uint64_t address,
                 uint64_t bytes, struct hn_error *err)
{
    z_stream stream = {.next_in = NULL};
    unsigned char *piece HN_FREED = malloc(2 * (size_t)HN_CAPTURE_PIECE);
    if (piece == NULL || deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        hn_fail_memory(err);
        return;
    }
    for (uint64_t at = 0; !hn_failed(err) && at < bytes;) {
        uint64_t left = bytes - at;
        size_t size = left < HN_CAPTURE_PIECE ? (size_t)left : HN_CAPTURE_PIECE;
        if (driver == NULL)
            memcpy(piece, (const void *)(uintptr_t)(address + at), size);
        else
            hn_driver_check(driver, driver->p_cuMemcpyDtoH(piece, address + at, size),
                            "cuMemcpyDtoH", err);
        at += size;
        stream.next_in = piece;
        stream.avail_in = (uInt)size;
        while (!hn_failed(err)) {
            stream.next_out = piece + HN_CAPTURE_PIECE;
            stream.avail_out = HN_CAPTURE_PIECE;
            if (deflate(&stream, at == bytes ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
                hn_fail(err, HN_ERUN, "zlib cannot pack");
            write_bytes(writer, piece + HN_CAPTURE_PIECE, HN_CAPTURE_PIECE - stream.avail_out, err);
            if (stream.avail_out != 0)
                break;
        }
    }
    deflateEnd(&stream);
}

void hn_capture_add(struct hn_capture_writer *writer, json_t *list, const char *name,
                    const struct hn_driver *driver, uint64_t address, uint64_t bytes,
                    struct hn_error *err)
{
    uint64_t offset = writer->written;
    if (!hn_failed(err))
        pack(writer, driver, address, bytes, err);
    if (hn_failed(err))
        return;
    json_t *item =
        json_pack("{s:s, s:I, s:I, s:I}", "name", name, "bytes", (json_int_t)bytes, "offset",
                  (json_int_t)offset, "packed", (json_int_t)(writer->written - offset));
    if (item == NULL || json_array_append_new(list, item) != 0)
        hn_fail_memory(err);
}

static void commit(struct hn_capture_writer *writer, json_t *head, struct hn_error *err)
{
    json_auto_t *all =
        json_pack("{s:i, s:O, s:O, s:O}", "format", HN_CAPTURE_FORMAT, "scalars", writer->scalars,
                  "inputs", writer->inputs, "expected", writer->expected);
    bool whole = head != NULL && json_object_update(all, head) == 0;
    char *text HN_FREED = hn_made(whole ? json_dumps(all, JSON_COMPACT) : NULL, err);
    uint64_t size = text == NULL ? 0 : strlen(text);
    write_bytes(writer, text, size, err);
    write_bytes(writer, &size, sizeof size, err);
    write_bytes(writer, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
    int closed = fclose(writer->stream);
    writer->stream = NULL;
    if (!hn_failed(err) && (closed != 0 || rename(writer->temporary, writer->path) != 0))
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", writer->path, strerror(errno));
}

void hn_capture_finish(struct hn_capture_writer *writer, json_t *head, struct hn_error *err)
{
    if (writer->stream != NULL && !hn_failed(err))
        commit(writer, head, err);
    if (writer->stream != NULL)
        fclose(writer->stream);
    if (writer->temporary != NULL)
        unlink(writer->temporary);
    if (writer->reserved && hn_failed(err))
        unlink(writer->path);
    free(writer->temporary);
    free(writer->path);
    json_decref(head);
    json_decref(writer->inputs);
    json_decref(writer->expected);
    json_decref(writer->scalars);
}
