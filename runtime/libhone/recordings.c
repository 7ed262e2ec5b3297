/* SPDX-License-Identifier: MIT */
#include "cache/recording_list.h"
#include "runtime/libhone/library.h"

enum hone_status hn_lib_recordings_read(struct hone_cache *cache, const char *kernel,
                                        struct hn_tuned_list *list, struct hone_error *err)
{
    struct hn_error reason = {""};
    return hn_lib_take(err, hn_recording_list(cache->path, kernel, list, &reason), &reason);
}
