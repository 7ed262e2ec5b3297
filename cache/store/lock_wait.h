/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_LOCK_WAIT_H
#define HONE_CACHE_STORE_LOCK_WAIT_H

/* How long another process' lock on the cache is waited for: writers hold it for milliseconds; a process that was stopped in
 * the middle may hold it longer. After a signal only for a moment, so that what was finished is kept where it can be. */
enum { HN_LOCK_WAIT_MS = 30000, HN_LOCK_AFTER_SIGNAL_MS = 200 };

/* SQLite's busy handler: sleeps and says 1, or 0 when it was long enough. times: how often it was called for this lock. */
int hn_lock_wait(void *unused, int times);

#endif
