/* SPDX-License-Identifier: MIT */
#include "tuner/workers/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Turns are short: only who waits for longer wants to know why. */
enum { ANNOUNCED_AFTER_MS = 1000, STEP_MS = 10 };

/* The note of a holder: always as many bytes, so that nothing is left of the one before. */
enum { NOTE_BYTES = 48 };

/* Linux refuses O_CREAT on another user's file in a folder like /tmp (fs.protected_regular): it
 * comes second. */
static int open_file(const char *path)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int lock = open(path, O_RDWR | flags);
    if (lock < 0 && errno == ENOENT) {
        lock = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
        /* Other users are to lock it, whatever the umask. */
        if (lock >= 0)
            (void)fchmod(lock, 0666);
        else if (errno == EEXIST)
            lock = open(path, O_RDWR | flags);
    }
    /* A lock needs no more than to read. */
    return lock < 0 && errno == EACCES ? open(path, O_RDONLY | flags) : lock;
}

static const char *find_fault(int lock)
{
    struct stat info;
    /* Some network file systems know no locks. */
    if (lock < 0 || fstat(lock, &info) != 0 ||
        (flock(lock, LOCK_EX | LOCK_NB) != 0 && errno != EWOULDBLOCK))
        return errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    if (!S_ISREG(info.st_mode))
        return "it is no regular file";
    return info.st_nlink == 1 ? NULL : "it has another name, too";
}

int hn_turn_open(const char *uuid, char warning[512])
{
    char path[256];
    const char *folder = getenv("HONE_LOCKS");
    snprintf(path, sizeof path, "%s/hone-%s.lock",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp", uuid);
    int lock = open_file(path);
    const char *fault = find_fault(lock);
    hn_turn_end(lock);
    char own[512];
    char *text = warning != NULL ? warning : own;
    text[0] = '\0';
    if (fault == NULL)
        return lock;
    snprintf(text, sizeof own,
             "the GPU's lock '%s' cannot be used: %s; tuners that run at once disturb each "
             "other's times: remove it, or set "
             "HONE_LOCKS to a folder that they all can write",
             path, fault);
    if (warning == NULL)
        fprintf(stderr, "hone: warning: %s\n", text);
    if (lock >= 0)
        close(lock);
    return -1;
}

bool hn_turn_take(int lock, bool waits)
{
    char note[NOTE_BYTES + 1]; /* of who holds it */
    int failed = lock < 0 ? 0 : flock(lock, LOCK_EX | LOCK_NB);
    while (failed != 0 && waits)
        failed = flock(lock, LOCK_EX) != 0 && errno == EINTR;
    if (lock >= 0 && failed == 0) {
        snprintf(note, sizeof note, "%-20ld %-26lld\n", (long)getpid(), (long long)time(NULL));
        (void)!pwrite(lock, note, NOTE_BYTES, 0);
    }
    return failed == 0;
}

void hn_turn_await(int lock)
{
    char holder[64];
    for (int waited = 0; waited < ANNOUNCED_AFTER_MS; waited += STEP_MS) {
        if (hn_turn_take(lock, false))
            return;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
    hn_turn_holder(lock, holder);
    fprintf(stderr, "waiting for the GPU: %s\n", holder);
    hn_turn_take(lock, true);
}

void hn_turn_end(int lock)
{
    flock(lock, LOCK_UN);
}

void hn_turn_holder(int lock, char text[64])
{
    char note[NOTE_BYTES + 1] = "";
    char clock[16];
    struct tm local;
    char *rest;
    (void)!pread(lock, note, NOTE_BYTES, 0);
    long pid = strtol(note, &rest, 10);
    time_t since = (time_t)strtoll(rest, NULL, 10);
    if (pid <= 0 || since <= 0 || localtime_r(&since, &local) == NULL ||
        strftime(clock, sizeof clock, "%H:%M:%S", &local) == 0)
        snprintf(text, 64, "another process has it");
    else
        snprintf(text, 64, "process %ld has it since %s", pid, clock);
}
