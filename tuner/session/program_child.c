/* SPDX-License-Identifier: MIT */
#include "tuner/session/program_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "runtime/plan/plan.h"
#include "runtime/process/process.h"

enum { OUTPUT_MOST = 16 << 20 };

static void append_value(struct hn_text *text, const struct hn_value *value)
{
    if (value->type == HN_BOOLEAN)
        hn_text_append(text, value->boolean ? "1" : "0");
    else
        hn_value_append(text, value);
}

static char *expand(const char *word, const struct hn_bindings *values)
{
    struct hn_text text = {0};
    size_t length;
    for (const char *hole; (hole = hn_command_hole(word, &length)) != NULL;
         word = hole + length + 3) {
        char *name = hn_needed(strndup(hole + 2, length));
        hn_text_append_bytes(&text, word, (size_t)(hole - word));
        append_value(&text, hn_bindings_get(values, name));
        free(name);
    }
    hn_text_append(&text, word);
    return hn_needed(hn_text_take(&text));
}

/* env NAME=VALUE... PROGRAM ARGUMENT..., so that only system calls stand between fork and exec. */
static char **make_arguments(const json_t *words, const struct hn_bindings *values)
{
    char **arguments = hn_need(values->count + json_array_size(words) + 2, sizeof *arguments);
    char **at = arguments;
    *at++ = hn_need_copy("env");
    for (size_t i = 0; i < values->count; i++) {
        struct hn_text variable = {0};
        hn_text_printf(&variable, "%s=", values->names[i]);
        append_value(&variable, &values->values[i]);
        *at++ = hn_needed(hn_text_take(&variable));
    }
    for (size_t i = 0; i < json_array_size(words); i++)
        *at++ = expand(json_string_value(json_array_get(words, i)), values);
    return arguments;
}

/* In the child. */
static void become(char *const *arguments, const char *folder, const int *streams, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int input = streams[0] >= 0 ? streams[0] : open("/dev/null", O_RDONLY);
    if (dup2(input, 0) < 0 || dup2(streams[1], 1) < 0 || dup2(streams[2], 2) < 0)
        _exit(127);
    if (setpgid(0, 0) == 0 && getppid() == parent && chdir(folder) == 0)
        execv("/usr/bin/env", arguments);
    _exit(127);
}

void hn_child_init(struct hn_child *child)
{
    *child = (struct hn_child){.output = -1, .errors = -1};
}

void hn_child_start(struct hn_child *child, const json_t *words, const struct hn_bindings *values,
                    const char *folder, int input, double limit_ms, struct hn_error *err)
{
    hn_child_init(child);
    if (hn_failed(err))
        return;
    child->name = json_string_value(json_array_get(words, 0));
    child->end_ms = hn_now_ms() + limit_ms;
    child->output = memfd_create("output", MFD_CLOEXEC);
    child->errors = memfd_create("errors", MFD_CLOEXEC);
    char **arguments = make_arguments(words, values);
    const int streams[] = {input, child->output, child->errors};
    if (input >= 0)
        (void)lseek(input, 0, SEEK_SET);
    pid_t parent = getpid();
    child->pid = child->output >= 0 && child->errors >= 0 ? fork() : -1;
    if (child->pid == 0)
        become(arguments, folder, streams, parent);
    if (child->pid < 0)
        hn_fail(err, HN_ERUN, "%s cannot be started: %s", child->name, strerror(errno));
    for (char **at = arguments; *at != NULL; at++)
        free(*at);
    free(arguments);
}

static size_t size_of(int file)
{
    struct stat is = {.st_size = 0};
    return file >= 0 && fstat(file, &is) == 0 ? (size_t)is.st_size : 0;
}

static void end(struct hn_child *child)
{
    struct rusage used = {.ru_utime = {0}};
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        kill(-child->pid, SIGKILL);
        while (wait4(child->pid, &child->status, 0, &used) < 0 && errno == EINTR)
            continue;
        child->cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    }
    child->pid = 0;
}

bool hn_child_ended(struct hn_child *child)
{
    siginfo_t info = {.si_pid = 0};
    /* Until its group was killed it stays a zombie, whose number is nobody else's. */
    bool ended = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                 info.si_pid != 0;
    child->floods = size_of(child->output) > OUTPUT_MOST || size_of(child->errors) > OUTPUT_MOST;
    child->late = !ended && hn_now_ms() >= child->end_ms;
    if (ended || child->floods || child->late)
        end(child);
    return child->pid == 0;
}

bool hn_child_succeeded(const struct hn_child *child)
{
    return !child->late && !child->floods && child->status == 0;
}

void hn_child_finish(struct hn_child *child)
{
    end(child);
    if (child->output >= 0)
        close(child->output);
    if (child->errors >= 0)
        close(child->errors);
    hn_child_init(child);
}

char *hn_child_output(const struct hn_child *child)
{
    /* Whoever has left its group may still print. */
    size_t size = size_of(child->output);
    char *text = hn_need(size + 1, 1);
    (void)!pread(child->output, text, size, 0);
    return text;
}

void hn_child_describe(const struct hn_child *child, const char *limit, char *text, size_t size)
{
    struct hn_process process = {.tail = ""};
    int file = size_of(child->errors) > 0 ? child->errors : child->output;
    off_t behind = (off_t)size_of(file) - (off_t)(sizeof process.tail - 1);
    (void)!pread(file, process.tail, sizeof process.tail - 1, behind > 0 ? behind : 0);
    int length = snprintf(text, size, "%.200s ", child->name);
    text += length;
    size -= (size_t)length;
    if (child->floods)
        snprintf(text, size, "printed more than %d MiB", OUTPUT_MOST >> 20);
    else if (child->late)
        snprintf(text, size, "did not end in time (%s)", limit);
    else
        hn_process_describe_end(&process, child->status, text, size);
}
