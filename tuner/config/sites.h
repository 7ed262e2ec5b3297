/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_SITES_H
#define HONE_TUNER_CONFIG_SITES_H

#include "tuner/hosts/hosts.h"

/* Where workers are to run, as --workers says it:
 *
 *     local: gpus=all compile=8      this machine
 *     workers.yaml                   workers: [{run: ssh gpu7, gpus: 4, compile: 16}, {run: srun …, count: 8, gpus: 1}]
 *     slurm                          the nodes of the allocation that this runs in
 *     hostfile:FILE                  the hosts of a machine file of MPI, by ssh */
struct hn_sites {
    struct hn_host_options *items;
    size_t count;
};

enum { HN_SITES_MOST = 256 };

/* install: the program is taken to hosts elsewhere where none is named. compiles_here: others only measure. HN_EUSAGE or
 * HN_ECONFIG say what was found and what was expected. */
enum hn_status hn_sites_read(const char *text, bool install, bool compiles_here, struct hn_sites *sites,
                             struct hn_error *err);
void hn_sites_finish(struct hn_sites *sites);

#endif
