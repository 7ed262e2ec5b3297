/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_internal.h"

/* Kernel and device stand before the rows. */
enum { HEAD_BYTES = 4096 };

/* Whether the beginning of a file names another kernel, so that the rest need not be read: to parse
 * a folder of a hundred recordings takes a second. */
static bool is_of_another(const char *path, const char *kernel)
{
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
    static const char key[] = "\"kernel_name\":";
    const char *name = strstr(head, key);
    if (name == NULL)
        return false;
    name += strlen(key);
    name += strspn(name, " ");
    size_t length = strlen(kernel);
    return *name == '"' && strchr(name + 1, '"') != NULL &&
           (strncmp(name + 1, kernel, length) != 0 || name[1 + length] != '"');
}

/* What takes an err and returns no status is sticky (base/error.h). */

/* Takes the identity with the rule or the best record of a recording; a rule, where there is one.
 */
static void append(struct hn_recording *recording, const char *path, struct hn_tuned_list *list,
                   struct hn_error *err)
{
    struct hn_record *best = NULL;
    for (size_t i = 0; i < recording->records.count; i++) {
        if (hn_record_beats(&recording->records.items[i], best))
            best = &recording->records.items[i];
    }
    struct hn_tuned *tuned =
        best == NULL && recording->rule == NULL ? NULL : hn_tuned_list_add(list, err);
    if (tuned == NULL)
        return;
    *tuned = (struct hn_tuned){.identity = recording->identity,
                               .version = recording->version,
                               .rule = recording->rule,
                               .learnt = recording->learnt,
                               .points = (int64_t)recording->records.count,
                               .stale = recording->version.protocol != HN_MEASURING_PROTOCOL};
    if (best != NULL) {
        tuned->best = *best;
        hn_record_init(best);
    }
    hn_origin_of_file(path, &tuned->origin);
    hn_identity_init(&recording->identity);
    recording->rule = NULL;
}

struct wanted {
    const char *kernel; /* NULL: any */
    bool rules;         /* in place of results */
    struct hn_tuned_list *list;
};

static void add_file(const char *path, const void *data, struct hn_error *err)
{
    const struct wanted *wanted = data;
    const char *kernel = wanted->kernel;
    struct hn_recording recording;
    if (!wanted->rules && is_of_another(path, kernel))
        return;
    if (hn_recording_load(path, &recording, err) != HN_OK)
        return;
    bool own = kernel == NULL || strcmp(recording.identity.kernel, kernel) == 0;
    if (own && recording.from_hone && wanted->rules == (recording.rule != NULL))
        append(&recording, path, wanted->list, err);
    hn_recording_finish(&recording);
}

typedef void visit_file(const char *path, const void *data, struct hn_error *err);

static int ends_with(const struct dirent *entry, const char *end)
{
    size_t length = strlen(entry->d_name), own = strlen(end);
    return length > own && strcmp(entry->d_name + length - own, end) == 0;
}

static int is_recording(const struct dirent *entry)
{
    return ends_with(entry, ".json") || ends_with(entry, ".json.gz");
}

static int is_rule(const struct dirent *entry)
{
    return ends_with(entry, ".family") || ends_with(entry, ".family.gz");
}

static void visit_folder(const char *path, int (*is_wanted)(const struct dirent *entry),
                         visit_file *visit, const void *data, struct hn_error *err)
{
    struct dirent **entries = NULL;
    int count = hn_failed(err) ? 0 : scandir(path, &entries, is_wanted, alphasort);
    if (count < 0)
        hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct hn_text file = {0};
        hn_text_printf(&file, "%s/%s", path, entries[i]->d_name);
        if (hn_made(file.data, err) != NULL && !hn_failed(err))
            visit(file.data, data, err);
        hn_text_finish(&file);
        free(entries[i]);
    }
    free(entries);
}

static bool is_folder(const char *path, struct hn_error *err)
{
    struct stat about;
    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode);
    hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    return false;
}

/* Visits a recording, or those of a folder by name, until one visit fails. HN_ERUN. */
static void visit_recordings(const char *path, visit_file *visit, const void *data,
                             struct hn_error *err)
{
    if (is_folder(path, err))
        visit_folder(path, is_recording, visit, data, err);
    else if (!hn_failed(err))
        visit(path, data, err);
}

enum hn_status hn_recording_list(const char *path, const char *kernel, struct hn_tuned_list *list,
                                 struct hn_error *err)
{
    struct hn_error own;
    const struct wanted wanted = {kernel, false, list};
    err = hn_error_begin(err, &own);
    visit_recordings(path, add_file, &wanted, err);
    return err->status;
}

enum hn_status hn_recording_add_rules(const char *path, const char *kernel,
                                      struct hn_tuned_list *rules, struct hn_error *err)
{
    struct hn_error own;
    struct hn_text folder = {0};
    const struct wanted wanted = {kernel, true, rules};
    const char *slash = strrchr(path, '/');
    err = hn_error_begin(err, &own);
    if (is_folder(path, err))
        hn_text_append(&folder, path);
    else
        hn_text_printf(&folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                       slash != NULL ? path : ".");
    (void)hn_made(folder.data, err);
    visit_folder(folder.data, is_rule, add_file, &wanted, err);
    hn_text_finish(&folder);
    return err->status;
}

/* The "hone" object alone, which Hone writes into a line of its own before the rows. */
static json_t *read_head(const char *path, struct hn_error *err)
{
    static const char key[] = "\n\"hone\": ";
    size_t size = 0;
    json_t *head = NULL;
    char *text = hn_gzip_read(path, &size, err);
    if (text == NULL)
        return NULL;
    const char *start = strstr(text, key);
    if (start != NULL)
        hn_gate_json(start, strlen(start), err);
    if (start != NULL && !hn_failed(err))
        head = json_loads(start + strlen(key), JSON_DISABLE_EOF_CHECK, NULL);
    free(text);
    return head;
}

/* Of the same plan, whatever protocol measured it. */
static bool is_version(const json_t *json, const struct hn_version *version)
{
    struct hn_version own = {.protocol = 0};
    struct hn_error unread;
    hn_error_init(&unread);
    hn_fields_read("version", &hn_version_structure, json, &own, &unread);
    own.protocol = version->protocol;
    return !hn_failed(&unread) && hn_version_equal(&own, version);
}

static bool is_of_kernel(const json_t *source, const char *kernel)
{
    const char *own = json_string_value(json_object_get(json_object_get(source, "plan"), "kernel"));
    return own != NULL && strcmp(own, kernel) == 0;
}

struct wanted_plan {
    const char *kernel;
    const struct hn_version *version;
    struct hn_stored_plan *stored;
};

static void find_in_file(const char *path, const void *data, struct hn_error *err)
{
    const struct wanted_plan *wanted = data;
    if (wanted->stored->json != NULL)
        return;
    struct hn_error ignored = {.status = HN_OK};
    json_t *head = read_head(path, &ignored);
    const json_t *source = json_object_get(head, "source");
    if (source != NULL && is_version(json_object_get(head, "version"), wanted->version) &&
        is_of_kernel(source, wanted->kernel))
        hn_fields_read("source", &hn_stored_plan_structure, source, wanted->stored, err);
    if (hn_failed(err))
        hn_stored_plan_free(wanted->stored);
    json_decref(head);
}

enum hn_status hn_recording_plan_find(const char *path, const char *kernel,
                                      const struct hn_version *version,
                                      struct hn_stored_plan *stored, struct hn_error *err)
{
    struct hn_error own;
    const struct wanted_plan wanted = {kernel, version, stored};
    err = hn_error_begin(err, &own);
    *stored = (struct hn_stored_plan){.json = NULL};
    if (hn_version_knows_template(version))
        visit_recordings(path, find_in_file, &wanted, err);
    return err->status;
}
