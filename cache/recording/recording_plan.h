/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORDING_RECORDING_PLAN_H
#define HONE_CACHE_RECORDING_RECORDING_PLAN_H

#include <jansson.h>

#include "cache/store/store.h"

/* The plan, the template and its quoted includes that a recording was made with, as its member "source", so that
 * whoever has nothing else can compile what it recorded. */

/* Without the folders in which the files lay. NULL when out of memory. */
json_t *hn_recording_plan_write(const struct hn_stored_plan *stored);
/* stored->json stays NULL where there is no such member. HN_EFORMAT. */
enum hn_status hn_recording_plan_read(const json_t *source, struct hn_stored_plan *stored, struct hn_error *err);

/* What a recording of that kernel and version says, or the first of a folder that says anything, without parsing its rows;
 * stored->json stays NULL where none does. HN_EFORMAT, HN_ERUN. */
enum hn_status hn_recording_plan_find(const char *path, const char *kernel, const struct hn_version *version,
                                      struct hn_stored_plan *stored, struct hn_error *err);

#endif
