/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_TUNE_FAMILY_H
#define HONE_TUNER_COMMANDS_TUNE_FAMILY_H

#include <jansson.h>

#include "tuner/commands/family_source.h"
#include "tuner/family/family_options.h"

/* `hone tune --family`. */

/* HN_EUSAGE: the config has no family, or --budget is a number of points; HN_ECONFIG: an objective that is not time. */
enum hn_status hn_tune_family_check(const struct hn_family_source *source, const struct hn_config *config,
                                    struct hn_error *err);

/* Tunes it, and prints what came of it, or adds it to results (with --json). */
enum hn_status hn_tune_family(const struct hn_family_options *family, const char *kernel, json_t *results,
                              struct hn_error *err);

#endif
