/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/command.h"
#include "tuner/commands/open_cache.h"

struct hn_cache_command hn_cache_command_of(const struct hn_options *options)
{
    const struct hn_texts *configs = &options->configs;
    return (struct hn_cache_command){
        .options = *options,
        .arguments = options->arguments.items,
        .argument_count = options->arguments.count,
        .problem = options->problem,
        .device_name = options->device_name,
        .config = configs->count > 0 ? configs->items[configs->count - 1] : NULL,
        .images = options->images,
        .own = options->own,
        .t4 = options->format == 1,
        .all = options->all,
        .threshold = options->threshold,
        .prune = {.stale = options->stale,
                  .simulated = options->simulated,
                  .images = options->images,
                  .dry_run = options->dry_run},
        .older_than_days = options->older_than_days,
    };
}

typedef enum hn_status cache_part(const struct hn_cache_command *command, struct hn_error *err);

static enum hn_status open_and_run(const struct hn_options *options, enum hn_store_mode mode,
                                   cache_part *part, struct hn_error *err)
{
    struct hn_cache_command command = hn_cache_command_of(options);
    char *path = hn_needed(hn_store_default_path(options->cache));
    command.path = hn_needed(hn_cache_shown(path));
    bool is_server = hn_store_is_server(path);
    free(path);
    enum hn_status status = HN_OK;
    if (is_server && part == hn_cache_prune)
        status = hn_fail(
            err, HN_EUSAGE,
            "the cache of a server is everybody's, and not pruned from here: merge it into a "
            "file, prune that, and merge it into another database");
    if (status == HN_OK)
        status = hn_cache_open(options, mode, &command.store, err);
    if (status == HN_OK)
        status = part(&command, err);
    hn_store_close(command.store);
    free(command.path);
    return status;
}

/* Of each part: its function, and itself. */
#define PART(part, mode, bit, ...)                                                                 \
    static enum hn_status run_##part(struct hn_options *options, struct hn_error *err)             \
    {                                                                                              \
        return open_and_run(options, mode, hn_cache_##part, err);                                  \
    }                                                                                              \
    static const struct hn_command command_##part = {.name = "cache " #part,                       \
                                                     .of = bit,                                    \
                                                     .extra =                                      \
                                                         "found '%s', expected no more arguments", \
                                                     .run = run_##part,                            \
                                                     __VA_ARGS__};
#define FEW "too few arguments, expected "

PART(list, HN_STORE_READ, HN_CACHE_LIST, .arguments = "",
     .summary = "Lists the tuned kernels: the best of each problem and device.",
     .examples = "hone cache list")
PART(show, HN_STORE_READ, HN_CACHE_SHOW, .arguments = "NAME", .least = 1, .most = 1,
     .missing = FEW "NAME",
     .summary = "Shows the tunings of a kernel: the best points and what became of all.",
     .examples = "hone cache show scale")
PART(export, HN_STORE_READ, HN_CACHE_EXPORT, .arguments = "NAME FILE", .least = 2, .most = 2,
     .missing = FEW "NAME FILE", .summary = "Writes the tunings of a kernel as recordings.",
     .details =
         "A recording is Kernel Tuner's cache file with Hone's data added; a name that ends in "
         ".gz is compressed. Several tunings need a folder as FILE.",
     .examples = "hone cache export scale recorded/")
PART(import, HN_STORE_WRITE, HN_CACHE_IMPORT, .arguments = "FILE...", .least = 1, .most = SIZE_MAX,
     .missing = FEW "FILE...",
     .summary = "Takes over recordings of Hone, cache files of Kernel Tuner and other caches.",
     .details = "Each file is taken over as a whole or not at all, and once only.",
     .examples = "hone cache import recorded/scale.json")
PART(merge, HN_STORE_WRITE, HN_CACHE_MERGE, .arguments = "FILE...", .least = 1, .most = SIZE_MAX,
     .missing = FEW "FILE...", .summary = "Brings the caches of several machines together.",
     .details = "As import, and lists the tunings of which both had another result: the newest "
                "verified session counts.",
     .examples = "hone cache merge colleague.db")
PART(diff, HN_STORE_READ, HN_CACHE_DIFF, .arguments = "FILE", .least = 1, .most = 1,
     .missing = FEW "FILE",
     .summary = "Shows what is other in another cache, a recording or a folder of them.",
     .details =
         "A tuning is faster or slower when the 95% intervals of both medians are apart, and "
         "the medians by more than the threshold.",
     .examples = "hone cache diff before.db")
PART(prune, HN_STORE_WRITE, HN_CACHE_PRUNE, .arguments = "[NAME]", .most = 1,
     .summary = "Removes what is no longer wanted, of one kernel or of all.",
     .details = "At least one of the options says what. What is removed no longer leads later "
                "searches.",
     .examples = "hone cache prune --stale")
PART(check, HN_STORE_READ, HN_CACHE_CHECK, .arguments = "",
     .summary = "Checks that the cache is whole and every record can be read.",
     .examples = "hone cache check")

const struct hn_command *const hn_cache_parts[] = {
    &command_list,   &command_show,  &command_export,
    &command_import, &command_merge, &command_diff,
    &command_prune,  &command_check, NULL,
};
