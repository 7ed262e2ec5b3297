/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_BASE_H
#define HONE_CACHE_STORE_STORE_BASE_H

#include "cache/store/store.h"

/* A cache under another: what is read is answered from both, what is written goes into the upper one. What the lower one has
 * counts as imported from it: it leads and serves, where the upper one has nothing of its own for the same. */

/* Takes the base over, which is open for reading. */
void hn_store_set_base(struct hn_store *store, struct hn_store *base);

#endif
