/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "tuner/commands/command.h"

int main(int argc, char **argv)
{
    static struct hn_error err = {0};
    hn_output_init();
    argp_err_exit_status = hn_exit_code(HN_EUSAGE);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            hn_output_promise_json(err.message);

    enum hn_status status = hn_run_command(argc - 1, argv + 1, &err);
    if (status != HN_OK && err.message[0] != '\0')
        fprintf(stderr, "hone: %s\n", err.message);
    return hn_exit_code(status);
}
