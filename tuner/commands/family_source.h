/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_FAMILY_SOURCE_H
#define HONE_TUNER_COMMANDS_FAMILY_SOURCE_H

#include "tuner/commands/command.h"

/* A family as a command was given it: what `tune --family` and `replay --family` share. Borrows all. */
struct hn_family_source {
    const struct hn_options *options;
    const char *path;
};

/* HN_EUSAGE: the config has no family, or --budget is a number of points. */
enum hn_status hn_family_source_check(const struct hn_family_source *source, const struct hn_config *config,
                                      struct hn_error *err);

/* As hn_family_options has them, whose context is a source: a fresh copy of the config; a line for stderr, unless --quiet. */
enum hn_status hn_family_source_load(void *source, struct hn_config **config, struct hn_error *err);
void hn_family_source_say(void *source, const char *line);

#endif
