/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
#include "cache/recording/recording.h"

/* Larger recordings than this would not fit into memory as JSON. */
enum { MAX_BYTES = 256 << 20, STEP_BYTES = 1 << 16 };
/* Recordings pack 5 to 30 times. What packs far better than that is made to fill the memory. */
enum { FREE_BYTES = 16 << 20, MAX_RATIO = 200 };

static void read_all(gzFile file, const char *path, struct hn_text *text, struct hn_error *err)
{
    char buffer[STEP_BYTES];
    int count = 0;
    int code = Z_OK;
    while (!hn_failed(err) && (count = gzread(file, buffer, sizeof buffer)) > 0) {
        hn_text_append_bytes(text, buffer, (size_t)count);
        if (text->length > MAX_BYTES)
            hn_fail(err, HN_EFORMAT, "'%s' has more than 256 MiB of text", path);
        else if (text->length > FREE_BYTES &&
                 (z_off_t)(text->length / MAX_RATIO) > gzoffset(file) + STEP_BYTES)
            hn_fail(err, HN_EFORMAT,
                    "'%s' unpacks to more than %d times its size, which no recording does", path,
                    MAX_RATIO);
    }
    const char *reason = gzerror(file, &code);
    if (!hn_failed(err) && code == Z_ERRNO)
        hn_fail(err, HN_ERUN, "'%s' cannot be read: %s", path, strerror(errno));
    else if (!hn_failed(err) && (count < 0 || code != Z_OK))
        hn_fail(err, HN_EFORMAT, "'%s' is truncated or damaged: %s", path, reason);
    /* A stream that ends early shows only here. */
    if (gzclose_r(file) != Z_OK && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "'%s' is truncated: its gzip stream has no end", path);
}

/* The whole file; NUL-terminated. */
static char *read_text(const char *path, size_t *size, struct hn_error *err)
{
    struct hn_text all HN_ENDED_BY(hn_text_finish) = {0};
    const char *reason = NULL;
    int fd = hn_failed(err) ? -1 : hn_file_open(path, &reason);
    gzFile file = fd < 0 ? NULL : hn_made(gzdopen(fd, "rb"), err);
    if (file != NULL)
        read_all(file, path, &all, err);
    else if (fd >= 0)
        close(fd);
    else if (!hn_failed(err))
        hn_fail(err, HN_ERUN, "'%s' cannot be read: %s", path, reason);
    *size = all.length;
    return hn_failed(err) ? NULL : hn_made(hn_text_take(&all), err);
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
        return hn_file_write(path, text, size, err);
    if (size > MAX_BYTES)
        return hn_fail(err, HN_ERUN, "'%s' would have more than 256 MiB of text", path);
    unsigned char *packed HN_FREED = NULL;
    size_t count = 0;
    enum hn_status status = hn_gzip_pack(text, size, &packed, &count, err);
    if (status == HN_OK)
        status = hn_file_write(path, packed, count, err);
    return status;
}

/* Parses text[0..length) without white space and a comma at its end, and with the closing braces
 * that Kernel Tuner writes last. NULL when that is no JSON either. */
static json_t *parse_open_end(const char *text, size_t length)
{
    struct hn_text closed HN_ENDED_BY(hn_text_finish) = {0};
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    if (length > 0 && text[length - 1] == ',')
        length--;
    hn_text_append_bytes(&closed, text, length);
    hn_text_append(&closed, "}}");
    return closed.failed ? NULL : json_loadb(closed.data, closed.length, 0, NULL);
}

/* An interrupted Kernel Tuner leaves its file without the end, maybe within a row, which is then
 * dropped. */
static json_t *parse(const char *text, size_t size, struct hn_error *err)
{
    json_error_t place;
    json_t *root = json_loadb(text, size, 0, &place);
    if (root != NULL)
        return root;
    root = parse_open_end(text, size);
    while (root == NULL && size > 0 && text[size - 1] != '\n')
        size--;
    if (root == NULL && size > 0)
        root = parse_open_end(text, size);
    if (root != NULL && json_object_get(root, "hone") == NULL)
        return root;
    bool truncated = root != NULL || json_error_code(&place) == json_error_premature_end_of_input;
    json_decref(root);
    hn_fail(err, HN_EFORMAT, "%sline %d, column %d: %s",
            truncated ? "it is truncated: " : "it is no JSON: ", place.line, place.column,
            place.text);
    return NULL;
}

/* How long the number at `from` is that Python writes and JSON does not know; 0 when it is none. */
static size_t python_number(const char *text, size_t size, size_t from)
{
    static const char *const numbers[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t length = strlen(numbers[i]);
        if (size - from >= length && memcmp(text + from, numbers[i], length) == 0)
            return length;
    }
    return 0;
}

/* Python's numbers, but within strings, as null. */
static void relax(const char *text, size_t size, struct hn_text *relaxed)
{
    size_t copied = 0;
    for (size_t i = 0; i < size;) {
        size_t length = text[i] == '"' ? 0 : python_number(text, size, i);
        if (text[i] == '"')
            for (i++; i < size && text[i] != '"'; i++)
                i += text[i] == '\\';
        if (length > 0) {
            hn_text_append_bytes(relaxed, text + copied, i - copied);
            hn_text_append(relaxed, "null");
            copied = i + length;
        }
        i += length > 0 ? length : 1;
    }
    hn_text_append_bytes(relaxed, text + copied, size - copied);
}

json_t *hn_recording_read(const char *path, struct hn_error *err)
{
    size_t size;
    struct hn_error reason = {.status = HN_OK}, ignored = reason;
    char *text HN_FREED = read_text(path, &size, err);
    if (text == NULL)
        return NULL;
    hn_gate_json(text, size, &reason);
    bool passes = !hn_failed(&reason);
    json_t *root = passes ? parse(text, size, &reason) : NULL;
    /* Places are told in the file as it is. */
    if (passes && root == NULL &&
        (strstr(text, "NaN") != NULL || strstr(text, "Infinity") != NULL)) {
        struct hn_text relaxed HN_ENDED_BY(hn_text_finish) = {0};
        relax(text, size, &relaxed);
        root = parse(relaxed.data != NULL ? relaxed.data : "", relaxed.length, &ignored);
    }
    if (root == NULL)
        hn_fail(err, reason.status, "'%s': %.3000s", path, reason.message);
    return root;
}

/* Kernel and device stand before the rows. */
enum { HEAD_BYTES = 4096 };

bool hn_recording_is_of_another(const char *path, const char *kernel)
{
    static const char key[] = "\"kernel_name\": \"";
    if (kernel == NULL)
        return false;
    char head[HEAD_BYTES + 1];
    const char *reason = NULL;
    int fd = hn_file_open(path, &reason);
    gzFile file = fd < 0 ? NULL : gzdopen(fd, "rb");
    int count = file == NULL ? 0 : gzread(file, head, HEAD_BYTES);
    if (file != NULL)
        gzclose_r(file);
    else if (fd >= 0)
        close(fd);
    head[count > 0 ? count : 0] = '\0';
    const char *name = strstr(head, key);
    const char *end = name == NULL ? NULL : strchr(name += strlen(key), '"');
    size_t length = strlen(kernel);
    return end != NULL && ((size_t)(end - name) != length || memcmp(name, kernel, length) != 0);
}

/* What takes an err and returns no status is sticky (base/error.h). */

/* Takes the identity with a recording's rule, or its best record where there is no rule. */
static void append(struct hn_recording *recording, const char *path, struct hn_tuned_list *list,
                   struct hn_error *err)
{
    struct hn_record *best = NULL;
    for (size_t i = 0; i < recording->records.count; i++)
        if (hn_record_beats(&recording->records.items[i], best))
            best = &recording->records.items[i];
    struct hn_tuned *tuned =
        best == NULL && recording->rule == NULL ? NULL : hn_tuned_list_add(list, err);
    if (tuned == NULL)
        return;
    *tuned = (struct hn_tuned){.identity = recording->identity,
                               .version = recording->version,
                               .rule = recording->rule,
                               .begun = recording->learnt,
                               .points = (int64_t)recording->records.count,
                               .stale = recording->version.protocol != HN_MEASURING_PROTOCOL};
    if (best != NULL) {
        tuned->best = *best;
        *best = (struct hn_record){0};
    }
    hn_origin_of_file(path, &tuned->origin);
    recording->identity = (struct hn_identity){0};
    recording->rule = NULL;
}

struct wanted {
    const char *kernel; /* NULL: any */
    bool rules;         /* in place of results */
    struct hn_tuned_list *list;
};

static void add_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted *wanted = data;
    const char *kernel = wanted->kernel;
    struct hn_recording recording HN_ENDED_BY(hn_recording_finish) = {0};
    if (!wanted->rules && hn_recording_is_of_another(path, kernel))
        return;
    if (hn_recording_load(path, &recording, err) != HN_OK)
        return;
    bool own = kernel == NULL || strcmp(recording.identity.kernel, kernel) == 0;
    if (own && recording.from_hone && wanted->rules == (recording.rule != NULL))
        append(&recording, path, wanted->list, err);
}

const char *const hn_recording_ends[] = {".json", ".json.gz", NULL};

enum hn_status hn_recording_list(const char *path, const char *kernel, struct hn_tuned_list *list,
                                 struct hn_error *err)
{
    struct wanted wanted = {kernel, false, list};
    hn_error_init(err);
    hn_files_visit(path, hn_recording_ends, add_file, &wanted, err);
    return err->status;
}

void hn_recording_add_rules(const char *path, const char *kernel, struct hn_tuned_list *rules,
                            struct hn_error *err)
{
    struct wanted wanted = {kernel, true, rules};
    static const char *const ends[] = {".family", ".family.gz", NULL};
    char *copy HN_FREED = hn_copy_string(path, err);
    if (copy != NULL)
        hn_files_visit(hn_is_folder(path) ? path : dirname(copy), ends, add_file, &wanted, err);
}

/* The "hone" object alone, which Hone writes into a line of its own before the rows. */
static json_t *read_head(const char *path, struct hn_error *err)
{
    static const char key[] = "\n\"hone\": ";
    size_t size = 0;
    json_t *head = NULL;
    char *text HN_FREED = read_text(path, &size, err);
    if (text == NULL)
        return NULL;
    const char *start = strstr(text, key);
    if (start != NULL)
        hn_gate_json(start, strlen(start), err);
    if (start != NULL && !hn_failed(err))
        head = json_loads(start + strlen(key), JSON_DISABLE_EOF_CHECK, NULL);
    return head;
}

struct wanted_plan {
    const char *kernel;
    const struct hn_version *version;
    struct hn_stored_plan *stored;
};

static void find_in_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted_plan *wanted = data;
    if (wanted->stored->json != NULL || hn_recording_is_of_another(path, wanted->kernel))
        return;
    json_auto_t *head = read_head(path, err);
    const json_t *source = json_object_get(head, "source"), *plan = json_object_get(source, "plan");
    const char *kernel = json_string_value(json_object_get(plan, "kernel"));
    struct hn_version version = {.protocol = 0};
    struct hn_error unread = {.status = HN_OK};
    hn_fields_read("version", &hn_version_structure, json_object_get(head, "version"), &version,
                   &unread);
    version.protocol = wanted->version->protocol; /* whichever measured it */
    if (source != NULL && !hn_failed(&unread) && hn_version_equal(&version, wanted->version) &&
        kernel != NULL && strcmp(kernel, wanted->kernel) == 0)
        hn_fields_read("source", &hn_stored_plan_structure, source, wanted->stored, err);
    if (hn_failed(err))
        hn_stored_plan_free(wanted->stored);
}

enum hn_status hn_recording_plan_find(const char *path, const char *kernel,
                                      const struct hn_version *version,
                                      struct hn_stored_plan *stored, struct hn_error *err)
{
    static const char *const ends[] = {".json", ".json.gz", ".family", ".family.gz", NULL};
    struct wanted_plan wanted = {kernel, version, stored};
    hn_error_init(err);
    *stored = (struct hn_stored_plan){.json = NULL};
    if (hn_version_knows_template(version))
        hn_files_visit(path, ends, find_in_file, &wanted, err);
    return err->status;
}
