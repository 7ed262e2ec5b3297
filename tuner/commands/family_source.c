/* SPDX-License-Identifier: MIT */
#include "tuner/commands/family_source.h"

#include <stdio.h>

#include "tuner/config/family.h"

enum hn_status hn_family_source_check(const struct hn_family_source *source,
                                      const struct hn_config *config, struct hn_error *err)
{
    if (config->family == NULL)
        return hn_fail(err, HN_EUSAGE,
                       "--family: %s has no 'family'; docs/families.md says how to write one",
                       source->path);
    if (source->options->budget_count > 0)
        return hn_fail(err, HN_EUSAGE, "--family: --budget is a time, as 60s or 10m");
    return HN_OK;
}

enum hn_status hn_family_source_load(void *source, struct hn_config **config, struct hn_error *err)
{
    const struct hn_family_source *own = source;
    struct hn_options quiet = *own->options;
    quiet.quiet = true;
    return hn_options_config(&quiet, own->path, config, err);
}

void hn_family_source_say(void *source, const char *line)
{
    const struct hn_family_source *own = source;
    if (!own->options->quiet)
        fprintf(stderr, "%s\n", line);
}
