/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/run.h"
#include "base/text.h"
#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/config/capture.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/workers.h"

enum { LISTED_MOST = 32 };

/* A part's name without the command's: "list" of "cache list". */
static const char *word_of(const struct hn_command *command)
{
    const char *blank = strchr(command->name, ' ');
    return blank != NULL ? blank + 1 : command->name;
}

static void list(const struct hn_command *const *commands, int width, FILE *file)
{
    for (; *commands != NULL; commands++) {
        const struct hn_command *command = *commands;
        char usage[64];
        snprintf(usage, sizeof usage, "%s %s", word_of(command),
                 command->listed != NULL ? command->listed : command->arguments);
        fprintf(file, "  %-*s %s\n", width, usage, command->summary);
    }
}

/* NULL, with the nearest where there is one, where none has that name. of: what they are the parts
 * of; "": of hone itself. */
static const struct hn_command *find(const struct hn_command *const *commands, const char *of,
                                     const char *name, struct hn_error *err)
{
    const char *names[LISTED_MOST];
    const char *kind = of[0] == '\0' ? "command" : "part";
    size_t count = 0;
    for (; commands[count] != NULL && count < LISTED_MOST; count++) {
        names[count] = word_of(commands[count]);
        if (strcmp(names[count], name) == 0)
            return commands[count];
    }
    struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
    if (of[0] != '\0')
        hn_text_printf(&known, " of `hone%s`", of);
    hn_text_append_known(&known, name, names, count);
    hn_fail(err, HN_EUSAGE, "unknown %s '%s'%s", kind, name, known.data);
    return NULL;
}

/* Opens what the command wants to be there, and closes all that it has opened. */
static void read_and_run(const struct hn_command *command, int argc, char **argv,
                         struct hn_error *err)
{
    struct hn_options options;
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    struct hn_given given = {.options = &options, .results = json_array()};
    hn_options_read(command, argc, argv, &options, err);
    options.memory = &memory;
    given.path = options.arguments.count > 0 ? options.arguments.items[0] : NULL;
    if (command->config != HN_NO_CONFIG) {
        struct hn_options loaded = options;
        if (command->config == HN_POINT_CONFIG && !options.all)
            loaded.restrictions.count = 0;
        given.config = hn_options_config(&loaded, given.path, err);
    }
    if (command->cache != HN_NO_CACHE)
        hn_open_cache(&given, command->cache == HN_CACHE_WRITE ? HN_STORE_WRITE : HN_STORE_READ,
                      NULL, err);
    if (!hn_failed(err))
        command->run(&given, err);
    json_decref(given.results);
    hn_store_close(given.store);
    hn_workers_destroy(given.workers);
    hn_config_destroy(given.config);
    hn_capture_close(given.capture);
    free(given.cache);
    hn_bindings_finish(&options.problem);
    free((char *)options.search.command);
    free(options.arguments.items);
    free(options.restrictions.items);
    free(options.expected.items);
    free(options.recorded.items);
    free(options.configs.items);
}

static void run_part(int argc, char **argv, struct hn_error *err)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    bool asks = name != NULL && (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0);
    if (name == NULL || asks) {
        FILE *file = asks ? stdout : stderr;
        fputs("Usage: hone cache PART [OPTION...]\n"
              "Looks after the cache of tuning results.\n\n"
              "Parts:\n",
              file);
        list(hn_cache_parts, 18, file);
        fputs("\n`hone cache PART --help` describes a part.\n", file);
        if (!asks)
            hn_fail(err, HN_EUSAGE, "%s", "");
        return;
    }
    const struct hn_command *part = find(hn_cache_parts, " cache", name, err);
    if (part != NULL)
        read_and_run(part, argc - 1, argv + 1, err);
}

static const struct hn_command command_cache = {
    .name = "cache",
    .arguments = "PART",
    .summary = "list, show, export, import, merge, diff, compile, prune or check cached results",
    .parts = run_part,
};

/* Those of users, as `hone --help` lists them. */
static const struct hn_command *const commands[] = {
    &hn_command_init,    &hn_command_capture,
    &hn_command_tune,    &hn_command_run,
    &hn_command_space,   &hn_command_inputs,
    &hn_command_compile, &hn_command_explain,
    &hn_command_export,  &hn_command_replay,
    &hn_command_report,  &command_cache,
    &hn_command_device,  NULL,
};

static void print_help(FILE *file)
{
    fputs(
        "Usage: hone COMMAND [OPTION...]\n"
        "Tunes CUDA kernels: searches a space of variants, verifies and measures each, keeps and\n"
        "exports the best.\n\n"
        "Commands:\n",
        file);
    list(commands, 20, file);
    fputs("\n`hone COMMAND --help` or `hone help COMMAND` describes a command; `hone --version` "
          "tells the version, with\n--json also what it was built with and what it finds.\n",
          file);
}

static void run_worker(int argc, char **argv, struct hn_error *err)
{
    static const char refusal[] = "`hone worker` is for hone itself";
    struct hn_driver driver;
    int gpus = 0; /* where there is no driver: such a host compiles */
    if (argc >= 2 && strcmp(argv[1], "node") == 0) {
        /* Whoever starts it is its parent, or stands between: its end is the launcher's, and so is
         * this one's. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool counts = argc > 2 && strcmp(argv[2], "count") == 0;
        if (counts && hn_driver_open(&driver, NULL) == HN_OK) {
            if (driver.p_cuDeviceGetCount(&gpus) != CUDA_SUCCESS)
                gpus = 0;
            hn_driver_close(&driver);
        }
        hn_node_run(gpus, err);
        return;
    }
    if (argc != 3) {
        hn_fail(err, HN_EUSAGE, refusal);
        return;
    }
    if (!hn_worker_run(strtol(argv[2], NULL, 10),
                       strcmp(argv[1], "compile") == 0 ? hn_worker_compile : hn_worker_gpu))
        hn_fail(err, HN_EUSAGE, refusal);
}

/* Not listed, and it reads its arguments itself. */
static const struct hn_command command_worker = {.name = "worker", .parts = run_worker};

enum hn_status hn_run_command(int argc, char **argv, struct hn_error *err)
{
    const char *name = argc > 0 ? argv[0] : NULL;
    char help[] = "--help", device[] = "device";
    hn_error_init(err);
    if (name == NULL) {
        print_help(stderr);
        return hn_fail(err, HN_EUSAGE, "%s", "");
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        if (argc < 2 || strcmp(argv[1], "--json") != 0)
            puts("hone " HONE_VERSION);
        else /* with all that `hone device` finds, which may be nothing */
            hn_run_command(2, (char *[]){device, argv[1], NULL}, err);
        hn_error_init(err);
        return HN_OK;
    }
    /* `hone help COMMAND` is `hone COMMAND --help`. */
    if (strcmp(name, "help") == 0 && argc > 1)
        return hn_run_command(2, (char *[]){argv[1], help, NULL}, err);
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return HN_OK;
    }
    const struct hn_command *command =
        strcmp(name, "worker") == 0 ? &command_worker : find(commands, "", name, err);
    if (command != NULL && command->parts != NULL)
        command->parts(argc, argv, err);
    else if (command != NULL)
        read_and_run(command, argc, argv, err);
    return err->status;
}

/* The manual's exit codes are these comments: scripts/reference. */
int hn_exit_code(enum hn_status status)
{
    static const unsigned char codes[] = {
        /* done */
        [HN_OK] = 0,
        /* the run failed: no driver, disk full, unusable cache, output that cannot be written */
        [HN_ENOMEM] = 1,
        [HN_ERUN] = 1,
        [HN_EFORMAT] = 1,
        /* wrong usage, or an error in the config */
        [HN_ECONFIG] = 2,
        [HN_EUSAGE] = 2,
        [HN_EVALUE] = 2,
        /* nothing valid was found: no valid point, none passed verification, nothing cached */
        [HN_ENOTFOUND] = 3,
        /* a replay found a wrong or slower result, or a rule that loses more than it promises */
        [HN_EREPLAY] = 4};
    /* ended by signal n; what was finished is kept, and the same command goes on */
    if (status == HN_EINTERRUPTED)
        return 128 + (hn_interrupted() != 0 ? hn_interrupted() : SIGINT);
    return codes[status];
}
