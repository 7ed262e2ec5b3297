/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_MACHINE_H
#define HONE_RUNTIME_PROCESS_MACHINE_H

/* How many compile workers the machine allows: its affinity mask, the cgroup's CPU quota, and memory at about
 * 400 MiB a worker. At least 1. */
int hn_machine_jobs(void);

/* For a worker. Where memory runs out, the kernel is to end it and not hone or another's process. */
void hn_machine_offer_to_end(void);
/* Limits this process to 4 GiB of data, or half of the machine's memory: a template that instantiates itself without
 * end takes gigabytes a minute. Beyond it NVRTC says "out of memory". */
void hn_machine_limit_memory(void);

#endif
