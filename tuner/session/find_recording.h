/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_FIND_RECORDING_H
#define HONE_TUNER_SESSION_FIND_RECORDING_H

#include "cache/recording/recording.h"
#include "tuner/session/task.h"

/* path: a recording, or a folder of them, of which the one of this kernel, problem and regime is taken. HN_ERUN when
 * there is none, HN_ECONFIG when the file is of another. */
enum hn_status hn_find_recording(const struct hn_task *task, const char *path, struct hn_recording *recording,
                                 struct hn_error *err);
/* Whether template, options or plan were others when it was recorded. Not said of files of Kernel Tuner. */
bool hn_recording_is_stale(const struct hn_task *task, const struct hn_recording *recording);

#endif
