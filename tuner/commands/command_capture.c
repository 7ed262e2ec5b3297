/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/run.h"
#include "runtime/plan/capture_file.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"

/* hone capture: a program runs with a library before all others that writes one of its launches. */

/* Before those that the user loads. */
static void set_library(struct hn_error *err)
{
    static const char beside[] = "/../lib/hone/libhone_interposer.so";
    const char *others = getenv("LD_PRELOAD");
    char own[PATH_MAX];
    struct hn_text all HN_ENDED_BY(hn_text_finish) = {0};
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - sizeof beside);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    strcpy(slash != NULL ? slash : own, beside);
    const char *apart = strpbrk(own, " :"); /* libraries in the variable */
    if (!hn_failed(err) && (apart != NULL || access(own, R_OK) != 0))
        hn_fail(err, HN_ERUN, "'%s' cannot be loaded: %s; install Hone again", own,
                apart != NULL ? "no blank or colon may be in its path" : strerror(errno));
    hn_text_printf(&all, "%s%s%s", own, others == NULL ? "" : ":", others == NULL ? "" : others);
    if (setenv("LD_PRELOAD", hn_needed(all.data), 1) != 0)
        hn_needed(NULL);
}

/* Its exit code, or that of a shell for one that a signal ended. */
static int run_program(const struct hn_texts *words, struct hn_error *err)
{
    pid_t pid = 0;
    int end = 0;
    char **arguments HN_FREED = hn_need(words->count + 1, sizeof *arguments);
    memcpy(arguments, words->items, words->count * sizeof *arguments);
    int failure = hn_failed(err)
                      ? 0
                      : hn_process_spawn(&pid, arguments[0], arguments, (int[]){0, 1, 2}, 3, false);
    if (failure != 0)
        hn_fail(err, HN_ERUN, "'%s' cannot be started: %s", arguments[0], strerror(failure));
    while (pid > 0 && waitpid(pid, &end, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    const char *kernel = options->kernel;
    struct hn_text settings HN_ENDED_BY(hn_text_finish) = {0};
    struct stat before = {0}, after;
    char *file HN_FREED =
        hn_file_absolute(options->output != NULL ? options->output : "launch.honecap", err);
    hn_text_printf(&settings, HN_INTERPOSER_FORMAT, (unsigned long long)options->launch,
                   (unsigned long long)options->limit << 20, file == NULL ? "" : file,
                   kernel == NULL ? "" : kernel);
    if (setenv(HN_INTERPOSER, hn_needed(settings.data), 1) != 0)
        hn_needed(NULL);
    set_library(err);
    hn_spare_inputs(options, "-o", file, NULL, err);
    if (!hn_failed(err) && stat(file, &before) == 0 && !S_ISREG(before.st_mode))
        hn_fail(err, HN_ERUN, "'%s' cannot be written: it is no regular file", file);
    char *folder HN_FREED = hn_need_copy(file == NULL ? "" : file);
    if (!hn_failed(err) && access(dirname(folder), W_OK) != 0)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", file, strerror(errno));
    int code = run_program(&options->arguments, err);
    if (!hn_failed(err))
        hn_interrupt_check(err);
    /* A capture takes the place of the file, which is of another time then. */
    if (!hn_failed(err) && (stat(file, &after) != 0 ||
                            memcmp(&after.st_ctim, &before.st_ctim, sizeof after.st_ctim) == 0))
        hn_fail(err, HN_ENOTFOUND,
                "nothing was captured: '%s' ended with exit code %d and made no launch %llu of %s; "
                "those in graphs are not captured",
                options->arguments.items[0], code, (unsigned long long)options->launch,
                kernel == NULL ? "a kernel" : kernel);
}

const struct hn_command hn_command_capture = {
    .name = "capture",
    .of = HN_CAPTURE,
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .listed = "-- PROGRAM",
    .summary = "run a program and keep one of its launches for `hone tune`",
    .examples = "hone capture --kernel scale -- ./app 4096",
    .least = 1,
    .most = SIZE_MAX,
    .missing = HN_TOO_FEW "-- PROGRAM [ARGUMENT...]",
    .run = run,
};
