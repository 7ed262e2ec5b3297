/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CAPTURE_H
#define HONE_TUNER_CONFIG_CAPTURE_H

#include "base/file.h"
#include "runtime/plan/capture_file.h"
#include "tuner/config/config.h"

/* A launch that a program made (`hone capture`, or libhone's HONE_CAPTURE), as the data of a tuning. */
struct hn_capture {
    const char *path; /* borrowed */
    FILE *stream;
    struct hn_capture_head head;
    const struct hn_step *step; /* whose parameters its names are places of; NULL: they are arguments' */
    struct hn_scratch folder;   /* of what is unpacked; without a path there is none */
};

/* To be closed all the same. HN_EFORMAT: no capture, damaged, or newer than this Hone; HN_ERUN: cannot be read. */
enum hn_status hn_capture_open(const char *path, struct hn_capture **capture, struct hn_error *err);
/* Removes what was unpacked. NULL is fine. */
void hn_capture_close(struct hn_capture *capture);

/* All bytes of a part; free them. HN_EFORMAT: it is damaged. */
char *hn_capture_contents(const struct hn_capture *capture, const struct hn_capture_part *part, struct hn_error *err);

/* Makes the config one of the captured launch: its problem, its scalars, its inputs as files in a temporary folder, and
 * as the reference files of the output that was captured. The capture has to stay open until all is done.
 * HN_ECONFIG: it is of another kernel, or of arguments that the config does not have. HN_EUSAGE: the problem values
 * that were given are others than those that were captured. */
enum hn_status hn_capture_apply(struct hn_capture *capture, const struct hn_bindings *given, struct hn_config *config,
                                struct hn_error *err);

#endif
