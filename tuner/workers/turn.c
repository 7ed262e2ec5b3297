/* SPDX-License-Identifier: MIT */
#include "tuner/workers/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

int hn_turn_open(const char *uuid)
{
    char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/hone-%s.lock", folder != NULL ? folder : "/tmp", uuid);
    /* Linux refuses O_CREAT on another user's file in a folder such as /tmp (fs.protected_regular).
     */
    int lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock >= 0)
        return lock;
    mode_t mask = umask(0);
    lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    umask(mask);
    return lock;
}

void hn_turn_take(int lock)
{
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
}

void hn_turn_end(int lock)
{
    if (lock >= 0)
        flock(lock, LOCK_UN);
}
