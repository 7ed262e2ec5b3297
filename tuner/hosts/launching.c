/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/launching.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
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
    struct hn_text text = {0};
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    hn_text_printf(&text, "exec %s ", run);
    if (installs) {
        hn_text_append(&text, "sh");
        return hn_needed(hn_text_take(&text));
    }
    append_quoted(&text, hone != NULL ? hone : own);
    hn_text_printf(&text, " worker node%s", count ? " count" : "");
    return hn_needed(hn_text_take(&text));
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

static enum hn_status open_program(int *fd, size_t *size, struct hn_error *err)
{
    struct stat status;
    *fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && fstat(*fd, &status) == 0) {
        *size = (size_t)status.st_size;
        return HN_OK;
    }
    if (*fd >= 0)
        close(*fd);
    return hn_fail(err, HN_ERUN, "--install: /proc/self/exe can not be read: %s", strerror(errno));
}

/* One line, so that the shell has read all of its input that is its own when the program comes. */
enum hn_status hn_install_begin(struct hn_bytes *output, bool count, struct hn_error *err)
{
    char line[640];
    size_t size = 0;
    int fd = -1;
    enum hn_status status = open_program(&fd, &size, err);
    if (status != HN_OK)
        return status;
    close(fd);
    snprintf(
        line, sizeof line,
        "d=$(mktemp -d \"${TMPDIR:-/tmp}/hone-XXXXXX\") && { trap 'rm -rf \"$d\"; exit 1' HUP "
        "INT TERM; printf '\\nhone-install\\n'; head -c %zu >\"$d/hone\" && chmod 700 "
        "\"$d/hone\" && \"$d/hone\" worker node %s installed; s=$?; rm -rf \"$d\"; exit $s; }; "
        "exit 1\n",
        size, count ? "count" : "-");
    hn_bytes_append(output, line, strlen(line));
    return HN_OK;
}

enum hn_status hn_install_send(struct hn_bytes *output, struct hn_error *err)
{
    char data[65536];
    size_t size = 0;
    int fd = -1;
    enum hn_status status = open_program(&fd, &size, err);
    while (status == HN_OK && size > 0) {
        ssize_t n = read(fd, data, sizeof data < size ? sizeof data : size);
        if (n <= 0)
            status = hn_fail(err, HN_ERUN, "--install: /proc/self/exe can not be read: %s",
                             n < 0 ? strerror(errno) : "it ends early");
        hn_bytes_append(output, data, n > 0 ? (size_t)n : 0);
        size -= n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

/* Nothing but what the line above has made. */
static bool is_installed(const char *path)
{
    char folder[PATH_MAX];
    char start[PATH_MAX];
    const char *chosen = getenv("TMPDIR");
    if (realpath(chosen != NULL && chosen[0] != '\0' ? chosen : "/tmp", folder) == NULL ||
        snprintf(start, sizeof start, "%s/hone-", folder) >= (int)sizeof start)
        return false;
    size_t length = strlen(start);
    return strncmp(path, start, length) == 0 && strlen(path) == length + strlen("XXXXXX/hone") &&
           strcmp(path + length + 6, "/hone") == 0;
}

void hn_install_remove(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (!is_installed(path))
        return;
    (void)unlink(path);
    (void)rmdir(dirname(path));
}

static const char mark[] = "\nhone-node ";
enum { LONGEST = 255, MOST = 4096 };

void hn_greeting_write(const struct hn_greeting *greeting, char text[256])
{
    snprintf(text, 256, "%sprotocol=%d build=%s host=%s compile=%d gpus=%d\n", mark,
             greeting->protocol, greeting->build, greeting->host, greeting->compile,
             greeting->gpus);
}

/* Host names and versions have no others. */
static bool is_plain(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+:";
    return text[0] != '\0' && strspn(text, allowed) == strlen(text);
}

/* The number that the word behind `name` is; -1 for anything else. */
static int take_number(const char *name, const char *word)
{
    size_t length = strlen(name);
    size_t digits =
        word != NULL && strncmp(word, name, length) == 0 ? strspn(word + length, "0123456789") : 0;
    return digits > 0 && digits < 6 && word[length + digits] == '\0' ? atoi(word + length) : -1;
}

static void take_name(const char *name, const char *word, char *text, size_t size)
{
    size_t length = strlen(name);
    if (word != NULL && strncmp(word, name, length) == 0 && is_plain(word + length))
        snprintf(text, size, "%s", word + length);
}

static enum hn_status read_line(char *line, struct hn_greeting *greeting, struct hn_error *err)
{
    char *rest = NULL;
    greeting->protocol = take_number("protocol=", strtok_r(line, " ", &rest));
    take_name("build=", strtok_r(NULL, " ", &rest), greeting->build, sizeof greeting->build);
    take_name("host=", strtok_r(NULL, " ", &rest), greeting->host, sizeof greeting->host);
    greeting->compile = take_number("compile=", strtok_r(NULL, " ", &rest));
    greeting->gpus = take_number("gpus=", strtok_r(NULL, " ", &rest));
    if (greeting->protocol >= 0 && greeting->build[0] != '\0' &&
        (greeting->protocol != HN_PROTOCOL || strcmp(greeting->build, hn_process_build()) != 0))
        return hn_fail(err, HN_ERUN,
                       "its Hone is another (build %s, protocol %d; this one is build %s, protocol "
                       "%d): install the same there, or name it by 'hone'",
                       greeting->build, greeting->protocol, hn_process_build(), HN_PROTOCOL);
    if (greeting->protocol < 0 || greeting->build[0] == '\0' || greeting->host[0] == '\0' ||
        greeting->compile < 1 || greeting->compile > MOST || greeting->gpus < 0 ||
        greeting->gpus > MOST)
        return hn_fail(err, HN_ERUN, "its agent greets in a way that this Hone does not know");
    return HN_OK;
}

enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting,
                                size_t *size, size_t *length, struct hn_error *err)
{
    char line[LONGEST + 1];
    const char *start = limit > 0 ? memmem(text, limit, mark, sizeof mark - 1) : NULL;
    if (start == NULL)
        return HN_ENOTFOUND;
    *greeting = (struct hn_greeting){0};
    *size = (size_t)(start - text);
    start += sizeof mark - 1;
    size_t left = limit - (size_t)(start - text);
    const char *end = memchr(start, '\n', left < LONGEST ? left : LONGEST);
    if (end == NULL)
        return left < LONGEST ? HN_ENOTFOUND
                              : hn_fail(err, HN_ERUN,
                                        "its agent greets in a way that this Hone does not know");
    memcpy(line, start, (size_t)(end - start));
    line[end - start] = '\0';
    *length = (size_t)(end - text) + 1 - *size;
    return read_line(line, greeting, err);
}
