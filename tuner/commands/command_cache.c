/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/command.h"
#include "tuner/commands/open_cache.h"

extern const struct hn_command hn_command_cache;

enum {
    KEY_DEVICE_NAME = 1,
    KEY_IMAGES,
    KEY_ALL,
    KEY_THRESHOLD,
    KEY_STALE,
    KEY_SIMULATED,
    KEY_OLDER_THAN,
    KEY_DRY_RUN,
    KEY_PRUNE_IMAGES,
    KEY_FORMAT,
    KEY_CONFIG,
    KEY_OWN
};

#define THRESHOLD                                                                                  \
    {                                                                                              \
        "threshold", KEY_THRESHOLD, "PERCENT", 0,                                                  \
            "Medians that differ by less are as fast (default 2%)", 1                              \
    }

static const struct argp_option filter_options[] = {
    {"problem", 'p', "NAME=VALUE", 0, "Only tunings with this problem value; may be repeated", 1},
    {"device-name", KEY_DEVICE_NAME, "NAME", 0, "Only tunings of this device", 1},
    {0},
};

static const struct argp_option export_options[] = {
    {"problem", 'p', "NAME=VALUE", 0, "Only tunings with this problem value; may be repeated", 1},
    {"device-name", KEY_DEVICE_NAME, "NAME", 0, "Only tunings of this device", 1},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "recording (the default), or t4: results for the autotuning community's tools", 1},
    {0},
};

static const struct argp_option import_options[] = {
    {"device-name", KEY_DEVICE_NAME, "NAME", 0,
     "The device of a cache file of Kernel Tuner, where it says none or another", 1},
    {"own", KEY_OWN, 0, 0,
     "What the files hold was measured by you on this machine: hone tune reuses it", 1},
    {"config", KEY_CONFIG, "CONFIG", 0,
     "Complete recordings that were tuned with CONFIG: they take its plan and template", 1},
    {"images", KEY_IMAGES, 0, 0,
     "Also take over the compiled kernels of a cache: only from those whom you trust", 1},
    {0},
};

static const struct argp_option merge_options[] = {
    {"images", KEY_IMAGES, 0, 0,
     "Also take over the compiled kernels of a cache: only from those whom you trust", 1},
    THRESHOLD,
    {0},
};

static const struct argp_option diff_options[] = {
    {"problem", 'p', "NAME=VALUE", 0, "Only tunings with this problem value; may be repeated", 1},
    {"device-name", KEY_DEVICE_NAME, "NAME", 0, "Only tunings of this device", 1},
    {"all", KEY_ALL, 0, 0, "Also show what is the same", 1},
    THRESHOLD,
    {0},
};

static const struct argp_option prune_options[] = {
    {"stale", KEY_STALE, 0, 0,
     "Sessions of another version (template, driver, NVRTC, protocol) than the newest", 1},
    {"simulated", KEY_SIMULATED, 0, 0, "Sessions whose times came from a recording", 1},
    {"older-than", KEY_OLDER_THAN, "DAYS", 0,
     "Sessions started so long ago, but not those that hold the best of a tuning", 1},
    {"images", KEY_PRUNE_IMAGES, 0, 0, "All compiled kernels: a replay compiles them again", 1},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Only say what would be removed", 1},
    {0},
};

static const struct part {
    const char *name;
    const char *arguments;
    const char *summary;
    const char *details;
    const struct argp_option *own;
    enum hn_store_mode mode;
    size_t least; /* arguments */
    size_t most;
    enum hn_status (*run)(const struct hn_cache_command *command, struct hn_error *err);
} parts[] = {
    {"list", "", "Lists the tuned kernels: the best of each problem and device.", NULL,
     filter_options, HN_STORE_READ, 0, 0, hn_cache_list},
    {"show", "NAME", "Shows the tunings of a kernel: the best points and what became of all.", NULL,
     filter_options, HN_STORE_READ, 1, 1, hn_cache_show},
    {"export", "NAME FILE", "Writes the tunings of a kernel as recordings.",
     "A recording is Kernel Tuner's cache file with Hone's data added; a name that ends in .gz is "
     "compressed. Several tunings need a folder as FILE.",
     export_options, HN_STORE_READ, 2, 2, hn_cache_export},
    {"import", "FILE...",
     "Takes over recordings of Hone, cache files of Kernel Tuner and other caches.",
     "Each file is taken over as a whole or not at all, and once only.", import_options,
     HN_STORE_WRITE, 1, SIZE_MAX, hn_cache_import},
    {"merge", "FILE...", "Brings the caches of several machines together.",
     "As import, and lists the tunings of which both had another result: the newest verified "
     "session counts.",
     merge_options, HN_STORE_WRITE, 1, SIZE_MAX, hn_cache_merge},
    {"diff", "FILE", "Shows what is other in another cache, a recording or a folder of them.",
     "A tuning is faster or slower when the 95% intervals of both medians are apart, and the "
     "medians by more than the threshold.",
     diff_options, HN_STORE_READ, 1, 1, hn_cache_diff},
    {"prune", "[NAME]", "Removes what is no longer wanted, of one kernel or of all.",
     "At least one of the options says what. What is removed no longer leads later searches.",
     prune_options, HN_STORE_WRITE, 0, 1, hn_cache_prune},
    {"check", "", "Checks that the cache is whole and every record can be read.", NULL, NULL,
     HN_STORE_READ, 0, 0, hn_cache_check},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

struct input {
    const struct part *part;
    struct hn_cache_command *command;
};

static double parse_number(const char *name, const char *argument, struct argp_state *state)
{
    char *end;
    double number = hn_c_strtod(argument, &end);
    if (end == argument || (*end != '\0' && strcmp(end, "%") != 0) || !(number >= 0))
        argp_error(state, "--%s: found '%s', expected a number of at least 0", name, argument);
    return number;
}

static error_t parse_prune(int key, char *argument, struct argp_state *state)
{
    struct hn_cache_command *command = ((struct input *)state->input)->command;
    switch (key) {
    case KEY_STALE:
        command->prune.stale = true;
        return 0;
    case KEY_SIMULATED:
        command->prune.simulated = true;
        return 0;
    case KEY_PRUNE_IMAGES:
        command->prune.images = true;
        return 0;
    case KEY_DRY_RUN:
        command->prune.dry_run = true;
        return 0;
    case KEY_OLDER_THAN:
        command->older_than_days = parse_number("older-than", argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct input *input = state->input;
    switch (key) {
    case KEY_ALL:
        input->command->all = true;
        return 0;
    case KEY_FORMAT:
        if (strcmp(argument, "recording") != 0 && strcmp(argument, "t4") != 0)
            argp_error(state, "--format: found '%s', expected recording or t4", argument);
        input->command->t4 = strcmp(argument, "t4") == 0;
        return 0;
    case KEY_THRESHOLD:
        input->command->threshold = parse_number("threshold", argument, state) / 100;
        return 0;
    case 'p':
        hn_options_add_problem(&input->command->problem, argument, state);
        return 0;
    case KEY_DEVICE_NAME:
        input->command->device_name = argument;
        return 0;
    case KEY_CONFIG:
        input->command->config = argument;
        return 0;
    case KEY_OWN:
        input->command->own = true;
        return 0;
    case KEY_IMAGES:
        input->command->images = true;
        return 0;
    case ARGP_KEY_ARG:
        if (input->command->argument_count == input->part->most)
            argp_error(state, "found '%s', expected no more arguments", argument);
        return hn_options_append(&input->command->arguments, &input->command->argument_count,
                                 argument);
    case ARGP_KEY_END:
        if (input->command->argument_count < input->part->least)
            argp_error(state, "too few arguments, expected %s", input->part->arguments);
        return 0;
    default:
        return parse_prune(key, argument, state);
    }
}

static enum hn_status open_and_run(const struct part *part, struct hn_cache_command *command,
                                   struct hn_error *err)
{
    char *path = hn_store_default_path(command->options.cache);
    command->path = path == NULL ? NULL : hn_cache_shown(path);
    bool is_server = path != NULL && hn_store_is_server(path);
    free(path);
    if (command->path == NULL)
        return hn_fail_memory(err);
    if (command->options.base != NULL &&
        (part->mode == HN_STORE_WRITE || part->run == hn_cache_check))
        return hn_fail(err, HN_EUSAGE, "`hone cache %s` is of one cache: --base says nothing there",
                       part->name);
    if (is_server && part->run == hn_cache_prune)
        return hn_fail(err, HN_EUSAGE,
                       "the cache of a server is everybody's, and not pruned from here: merge it "
                       "into a file, prune that, and merge it into another database");
    enum hn_status status = hn_cache_open(&command->options, part->mode, &command->store, err);
    return status == HN_OK ? part->run(command, err) : status;
}

static enum hn_status run_part(const struct part *part, int argc, char **argv, struct hn_error *err)
{
    char name[32];
    struct hn_cache_command command = {.threshold = 0.02};
    struct input input = {part, &command};
    snprintf(name, sizeof name, "cache %s", part->name);
    const struct hn_command_line line = {.name = name,
                                         .arguments = part->arguments,
                                         .summary = part->summary,
                                         .details = part->details,
                                         .groups = HN_OPTIONS_CACHE | HN_OPTIONS_OUTPUT,
                                         .own = part->own,
                                         .parse = parse,
                                         .input = &input};
    hn_options_init(&command.options);
    hn_bindings_init(&command.problem);
    enum hn_status status = hn_options_parse(&line, argc, argv, &command.options);
    if (status == HN_OK)
        status = open_and_run(part, &command, err);
    hn_store_close(command.store);
    free(command.path);
    free(command.arguments);
    hn_bindings_finish(&command.problem);
    hn_options_finish(&command.options);
    return status;
}

static void print_help(FILE *file)
{
    fputs("Usage: hone cache PART [OPTION...]\n"
          "Looks after the cache of tuning results.\n\n"
          "Parts:\n",
          file);
    for (size_t i = 0; i < PART_COUNT; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "%s %s", parts[i].name, parts[i].arguments);
        fprintf(file, "  %-18s %s\n", usage, parts[i].summary);
    }
    fputs("\n`hone cache PART --help` describes a part.\n", file);
}

static enum hn_status fail_unknown(const char *name, struct hn_error *err)
{
    const char *names[PART_COUNT];
    for (size_t i = 0; i < PART_COUNT; i++)
        names[i] = parts[i].name;
    const char *nearest = hn_text_nearest(name, names, PART_COUNT);
    if (nearest != NULL)
        return hn_fail(err, HN_EUSAGE, "unknown part '%s' of `hone cache`; nearest is '%s'", name,
                       nearest);
    return hn_fail(err, HN_EUSAGE,
                   "unknown part '%s' of `hone cache`; `hone cache --help` lists them", name);
}

static enum hn_status run(int argc, char **argv, struct hn_error *err)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL) {
        print_help(stderr);
        return HN_EUSAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0) {
        print_help(stdout);
        return HN_OK;
    }
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (strcmp(parts[i].name, name) == 0)
            return run_part(&parts[i], argc - 1, argv + 1, err);
    }
    return fail_unknown(name, err);
}

const struct hn_command hn_command_cache = {
    .name = "cache",
    .arguments = "PART",
    .summary = "list, show, export, import, merge, compare, prune or check the cached results",
    .run = run,
};
