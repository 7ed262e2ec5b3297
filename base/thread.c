/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

int hn_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

void hn_event_signal(int event)
{
    const uint64_t one = 1;
    if (event >= 0)
        (void)!write(event, &one, sizeof one);
}

void hn_event_clear(int event)
{
    uint64_t count;
    (void)!read(event, &count, sizeof count);
}
