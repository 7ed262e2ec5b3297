/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_REPLAY_ALL_H
#define HONE_TUNER_COMMANDS_REPLAY_ALL_H

#include <jansson.h>

#include "tuner/commands/command.h"

/* `hone replay --all`: of every tuning of these configs' kernels on this device that is stale (driver, NVRTC, template or
 * plan have changed since), the best five points are compiled, verified and raced again, and stored as of now. Prints a
 * line each, and what was looked at. HN_EREPLAY when none of a tuning's five works any longer; HN_ERUN when there was no
 * tuning of this device, stale or not. */
enum hn_status hn_replay_all(const struct hn_options *options, struct hn_error *err);

#endif
