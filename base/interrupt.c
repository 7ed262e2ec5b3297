/* SPDX-License-Identifier: MIT */
#include "base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Without a lock on all that we run on, as a handler needs it. */
static atomic_int caught;

static void catch_signal(int number)
{
    caught = number;
}

void hn_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    /* RESETHAND: the second signal has its default action. No RESTART: poll returns at once. */
    struct sigaction action = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

int hn_interrupted(void)
{
    return caught;
}

enum hn_status hn_interrupt_check(struct hn_error *err)
{
    return caught == 0 ? HN_OK : hn_fail(err, HN_EINTERRUPTED, "interrupted");
}
