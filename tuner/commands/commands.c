/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/run.h"
#include "base/text.h"
#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/hosts/hosts.h"
#include "tuner/hosts/launching.h"
#include "tuner/workers/workers.h"

const struct hn_command *const hn_commands[] = {
    &hn_command_init,
    &hn_command_tune,
    &hn_command_run,
    &hn_command_space,
    &hn_command_inputs,
    &hn_command_compile,
    &hn_command_explain,
    &hn_command_export,
    &hn_command_replay,
    &hn_command_report,
    &hn_command_cache,
    &hn_command_device,
    NULL,
};

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

static void print_help(FILE *file)
{
    fputs(
        "Usage: hone COMMAND [OPTION...]\n"
        "Tunes CUDA kernels: searches a space of variants, verifies and measures each, keeps and\n"
        "exports the best.\n\n"
        "Commands:\n",
        file);
    list(hn_commands, 20, file);
    fputs("\n`hone COMMAND --help` or `hone help COMMAND` describes a command; `hone --version` "
          "tells "
          "the version.\n",
          file);
}

static const struct hn_command *find(const struct hn_command *const *commands, const char *name)
{
    while (*commands != NULL && strcmp(word_of(*commands), name) != 0)
        commands++;
    return *commands;
}

static const char *nearest(const struct hn_command *const *commands, const char *name)
{
    const char *names[LISTED_MOST];
    size_t count = 0;
    for (; commands[count] != NULL && count < LISTED_MOST; count++)
        names[count] = word_of(commands[count]);
    return hn_text_nearest(name, names, count);
}

static enum hn_status read_and_run(const struct hn_command *command, int argc, char **argv,
                                   struct hn_error *err)
{
    struct hn_options options;
    enum hn_status status = hn_options_read(command, argc, argv, &options, err);
    if (status == HN_OK)
        status = command->run(&options, err);
    hn_options_finish(&options);
    return status;
}

static enum hn_status run_part(int argc, char **argv, struct hn_error *err)
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
        return asks ? HN_OK : HN_EUSAGE;
    }
    const struct hn_command *part = find(hn_cache_parts, name);
    if (part != NULL)
        return read_and_run(part, argc - 1, argv + 1, err);
    const char *meant = nearest(hn_cache_parts, name);
    if (meant != NULL)
        return hn_fail(err, HN_EUSAGE, "unknown part '%s' of `hone cache`; nearest is '%s'", name,
                       meant);
    return hn_fail(err, HN_EUSAGE,
                   "unknown part '%s' of `hone cache`; `hone cache --help` lists them", name);
}

const struct hn_command hn_command_cache = {
    .name = "cache",
    .arguments = "PART",
    .summary = "list, show, export, import, merge, compare, prune or check the cached results",
    .parts = run_part,
};

/* `hone help COMMAND` is `hone COMMAND --help`. */
static enum hn_status run_help(int argc, char **argv, struct hn_error *err)
{
    char help[] = "--help";
    if (argc > 1)
        return hn_run_command(2, (char *[]){argv[1], help, NULL}, err);
    print_help(stdout);
    return HN_OK;
}

/* 0 where there is no driver: such a host compiles. */
static int count_gpus(void)
{
    struct hn_driver driver;
    int count = 0;
    if (hn_driver_open(&driver, NULL) != HN_OK)
        return 0;
    if (hn_driver_count(&driver, &count, NULL) != HN_OK)
        count = 0;
    hn_driver_close(&driver);
    return count;
}

/* Whoever starts it is its parent, or stands between: its end is the launcher's, and so is this
 * one's. */
static enum hn_status run_node(bool count, bool installed, struct hn_error *err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (installed)
        hn_install_remove();
    return hn_node_run(count ? count_gpus() : 0, err);
}

static enum hn_status run_worker(int argc, char **argv, struct hn_error *err)
{
    struct hn_channel channel;
    struct hn_message hello;
    if (argc >= 2 && strcmp(argv[1], "node") == 0)
        return run_node(argc > 2 && strcmp(argv[2], "count") == 0,
                        argc > 3 && strcmp(argv[3], "installed") == 0, err);
    if (argc != 3)
        return hn_fail(err, HN_EUSAGE, "`hone worker` is for hone itself");

    /* posix_spawn can not set it; the parent may have ended before this line, so look afterwards.
     * Its number is given: in a container hone itself may be process 1. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != strtol(argv[2], NULL, 10))
        return HN_OK;
    hn_machine_offer_to_end();
    hn_channel_init(&channel, 3);
    hn_process_hello(&hello);
    enum hn_status status = hn_channel_send(&channel, &hello, err);
    hn_message_finish(&hello);
    if (status != HN_OK)
        return hn_fail(err, HN_EUSAGE, "`hone worker` is for hone itself");
    if (strcmp(argv[1], "compile") == 0)
        hn_worker_compile(&channel);
    else
        hn_worker_gpu(&channel);
    hn_channel_finish(&channel);
    return HN_OK;
}

/* Not listed, and it reads its arguments itself. */
static const struct hn_command command_worker = {.name = "worker", .parts = run_worker};

enum hn_status hn_run_command(int argc, char **argv, struct hn_error *err)
{
    const char *name = argc > 0 ? argv[0] : NULL;
    const struct hn_command *command = NULL;
    if (name == NULL) {
        print_help(stderr);
        return HN_EUSAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return run_help(1, NULL, err);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("hone " HONE_VERSION);
        return HN_OK;
    }
    if (strcmp(name, "help") == 0)
        return run_help(argc, argv, err);
    command = strcmp(name, "worker") == 0 ? &command_worker : find(hn_commands, name);
    if (command != NULL)
        return command->parts != NULL ? command->parts(argc, argv, err)
                                      : read_and_run(command, argc, argv, err);
    const char *meant = nearest(hn_commands, name);
    if (meant != NULL)
        return hn_fail(err, HN_EUSAGE, "unknown command '%s'; nearest is '%s'", name, meant);
    return hn_fail(err, HN_EUSAGE, "unknown command '%s'; `hone --help` lists them", name);
}

int hn_exit_code(enum hn_status status)
{
    switch (status) {
    case HN_OK:
        return 0;
    case HN_ENOMEM:
    case HN_ERUN:
    case HN_EFORMAT:
        return 1;
    case HN_ECONFIG:
    case HN_EUSAGE:
    case HN_EVALUE:
        return 2;
    case HN_ENOTFOUND:
        return 3;
    case HN_EREPLAY:
        return 4;
    case HN_EINTERRUPTED:
        return 128 + (hn_interrupted() != 0 ? hn_interrupted() : SIGINT);
    }
    return 1;
}
