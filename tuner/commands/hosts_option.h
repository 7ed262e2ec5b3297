/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_HOSTS_OPTION_H
#define HONE_TUNER_COMMANDS_HOSTS_OPTION_H

#include "tuner/config/sites.h"
#include "tuner/hosts/hosts.h"

/* What --workers says, as hosts are started by it. */
struct hn_hosts_option {
    struct hn_sites sites;
    struct hn_host_options *hosts; /* their strings are those of the sites */
};

enum hn_status hn_hosts_option_read(const char *workers, struct hn_hosts_option *option, struct hn_error *err);
void hn_hosts_option_finish(struct hn_hosts_option *option);

#endif
