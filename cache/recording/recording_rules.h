/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORDING_RECORDING_RULES_H
#define HONE_CACHE_RECORDING_RECORDING_RULES_H

#include "cache/store/store.h"

/* Rules of families in files of their own beside the recordings: NAME.family or NAME.family.gz, a recording with a rule in
 * place of a problem and rows. Who reads a folder of recordings does not see them. */

/* Appends the rules of a kernel in the files of a folder; of a file, those beside it. HN_EFORMAT. */
enum hn_status hn_recording_add_rules(const char *path, const char *kernel, struct hn_stored_rules *rules,
                                      struct hn_error *err);

#endif
