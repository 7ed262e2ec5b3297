/* SPDX-License-Identifier: MIT */
#include "cache/store/lock_wait.h"

#include <time.h>

#include "base/interrupt.h"

/* Mostly the lock is free again at once. */
enum { SHORT_STEPS = 10, SHORT_MS = 1, STEP_MS = 10 };

int hn_lock_wait(void *unused, int times)
{
    (void)unused;
    int long_steps = times > SHORT_STEPS ? times - SHORT_STEPS : 0;
    int waited_ms = (times - long_steps) * SHORT_MS + long_steps * STEP_MS;
    if (waited_ms >= (hn_interrupted() != 0 ? HN_LOCK_AFTER_SIGNAL_MS : HN_LOCK_WAIT_MS))
        return 0;
    int step_ms = times < SHORT_STEPS ? SHORT_MS : STEP_MS;
    nanosleep(&(struct timespec){.tv_nsec = step_ms * 1000000L}, NULL);
    return 1;
}
