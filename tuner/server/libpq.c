/* SPDX-License-Identifier: MIT */
#include "tuner/server/libpq.h"

#include "runtime/device/library.h"

enum hn_status hn_libpq_open(struct hn_libpq *pq, struct hn_error *err)
{
    static const char *const names[] = {"libpq.so.5"};
    *pq = (struct hn_libpq){.library = NULL};
    const struct hn_symbol symbols[] = {
#define X(result, name, arguments) {#name, (void *)&pq->name, false},
        HN_LIBPQ_FUNCTIONS(X)
#undef X
    };
    struct hn_error reason;
    if (hn_library_open(names, 1, symbols, sizeof symbols / sizeof *symbols, &pq->library,
                        &reason) == HN_OK)
        return HN_OK;
    return hn_fail(err, HN_ERUN,
                   "a cache in PostgreSQL needs its client library: %.3000s; install it (Debian: "
                   "apt-get install libpq5), or use a cache file",
                   reason.message);
}

void hn_libpq_close(struct hn_libpq *pq)
{
    hn_library_close(pq->library);
    *pq = (struct hn_libpq){.library = NULL};
}
