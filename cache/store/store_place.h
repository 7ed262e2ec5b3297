/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_PLACE_H
#define HONE_CACHE_STORE_STORE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where a cache lies: what its file and file system allow. */

/* The network file system with that f_type of statfs, or NULL for local ones: on these, shared
 * memory between hosts does not work, which a write-ahead log needs. */
const char *hn_place_network_name(unsigned long type);
/* The same for the file system that holds the path's folder. */
const char *hn_place_network(const char *path);

/* Makes the folders above path. HN_ERUN. */
enum hn_status hn_place_make_folders(const char *path, struct hn_error *err);

/* Whether the folder of path can not be written by us. */
bool hn_place_is_read_only(const char *path);
/* Whether a journal with contents lies beside path: what it holds is not in the file yet. */
bool hn_place_has_journal(const char *path);

/* HN_ENOTFOUND when there is no such file, HN_EFORMAT when it is something else than an SQLite
 * database. An empty file passes when `empty_passes`. */
enum hn_status hn_place_check(const char *path, bool empty_passes, struct hn_error *err);

/* Whether it is no link, and nobody but the user and root owns it or can write to it; else why. leads_on: it is a folder on the way,
 * where everybody may write if only owners rename (/tmp): the next part has to be the user's, too. why is "" before. */
bool hn_place_is_own(const char *path, bool leads_on, char *why, size_t size);

#endif
