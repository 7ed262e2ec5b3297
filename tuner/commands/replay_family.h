/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_REPLAY_FAMILY_H
#define HONE_TUNER_COMMANDS_REPLAY_FAMILY_H

#include "tuner/commands/command.h"

/* `hone replay --family`: what a rule promises, held against searches at sizes that nobody has measured. Prints a line a size,
 * and both losses. HN_EREPLAY when more is lost than promised, by more than the spread of these sizes and --max-slowdown. Without
 * --held-out as many sizes as `hone tune --family` takes. */
enum hn_status hn_replay_family(const struct hn_options *options, const char *path, struct hn_error *err);

#endif
