/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/config/config.h"
#include "tuner/config/config_files.h"
#include "tuner/session/task.h"

static void warn_unused(const struct hn_config *config)
{
    char *names = hn_config_find_unused(config);
    if (names != NULL && names[0] != '\0')
        fprintf(
            stderr,
            "hone: warning: no value of %s changes anything: %s and its includes do not have the "
            "name, nor do launch, arguments and options; use it or take it out\n",
            names, config->plan->template_path);
    free(names);
}

/* The GPU that is there, else the architecture that is compiled for. */
static enum hn_status find_device(void *context, struct hn_device *device, struct hn_error *err)
{
    const struct hn_options *options = context;
    struct hn_driver driver;
    if (options->architecture != NULL)
        return hn_device_for_architecture(options->architecture, device, err);
    enum hn_status status = hn_driver_open(&driver, err);
    if (status != HN_OK)
        return status;
    status = hn_driver_select(&driver, options->device, device, err);
    hn_driver_close(&driver);
    return status;
}

/* That the path can be a config's: no source, nor a kernel's name or a config's without its place.
 */
static void check_path(const char *path, struct hn_error *err)
{
    static const char *const places[] = {"%s.yaml", "configs/%s", "configs/%s.yaml"};
    const char *ending = strrchr(path, '.');
    bool is_source = ending != NULL && (strcmp(ending, ".cu") == 0 || strcmp(ending, ".cuh") == 0);
    bool is_there = access(path, F_OK) == 0;
    char line[HN_FOLLOW_UP_SIZE];
    if (is_there && is_source)
        hn_fail(err, HN_ECONFIG, "'%s' is a CUDA source: `%s` drafts a config for it", path,
                hn_follow_up(&(struct hn_options){0}, "init", path, line));
    for (size_t i = 0; !is_there && !hn_failed(err) && i < sizeof places / sizeof places[0]; i++) {
        char other[256];
        if (snprintf(other, sizeof other, places[i], path) < (int)sizeof other &&
            access(other, F_OK) == 0)
            hn_fail(err, HN_ECONFIG, "'%s' is no file; did you mean %s?", path, other);
    }
}

enum hn_status hn_options_config(const struct hn_options *options, const char *path,
                                 struct hn_config **config, struct hn_error *err)
{
    const struct hn_config_for use = {&options->problem, find_device, (void *)(uintptr_t)options};
    hn_error_init(err);
    check_path(path, err);
    if (hn_failed(err) || hn_config_load_for(path, &use, config, err) != HN_OK)
        return err->status;
    hn_config_take_problem(*config, &options->problem, err);
    for (size_t i = 0; i < options->restrictions.count && !hn_failed(err); i++)
        hn_config_restrict(*config, options->restrictions.items[i], err);
    if (hn_failed(err)) {
        hn_config_destroy(*config);
        *config = NULL;
    } else if (!options->quiet) {
        warn_unused(*config);
    }
    return err->status;
}

enum hn_status hn_single_point_config(const struct hn_options *options, const char *path,
                                      struct hn_config **config, struct hn_error *err)
{
    struct hn_options unrestricted = *options;
    unrestricted.restrictions.count = 0;
    return hn_options_config(&unrestricted, path, config, err);
}

enum hn_status hn_single_point(const struct hn_options *options, const struct hn_task *task,
                               struct hn_bindings *point, struct hn_error *err)
{
    struct hn_bindings partial;
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    hn_error_init(err);
    /* Which may be worth no search. */
    if (options->restrictions.count == 0 && own != &task->plan->defaults)
        return hn_bindings_copy(point, own, err);
    hn_bindings_init(&partial);
    for (size_t i = 0; !hn_failed(err) && i < options->restrictions.count; i++) {
        struct hn_bindings given;
        hn_bindings_init(&given);
        if (hn_bindings_parse(options->restrictions.items[i], &given, err) == HN_OK)
            hn_bindings_merge(&partial, &given, err);
        hn_bindings_finish(&given);
    }
    if (!hn_failed(err))
        hn_config_complete(task->config, task->space, &partial, point, err);
    hn_bindings_finish(&partial);
    return err->status;
}

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

enum { PROBLEM = 1, SETS = 2, REGIME = 4, DEVICE = 8, CACHE = 16 };

static const struct {
    const char *command;
    unsigned takes;
} commands[] = {
    {"tune", PROBLEM | SETS | REGIME | DEVICE | CACHE},
    {"tune --family", REGIME | DEVICE | CACHE},
    {"explain", PROBLEM | SETS | REGIME | CACHE},
    {"export", PROBLEM | REGIME | CACHE},
    {"run", PROBLEM | REGIME | DEVICE},
    {"cache list", CACHE},
    {"device --measure", CACHE},
};

static void append(struct hn_text *text, const char *option, const char *value)
{
    hn_text_append(text, option);
    hn_text_append_word(text, value);
}

/* Without a password. */
static void append_cache(struct hn_text *text, const char *option, const char *path)
{
    char *shown = path == NULL ? NULL : hn_cache_shown(path);
    if (shown != NULL)
        append(text, option, shown);
    free(shown);
}

const char *hn_follow_up(const struct hn_options *options, const char *command, const char *subject,
                         char line[HN_FOLLOW_UP_SIZE])
{
    struct hn_text text = {0};
    unsigned takes = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        takes |= strcmp(commands[i].command, command) == 0 ? commands[i].takes : 0;
    hn_text_printf(&text, "hone %s", command);
    if (subject != NULL)
        append(&text, " ", subject);
    for (size_t i = 0; (takes & PROBLEM) != 0 && i < options->problem.count; i++) {
        hn_text_printf(&text, " -p %s=", options->problem.names[i]);
        hn_value_append(&text, &options->problem.values[i]);
    }
    for (size_t i = 0; (takes & SETS) != 0 && i < options->restrictions.count; i++)
        append(&text, " -s ", options->restrictions.items[i]);
    if ((takes & REGIME) != 0 && options->regime != HN_COLD)
        append(&text, " --regime ", hn_regime_name((enum hn_regime)options->regime));
    if ((takes & DEVICE) != 0 && options->device != NULL)
        append(&text, " --device ", options->device);
    if ((takes & CACHE) != 0) {
        append_cache(&text, " --cache ", options->cache);
        append_cache(&text, " --base ", options->base);
    }
    snprintf(line, HN_FOLLOW_UP_SIZE, "%s", text.failed ? "" : text.data);
    hn_text_finish(&text);
    return line;
}

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
