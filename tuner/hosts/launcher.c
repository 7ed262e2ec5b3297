/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

extern char **environ;

/* A word of the shell. */
static void append_quoted(struct hn_text *text, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        hn_text_append(text, word);
        return;
    }
    hn_text_append(text, "'");
    for (; *word != '\0'; word++)
        hn_text_printf(text, *word == '\'' ? "'\\''" : "%c", *word);
    hn_text_append(text, "'");
}

static char *make_command(const char *run, const char *hone, bool count, bool installs)
{
    char own[PATH_MAX];
    struct hn_text text;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    hn_text_init(&text);
    hn_text_printf(&text, "exec %s ", run);
    if (installs) {
        hn_text_append(&text, "sh");
        return hn_text_take(&text);
    }
    append_quoted(&text, hone != NULL ? hone : own);
    hn_text_printf(&text, " worker node%s", count ? " count" : "");
    return hn_text_take(&text);
}

static int spawn_shell(pid_t *pid, const char *command, const int streams[3])
{
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failure = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* Both ends above 2, so that dup2 copies them. */
static bool make_pipe(int ends[2])
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
        close(low[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return false;
}

enum hn_status hn_launcher_start(struct hn_process *launcher, const char *run, const char *hone,
                                 bool count, bool installs, int *to, int *from,
                                 struct hn_error *err)
{
    int pipes[3][2];
    int made = 0;
    enum hn_status status = HN_OK;
    char *command = make_command(run, hone, count, installs);
    if (command == NULL)
        return hn_fail_memory(err);
    while (made < 3 && make_pipe(pipes[made]))
        made++;
    if (made < 3) {
        status = hn_fail(err, HN_ERUN, "pipe: %s", strerror(errno));
        goto close_pipes;
    }
    const int streams[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    int failure = spawn_shell(&launcher->pid, command, streams);
    if (failure != 0) {
        launcher->pid = 0;
        status = hn_fail(err, HN_ERUN, "/bin/sh can not be started: %s", strerror(failure));
        goto close_pipes;
    }
    for (int i = 0; i < 3; i++)
        close(streams[i]);
    *to = pipes[0][1];
    *from = pipes[1][0];
    launcher->output = pipes[2][0];
    fcntl(launcher->output, F_SETFL, O_NONBLOCK);
    free(command);
    return HN_OK;

close_pipes:
    for (int i = 0; i < made; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    free(command);
    return status;
}
