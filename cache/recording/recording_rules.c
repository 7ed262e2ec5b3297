/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording_rules.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/recording/recording.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), own = strlen(end);
    return length > own && strcmp(text + length - own, end) == 0;
}

bool hn_recording_is_rule(const char *path)
{
    return ends_with(path, ".family") || ends_with(path, ".family.gz");
}

static int is_rule(const struct dirent *entry)
{
    return hn_recording_is_rule(entry->d_name);
}

/* Takes identity and rule of the recording. */
static enum hn_status append(struct hn_recording *recording, const char *path,
                             struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_stored_rule *grown = realloc(rules->items, (rules->count + 1) * sizeof *rules->items);
    if (grown == NULL)
        return hn_fail_memory(err);
    rules->items = grown;
    struct hn_stored_rule *stored = &rules->items[rules->count++];
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

static enum hn_status add_file(const char *path, const char *kernel, struct hn_stored_rules *rules,
                               struct hn_error *err)
{
    struct hn_recording recording;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (recording.rule != NULL && strcmp(recording.identity.kernel, kernel) == 0)
        status = append(&recording, path, rules, err);
    hn_recording_finish(&recording);
    return status;
}

static enum hn_status add_folder(const char *folder, int length, const char *kernel,
                                 struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_text path = {0};
    struct dirent **entries = NULL;
    hn_text_printf(&path, "%.*s", length, folder);
    int count = path.failed ? -1 : scandir(path.data, &entries, is_rule, alphasort);
    enum hn_status status = HN_OK;
    if (count < 0)
        status =
            hn_fail(err, HN_ERUN, "'%.*s' can not be read: %s", length, folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct hn_text file = {0};
        hn_text_printf(&file, "%s/%s", path.data, entries[i]->d_name);
        if (status == HN_OK)
            status = file.failed ? hn_fail_memory(err) : add_file(file.data, kernel, rules, err);
        hn_text_finish(&file);
        free(entries[i]);
    }
    free(entries);
    hn_text_finish(&path);
    return status;
}

enum hn_status hn_recording_add_rules(const char *path, const char *kernel,
                                      struct hn_stored_rules *rules, struct hn_error *err)
{
    struct stat about;
    const char *slash = strrchr(path, '/');
    if (stat(path, &about) != 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return add_folder(path, (int)strlen(path), kernel, rules, err);
    return slash != NULL ? add_folder(path, (int)(slash - path), kernel, rules, err)
                         : add_folder(".", 1, kernel, rules, err);
}
