/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "tuner/commands/command.h"

int main(int argc, char **argv)
{
    static struct hn_error err = {0};
    bool asks_json = false;
    for (int i = 1; i < argc; i++)
        asks_json = asks_json || strcmp(argv[i], "--json") == 0;
    hn_output_init(asks_json ? err.message : NULL);
    argp_err_exit_status = hn_exit_code(HN_EUSAGE);
    enum hn_status status = hn_run_command(argc - 1, argv + 1, &err);
    if (status != HN_OK && err.message[0] != '\0')
        fprintf(stderr, "hone: %s\n", err.message);
    return hn_exit_code(status);
}
