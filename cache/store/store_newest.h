/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_NEWEST_H
#define HONE_CACHE_STORE_STORE_NEWEST_H

/* Which of a point's records (aliases of record and session) counts: the one with the least of these columns, compared in
 * their order. What was measured here counts before what was imported; then a measured record without a verification yields
 * to any other; then the newest session counts; within it the final race, or that a point turned out wrong; then the order
 * of writing. Not with IN: SQLite makes a table of what stands behind it, in every query. */
#define HN_PLACE(record, session)                                                                                      \
    session ".source <> '', " record ".verification = 0 AND (" record ".outcome = 'ok' OR " record                     \
            ".outcome = 'slower' OR " record ".outcome = 'duplicate'), -" session ".started, -" session ".id, NOT ("   \
            record ".final OR " record ".outcome = 'wrong_result' OR " record ".outcome = 'out_of_bounds'), -" record  \
            ".id"

#endif
