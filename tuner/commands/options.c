/* SPDX-License-Identifier: MIT */
#include "tuner/commands/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "runtime/device/driver.h"
#include "tuner/config/config_sources.h"
#include "tuner/session/session.h"

/* Keys of the options that have no letter. */
enum {
    KEY_STRATEGY = 1000,
    KEY_BUDGET,
    KEY_STOP_CHANCE,
    KEY_FULL,
    KEY_LOOK_AHEAD,
    KEY_SEED,
    KEY_SIMULATE,
    KEY_RETRY_FAILED,
    KEY_DEVICE,
    KEY_REGIME,
    KEY_RUN_TIMEOUT,
    KEY_JOBS,
    KEY_ARCH,
    KEY_COMPILE_TIMEOUT,
    KEY_CACHE,
    KEY_BASE,
    KEY_JSON,
    KEY_EVENTS,
    KEY_WORKERS,
    KEY_INSTALL,
};

enum { GROUPS = 10, JOBS_MOST = 4096 };

static const struct argp_option space_options[] = {
    {0, 0, 0, 0, "Space:", 2},
    {"problem", 'p', "NAME=VALUE", 0,
     "Set a problem value (several as NAME=VALUE,NAME=VALUE); may be repeated", 2},
    {"set", 's', "NAME=V,V,...", 0,
     "Restrict a parameter to these of its values (several as NAME=V,NAME=V); may be repeated", 2},
    {0},
};

static const struct argp_option search_options[] = {
    {0, 0, 0, 0, "Search:", 3},
    {"strategy", KEY_STRATEGY, "NAME", 0,
     "How to search; the default is auto, with --full exhaustive", 3},
    {"budget", KEY_BUDGET, "60s|500", 0, "Stop after a time (s, m, h) or a number of evaluations",
     3},
    {"stop-chance", KEY_STOP_CHANCE, "P", 0,
     "Stop when the chance that a point better by 2% exists is estimated to be below P (default "
     "0.05); 0: go on to the end of the space or budget",
     3},
    {"full", KEY_FULL, 0, 0, "Measure every variant, and each in full", 3},
    {"look-ahead", KEY_LOOK_AHEAD, "N", 0,
     "Proposals made before the result of one is known: more keep more cores compiling (default: "
     "look_ahead of the config, else 32)",
     3},
    {"seed", KEY_SEED, "S", 0, "Seed of the search and the inputs (default 1)", 3},
    {"simulate", KEY_SIMULATE, "PATH", 0,
     "Take the times from a recorded tuning (a file or a folder) instead of a GPU", 3},
    {"retry-failed", KEY_RETRY_FAILED, 0, 0, "Try points again that failed before", 3},
    {0},
};

static const struct argp_option device_options[] = {
    {0, 0, 0, 0, "Device:", 4},
    {"device", KEY_DEVICE, "N|UUID", 0, "Which GPU (default 0); `hone device` lists them", 4},
    {"regime", KEY_REGIME, HN_REGIMES, 0,
     "L2 cache flushed between launches (cold, the default) or left as it is; or as programs "
     "launch, and what that costs is in the time: in a stream, as a graph, as graphs of ten",
     4},
    {"run-timeout", KEY_RUN_TIMEOUT, "SECONDS", 0, "Limit for running one variant (default 10)", 4},
    {0},
};

static const struct argp_option compile_options[] = {
    {0, 0, 0, 0, "Compiling:", 5},
    {"jobs", KEY_JOBS, "N", 0, "Compile workers (default: as many as the machine allows)", 5},
    {"compile-timeout", KEY_COMPILE_TIMEOUT, "SECONDS", 0,
     "Limit for compiling one variant (default 60)", 5},
    {0},
};

static const struct argp_option cache_options[] = {
    {0, 0, 0, 0, "Cache:", 6},
    {"cache", KEY_CACHE, "PATH", 0,
     "The cache: a file, or postgresql://… (default $HONE_CACHE, else "
     "$XDG_CACHE_HOME/hone/hone.db)",
     6},
    {"base", KEY_BASE, "PATH", 0,
     "Another cache that is read beside it: look-ups and searches see both", 6},
    {0},
};

static const struct argp_option output_options[] = {
    {0, 0, 0, 0, "Output:", 7},
    {"json", KEY_JSON, 0, 0, "One JSON document on standard output", 7},
    {"quiet", 'q', 0, 0, "No progress, only results and errors", 7},
    {0},
};

/* Shown under the heading of compile_options. */
static const struct argp_option arch_options[] = {
    {"arch", KEY_ARCH, "sm_90", 0, "Architecture to compile for (default: the GPU's)", 5},
    {0},
};

/* Shown under the heading of device_options. */
static const struct argp_option workers_options[] = {
    {"workers", KEY_WORKERS, "WHERE", 0,
     "Where to compile and to measure: 'local: gpus=all', a file that lists hosts, slurm, or "
     "hostfile:FILE",
     4},
    {"install", KEY_INSTALL, NULL, 0,
     "Take this program to the hosts of --workers first, for as long as it is needed there", 4},
    {0},
};

/* Shown under the heading of output_options. */
static const struct argp_option events_options[] = {
    {"events", KEY_EVENTS, "FILE", 0, "Write one JSON line an event to FILE", 7},
    {0},
};

static const struct argp_option time_options[] = {
    {0, 0, 0, 0, "Search:", 3},
    {"budget", KEY_BUDGET, "60s", 0, "Of a family: time for all searches (s, m, h)", 3},
    {0},
};

/* Bit i of enum hn_option_groups is groups[i]. */
static const struct argp_option *const groups[GROUPS] = {
    space_options,  search_options, device_options, compile_options, cache_options,
    output_options, arch_options,   events_options, time_options,    workers_options,
};

void hn_options_init(struct hn_options *options)
{
    *options = (struct hn_options){
        .stop_chance = 0.05, .seed = 1, .compile_timeout_s = 60, .run_timeout_s = 10};
}

void hn_options_finish(struct hn_options *options)
{
    hn_bindings_finish(&options->problem);
    free(options->restrictions);
    hn_options_init(options);
}

error_t hn_options_append(const char ***strings, size_t *count, const char *string)
{
    const char **grown = realloc(*strings, (*count + 1) * sizeof *grown);
    if (grown == NULL)
        return ENOMEM;
    grown[(*count)++] = string;
    *strings = grown;
    return 0;
}

/* Seconds with an optional s, m or h; false when it is something else. had_unit may be NULL. */
static bool read_seconds(const char *text, double *seconds, bool *had_unit)
{
    char *end = NULL;
    errno = 0;
    double number = hn_c_strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(number) || number <= 0)
        return false;
    const char *unit = strchr("smh", *end == '\0' ? 's' : *end);
    if (unit == NULL || (*end != '\0' && end[1] != '\0'))
        return false;
    *seconds = number * (*unit == 's' ? 1 : *unit == 'm' ? 60 : 3600);
    if (had_unit != NULL)
        *had_unit = *end != '\0';
    return true;
}

bool hn_options_read_count(const char *text, uint64_t *count)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return false;
    *count = number;
    return true;
}

unsigned hn_options_held_out(const char *text, struct argp_state *state)
{
    uint64_t count = 0;
    if (!hn_options_read_count(text, &count) || count < 1 || count > 1000)
        argp_error(state, "--held-out: found '%s', expected a number from 1 to 1000", text);
    return (unsigned)count;
}

double hn_options_energy(const char *argument, struct argp_state *state)
{
    char *end;
    if (argument == NULL)
        return HN_ENERGY_SECONDS;
    double seconds = hn_c_strtod(argument, &end);
    if (end == argument || *end != '\0' || !(seconds >= 0.2 && seconds <= 5))
        argp_error(state, "--energy: found '%s', expected seconds from 0.2 to 5", argument);
    return seconds;
}

void hn_options_add_problem(struct hn_bindings *problem, const char *argument,
                            struct argp_state *state)
{
    struct hn_error err;
    if (hn_bindings_add(problem, argument, &err) != HN_OK)
        argp_error(state, "-p: %s", err.message);
}

static void set_budget(struct hn_options *options, const char *text, struct argp_state *state)
{
    bool had_unit = false;
    double seconds = 0;
    if (hn_options_read_count(text, &options->budget_count) && options->budget_count > 0)
        return;
    if (!read_seconds(text, &seconds, &had_unit) || !had_unit)
        argp_error(state,
                   "--budget: found '%s', expected a time such as 60s or 5m, or a number of "
                   "evaluations such as 500",
                   text);
    options->budget_s = seconds;
}

static void set_seconds(double *seconds, const char *option, const char *text,
                        struct argp_state *state)
{
    if (!read_seconds(text, seconds, NULL))
        argp_error(state, "%s: found '%s', expected seconds, more than 0", option, text);
}

static void set_jobs(struct hn_options *options, const char *text, struct argp_state *state)
{
    uint64_t jobs = 0;
    if (!hn_options_read_count(text, &jobs) || jobs == 0 || jobs > JOBS_MOST)
        argp_error(state, "--jobs: found '%s', expected a number from 1 to %d", text, JOBS_MOST);
    options->jobs = (int)jobs;
}

static void set_look_ahead(struct hn_options *options, const char *text, struct argp_state *state)
{
    uint64_t look_ahead = 0;
    if (!hn_options_read_count(text, &look_ahead) || look_ahead == 0 ||
        look_ahead > HN_LOOK_AHEAD_MOST)
        argp_error(state, "--look-ahead: found '%s', expected a whole number from 1 to %d", text,
                   HN_LOOK_AHEAD_MOST);
    options->look_ahead = (unsigned)look_ahead;
}

static void set_seed(struct hn_options *options, const char *text, struct argp_state *state)
{
    if (!hn_options_read_count(text, &options->seed))
        argp_error(state, "--seed: found '%s', expected a whole number from 0", text);
}

static void set_stop_chance(struct hn_options *options, const char *text, struct argp_state *state)
{
    char *end = NULL;
    options->stop_chance = hn_c_strtod(text, &end);
    if (end == text || *end != '\0' || !(options->stop_chance >= 0 && options->stop_chance < 1))
        argp_error(state, "--stop-chance: found '%s', expected a chance from 0 to below 1", text);
    options->has_stop_chance = true;
}

static void set_regime(struct hn_options *options, const char *text, struct argp_state *state)
{
    if (!hn_regime_parse(text, &options->regime))
        argp_error(state, "--regime: found '%s', expected " HN_REGIMES_EXPECTED, text);
}

/* argp_error ends the process with the exit code for wrong usage. */
/* What is taken as it stands; false: the key is none of those. */
static bool take_plain(struct hn_options *options, int key, char *argument)
{
    switch (key) {
    case KEY_STRATEGY:
        options->strategy = argument;
        return true;
    case KEY_FULL:
        options->full = true;
        return true;
    case KEY_SIMULATE:
        options->simulate = argument;
        return true;
    case KEY_RETRY_FAILED:
        options->retry_failed = true;
        return true;
    case KEY_DEVICE:
        options->device = argument;
        return true;
    case KEY_WORKERS:
        options->workers = argument;
        return true;
    case KEY_INSTALL:
        options->install = true;
        return true;
    case KEY_ARCH:
        options->architecture = argument;
        return true;
    case KEY_CACHE:
        options->cache = argument;
        return true;
    case KEY_BASE:
        options->base = argument;
        return true;
    case KEY_JSON:
        options->json = true;
        return true;
    case KEY_EVENTS:
        options->events = argument;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    default:
        return false;
    }
}

static error_t parse_shared(int key, char *argument, struct argp_state *state)
{
    struct hn_options *options = state->input;
    if (take_plain(options, key, argument))
        return 0;
    switch (key) {
    case 'p':
        hn_options_add_problem(&options->problem, argument, state);
        return 0;
    case 's':
        return hn_options_append(&options->restrictions, &options->restriction_count, argument);
    case KEY_BUDGET:
        set_budget(options, argument, state);
        return 0;
    case KEY_STOP_CHANCE:
        set_stop_chance(options, argument, state);
        return 0;
    case KEY_LOOK_AHEAD:
        set_look_ahead(options, argument, state);
        return 0;
    case KEY_SEED:
        set_seed(options, argument, state);
        return 0;
    case KEY_REGIME:
        set_regime(options, argument, state);
        return 0;
    case KEY_RUN_TIMEOUT:
        set_seconds(&options->run_timeout_s, "--run-timeout", argument, state);
        return 0;
    case KEY_JOBS:
        set_jobs(options, argument, state);
        return 0;
    case KEY_COMPILE_TIMEOUT:
        set_seconds(&options->compile_timeout_s, "--compile-timeout", argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct invocation {
    const struct hn_command_line *line;
    struct hn_options *options;
    size_t child_count;
};

/* Gives the shared options' parsers their input and everything else to the command's own parser. */
static error_t parse_own(int key, char *argument, struct argp_state *state)
{
    struct invocation *invocation = state->input;
    if (key == ARGP_KEY_INIT)
        for (size_t i = 0; i < invocation->child_count; i++)
            state->child_inputs[i] = invocation->options;
    if (invocation->line->parse == NULL)
        return ARGP_ERR_UNKNOWN;
    /* No message is to repeat it: it may have a password. */
    if (argument != NULL && hn_store_is_server(argument) &&
        (strncmp(invocation->line->name, "cache ", 6) != 0 ||
         strncmp(invocation->line->arguments, "FILE", 4) != 0))
        argp_error(state, "found a server's URI, which --cache and --base take");
    state->input = invocation->line->input;
    error_t error = invocation->line->parse(key, argument, state);
    state->input = invocation;
    return error;
}

/* What --help ends with. */
static const char *const examples[][2] = {
    {"tune", "hone tune scale.yaml --budget 60s"},
    {"tune", "hone tune scale.yaml -p n=65536 -s BLOCK=128,256 --full"},
    {"run", "hone run scale.yaml -p n=65536 -s BLOCK=256,ITEMS=4"},
    {"space", "hone space scale.yaml --sample 5"},
    {"inputs", "hone inputs scale.yaml -p n=65536 -o inputs"},
    {"compile", "hone compile scale.yaml --all --arch sm_90"},
    {"explain", "hone explain scale.yaml"},
    {"export", "hone export scale -o scale_tuned.h"},
    {"export", "hone export scale --format json"},
    {"replay", "hone replay scale.yaml --max-slowdown 5%"},
    {"report", "hone report scale -o scale.html"},
    {"device", "hone device --measure"},
    {"init", "hone init scale.cu"},
    {"cache list", "hone cache list"},
    {"cache show", "hone cache show scale"},
    {"cache export", "hone cache export scale recorded/"},
    {"cache import", "hone cache import recorded/scale.json"},
    {"cache merge", "hone cache merge colleague.db"},
    {"cache diff", "hone cache diff before.db"},
    {"cache prune", "hone cache prune --stale"},
    {"cache check", "hone cache check"},
};

static char *help_text(const struct hn_command_line *line)
{
    struct hn_text text = {0};
    const char *lead = line->details == NULL ? "Example:\n" : "\n\nExample:\n";
    hn_text_printf(&text, "%s\v%s", line->summary, line->details == NULL ? "" : line->details);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (strcmp(examples[i][0], line->name) != 0)
            continue;
        hn_text_printf(&text, "%s  %s\n", lead, examples[i][1]);
        lead = "";
    }
    return hn_text_take(&text);
}

/* argp shows argv[0] as the program: "hone tune". */
static char **name_program(const struct hn_command_line *line, int argc, char **argv, char *program,
                           size_t size)
{
    char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    if (arguments == NULL)
        return NULL;
    snprintf(program, size, "hone %s", line->name);
    memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
    arguments[0] = program;
    return arguments;
}

enum hn_status hn_options_parse(const struct hn_command_line *line, int argc, char **argv,
                                struct hn_options *options)
{
    struct argp shared[GROUPS];
    struct argp_child children[GROUPS + 1] = {{0}};
    size_t child_count = 0;
    for (size_t i = 0; i < GROUPS; i++) {
        if ((line->groups & 1u << i) == 0)
            continue;
        shared[child_count] = (struct argp){.options = groups[i], .parser = parse_shared};
        children[child_count] = (struct argp_child){.argp = &shared[child_count]};
        child_count++;
    }

    char program[64];
    struct invocation invocation = {line, options, child_count};
    char *doc = help_text(line);
    char **arguments = name_program(line, argc, argv, program, sizeof program);
    enum hn_status status = HN_ENOMEM;
    if (doc != NULL && arguments != NULL) {
        const struct argp argp = {.options = line->own,
                                  .parser = parse_own,
                                  .args_doc = line->arguments,
                                  .doc = doc,
                                  .children = children};
        error_t error = argp_parse(&argp, argc, arguments, 0, NULL, &invocation);
        status = error == 0 ? HN_OK : error == ENOMEM ? HN_ENOMEM : HN_EUSAGE;
    }
    free(arguments);
    free(doc);
    return status;
}

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
    for (size_t i = 0; i < options->restriction_count && status == HN_OK; i++)
        status = hn_config_restrict(*config, options->restrictions[i], err);
    if (status != HN_OK) {
        hn_config_destroy(*config);
        *config = NULL;
    } else if (!options->quiet) {
        warn_unused(*config);
    }
    return status;
}
