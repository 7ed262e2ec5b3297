/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run.h"
#include "runtime/libhone/library.h"

extern char **environ;

/* What `hone tune` takes beside its budget to start, to finish and to race the best, before it is
 * killed. */
static const double GRACE_S = 120;
static const double DEFAULT_S = 30;

/* The end of what was written to a pipe, until it is closed or the time is over. */
static bool drain(int from, char *tail, size_t size, double until_ms)
{
    size_t length = 0;
    for (;;) {
        char bytes[512];
        struct pollfd wait = {.fd = from, .events = POLLIN};
        double left_ms = until_ms - hn_now_ms();
        int ready = left_ms <= 0 ? 0 : poll(&wait, 1, left_ms > 1000 ? 1000 : (int)left_ms + 1);
        if (left_ms <= 0)
            return false;
        if (ready <= 0)
            continue;
        ssize_t count = read(from, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return true;
        size_t kept = (size_t)count < size - 1 ? (size_t)count : size - 1;
        size_t room = size - 1 - kept;
        size_t old = length < room ? length : room;
        memmove(tail, tail + length - old, old);
        memcpy(tail + old, bytes + (size_t)count - kept, kept);
        length = old + kept;
        tail[length] = '\0';
    }
}

static int start(const char **words, int errors, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, errors, 2);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        code =
            posix_spawnp(pid, words[0], &actions, &attributes, (char **)(uintptr_t)words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static void wait_for(pid_t pid, bool in_time, const char *tail, struct hn_error *err)
{
    int code = 0;
    pid_t waited;
    if (!in_time)
        kill(pid, SIGKILL);
    do
        waited = waitpid(pid, &code, 0);
    while (waited < 0 && errno == EINTR);
    /* A program that ignores SIGCHLD never learns how it ended; the cache tells. */
    if (!in_time)
        hn_lib_fail(err, HONE_TUNE_FAILED,
                    "`hone tune` did not end %.0f s after its budget, and was killed", GRACE_S);
    else if (waited >= 0 && WIFSIGNALED(code))
        hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` was ended by signal %d", WTERMSIG(code));
    else if (waited >= 0 && WEXITSTATUS(code) != 0)
        hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` ended with exit code %d: %.900s",
                    WEXITSTATUS(code), tail);
}

static void run(const char **words, double seconds, struct hn_error *err)
{
    char tail[900] = "";
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        hn_fail(err, HN_ERUN, "no pipe for `hone tune`: %s", strerror(errno));
        return;
    }
    int code = start(words, ends[1], &pid);
    close(ends[1]);
    if (code != 0)
        hn_fail(err, HN_ERUN,
                "'%s' can not be started: %s; set options.tune_command or HONE_COMMAND "
                "to where hone is",
                words[0], strerror(code));
    bool in_time =
        code != 0 || drain(ends[0], tail, sizeof tail, hn_now_ms() + 1000 * (seconds + GRACE_S));
    close(ends[0]);
    if (code == 0)
        wait_for(pid, in_time, tail, err);
}

void hn_lib_tune(const struct hn_lib_question *asked, const char *config, struct hn_error *err)
{
    const struct hone_options *options = asked->options;
    double seconds = options->tune_seconds > 0 ? options->tune_seconds : DEFAULT_S;
    char budget[32];
    if (options->tune_config != NULL)
        config = options->tune_config;
    if (asked->cache->is_folder) {
        hn_lib_fail(err, HONE_UNSUPPORTED,
                    "'%s' is a folder of recordings, to which nothing is added: to tune on "
                    "a miss open a cache",
                    asked->cache->path);
        return;
    }
    if (config == NULL || access(config, R_OK) != 0) {
        hn_lib_fail(err, HONE_TUNE_FAILED,
                    "tuning needs the config, which is not at %.500s: set "
                    "options.tune_config",
                    config == NULL ? "a place that the cache knows" : config);
        return;
    }
    snprintf(budget, sizeof budget, "%.3fs", seconds);
    char *command = hn_lib_command(options);
    char *problem = hn_bindings_text(asked->problem);
    const char *words[16] = {command,
                             "tune",
                             config,
                             "--cache",
                             asked->cache->path,
                             "--device",
                             asked->device->uuid,
                             "--budget",
                             budget,
                             "--quiet"};
    size_t count = 10;
    if (asked->problem->count > 0) {
        words[count++] = "-p";
        words[count++] = problem;
    }
    if (options->regime != NULL) {
        words[count++] = "--regime";
        words[count++] = options->regime;
    }
    if (command == NULL || problem == NULL)
        hn_fail_memory(err);
    else
        run(words, seconds, err);
    free(command);
    free(problem);
}
