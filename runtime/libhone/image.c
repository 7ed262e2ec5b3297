/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

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
#include "runtime/compile/source.h"
#include "runtime/device/library.h"
#include "runtime/process/process.h"

/* The program `hone`, which does for applications what should not happen in them. */

/* Else "<prefix>/bin/hone" for "<prefix>/lib/libhone.so.0", else whatever the PATH finds. */
static char *find_command(const struct hone_options *options)
{
    enum hone_status (*function)(const char *, struct hone_cache **, struct hone_error *) =
        hone_open;
    const char *environment = getenv("HONE_COMMAND");
    char path[4096];
    const void *own = NULL;
    if (options->tune_command != NULL)
        return strdup(options->tune_command);
    if (environment != NULL && environment[0] != '\0')
        return strdup(environment);
    memcpy(&own, &function, sizeof own);
    bool has_path = hn_library_path(own, path, sizeof path);
    for (int i = 0; has_path && i < 3; i++) {
        char *slash = strrchr(path, '/'), *command = NULL;
        if (slash == NULL)
            break;
        *slash = '\0';
        if (asprintf(&command, "%s/bin/hone", path) < 0)
            return NULL;
        if (access(command, X_OK) == 0)
            return command;
        free(command);
    }
    return strdup("hone");
}

/* To start, with NVRTC, and to compile: as long as a tune gives a variant. */
static const double LIMIT_MS = 60e3;

/* What a compile worker is asked for, and what came of it. */
struct child {
    struct hn_process process;
    const struct hn_source *source;
    const char *architecture;
    struct hn_image *image;
    bool done;
};

static void take(struct child *child, struct hn_message *message, struct hn_error *err)
{
    if (hn_message_gate(message, err) != HN_OK)
        return;
    const char *type = hn_message_type(message);
    if (!child->process.greeted) {
        hn_process_greet(&child->process, message, err);
    } else if (strcmp(type, "ready") == 0) {
        struct hn_message request = {.json =
                                         hn_message_of_source(child->source, child->architecture)};
        if (request.json == NULL)
            hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", child->source->template->path);
        else
            hn_channel_send(&child->process.channel, &request, err);
        hn_message_finish(&request);
    } else if (strcmp(type, "compiled") == 0) {
        child->done = true;
        hn_message_get_image(message, json_object_get(message->json, "image"), child->image, err);
    } else {
        const char *why = json_string_value(json_object_get(message->json, "message"));
        hn_fail(err, HN_ERUN, "%s", why == NULL ? "it failed without a word" : why);
    }
}

/* Until it is done, or the child is gone. HONE_NEEDS_COMPILER: it can not be started. */
static void compile_in_child(const struct hn_lib_choice *choice, struct child *child,
                             struct hn_error *err)
{
    struct hn_process *process = &child->process;
    double until_ms = hn_now_ms() + LIMIT_MS;
    char *command = find_command(choice->asked->options);
    if (command == NULL) {
        hn_fail_memory(err);
        return;
    }
    bool started = hn_process_start(process, command, "compile", err) == HN_OK;
    if (!started) {
        struct hn_error why = *err;
        hn_lib_fail(err, HONE_NEEDS_COMPILER,
                    "'%.300s' keeps no machine code of %s that fits; to compile it takes "
                    "the command `hone`, but %.400s; set options.tune_command or "
                    "HONE_COMMAND to where it is",
                    choice->asked->cache->path, choice->plan->plan->kernel, why.message);
    }
    while (!hn_failed(err) && !child->done) {
        struct pollfd fds[2];
        struct hn_message message;
        struct hn_error lost = {0};
        double left_ms = until_ms - hn_now_ms();
        if (left_ms <= 0) {
            hn_fail(err, HN_ERUN, "compiling took more than %g s and was ended", LIMIT_MS / 1e3);
            break;
        }
        enum hn_received received = hn_channel_receive(&process->channel, false, &message, &lost);
        if (received == HN_RECEIVED_NOTHING) {
            poll(fds, hn_process_poll(process, fds), (int)left_ms + 1);
            hn_process_drain(process);
        } else if (received == HN_RECEIVED_CLOSED) {
            char end[512];
            hn_process_drain(process);
            hn_process_describe_end(process, hn_process_kill(process), end, sizeof end);
            hn_fail(err, HN_ERUN, "the process that compiles was %s", end);
        } else {
            take(child, &message, err);
            hn_message_finish(&message);
        }
    }
    if (started)
        hn_process_kill(process);
    free(command);
}

static bool same_strings(char *const *a, size_t a_count, char *const *b, size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

bool hn_lib_names_are_plain(const struct hn_plan *plan)
{
    bool plain = true;
    for (size_t i = 0; plain && i < plan->step_count; i++)
        plain = hn_text_is_word(plan->steps[i].entry);
    return plain;
}

/* The plain names of the kernels that are launched for the choice's problem, a line each. NULL: it
 * has no value, or there is no memory. */
static char *launched_entries(const struct hn_lib_choice *choice)
{
    const struct hn_plan *plan = choice->plan->plan;
    struct hn_text lines = {0};
    struct hn_value *values = NULL;
    if (hn_plan_values(plan, choice->asked->problem, choice->point, &values, NULL) != HN_OK)
        return NULL;
    for (size_t i = 0; i < plan->step_count; i++) {
        bool applies = false;
        if (hn_expression_holds(plan->steps[i].condition, values, &applies, NULL) != HN_OK)
            lines.failed = true;
        else if (applies)
            hn_text_printf(&lines, "%s%s", lines.length > 0 ? "\n" : "", plan->steps[i].entry);
    }
    free(values);
    return hn_text_take(&lines);
}

bool hn_lib_image_launches(const struct hn_image *image, const struct hn_lib_choice *choice)
{
    if (!hn_lib_names_are_plain(choice->plan->plan))
        return true;
    char *entries = launched_entries(choice);
    const char *at = entries;
    for (size_t i = 0; at != NULL && i < image->entry_count; i++) {
        size_t length = strlen(image->entries[i]);
        bool same = strncmp(at, image->entries[i], length) == 0 &&
                    at[length] == (i + 1 < image->entry_count ? '\n' : '\0');
        at = same ? at + length + 1 : NULL;
    }
    free(entries);
    return at != NULL;
}

bool hn_lib_program_is_same(const struct hn_lib_choice *choice, const struct hn_bindings *a,
                            const struct hn_bindings *b)
{
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    struct hn_source one, other;
    bool same = false;
    if (hn_source_make(plan, template, a, choice->point, &one, NULL) != HN_OK)
        return false;
    if (hn_source_make(plan, template, b, choice->point, &other, NULL) == HN_OK) {
        same = strcmp(one.text, other.text) == 0 &&
               (hn_lib_names_are_plain(plan) ||
                same_strings(one.entries, one.entry_count, other.entries, other.entry_count)) &&
               same_strings(one.options, one.option_count, other.options, other.option_count);
        hn_source_finish(&other);
    }
    hn_source_finish(&one);
    return same;
}

/* The cache keeps it as the image of a task: that of the result, or of a rule's configuration one
 * whose problem are the values of its program. */
static bool read_kept(const struct hn_lib_choice *choice, struct hn_image *image)
{
    const struct hn_bindings *problem = choice->asked->problem;
    struct hn_store *store = choice->asked->cache->store;
    char *entries = NULL;
    struct hn_bindings values = {0};
    struct hn_error ignored;
    bool taken;
    if (choice->tuned == NULL || store == NULL ||
        choice->tuned->identity.device.capability != choice->asked->device->identity.capability)
        return false;
    struct hn_identity task = choice->tuned->identity;
    if (choice->configuration == NULL) {
        taken = hn_bindings_equal(&task.problem, problem) ||
                hn_lib_program_is_same(choice, problem, &task.problem);
    } else {
        taken = hn_lib_program_is_shared(choice) &&
                hn_plan_program_values(choice->plan->plan, choice->point, problem, &values, NULL) ==
                    HN_OK;
        task.problem = values;
    }
    taken = taken && hn_store_get_image(store, &task, &choice->tuned->version, choice->point,
                                        &image->cubin, &image->size, &entries, &ignored) == HN_OK;
    if (taken && hn_lib_names_are_plain(choice->plan->plan)) {
        free(entries); /* of another problem, perhaps, which launches others */
        entries = launched_entries(choice);
    }
    taken = taken && entries != NULL && hn_image_set_entries(image, entries, NULL) == HN_OK;
    image->outcome = HN_OUTCOME_OK;
    hn_bindings_finish(&values);
    free(entries);
    return taken;
}

bool hn_lib_image_is_kept(const struct hn_lib_choice *choice)
{
    struct hn_image image;
    if (hn_lib_module_find(choice, false) != NULL)
        return true;
    hn_image_init(&image);
    bool kept = read_kept(choice, &image);
    hn_image_finish(&image);
    return kept;
}

static bool recall(const struct hone_cache *cache, const struct hn_hash *program,
                   struct hn_image *image)
{
    const struct hn_lib_compiled *compiled = cache->compiled;
    while (compiled != NULL && strcmp(compiled->program.hex, program->hex) != 0)
        compiled = compiled->next;
    char *entries = compiled == NULL ? NULL : strdup(compiled->entries);
    if (entries == NULL)
        return false;
    image->cubin = malloc(compiled->size);
    image->size = compiled->size;
    image->outcome = HN_OUTCOME_OK;
    bool taken = image->cubin != NULL && hn_image_set_entries(image, entries, NULL) == HN_OK;
    if (taken)
        memcpy(image->cubin, compiled->cubin, compiled->size);
    free(entries);
    return taken;
}

/* Without memory for it, it is compiled again the next time. */
static void remember(struct hone_cache *cache, const struct hn_hash *program,
                     const struct hn_image *image)
{
    char *entries = hn_image_entry_lines(image);
    size_t length = entries == NULL ? 0 : strlen(entries) + 1;
    struct hn_lib_compiled *made =
        entries == NULL ? NULL
                        : hn_blocks_take(&cache->memory, sizeof *made + image->size + length);
    if (made != NULL) {
        *made = (struct hn_lib_compiled){cache->compiled, *program, NULL, image->size};
        memcpy(made->cubin, image->cubin, image->size);
        made->entries = memcpy((char *)made->cubin + image->size, entries, length);
        cache->compiled = made;
    }
    free(entries);
}

void hn_lib_image_get(const struct hn_lib_choice *choice, struct hn_image *image, bool *compiled,
                      struct hn_error *err)
{
    struct hone_cache *cache = choice->asked->cache;
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    const int compute = choice->asked->device->identity.capability;
    char capability[HN_ARCHITECTURE_SIZE], architecture[HN_ARCHITECTURE_SIZE];
    struct hn_source source;
    struct hn_source_key key;
    struct child child = {.source = &source, .architecture = architecture, .image = image};
    *compiled = false;
    if (read_kept(choice, image))
        return;
    hn_image_finish(image);
    hn_image_init(image);
    if (choice->asked->options->forbid_compile != 0) {
        hn_lib_fail(err, HONE_NEEDS_COMPILER,
                    "'%.300s' keeps no machine code of %s that fits this problem and "
                    "compute capability %d.%d, and options.forbid_compile is set",
                    cache->path, plan->kernel, compute / 10, compute % 10);
        return;
    }
    snprintf(capability, sizeof capability, "%d", compute);
    hn_architecture_name(capability, plan->arch_specific, architecture);
    if (hn_source_make(plan, template, choice->asked->problem, choice->point, &source, err) ==
        HN_OK) {
        if (hn_source_key(&source, capability, &key, err) == HN_OK &&
            !recall(cache, &key.hash, image)) {
            hn_image_finish(image);
            hn_image_init(image);
            *compiled = true;
            compile_in_child(choice, &child, err);
            if (!hn_failed(err) && image->outcome == HN_OUTCOME_OK)
                remember(cache, &key.hash, image);
        }
        hn_source_finish(&source);
    }
    if (!hn_failed(err) && image->outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "%s: %.900s", template->path,
                image->message == NULL ? "it does not compile" : image->message);
    if (hn_failed(err) && err->status != HN_ENOMEM && err->status <= HN_EINTERRUPTED)
        hn_lib_restate(err, HONE_COMPILE_FAILED);
}

/* Tuning. */

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

static void run_tune(const char **words, double seconds, struct hn_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char tail[900] = "";
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        hn_fail(err, HN_ERUN, "no pipe for `hone tune`: %s", strerror(errno));
        return;
    }
    sigemptyset(&none);
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0) {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
        code = posix_spawnattr_init(&attributes);
        if (code == 0) {
            posix_spawnattr_setsigmask(&attributes, &none);
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
            code = posix_spawnp(&pid, words[0], &actions, &attributes, (char **)(uintptr_t)words,
                                environ);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (code != 0)
        hn_fail(err, HN_ERUN,
                "'%s' can not be started: %s; set options.tune_command or HONE_COMMAND "
                "to where hone is",
                words[0], strerror(code));
    else
        wait_for(pid, drain(ends[0], tail, sizeof tail, hn_now_ms() + 1000 * (seconds + GRACE_S)),
                 tail, err);
    close(ends[0]);
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
    char *command = find_command(options);
    char *problem = hn_bindings_text(asked->problem);
    const char *const given[][2] = {{"--cache", asked->cache->path},
                                    {"--device", asked->device->uuid},
                                    {"--budget", budget},
                                    {"-p", asked->problem->count > 0 ? problem : NULL},
                                    {"--regime", options->regime}};
    const char *words[16] = {command, "tune", config, "--quiet"};
    size_t count = 4;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        words[count] = given[i][1] == NULL ? NULL : given[i][0];
        words[count + 1] = given[i][1];
        count += given[i][1] == NULL ? 0 : 2;
    }
    if (command == NULL || problem == NULL)
        hn_fail_memory(err);
    else
        run_tune(words, seconds, err);
    free(command);
    free(problem);
}
