/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_MEMO_H
#define HONE_RUNTIME_LIBHONE_MEMO_H

#include "runtime/libhone/library.h"

/* Which handle was given out for what: read by all threads without a lock, added to with the cache's. */

/* What is asked for. Borrows all. */
struct hn_lib_request {
    CUcontext context;
    const char *kernel;
    const struct hone_value *problem;
    size_t problem_count;
    const struct hone_options *options;
};

/* Of all that decides which handle it is: how to tune is no part of it. */
uint64_t hn_lib_request_hash(const struct hn_lib_request *request);
/* The handle that was given out for the same, or NULL. */
struct hone_kernel *hn_lib_recall(struct hone_cache *cache, uint64_t hash, const struct hn_lib_request *request);
/* With the lock held. Copies the request. */
enum hone_status hn_lib_remember(struct hone_cache *cache, uint64_t hash, const struct hn_lib_request *request,
                                 struct hone_kernel *handle, struct hone_error *err);
void hn_lib_memos_finish(struct hone_cache *cache);

#endif
