/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_HOSTS_OPTION_H
#define HONE_TUNER_COMMANDS_HOSTS_OPTION_H

#include "tuner/commands/command.h"
#include "tuner/config/sites.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/workers.h"

/* What --workers says, as hosts are started by it. install: --install, which is for hosts elsewhere whose `hone` is not named. */
struct hn_hosts_option {
    struct hn_sites sites;
    struct hn_host_options *hosts; /* their strings are those of the sites */
};

enum hn_status hn_hosts_option_read(const char *workers, bool install, struct hn_hosts_option *option, struct hn_error *err);
void hn_hosts_option_finish(struct hn_hosts_option *option);

/* Workers of this machine, as the options have them; `useful` as in hn_workers_options. */
struct hn_workers_options hn_workers_of(const struct hn_options *options, double useful);

#endif
