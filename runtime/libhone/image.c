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

/* Takes what is there; HN_ERUN when the child is gone. */
static void listen(struct child *child, struct hn_error *err)
{
    hn_process_drain(&child->process);
    while (!hn_failed(err) && !child->done) {
        struct hn_message message;
        struct hn_error lost = {0};
        enum hn_received received =
            hn_channel_receive(&child->process.channel, false, &message, &lost);
        if (received == HN_RECEIVED_NOTHING)
            return;
        if (received == HN_RECEIVED_CLOSED) {
            char end[512];
            hn_process_describe_end(&child->process, hn_process_kill(&child->process), end,
                                    sizeof end);
            hn_fail(err, HN_ERUN, "the process that compiles was %s", end);
            return;
        }
        take(child, &message, err);
        hn_message_finish(&message);
    }
}

/* HONE_NEEDS_COMPILER: it can not be started. */
static void compile_in_child(const struct hn_lib_choice *choice, struct child *child,
                             struct hn_error *err)
{
    double until_ms = hn_now_ms() + LIMIT_MS;
    char *command = hn_lib_command(choice->asked->options);
    if (command == NULL) {
        hn_fail_memory(err);
    } else if (hn_process_start(&child->process, command, "compile", err) != HN_OK) {
        struct hn_error why = *err;
        hn_lib_fail(err, HONE_NEEDS_COMPILER,
                    "'%.300s' keeps no machine code of %s that fits; to compile it takes "
                    "the command `hone`, but %.400s; set options.tune_command or "
                    "HONE_COMMAND to where it is",
                    choice->asked->cache->path, choice->plan->plan->kernel, why.message);
    } else {
        while (!hn_failed(err) && !child->done) {
            struct pollfd fds[2];
            double left_ms = until_ms - hn_now_ms();
            if (left_ms <= 0) {
                hn_fail(err, HN_ERUN, "compiling took more than %g s and was ended",
                        LIMIT_MS / 1e3);
                break;
            }
            poll(fds, hn_process_poll(&child->process, fds), (int)left_ms + 1);
            listen(child, err);
        }
        hn_process_kill(&child->process);
    }
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

/* The task with whose image the cache keeps the program of the choice. Borrows all but `values`.
 * False: none does. */
static bool find_task(const struct hn_lib_choice *choice, struct hn_identity *task,
                      struct hn_bindings *values)
{
    *task = choice->tuned->identity;
    hn_bindings_init(values);
    if (choice->configuration == NULL)
        return hn_bindings_equal(&task->problem, choice->asked->problem) ||
               hn_lib_program_is_same(choice, choice->asked->problem, &task->problem);
    if (!hn_lib_program_is_shared(choice) ||
        hn_plan_program_values(choice->plan->plan, choice->point, choice->asked->problem, values,
                               NULL) != HN_OK)
        return false;
    task->problem = *values;
    return true;
}

static bool read_kept(const struct hn_lib_choice *choice, struct hn_image *image)
{
    struct hn_store *store = choice->asked->cache->store;
    char *entries = NULL;
    struct hn_identity task;
    struct hn_bindings values;
    if (choice->tuned == NULL || store == NULL ||
        choice->tuned->identity.device.capability != choice->asked->device->identity.capability)
        return false;
    bool taken = find_task(choice, &task, &values) &&
                 hn_store_get_image(store, &task, &choice->tuned->version, choice->point,
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

bool hn_lib_image_is_kept(const struct hn_lib_choice *choice)
{
    struct hn_image image;
    if (hn_lib_module_find(choice) != NULL)
        return true;
    hn_image_init(&image);
    bool kept = read_kept(choice, &image);
    hn_image_finish(&image);
    return kept;
}

static bool hash_program(const struct hn_source *source, const char *architecture,
                         struct hn_hash *program)
{
    const struct hn_template *template = source->template;
    struct hn_text text = {0};
    hn_text_printf(&text, "%s\n%s\n%s\n%s", architecture, hn_compiler_names[source->compiler],
                   template->path, source->text);
    for (size_t i = 0; i < source->entry_count; i++)
        hn_text_printf(&text, "\n%s", source->entries[i]);
    for (size_t i = 0; i < source->option_count; i++)
        hn_text_printf(&text, "\n%s", source->options[i]);
    for (size_t i = 0; i < template->include_count; i++)
        hn_text_printf(&text, "\n%s", template->includes[i].text);
    bool whole = !text.failed;
    if (whole)
        *program = hn_hash_bytes(text.data, text.length);
    hn_text_finish(&text);
    return whole;
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

static void compile_or_recall(const struct hn_lib_choice *choice, struct child *child,
                              bool *compiled, struct hn_error *err)
{
    struct hone_cache *cache = choice->asked->cache;
    struct hn_image *image = child->image;
    struct hn_hash program;
    if (!hash_program(child->source, child->architecture, &program)) {
        hn_fail_memory(err);
        return;
    }
    if (recall(cache, &program, image))
        return;
    hn_image_finish(image);
    hn_image_init(image);
    *compiled = true;
    compile_in_child(choice, child, err);
    if (!hn_failed(err) && image->outcome == HN_OUTCOME_OK)
        remember(cache, &program, image);
}

void hn_lib_image_get(const struct hn_lib_choice *choice, struct hn_image *image, bool *compiled,
                      struct hn_error *err)
{
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    const int compute = choice->asked->device->identity.capability;
    char capability[HN_ARCHITECTURE_SIZE], architecture[HN_ARCHITECTURE_SIZE];
    struct hn_source source;
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
                    choice->asked->cache->path, plan->kernel, compute / 10, compute % 10);
        return;
    }
    snprintf(capability, sizeof capability, "%d", compute);
    hn_architecture_name(capability, plan->arch_specific, architecture);
    if (hn_source_make(plan, template, choice->asked->problem, choice->point, &source, err) ==
        HN_OK) {
        compile_or_recall(choice, &child, compiled, err);
        hn_source_finish(&source);
    }
    if (!hn_failed(err) && image->outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "%s: %.900s", template->path,
                image->message == NULL ? "it does not compile" : image->message);
    if (hn_failed(err) && err->status != HN_ENOMEM && err->status <= HN_EINTERRUPTED)
        hn_lib_restate(err, HONE_COMPILE_FAILED);
}
