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

/* hone tune CONFIG --cache PATH --device UUID --budget 30s --quiet [--regime NAME] -p NAME=VALUE …
 */
struct command_line {
    char **words; /* owned */
    size_t count;
    bool failed;
};

static void add_word(struct command_line *line, char *word)
{
    line->failed = line->failed || word == NULL;
    line->words[line->count++] = word;
}

static bool make_line(struct command_line *line, const struct hone_cache *cache,
                      const struct hn_bindings *problem, const char *config,
                      const struct hn_device *device, const struct hone_options *options)
{
    double seconds = options->tune_seconds > 0 ? options->tune_seconds : DEFAULT_S;
    char *budget = NULL;
    *line = (struct command_line){.words = calloc(2 * problem->count + 16, sizeof(char *))};
    if (line->words == NULL)
        return false;
    add_word(line, hn_lib_command(options));
    add_word(line, strdup("tune"));
    add_word(line, strdup(config));
    add_word(line, strdup("--cache"));
    add_word(line, strdup(cache->path));
    add_word(line, strdup("--device"));
    add_word(line, strdup(device->uuid));
    add_word(line, strdup("--budget"));
    add_word(line, asprintf(&budget, "%.3fs", seconds) < 0 ? NULL : budget);
    add_word(line, strdup("--quiet"));
    if (options->regime != NULL) {
        add_word(line, strdup("--regime"));
        add_word(line, strdup(options->regime));
    }
    for (size_t i = 0; i < problem->count; i++) {
        struct hn_text text;
        hn_text_init(&text);
        hn_text_printf(&text, "%s=", problem->names[i]);
        hn_value_append(&text, &problem->values[i]);
        add_word(line, strdup("-p"));
        add_word(line, hn_text_take(&text));
    }
    return !line->failed;
}

static void free_line(struct command_line *line)
{
    for (size_t i = 0; line->words != NULL && i < line->count; i++)
        free(line->words[i]);
    free(line->words);
}

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

static int start(char **words, int errors, pid_t *pid)
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
        code = posix_spawnp(pid, words[0], &actions, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static enum hone_status wait_for(pid_t pid, bool in_time, const char *tail, struct hone_error *err)
{
    int code = 0;
    pid_t waited;
    if (!in_time)
        kill(pid, SIGKILL);
    do
        waited = waitpid(pid, &code, 0);
    while (waited < 0 && errno == EINTR);
    if (!in_time)
        return hn_lib_fail(err, HONE_TUNE_FAILED,
                           "`hone tune` did not end %.0f s after its budget, and was killed",
                           GRACE_S);
    /* A program that ignores SIGCHLD never learns how it ended; the cache tells. */
    if (waited < 0 || (WIFEXITED(code) && WEXITSTATUS(code) == 0))
        return HONE_OK;
    if (WIFSIGNALED(code))
        return hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` was ended by signal %d",
                           WTERMSIG(code));
    return hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` ended with exit code %d: %.900s",
                       WEXITSTATUS(code), tail);
}

static enum hone_status run(char **words, double seconds, struct hone_error *err)
{
    char tail[900] = "";
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return hn_lib_fail(err, HONE_SYSTEM, "no pipe for `hone tune`: %s", strerror(errno));
    int code = start(words, ends[1], &pid);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return hn_lib_fail(err, HONE_SYSTEM,
                           "'%s' can not be started: %s; set options.tune_command or HONE_COMMAND "
                           "to where hone is",
                           words[0], strerror(code));
    }
    bool in_time = drain(ends[0], tail, sizeof tail, hn_now_ms() + 1000 * (seconds + GRACE_S));
    close(ends[0]);
    return wait_for(pid, in_time, tail, err);
}

enum hone_status hn_lib_tune(struct hone_cache *cache, const struct hn_bindings *problem,
                             const char *config, const struct hn_device *device,
                             const struct hone_options *options, struct hone_error *err)
{
    struct command_line line;
    double seconds = options->tune_seconds > 0 ? options->tune_seconds : DEFAULT_S;
    if (options->tune_config != NULL)
        config = options->tune_config;
    if (cache->is_folder)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "'%s' is a folder of recordings, to which nothing is added: to tune on "
                           "a miss open a cache",
                           cache->path);
    if (config == NULL || access(config, R_OK) != 0)
        return hn_lib_fail(err, HONE_TUNE_FAILED,
                           "tuning needs the config, which is not at %.500s: set "
                           "options.tune_config",
                           config == NULL ? "a place that the cache knows" : config);
    enum hone_status status = make_line(&line, cache, problem, config, device, options)
                                  ? run(line.words, seconds, err)
                                  : hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    free_line(&line);
    return status;
}
