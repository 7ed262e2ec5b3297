/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORDING_RECORDING_LIST_H
#define HONE_CACHE_RECORDING_RECORDING_LIST_H

#include "cache/store/store.h"

typedef enum hn_status hn_recording_visit(const char *path, void *data, struct hn_error *err);
/* Visits a recording, or those of a folder (*.json and *.json.gz, by name) until one visit fails. HN_ERUN. */
enum hn_status hn_recordings_visit(const char *path, hn_recording_visit *visit, void *data, struct hn_error *err);
/* The same with the files of rules in a folder, which are no recordings of it, below. */
enum hn_status hn_recordings_visit_rules(const char *folder, hn_recording_visit *visit, void *data, struct hn_error *err);

/* Appends the tuned results of a kernel (NULL: of all) that a recording holds, or a folder of them, as hn_store_list has
 * those of a cache: of each recording the best record, of the final race where there was one. What Kernel Tuner measured
 * is left out. HN_EFORMAT, HN_ERUN. */
enum hn_status hn_recording_list(const char *path, const char *kernel, struct hn_tuned_list *list,
                                 struct hn_error *err);

/* Rules of families in files of their own beside the recordings: NAME.family or NAME.family.gz, a recording with a rule in
 * place of a problem and rows. Who reads a folder of recordings does not see them. */

/* Appends the rules of a kernel in the files of a folder; of a file, those beside it. HN_EFORMAT. */
enum hn_status hn_recording_add_rules(const char *path, const char *kernel, struct hn_stored_rules *rules,
                                      struct hn_error *err);

#endif
