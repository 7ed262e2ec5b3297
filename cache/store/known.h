/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_KNOWN_H
#define HONE_CACHE_STORE_KNOWN_H

#include "cache/store/store.h"

/* The problems of a kernel that sessions were begun for, whatever the device, as they were when they were read: who asks for thousands of sizes
 * asks memory. */
struct hn_known_problems {
    uint64_t *hashes; /* of their texts; 0: free */
    size_t mask;
    struct hn_text text; /* of the problem that was asked about last */
};

/* Those of a kernel with that signature. */
enum hn_status hn_known_problems_read(struct hn_store *store, const char *kernel, const char *signature,
                                      struct hn_known_problems *known, struct hn_error *err);
void hn_known_problems_finish(struct hn_known_problems *known);
/* False: there is none of that problem for sure. */
bool hn_known_problems_may_have(struct hn_known_problems *known, const struct hn_bindings *problem);

#endif
