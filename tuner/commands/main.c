/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tuner/commands/command.h"
#include "tuner/commands/output.h"

enum { COMMANDS_LISTED = 64 };

static void print_help(FILE *file)
{
    fputs(
        "Usage: hone COMMAND [OPTION...]\n"
        "Tunes CUDA kernels: searches a space of variants, verifies and measures each, keeps and\n"
        "exports the best.\n\n"
        "Commands:\n",
        file);
    for (size_t i = 0; hn_commands[i] != NULL; i++) {
        const struct hn_command *command = hn_commands[i];
        if (command->hidden)
            continue;
        char usage[64];
        snprintf(usage, sizeof usage, "%s %s", command->name, command->arguments);
        fprintf(file, "  %-20s %s\n", usage, command->summary);
    }
    fputs("\n`hone COMMAND --help` or `hone help COMMAND` describes a command; `hone --version` "
          "tells "
          "the version.\n",
          file);
}

static const struct hn_command *find_command(const char *name)
{
    for (size_t i = 0; hn_commands[i] != NULL; i++)
        if (strcmp(hn_commands[i]->name, name) == 0)
            return hn_commands[i];
    return NULL;
}

static enum hn_status fail_unknown(const char *name, struct hn_error *err)
{
    const char *names[COMMANDS_LISTED];
    size_t count = 0;
    for (size_t i = 0; hn_commands[i] != NULL && count < COMMANDS_LISTED; i++)
        if (!hn_commands[i]->hidden)
            names[count++] = hn_commands[i]->name;
    const char *nearest = hn_text_nearest(name, names, count);
    if (nearest != NULL)
        return hn_fail(err, HN_EUSAGE, "unknown command '%s'; nearest is '%s'", name, nearest);
    return hn_fail(err, HN_EUSAGE, "unknown command '%s'; `hone --help` lists them", name);
}

/* `hone help COMMAND` is `hone COMMAND --help`. */
static enum hn_status run_help(int argc, char **argv, struct hn_error *err)
{
    if (argc < 2) {
        print_help(stdout);
        return HN_OK;
    }
    const struct hn_command *command = find_command(argv[1]);
    if (command == NULL)
        return fail_unknown(argv[1], err);
    char help[] = "--help";
    char *arguments[] = {argv[1], help, NULL};
    return command->run(2, arguments, err);
}

static enum hn_status run(int argc, char **argv, struct hn_error *err)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL) {
        print_help(stderr);
        return HN_EUSAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return HN_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("hone " HONE_VERSION);
        return HN_OK;
    }
    if (strcmp(name, "help") == 0)
        return run_help(argc - 1, argv + 1, err);
    const struct hn_command *command = find_command(name);
    if (command == NULL)
        return fail_unknown(name, err);
    return command->run(argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
    static struct hn_error err = {0};
    hn_output_init();
    argp_err_exit_status = hn_exit_code(HN_EUSAGE);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            hn_output_promise_json(err.message);

    enum hn_status status = run(argc, argv, &err);
    if (status != HN_OK && err.message[0] != '\0')
        fprintf(stderr, "hone: %s\n", err.message);
    return hn_exit_code(status);
}
