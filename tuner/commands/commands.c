/* SPDX-License-Identifier: MIT */
#include "tuner/commands/command.h"

#include <signal.h>
#include <stddef.h>

#include "base/interrupt.h"

extern const struct hn_command hn_command_tune;
extern const struct hn_command hn_command_run;
extern const struct hn_command hn_command_space;
extern const struct hn_command hn_command_inputs;
extern const struct hn_command hn_command_compile;
extern const struct hn_command hn_command_explain;
extern const struct hn_command hn_command_export;
extern const struct hn_command hn_command_init;
extern const struct hn_command hn_command_replay;
extern const struct hn_command hn_command_report;
extern const struct hn_command hn_command_cache;
extern const struct hn_command hn_command_device;
extern const struct hn_command hn_command_worker;

const struct hn_command *const hn_commands[] = {
    &hn_command_init,    &hn_command_tune,
    &hn_command_run,     &hn_command_space,
    &hn_command_inputs,  &hn_command_compile,
    &hn_command_explain, &hn_command_export,
    &hn_command_replay,  &hn_command_report,
    &hn_command_cache,   &hn_command_device,
    &hn_command_worker,  NULL,
};

int hn_exit_code(enum hn_status status)
{
    switch (status) {
    case HN_OK:
        return 0;
    case HN_ENOMEM:
    case HN_ERUN:
    case HN_EFORMAT:
        return 1;
    case HN_ECONFIG:
    case HN_EUSAGE:
    case HN_EVALUE:
        return 2;
    case HN_ENOTFOUND:
        return 3;
    case HN_EREPLAY:
        return 4;
    case HN_EINTERRUPTED:
        return 128 + (hn_interrupted() != 0 ? hn_interrupted() : SIGINT);
    }
    return 1;
}
