/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_LAUNCHER_H
#define HONE_TUNER_HOSTS_LAUNCHER_H

#include "runtime/process/process.h"

/* Starts `run hone worker node`, or with `installs` `run sh`, by the shell, in a process group of its own. to and from: its stdin and stdout; its stderr is
 * drained as a worker's output. hone NULL: this very program, by its path. count: whether the agent is to look how many GPUs
 * there are. */
enum hn_status hn_launcher_start(struct hn_process *launcher, const char *run, const char *hone, bool count, bool installs, int *to, int *from,
                                 struct hn_error *err);

#endif
