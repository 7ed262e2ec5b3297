/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORDING_RECORDING_INTERNAL_H
#define HONE_CACHE_RECORDING_RECORDING_INTERNAL_H

#include <jansson.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/recording/recording.h"

/* What the files of the room share. What takes an err and returns no status is sticky (base/error.h). */

/* The whole file, unpacked when it is gzip; NUL-terminated. HN_ERUN: can not be read; HN_EFORMAT: a
 * damaged gzip stream. Free it. NULL after a failure. */
char *hn_gzip_read(const char *path, size_t *size, struct hn_error *err);
/* Packs when the path ends in ".gz"; the same text gives the same bytes. */
enum hn_status hn_gzip_write(const char *path, const char *text, size_t size, struct hn_error *err);

/* The file as JSON: also one that Kernel Tuner left unfinished, and with NaN and Infinity, which Python writes, as null.
 * HN_EFORMAT: what was found where. NULL after a failure. */
json_t *hn_recording_parse(const char *text, size_t size, struct hn_error *err);

/* JSON with reals in their shortest exact form, which jansson does not write, and spaces as Kernel Tuner's. */
void hn_json_append(struct hn_text *text, const json_t *json);

/* A row of Kernel Tuner's own, or of ours with what our "hone" object adds, into an initialised
 * record. */
void hn_row_read(const struct hn_recording *recording, const json_t *row, struct hn_record *record,
                 struct hn_error *err);
/* What came of a point by Kernel Tuner's members, and the milliseconds, NAN for a failure. A failure is named by `time`
 * or, in newer files, by another member ("__error__"); without a name that is known it is launch_error, and so is a
 * time that is none (1e20 stood for failures before they had names). reason is the row's or a constant. */
enum hn_outcome hn_row_outcome(const json_t *row, double *ms, const char **reason);

#endif
