/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run.h"
#include "runtime/compile/source.h"
#include "runtime/device/library.h"
#include "runtime/process/process.h"

/* The program `hone`, which does for applications what should not happen in them. */

/* "<prefix>/bin/hone" for "<prefix>/lib/libhone.so.0"; NULL where there is none. */
static char *command_beside_library(void)
{
    char path[4096];
    char *command = NULL;
    const void *own = NULL;
    enum hone_status (*function)(const char *, struct hone_cache **, struct hone_error *) =
        hone_open;
    memcpy(&own, &function, sizeof own);
    if (!hn_library_path(own, path, sizeof path))
        return NULL;
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            break;
        *slash = '\0';
        free(command);
        if (asprintf(&command, "%s/bin/hone", path) < 0)
            return NULL;
        if (access(command, X_OK) == 0)
            return command;
    }
    free(command);
    return NULL;
}

char *hn_lib_command(const struct hone_options *options)
{
    const char *environment = getenv("HONE_COMMAND");
    if (options->tune_command != NULL)
        return strdup(options->tune_command);
    if (environment != NULL && environment[0] != '\0')
        return strdup(environment);
    char *beside = command_beside_library();
    return beside != NULL ? beside : strdup("hone");
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

static enum hn_status ask(struct child *child, struct hn_error *err)
{
    struct hn_message request = {.json = hn_message_of_source(child->source, child->architecture)};
    if (request.json == NULL)
        return hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8",
                       child->source->template->path);
    enum hn_status status = hn_channel_send(&child->process.channel, &request, err);
    hn_message_finish(&request);
    return status;
}

static enum hn_status take(struct child *child, struct hn_message *message, struct hn_error *err)
{
    enum hn_status status = hn_message_gate(message, err);
    if (status != HN_OK)
        return status;
    const char *type = hn_message_type(message);
    if (!child->process.greeted)
        return hn_process_greet(&child->process, message, err);
    if (strcmp(type, "ready") == 0)
        return ask(child, err);
    if (strcmp(type, "compiled") == 0) {
        child->done = true;
        return hn_message_get_image(message, json_object_get(message->json, "image"), child->image,
                                    err);
    }
    const char *why = json_string_value(json_object_get(message->json, "message"));
    return hn_fail(err, HN_ERUN, "%s", why == NULL ? "it failed without a word" : why);
}

/* Takes what is there; HN_ERUN when the child is gone. */
static enum hn_status listen(struct child *child, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    hn_process_drain(&child->process);
    while (status == HN_OK && !child->done) {
        struct hn_message message;
        struct hn_error lost = {0};
        switch (hn_channel_receive(&child->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return HN_OK;
        case HN_RECEIVED_CLOSED: {
            char end[512];
            hn_process_describe_end(&child->process, hn_process_kill(&child->process), end,
                                    sizeof end);
            return hn_fail(err, HN_ERUN, "the process that compiles was %s", end);
        }
        case HN_RECEIVED_MESSAGE:
            break;
        }
        status = take(child, &message, err);
        hn_message_finish(&message);
    }
    return status;
}

static enum hn_status converse(struct child *child, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    double until_ms = hn_now_ms() + LIMIT_MS;
    while (status == HN_OK && !child->done) {
        struct pollfd fds[2];
        double left_ms = until_ms - hn_now_ms();
        if (left_ms <= 0)
            return hn_fail(err, HN_ERUN, "compiling took more than %g s and was ended",
                           LIMIT_MS / 1e3);
        poll(fds, hn_process_poll(&child->process, fds), (int)left_ms + 1);
        status = listen(child, err);
    }
    return status;
}

static enum hn_status compile_in_child(const struct hone_options *options,
                                       const struct hn_source *source, const char *architecture,
                                       struct hn_image *image, struct hn_error *err)
{
    struct child child = {.source = source, .architecture = architecture, .image = image};
    char *command = hn_lib_command(options);
    if (command == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_process_start(&child.process, command, "compile", err);
    free(command);
    if (status != HN_OK)
        return HN_ENOTFOUND;
    status = converse(&child, err);
    hn_process_kill(&child.process);
    return status;
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
    struct hn_text lines;
    struct hn_value *values = NULL;
    hn_text_init(&lines);
    enum hn_status status = hn_plan_values(plan, choice->problem, choice->point, &values, NULL);
    for (size_t i = 0; status == HN_OK && i < plan->step_count; i++) {
        bool applies = false;
        status = hn_step_applies(&plan->steps[i], values, &applies, NULL);
        if (status == HN_OK && applies)
            hn_text_printf(&lines, "%s%s", lines.length > 0 ? "\n" : "", plan->steps[i].entry);
    }
    free(values);
    char *taken = hn_text_take(&lines);
    if (status != HN_OK) {
        free(taken);
        return NULL;
    }
    return taken;
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

/* The task with whose image the cache keeps the program of the choice. Borrows all but `values`.
 * False: none does. */
static bool find_task(const struct hn_lib_choice *choice, struct hn_identity *task,
                      struct hn_bindings *values)
{
    *task = choice->tuned->identity;
    hn_bindings_init(values);
    if (choice->configuration == NULL)
        return hn_bindings_equal(&task->problem, choice->problem) ||
               hn_lib_program_is_same(choice, choice->problem, &task->problem);
    if (!hn_lib_program_is_shared(choice) ||
        hn_plan_program_values(choice->plan->plan, choice->point, choice->problem, values, NULL) !=
            HN_OK)
        return false;
    task->problem = *values;
    return true;
}

static bool read_kept(struct hone_cache *cache, const struct hn_lib_choice *choice,
                      struct hn_image *image)
{
    char *entries = NULL;
    struct hn_identity task;
    struct hn_bindings values;
    if (choice->tuned == NULL || cache->store == NULL ||
        choice->tuned->identity.device.capability != choice->device->identity.capability)
        return false;
    bool taken = find_task(choice, &task, &values) &&
                 hn_store_get_image(cache->store, &task, &choice->tuned->version, choice->point,
                                    &image->cubin, &image->size, &entries, NULL) == HN_OK;
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

bool hn_lib_image_is_kept(struct hone_cache *cache, const struct hn_lib_choice *choice)
{
    struct hn_image image;
    if (hn_lib_module_find(choice) != NULL)
        return true;
    hn_image_init(&image);
    bool kept = read_kept(cache, choice, &image);
    hn_image_finish(&image);
    return kept;
}

static enum hn_status hash_program(const struct hn_template *template,
                                   const struct hn_source *source, const char *architecture,
                                   struct hn_hash *program, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s\n%s\n%s\n%s", architecture, hn_compiler_names[source->compiler],
                   template->path, source->text);
    for (size_t i = 0; i < source->entry_count; i++)
        hn_text_printf(&text, "\n%s", source->entries[i]);
    for (size_t i = 0; i < source->option_count; i++)
        hn_text_printf(&text, "\n%s", source->options[i]);
    for (size_t i = 0; i < template->include_count; i++)
        hn_text_printf(&text, "\n%s", template->includes[i].text);
    if (!text.failed)
        *program = hn_hash_bytes(text.data, text.length);
    enum hn_status status = text.failed ? hn_fail_memory(err) : HN_OK;
    hn_text_finish(&text);
    return status;
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
    struct hn_lib_compiled *made = calloc(1, sizeof *made);
    void *cubin = malloc(image->size);
    if (made == NULL || cubin == NULL || entries == NULL) {
        free(made);
        free(cubin);
        free(entries);
        return;
    }
    memcpy(cubin, image->cubin, image->size);
    *made = (struct hn_lib_compiled){cache->compiled, *program, cubin, image->size, entries};
    cache->compiled = made;
}

static enum hn_status compile_or_recall(struct hone_cache *cache,
                                        const struct hn_lib_choice *choice,
                                        const struct hn_source *source, const char *architecture,
                                        struct hn_image *image, bool *compiled,
                                        struct hn_error *err)
{
    struct hn_hash program;
    enum hn_status status = hash_program(source->template, source, architecture, &program, err);
    if (status != HN_OK || recall(cache, &program, image))
        return status;
    hn_image_finish(image);
    hn_image_init(image);
    *compiled = true;
    status = compile_in_child(choice->options, source, architecture, image, err);
    if (status == HN_OK && image->outcome == HN_OUTCOME_OK)
        remember(cache, &program, image);
    return status;
}

static enum hn_status make_image(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                 struct hn_image *image, bool *compiled, struct hn_error *err)
{
    char capability[HN_ARCHITECTURE_SIZE], architecture[HN_ARCHITECTURE_SIZE];
    struct hn_source source;
    const struct hn_template *template = &choice->plan->template;
    snprintf(capability, sizeof capability, "%d", choice->device->identity.capability);
    hn_architecture_name(capability, choice->plan->plan->arch_specific, architecture);
    enum hn_status status =
        hn_source_make(choice->plan->plan, template, choice->problem, choice->point, &source, err);
    if (status != HN_OK)
        return status;
    status = compile_or_recall(cache, choice, &source, architecture, image, compiled, err);
    hn_source_finish(&source);
    if (status == HN_OK && image->outcome != HN_OUTCOME_OK)
        return hn_fail(err, HN_ERUN, "%s: %.900s", template->path,
                       image->message == NULL ? "it does not compile" : image->message);
    return status;
}

enum hone_status hn_lib_image_get(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                  struct hn_image *image, bool *compiled, struct hone_error *err)
{
    struct hn_error reason = {0};
    *compiled = false;
    if (read_kept(cache, choice, image))
        return HONE_OK;
    hn_image_finish(image);
    hn_image_init(image);
    if (choice->options->forbid_compile != 0)
        return hn_lib_fail(err, HONE_NEEDS_COMPILER,
                           "'%.300s' keeps no machine code of %s that fits this problem and "
                           "compute capability %d.%d, and options.forbid_compile is set",
                           cache->path, choice->plan->plan->kernel,
                           choice->device->identity.capability / 10,
                           choice->device->identity.capability % 10);
    enum hn_status status = make_image(cache, choice, image, compiled, &reason);
    if (status == HN_OK || status == HN_ENOMEM)
        return hn_lib_take(err, status, &reason);
    if (status == HN_ENOTFOUND)
        return hn_lib_fail(err, HONE_NEEDS_COMPILER,
                           "'%.300s' keeps no machine code of %s that fits; to compile it takes "
                           "the command `hone`, but %.400s; set options.tune_command or "
                           "HONE_COMMAND to where it is",
                           cache->path, choice->plan->plan->kernel, reason.message);
    return hn_lib_fail(err, HONE_COMPILE_FAILED, "%.1000s", reason.message);
}
