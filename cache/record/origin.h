/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_ORIGIN_H
#define HONE_CACHE_RECORD_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

/* Where the measurements of a session come from: they were taken by the Hone that keeps the cache, or imported into it. What
 * is imported leads searches and serves look-ups, marked as such; `hone tune` measures again what it takes from it. */
struct hn_origin {
    char machine[65]; /* the host on which they were taken; "" where that is not known */
    char source[256]; /* the file that they were imported from, or are read from; "": they were taken here */
    double imported;  /* when, seconds since the epoch; 0 where they are read from a recording */
};

void hn_origin_of_file(const char *path, struct hn_origin *origin);
bool hn_origin_is_foreign(const struct hn_origin *origin);
/* "measured on node7", "imported from a.json.gz on 2026-11-22", "imported from b.db on 2026-11-22, measured on node7". */
void hn_origin_append(struct hn_text *text, const struct hn_origin *origin);
/* The same by itself; NULL when out of memory. Free it. */
char *hn_origin_text(const struct hn_origin *origin);
json_t *hn_origin_to_json(const struct hn_origin *origin);

#endif
