/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_COMMAND_H
#define HONE_TUNER_COMMANDS_COMMAND_H

#include "base/error.h"

/* A command of `hone`: one file command_<name>.c each, listed in commands.c. run gets argv from the command's name on,
 * writes results to stdout and everything else to stderr; its status becomes the exit code (hn_exit_code). On failure
 * err holds the message, which main prints; "" when the command has already said it. */
struct hn_command {
    const char *name;
    const char *arguments; /* for the list of commands: "CONFIG" */
    const char *summary;
    enum hn_status (*run)(int argc, char **argv, struct hn_error *err);
    int hidden; /* not in the list: worker */
};

/* NULL-terminated. */
extern const struct hn_command *const hn_commands[];

/* 0 done; 1 run failed; 2 usage or config; 3 nothing valid found; 4 replay; 128+n after a signal. */
int hn_exit_code(enum hn_status status);

#endif
