/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "cache/recording/recording.h"

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

static struct hn_record *find_best(const struct hn_recording *recording)
{
    struct hn_record *best = NULL;
    for (size_t i = 0; i < recording->records.count; i++) {
        if (hn_record_beats(&recording->records.items[i], best))
            best = &recording->records.items[i];
    }
    return best;
}

/* Takes identity and best record of the recording. */
static enum hn_status append(struct hn_recording *recording, const struct hn_origin *origin,
                             struct hn_tuned_list *list, struct hn_error *err)
{
    struct hn_record *best = find_best(recording);
    if (best == NULL)
        return HN_OK;
    struct hn_tuned *grown = realloc(list->items, (list->count + 1) * sizeof *list->items);
    if (grown == NULL)
        return hn_fail_memory(err);
    list->items = grown;
    list->items[list->count++] =
        (struct hn_tuned){.identity = recording->identity,
                          .origin = *origin,
                          .version = recording->version,
                          .best = *best,
                          .points = (int64_t)recording->records.count,
                          .stale = recording->version.protocol != HN_MEASURING_PROTOCOL};
    hn_identity_init(&recording->identity);
    hn_record_init(best);
    return HN_OK;
}

struct wanted {
    const char *kernel;
    struct hn_tuned_list *list;
};

static enum hn_status add_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted *wanted = data;
    const char *kernel = wanted->kernel;
    struct hn_recording recording;
    struct hn_origin origin;
    hn_origin_of_file(path, &origin);
    if (is_of_another(path, kernel))
        return HN_OK;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (recording.from_hone && (kernel == NULL || strcmp(recording.identity.kernel, kernel) == 0))
        status = append(&recording, &origin, wanted->list, err);
    hn_recording_finish(&recording);
    return status;
}

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

static enum hn_status visit_folder(const char *path, int (*is_wanted)(const struct dirent *entry),
                                   hn_recording_visit *visit, void *data, struct hn_error *err)
{
    struct dirent **entries = NULL;
    enum hn_status status = HN_OK;
    int count = scandir(path, &entries, is_wanted, alphasort);
    if (count < 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct hn_text file = {0};
        hn_text_printf(&file, "%s/%s", path, entries[i]->d_name);
        if (status == HN_OK)
            status = file.failed ? hn_fail_memory(err) : visit(file.data, data, err);
        hn_text_finish(&file);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum hn_status hn_recordings_visit(const char *path, hn_recording_visit *visit, void *data,
                                   struct hn_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    return S_ISDIR(about.st_mode) ? visit_folder(path, is_recording, visit, data, err)
                                  : visit(path, data, err);
}

enum hn_status hn_recordings_visit_rules(const char *folder, hn_recording_visit *visit, void *data,
                                         struct hn_error *err)
{
    return visit_folder(folder, is_rule, visit, data, err);
}

enum hn_status hn_recording_list(const char *path, const char *kernel, struct hn_tuned_list *list,
                                 struct hn_error *err)
{
    struct wanted wanted = {kernel, list};
    return hn_recordings_visit(path, add_file, &wanted, err);
}

/* Takes identity and rule of the recording. */
static enum hn_status append_rule(struct hn_recording *recording, const char *path,
                                  struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_stored_rule *stored = hn_stored_rules_add(rules);
    if (stored == NULL)
        return hn_fail_memory(err);
    *stored = (struct hn_stored_rule){.identity = recording->identity,
                                      .version = recording->version,
                                      .learnt = recording->learnt,
                                      .stale = recording->version.protocol != HN_MEASURING_PROTOCOL,
                                      .rule = *recording->rule};
    hn_origin_of_file(path, &stored->origin);
    hn_identity_init(&recording->identity);
    hn_rule_init(recording->rule);
    return HN_OK;
}

struct wanted_rules {
    const char *kernel;
    struct hn_stored_rules *rules;
};

static enum hn_status add_rules_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted_rules *wanted = data;
    struct hn_recording recording;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (recording.rule != NULL && strcmp(recording.identity.kernel, wanted->kernel) == 0)
        status = append_rule(&recording, path, wanted->rules, err);
    hn_recording_finish(&recording);
    return status;
}

enum hn_status hn_recording_add_rules(const char *path, const char *kernel,
                                      struct hn_stored_rules *rules, struct hn_error *err)
{
    struct stat about;
    struct hn_text folder = {0};
    struct wanted_rules wanted = {kernel, rules};
    const char *slash = strrchr(path, '/');
    if (stat(path, &about) != 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return hn_recordings_visit_rules(path, add_rules_file, &wanted, err);
    hn_text_printf(&folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                   slash != NULL ? path : ".");
    enum hn_status status =
        folder.failed ? hn_fail_memory(err)
                      : hn_recordings_visit_rules(folder.data, add_rules_file, &wanted, err);
    hn_text_finish(&folder);
    return status;
}
