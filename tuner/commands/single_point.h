/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_SINGLE_POINT_H
#define HONE_TUNER_COMMANDS_SINGLE_POINT_H

#include "tuner/commands/options.h"
#include "tuner/session/task.h"

/* For commands that work on one point: there -s gives values of the point, and what it leaves open comes from the
 * default point. */

/* Loads the config with -p applied and -s not. */
enum hn_status hn_single_point_config(const struct hn_options *options, const char *path, struct hn_config **config,
                                      struct hn_error *err);
/* The point of -s, completed; HN_ECONFIG when it is not valid. Into an initialised set. */
enum hn_status hn_single_point(const struct hn_options *options, const struct hn_task *task, struct hn_bindings *point,
                               struct hn_error *err);

#endif
