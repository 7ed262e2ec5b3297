/* SPDX-License-Identifier: MIT */
#include "tuner/commands/hosts_option.h"
#include "base/memory.h"

#include <stdlib.h>

#include "runtime/process/process.h"

enum hn_status hn_hosts_option_read(const char *workers, bool install,
                                    struct hn_hosts_option *option, struct hn_error *err)
{
    *option = (struct hn_hosts_option){.hosts = NULL};
    enum hn_status status = hn_sites_read(workers, &option->sites, err);
    if (status != HN_OK)
        return status;
    option->hosts = hn_need(option->sites.count, sizeof *option->hosts);
    for (size_t i = 0; i < option->sites.count; i++) {
        const struct hn_site *site = &option->sites.items[i];
        option->hosts[i] =
            (struct hn_host_options){site->run, site->hone, site->gpus, site->compile,
                                     install && site->hone == NULL && site->run[0] != '\0'};
    }
    return HN_OK;
}

void hn_hosts_option_finish(struct hn_hosts_option *option)
{
    free(option->hosts);
    hn_sites_finish(&option->sites);
}

struct hn_workers_options hn_workers_of(const struct hn_options *options, double useful)
{
    return (struct hn_workers_options){
        .device = options->device,
        .jobs = options->jobs > 0 ? (int)options->jobs : hn_machine_jobs(),
        .useful = useful,
        .compile_timeout_s = options->compile_timeout_s,
        .run_timeout_s = options->run_timeout_s,
        .announces = !options->quiet,
    };
}
