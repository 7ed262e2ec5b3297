/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_MACHINE_H
#define HONE_TUNER_MACHINE_H

/* How many compile workers the machine allows: its affinity mask, the cgroup's CPU quota, and memory at about
 * 400 MiB a worker. At least 1. */
int hn_machine_jobs(void);

#endif
