/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/hosts/hosts.h"
#include "tuner/hosts/launching.h"
#include "tuner/workers/workers.h"

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

static enum hn_status run(int argc, char **argv, struct hn_error *err)
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
const struct hn_command hn_command_worker = {.name = "worker", .parts = run};
