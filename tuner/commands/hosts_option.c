/* SPDX-License-Identifier: MIT */
#include "tuner/commands/hosts_option.h"

#include <stdlib.h>

enum hn_status hn_hosts_option_read(const char *workers, struct hn_hosts_option *option,
                                    struct hn_error *err)
{
    *option = (struct hn_hosts_option){.hosts = NULL};
    enum hn_status status = hn_sites_read(workers, &option->sites, err);
    if (status != HN_OK)
        return status;
    option->hosts = calloc(option->sites.count, sizeof *option->hosts);
    if (option->hosts == NULL) {
        hn_hosts_option_finish(option);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < option->sites.count; i++) {
        const struct hn_site *site = &option->sites.items[i];
        option->hosts[i] =
            (struct hn_host_options){site->run, site->hone, site->gpus, site->compile};
    }
    return HN_OK;
}

void hn_hosts_option_finish(struct hn_hosts_option *option)
{
    free(option->hosts);
    hn_sites_finish(&option->sites);
}
