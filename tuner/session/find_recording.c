/* SPDX-License-Identifier: MIT */
#include "tuner/session/find_recording.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool fits(const struct hn_task *task, const struct hn_recording *recording)
{
    const struct hn_identity *identity = &recording->identity;
    if (strcmp(identity->kernel, task->identity.kernel) != 0)
        return false;
    return !recording->from_hone || (hn_bindings_equal(&identity->problem, task->problem) &&
                                     (strcmp(identity->regime, hn_regime_name(task->regime)) == 0 ||
                                      strcmp(identity->regime, HN_REGIME_UNKNOWN) == 0));
}

static bool is_recording_name(const char *name)
{
    size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".json") == 0) ||
           (length > 8 && strcmp(name + length - 8, ".json.gz") == 0);
}

static enum hn_status search_folder(const struct hn_task *task, const char *path,
                                    struct hn_recording *recording, struct hn_error *err)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool found = false;
    if (count < 0)
        return hn_fail(err, HN_ERUN, "%s can not be read: %s", path, strerror(errno));
    enum hn_status status = HN_OK;
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (status == HN_OK && !found && is_recording_name(entries[i]->d_name)) {
            status = hn_recording_load(file, recording, err);
            found = status == HN_OK && fits(task, recording);
            if (status == HN_OK && !found)
                hn_recording_finish(recording);
        }
        free(entries[i]);
    }
    free(entries);
    if (status == HN_OK && !found) {
        struct hn_text text;
        hn_text_init(&text);
        hn_bindings_append(&text, task->problem);
        status = hn_fail(err, HN_ERUN, "%s holds no recording of %s for %s (%s)", path,
                         task->identity.kernel, text.data != NULL ? text.data : "this problem",
                         task->identity.regime);
        hn_text_finish(&text);
    }
    return status;
}

enum hn_status hn_find_recording(const struct hn_task *task, const char *path,
                                 struct hn_recording *recording, struct hn_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return search_folder(task, path, recording, err);
    enum hn_status status = hn_recording_load(path, recording, err);
    if (status != HN_OK || fits(task, recording))
        return status;
    struct hn_text was;
    struct hn_text is;
    hn_text_init(&was);
    hn_text_init(&is);
    hn_bindings_append(&was, &recording->identity.problem);
    hn_bindings_append(&is, task->problem);
    status = hn_fail(err, HN_ECONFIG, "%s records %s (%s, %s); asked for is %s (%s, %s)", path,
                     recording->identity.kernel, was.data != NULL ? was.data : "no problem",
                     recording->identity.regime, task->identity.kernel,
                     is.data != NULL ? is.data : "no problem", task->identity.regime);
    hn_text_finish(&was);
    hn_text_finish(&is);
    hn_recording_finish(recording);
    return status;
}

bool hn_recording_is_stale(const struct hn_task *task, const struct hn_recording *recording)
{
    return hn_version_knows_template(&recording->version) &&
           !hn_version_same_source(&recording->version, &task->version);
}
