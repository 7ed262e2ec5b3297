/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording_list.h"
#include "cache/recording/recording_plan.h"
#include "runtime/libhone/library.h"

enum hone_status hn_lib_recordings_read(struct hone_cache *cache, const char *kernel,
                                        struct hn_tuned_list *list, struct hone_error *err)
{
    struct hn_error reason = {0};
    return hn_lib_take(err, hn_recording_list(cache->path, kernel, list, &reason), &reason);
}

enum hn_status hn_lib_recordings_find_plan(const struct hone_cache *cache,
                                           const struct hn_tuned *tuned,
                                           struct hn_stored_plan *stored, struct hn_error *err)
{
    enum hn_status status =
        hn_recording_plan_find(cache->path, tuned->identity.kernel, &tuned->version, stored, err);
    if (status == HN_OK && stored->json == NULL)
        return hn_fail(err, HN_ENOTFOUND,
                       "the recordings in '%s' do not hold the plan they were made with: `hone "
                       "cache import FILE... --config CONFIG` adds it, `hone cache export` writes "
                       "them again",
                       cache->path);
    return status;
}
