/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/driver.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_sources.h"
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
static enum hn_status check_path(const char *path, struct hn_error *err)
{
    static const char *const places[] = {"%s.yaml", "configs/%s", "configs/%s.yaml"};
    const char *ending = strrchr(path, '.');
    bool is_source = ending != NULL && (strcmp(ending, ".cu") == 0 || strcmp(ending, ".cuh") == 0);
    bool is_there = access(path, F_OK) == 0;
    char line[HN_FOLLOW_UP_SIZE];
    if (is_there && is_source)
        return hn_fail(err, HN_ECONFIG, "'%s' is a CUDA source: `%s` drafts a config for it", path,
                       hn_follow_up(&(struct hn_options){0}, "init", path, line));
    for (size_t i = 0; !is_there && i < sizeof places / sizeof places[0]; i++) {
        char other[256];
        if (snprintf(other, sizeof other, places[i], path) < (int)sizeof other &&
            access(other, F_OK) == 0)
            return hn_fail(err, HN_ECONFIG, "'%s' is no file; did you mean %s?", path, other);
    }
    return HN_OK;
}

enum hn_status hn_options_config(const struct hn_options *options, const char *path,
                                 struct hn_config **config, struct hn_error *err)
{
    const struct hn_config_for use = {&options->problem, find_device, (void *)(uintptr_t)options};
    enum hn_status status = check_path(path, err);
    if (status == HN_OK)
        status = hn_config_load_for(path, &use, config, err);
    if (status != HN_OK)
        return status;
    status = hn_config_take_problem(*config, &options->problem, err);
    for (size_t i = 0; i < options->restrictions.count && status == HN_OK; i++)
        status = hn_config_restrict(*config, options->restrictions.items[i], err);
    if (status != HN_OK) {
        hn_config_destroy(*config);
        *config = NULL;
    } else if (!options->quiet) {
        warn_unused(*config);
    }
    return status;
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
    enum hn_status status = HN_OK;
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    /* Which may be worth no search. */
    if (options->restrictions.count == 0 && own != &task->plan->defaults)
        return hn_bindings_copy(point, own, err);
    hn_bindings_init(&partial);
    for (size_t i = 0; status == HN_OK && i < options->restrictions.count; i++) {
        struct hn_bindings given;
        hn_bindings_init(&given);
        status = hn_bindings_parse(options->restrictions.items[i], &given, err);
        if (status == HN_OK)
            status = hn_bindings_merge(&partial, &given, err);
        hn_bindings_finish(&given);
    }
    if (status == HN_OK)
        status = hn_config_complete(task->config, task->space, &partial, point, err);
    hn_bindings_finish(&partial);
    return status;
}
