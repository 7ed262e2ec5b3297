/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/config/sites.h"
#include "tuner/family/family.h"
#include "tuner/server/server.h"
#include "tuner/session/task.h"
#include "tuner/workers/workers.h"

/* Configs, devices, caches and workers, as the options name them. */

enum hn_status hn_find_gpu(const char *selector, struct hn_device *device, struct hn_error *err)
{
    struct hn_driver driver;
    enum hn_status status = hn_driver_open(&driver, err);
    if (status != HN_OK)
        return status;
    status = hn_driver_select(&driver, selector, device, err);
    hn_driver_close(&driver);
    return status;
}

/* The GPU that is there, else the architecture that is compiled for. */
static enum hn_status find_device(void *context, struct hn_device *device, struct hn_error *err)
{
    const struct hn_options *options = context;
    return options->architecture != NULL
               ? hn_device_for_architecture(options->architecture, device, err)
               : hn_find_gpu(options->device, device, err);
}

/* That the path can be a config's: no source, nor the name of a kernel or config without place. */
static void check_path(const struct hn_options *options, const char *path, struct hn_error *err)
{
    static const char *const places[] = {"%s.yaml", "configs/%s", "configs/%s.yaml"};
    const char *ending = strrchr(path, '.');
    bool is_source = ending != NULL && (strcmp(ending, ".cu") == 0 || strcmp(ending, ".cuh") == 0);
    bool is_there = access(path, F_OK) == 0;
    if (is_there && is_source)
        hn_fail(err, HN_ECONFIG, "'%s' is a CUDA source: `%s` drafts a config for it", path,
                hn_follow_up(options, "init", path));
    for (size_t i = 0; !is_there && !hn_failed(err) && i < sizeof places / sizeof places[0]; i++) {
        char other[256];
        if (snprintf(other, sizeof other, places[i], path) < (int)sizeof other &&
            access(other, F_OK) == 0)
            hn_fail(err, HN_ECONFIG, "'%s' is no file; did you mean %s?", path, other);
    }
}

static void spare(const char *option, const char *file, const char *input, struct hn_error *err)
{
    struct stat output, about;
    if (input != NULL && stat(file, &output) == 0 && stat(input, &about) == 0 &&
        S_ISREG(about.st_mode) && about.st_dev == output.st_dev && about.st_ino == output.st_ino)
        hn_fail(err, HN_EUSAGE,
                "%s: '%s' is read by this command, and is not overwritten; name another file",
                option, file);
}

void hn_spare_inputs(const struct hn_options *options, const char *option, const char *file,
                     const struct hn_plan *plan, struct hn_error *err)
{
    static const struct hn_plan none = {.kernel = NULL};
    const struct hn_texts *lists[] = {&options->arguments, &options->configs, &options->recorded};
    plan = plan == NULL ? &none : plan;
    const char *const inputs[] = {
        options->template,
        options->simulate,
        options->capture,
        options->roofs,
        plan->config,
        plan->template_path,
        plan->reference.template_path,
    };
    if (hn_failed(err) || file == NULL)
        return;
    if (hn_store_is_cache(file))
        hn_fail(err, HN_EUSAGE,
                "%s: '%s' is a cache, and is not overwritten; `hone cache merge` brings caches "
                "together",
                option, file);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        spare(option, file, inputs[i], err);
    for (size_t i = 0; i < plan->argument_count; i++)
        spare(option, file, plan->arguments[i].fill.file, err);
    /* Inputs may be what results are compared with. */
    for (size_t i = 0; i < plan->reference.file_count && options->of->of != HN_INPUTS; i++)
        spare(option, file, plan->reference.files[i].file, err);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t n = 0; n < lists[i]->count; n++) /* a word is a kernel */
            if (lists[i]->items[n] != file && !hn_text_is_word(lists[i]->items[n]))
                spare(option, file, lists[i]->items[n], err);
}

struct hn_config *hn_options_config(const struct hn_options *options, const char *path,
                                    struct hn_error *err)
{
    const struct hn_config_for use = {&options->problem, find_device, (void *)(uintptr_t)options};
    struct hn_config *config = NULL;
    if (hn_failed(err))
        return NULL;
    check_path(options, path, err);
    if (hn_failed(err) || hn_config_load(path, &use, &config, err) != HN_OK)
        return NULL;
    hn_config_take_problem(config, &options->problem, err);
    bool runs = !hn_failed(err) && config->run != NULL;
    if (runs && (options->of->of & (HN_TUNE | HN_SPACE | HN_EXPLAIN)) == 0)
        hn_fail(err, HN_EUSAGE, "%s measures a program, and `hone %s` is of kernels", config->path,
                options->of->name);
    /* Commands of a config run where the command line says so. */
    if (runs && options->of->of == HN_TUNE && options->simulate == NULL && !options->allow_run)
        hn_fail(err, HN_EUSAGE, "%s runs commands (`run`): if you trust it, add --allow-run",
                config->path);
    for (size_t i = 0; i < options->restrictions.count && !hn_failed(err); i++)
        hn_config_restrict(config, options->restrictions.items[i], err);
    if (!hn_failed(err) && options->family && config->family == NULL)
        hn_fail(err, HN_EUSAGE,
                "--family: %s has no 'family'; docs/families.md says how to write one", path);
    if (hn_failed(err)) {
        hn_config_destroy(config);
        return NULL;
    }
    char *unused HN_FREED = options->quiet ? NULL : hn_config_find_unused(config);
    if (unused != NULL && unused[0] != '\0')
        fprintf(
            stderr,
            "hone: warning: no value of %s changes anything: %s and its includes do not have the "
            "name, nor do launch, arguments and options; use it or take it out\n",
            unused, config->plan->template_path);
    return config;
}

void hn_single_point(const struct hn_options *options, const struct hn_task *task,
                     struct hn_bindings *point, struct hn_error *err)
{
    struct hn_bindings partial HN_ENDED_BY(hn_bindings_finish) = {0};
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    if (hn_failed(err))
        return;
    /* Which may be worth no search. */
    if (options->restrictions.count == 0 && own != &task->plan->defaults) {
        hn_bindings_copy(point, own, err);
        return;
    }
    for (size_t i = 0; !hn_failed(err) && i < options->restrictions.count; i++) {
        struct hn_bindings given HN_ENDED_BY(hn_bindings_finish) = {0};
        struct hn_error reason;
        if (hn_bindings_parse(options->restrictions.items[i], &given, &reason) == HN_OK)
            hn_bindings_merge(&partial, &given, err);
        else
            hn_fail(err, reason.status, "-s %s: %s, as one point is taken",
                    options->restrictions.items[i], reason.message);
    }
    if (!hn_failed(err))
        hn_config_complete(task->config, task->space, &task->start, &partial, point, err);
}

static void warn(const char *message)
{
    fprintf(stderr, "hone: warning: %s\n", message);
}

struct hn_store *hn_cache_open_place(const struct hn_cache_place *place, enum hn_store_mode mode,
                                     struct hn_server **server, struct hn_error *err)
{
    struct hn_server *own = NULL;
    struct hn_store *store = NULL;
    if (!hn_failed(err) && hn_store_is_server(place->path))
        store = hn_server_open(place->path, mode, place->kernel, place->images, &own, err);
    else if (!hn_failed(err))
        hn_store_open(place->path, mode, &store, err);
    if (server != NULL)
        *server = own;
    if (hn_failed(err)) {
        hn_store_close(store);
        return NULL;
    }
    hn_store_follow(store, &(struct hn_store_follower){.committed = own ? hn_server_tell : NULL,
                                                       .closed = own ? hn_server_close : NULL,
                                                       .warned = place->quiet ? NULL : warn,
                                                       .context = own});
    return store;
}

/* Puts the base of the options under the store, which is closed after a failure; returns it. */
static struct hn_store *add_base(const struct hn_options *options, const char *kernel,
                                 struct hn_store *store, struct hn_error *err)
{
    const struct hn_cache_place place = {options->base, kernel, .quiet = options->quiet};
    struct hn_store *base =
        place.path != NULL ? hn_cache_open_place(&place, HN_STORE_READ, NULL, err) : NULL;
    if (base != NULL)
        hn_store_set_base(store, base);
    if (!hn_failed(err))
        return store;
    hn_store_close(store);
    return NULL;
}

void hn_open_cache(struct hn_given *given, enum hn_store_mode mode, const char *kernel,
                   struct hn_error *err)
{
    const struct hn_options *options = given->options;
    char *path HN_FREED = hn_needed(hn_store_default_path(options->cache));
    struct hn_cache_place place = {path, kernel, false, options->quiet};
    if (given->cache == NULL)
        given->cache = hn_cache_shown(path);
    if (given->store == NULL && !hn_failed(err)) {
        given->store = hn_cache_open_place(&place, mode, &given->server, err);
        /* Where nothing was tuned yet the base is all there is to read. */
        place.path = options->base;
        if (err->status == HN_ENOTFOUND && mode == HN_STORE_READ && place.path != NULL) {
            hn_error_init(err);
            given->store = hn_cache_open_place(&place, mode, &given->server, err);
        } else {
            given->store = add_base(options, kernel, given->store, err);
        }
    }
}

struct hn_store *hn_cache_open_again(const struct hn_given *given, struct hn_error *err)
{
    struct hn_server *server = given->server;
    struct hn_store *store = NULL;
    char *path HN_FREED = server == NULL ? hn_needed(hn_store_default_path(given->options->cache))
                                         : hn_need_copy(hn_server_copy(server));
    if (!hn_failed(err) && hn_store_open(path, HN_STORE_WRITE, &store, err) == HN_OK)
        hn_store_follow(
            store, &(struct hn_store_follower){.committed = server != NULL ? hn_server_tell : NULL,
                                               .warned = given->options->quiet ? NULL : warn,
                                               .context = server});
    return add_base(given->options, NULL, store, err);
}

char *hn_cache_shown(const char *path)
{
    return hn_needed(hn_store_is_server(path) ? hn_server_name(path) : strdup(path));
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

void hn_start_workers(struct hn_given *given, const struct hn_workers_options *options,
                      struct hn_error *err)
{
    struct hn_workers_options wanted = *options;
    struct hn_sites sites HN_ENDED_BY(hn_sites_finish) = {.count = 0};
    if (hn_failed(err))
        return;
    if (given->options->workers != NULL)
        /* Another host may have another nvcc. */
        hn_sites_read(given->options->workers, given->options->install,
                      given->config != NULL && given->config->plan->compiler == HN_COMPILER_NVCC,
                      &sites, err);
    wanted.hosts = sites.items;
    wanted.host_count = sites.count;
    if (!hn_failed(err))
        hn_workers_start(&wanted, &given->workers, err);
}

struct hn_family_options hn_family_of(const struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct hn_options quiet = *options;
    struct hn_session_options search = options->search;
    quiet.quiet = true; /* what there is to warn of was said */
    search.strategy = hn_strategy_find("auto");
    return (struct hn_family_options){
        .whole = hn_options_config(&quiet, given->path, err),
        .config = hn_options_config(&quiet, given->path, err),
        .quiet = options->quiet,
        .workers = given->workers,
        .store = given->store,
        .search = search,
        .regime = (enum hn_regime)options->regime,
        .loss = options->loss,
        .held_out = (unsigned)options->held_out,
    };
}

enum { PROBLEM = 1, SETS = 2, REGIME = 4, DEVICE = 8, CACHE = 16, COMMANDS = 32 };

static const struct {
    const char *command;
    unsigned takes;
} commands[] = {
    {"tune", PROBLEM | SETS | REGIME | DEVICE | CACHE | COMMANDS},
    {"tune --family", REGIME | DEVICE | CACHE},
    {"explain", PROBLEM | SETS | REGIME | CACHE},
    {"export", PROBLEM | REGIME | CACHE},
    {"replay --family", REGIME | DEVICE | CACHE},
    {"run", PROBLEM | REGIME | DEVICE},
    {"cache list", CACHE},
    {"cache compile", CACHE},
    {"device --measure", CACHE},
};

static void append(struct hn_text *text, const char *option, const char *value)
{
    if (value == NULL)
        return;
    hn_text_append(text, option);
    hn_text_append_word(text, value);
}

/* Without a password. */
static void append_cache(struct hn_text *text, const char *option, const char *path)
{
    char *shown HN_FREED = path == NULL ? NULL : hn_cache_shown(path);
    append(text, option, shown);
}

const char *hn_follow_up(const struct hn_options *options, const char *command, const char *subject)
{
    struct hn_text text = {0};
    unsigned takes = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        takes |= strcmp(commands[i].command, command) == 0 ? commands[i].takes : 0;
    hn_text_printf(&text, "hone %s", command);
    append(&text, " ", subject);
    for (size_t i = 0; (takes & PROBLEM) != 0 && i < options->problem.count; i++) {
        hn_text_printf(&text, " -p %s=", options->problem.names[i]);
        hn_value_append(&text, &options->problem.values[i]);
    }
    for (size_t i = 0; (takes & SETS) != 0 && i < options->restrictions.count; i++)
        append(&text, " -s ", options->restrictions.items[i]);
    if ((takes & REGIME) != 0 && options->regime != HN_COLD)
        append(&text, " --regime ", hn_regime_names[(enum hn_regime)options->regime]);
    if ((takes & COMMANDS) != 0 && options->allow_run)
        hn_text_append(&text, " --allow-run");
    if ((takes & DEVICE) != 0)
        append(&text, " --device ", options->device);
    if ((takes & CACHE) != 0) {
        append_cache(&text, " --cache ", options->cache);
        append_cache(&text, " --base ", options->base);
    }
    return hn_need_kept(options->memory, hn_text_take(&text));
}
