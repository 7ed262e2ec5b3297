/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "cache/recording_list.h"
#include "cache/recording_plan.h"
#include "runtime/libhone/library.h"

enum hone_status hn_lib_recordings_read(struct hone_cache *cache, const char *kernel,
                                        struct hn_tuned_list *list, struct hone_error *err)
{
    struct hn_error reason = {""};
    return hn_lib_take(err, hn_recording_list(cache->path, kernel, list, &reason), &reason);
}

static bool is_recording(const char *name)
{
    size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".json") == 0) ||
           (length > 8 && strcmp(name + length - 8, ".json.gz") == 0);
}

enum hn_status hn_lib_recordings_find_plan(const struct hone_cache *cache,
                                           const struct hn_version *version,
                                           struct hn_stored_plan *stored, struct hn_error *err)
{
    DIR *folder = opendir(cache->path);
    if (folder == NULL)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", cache->path, strerror(errno));
    enum hn_status status = HN_OK;
    stored->json = NULL;
    for (const struct dirent *entry;
         status == HN_OK && stored->json == NULL && (entry = readdir(folder)) != NULL;) {
        struct hn_text path;
        if (!is_recording(entry->d_name))
            continue;
        hn_text_init(&path);
        hn_text_printf(&path, "%s/%s", cache->path, entry->d_name);
        status = path.failed ? hn_fail_memory(err)
                             : hn_recording_plan_find(path.data, version, stored, err);
        hn_text_finish(&path);
    }
    closedir(folder);
    if (status == HN_OK && stored->json == NULL)
        return hn_fail(err, HN_ENOTFOUND,
                       "the recordings in '%s' do not hold the plan they were made with; export "
                       "them again from the cache (`hone cache export`)",
                       cache->path);
    return status;
}
