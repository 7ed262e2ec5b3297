/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run.h"
#include "runtime/device/library.h"
#include "runtime/plan/launch.h"
#include "runtime/process/process.h"

/* The program `hone`, which does for applications what should not happen in them. */

/* Else "<prefix>/bin/hone" for "<prefix>/lib/libhone.so.0", else whatever the PATH finds. */
char *hn_lib_find_command(const struct hone_options *options)
{
    static const char here = 0; /* in the library */
    const char *environment = getenv("HONE_COMMAND");
    char path[4096];
    if (options->tune_command != NULL)
        return strdup(options->tune_command);
    if (environment != NULL && environment[0] != '\0')
        return strdup(environment);
    bool has_path = hn_library_path(&here, path, sizeof path);
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

void hn_lib_compile_start(struct hn_lib_compiling *compiling, const char *command,
                          const struct hone_cache *cache, struct hn_error *err)
{
    hn_process_init(&compiling->process);
    compiling->until_ms = hn_now_ms() + LIMIT_MS;
    if (hn_failed(err) || hn_process_start(&compiling->process, command, "compile", err) == HN_OK)
        return;
    struct hn_error why = *err;
    hn_lib_fail(err, HONE_NEEDS_COMPILER,
                "'%.300s' keeps no machine code of %s that fits; to compile it takes "
                "the command `hone`, but %.400s; set options.tune_command or "
                "HONE_COMMAND to where it is",
                cache->path, compiling->kernel, why.message);
}

/* Asks a worker that is ready. True: the image has come. */
static bool take(struct hn_lib_compiling *compiling, struct hn_message *message,
                 struct hn_image *image, struct hn_error *err)
{
    const char *type = hn_message_type(message);
    bool done = strcmp(type, "compiled") == 0;
    if (done) {
        hn_message_get_image(message, json_object_get(message->json, "image"), image, err);
    } else if (strcmp(type, "ready") == 0) {
        char capability[HN_ARCHITECTURE_SIZE];
        snprintf(capability, sizeof capability, "%d", compiling->device->identity.capability);
        struct hn_message request = {.json =
                                         hn_message_of_source(compiling->source, capability, err)};
        if (request.json != NULL)
            hn_channel_send(&compiling->process.channel, &request, err);
        hn_message_finish(&request);
    } else {
        hn_fail(err, HN_ERUN, "it failed without a word");
    }
    return done;
}

bool hn_lib_compile_listen(struct hn_lib_compiling *compiling, struct hn_image *image,
                           struct hn_error *err)
{
    struct hn_process *process = &compiling->process;
    struct hn_message message;
    enum hn_received received;
    bool done = false;
    while (!done && (received = hn_process_listen(process, &message, err)) == HN_RECEIVED_MESSAGE) {
        done = take(compiling, &message, image, err);
        hn_message_finish(&message);
    }
    if (!done && received == HN_RECEIVED_CLOSED) {
        char end[512];
        hn_process_describe_end(process, hn_process_kill(process), end, sizeof end);
        hn_fail(err, HN_ERUN, "the process that compiles was %s", end);
    } else if (!done && !hn_failed(err) && hn_now_ms() > compiling->until_ms) {
        hn_fail(err, HN_ERUN, "compiling took more than %g s and was ended", LIMIT_MS / 1e3);
    }
    return done && !hn_failed(err);
}

/* Until it is done, or the child is gone. */
static void compile_in_child(const struct hn_lib_choice *choice, const struct hn_source *source,
                             struct hn_image *image, struct hn_error *err)
{
    struct hn_lib_compiling compiling = {
        .source = source, .device = choice->asked->device, .kernel = choice->plan->plan->kernel};
    char *command = hn_made(hn_lib_find_command(choice->asked->options), err);
    hn_lib_compile_start(&compiling, command, choice->asked->cache, err);
    while (!hn_failed(err) && !hn_lib_compile_listen(&compiling, image, err)) {
        struct pollfd fds[2];
        double left_ms = compiling.until_ms - hn_now_ms();
        if (!hn_failed(err))
            poll(fds, hn_process_poll(&compiling.process, fds), left_ms > 0 ? (int)left_ms + 1 : 0);
    }
    hn_process_kill(&compiling.process);
    free(command);
}

static bool same_strings(char *const *a, size_t a_count, char *const *b, size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

/* Whether all kernels have plain names: then they are in the machine code for every problem,
 * launched or not. */
static bool names_are_plain(const struct hn_plan *plan)
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
    struct hn_error reason;
    hn_error_init(&reason);
    for (size_t i = 0; i < plan->step_count; i++)
        if (hn_expression_holds(plan->steps[i].condition, values, &reason))
            hn_text_printf(&lines, "%s%s", lines.length > 0 ? "\n" : "", plan->steps[i].entry);
    lines.failed = lines.failed || hn_failed(&reason);
    free(values);
    return hn_text_take(&lines);
}

/* Whether the kernels that the choice's problem launches are those of the image, which has its
 * program. */
static bool image_launches(const struct hn_image *image, const struct hn_lib_choice *choice)
{
    if (!names_are_plain(choice->plan->plan))
        return true;
    char *entries = launched_entries(choice), *own = hn_image_entry_lines(image);
    bool same = entries != NULL && own != NULL && strcmp(entries, own) == 0;
    free(entries);
    free(own);
    return same;
}

/* Whether the program of the choice's point is the same for two problems: what is frozen of them is
 * in its text. */
static bool program_is_same(const struct hn_lib_choice *choice, const struct hn_bindings *a,
                            const struct hn_bindings *b)
{
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    struct hn_source one, other = {.template = NULL};
    bool same = hn_source_make(plan, template, a, choice->point, &one, NULL) == HN_OK &&
                hn_source_make(plan, template, b, choice->point, &other, NULL) == HN_OK &&
                strcmp(one.text, other.text) == 0 &&
                (names_are_plain(plan) ||
                 same_strings(one.entries, one.entry_count, other.entries, other.entry_count)) &&
                same_strings(one.options, one.option_count, other.options, other.option_count);
    hn_source_finish(&other);
    hn_source_finish(&one);
    return same;
}

/* The choice's problem with the low end of all numbers that are no part of its program, or with so
 * much more than the high one. */
static bool make_corner(const struct hn_lib_choice *choice, bool high, int beyond,
                        struct hn_bindings *corner)
{
    const struct hn_rule *rule = choice->rule->stored->rule;
    bool made = hn_bindings_copy(corner, choice->asked->problem, NULL) == HN_OK;
    for (size_t i = 0; made && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        double end = high ? value->high + beyond : value->low;
        struct hn_value number =
            hn_rule_value_is_whole(value) ? hn_integer((int64_t)end) : hn_real(end);
        if (value->word_count == 0 &&
            !hn_plan_is_frozen(choice->plan->plan, choice->point, value->name, &number))
            made = hn_bindings_set(corner, value->name, &number, NULL) == HN_OK;
    }
    return made;
}

/* Whether one program serves all problems of the family that have the same words and frozen values
 * (hn_plan_program_values). It is kept for all of them as the image of a task that has these alone
 * as its problem. */
static bool program_is_shared(const struct hn_lib_choice *choice)
{
    struct hn_lib_configuration *configuration = choice->configuration;
    struct hn_bindings low, high;
    if (configuration == NULL)
        return false;
    if (configuration->program == HN_PROGRAM_UNKNOWN) {
        const struct hn_plan *plan = choice->plan->plan;
        bool plain = names_are_plain(plan), shared = !hn_plan_has_role(plan, HN_ROLE_SYMBOL);
        for (size_t i = 0; !plain && i < plan->step_count; i++)
            shared = shared && hn_plan_problem_used(plan, plan->steps[i].condition) == NULL;
        if (shared) {
            shared = make_corner(choice, false, 0, &low);
            shared = make_corner(choice, true, 1, &high) && shared &&
                     program_is_same(choice, &low, &high);
            hn_bindings_finish(&low);
            hn_bindings_finish(&high);
        }
        configuration->program = shared ? HN_PROGRAM_SHARED : HN_PROGRAM_OWN;
    }
    return configuration->program == HN_PROGRAM_SHARED;
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
    if (choice->tuned == NULL || store == NULL)
        return false;
    struct hn_identity task = choice->tuned->identity;
    const int capability = choice->asked->device->identity.capability;
    if (choice->configuration == NULL) {
        taken = task.device.capability == capability &&
                (hn_bindings_equal(&task.problem, problem) ||
                 program_is_same(choice, problem, &task.problem));
    } else {
        /* For other architectures than that of the rule's device it was compiled on its own. */
        task.device.capability = capability;
        taken = program_is_shared(choice) &&
                hn_plan_program_values(choice->plan->plan, choice->point, problem, &values, NULL) ==
                    HN_OK;
        task.problem = values;
    }
    taken = taken && hn_store_get_image(store, &task, &choice->tuned->version, choice->point,
                                        &image->cubin, &image->size, &entries, &ignored) == HN_OK;
    if (taken && names_are_plain(choice->plan->plan)) {
        free(entries); /* of another problem, perhaps, which launches others */
        entries = launched_entries(choice);
    }
    taken = taken && entries != NULL && hn_image_set_entries(image, entries, NULL) == HN_OK;
    image->outcome = HN_OUTCOME_OK;
    hn_bindings_finish(&values);
    free(entries);
    return taken;
}

static bool recall(const struct hone_cache *cache, const struct hn_hash *program,
                   struct hn_image *image)
{
    const struct hn_lib_compiled *compiled = cache->compiled;
    while (compiled != NULL && strcmp(compiled->program.hex, program->hex) != 0)
        compiled = compiled->next;
    return compiled != NULL && hn_image_copy(image, &compiled->image, NULL) == HN_OK;
}

/* Without memory for it, it is compiled again the next time. */
static void remember(struct hone_cache *cache, const struct hn_hash *program,
                     const struct hn_image *image)
{
    struct hn_lib_compiled *made = hn_blocks_take(&cache->memory, sizeof *made);
    if (made == NULL)
        return;
    made->program = *program;
    made->next = cache->compiled;
    if (hn_image_copy(&made->image, image, NULL) == HN_OK)
        cache->compiled = made;
    else
        hn_image_finish(&made->image);
}

/* Machine code for it: the cache's, or compiled. */
static void get_image(const struct hn_lib_choice *choice, struct hn_image *image, bool *compiled,
                      struct hn_error *err)
{
    struct hone_cache *cache = choice->asked->cache;
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    const int compute = choice->asked->device->identity.capability;
    char capability[HN_ARCHITECTURE_SIZE];
    struct hn_source source;
    struct hn_source_key key;
    *compiled = false;
    if (read_kept(choice, image))
        return;
    hn_image_finish(image);
    if (choice->asked->options->forbid_compile != 0) {
        hn_lib_fail(err, HONE_NEEDS_COMPILER,
                    "'%.300s' keeps no machine code of %s that fits this problem and "
                    "compute capability %d.%d, and options.forbid_compile is set",
                    cache->path, plan->kernel, compute / 10, compute % 10);
        return;
    }
    snprintf(capability, sizeof capability, "%d", compute);
    if (hn_source_make(plan, template, choice->asked->problem, choice->point, &source, err) ==
        HN_OK) {
        if (hn_source_key(&source, capability, &key, err) == HN_OK &&
            !recall(cache, &key.hash, image)) {
            hn_image_finish(image);
            *compiled = true;
            compile_in_child(choice, &source, image, err);
            if (!hn_failed(err) && image->outcome == HN_OUTCOME_OK)
                remember(cache, &key.hash, image);
        }
        hn_source_finish(&source);
    }
    if (!hn_failed(err) && image->outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "%s: %.900s", template->files->name,
                image->message == NULL ? "it does not compile" : image->message);
    if (hn_failed(err) && err->status != HN_ENOMEM && err->status <= HN_EINTERRUPTED)
        hn_lib_restate(err, HONE_COMPILE_FAILED);
}

/* Families: rules, and the modules that problems of one share. */

struct hn_lib_pattern {
    struct hn_launch_program program;
    size_t *slots;         /* of each problem value: the program's */
    uint64_t *value_masks; /* of each argument: the bits that its type has; 0: it is a buffer */
    struct hone_kernel *like;
};

/* The module that was loaded for another problem with the choice's program, or one that has a
 * pattern; or NULL. Which steps are launched is the same for all that
 * have a pattern. */
static struct hn_lib_module *find_module(const struct hn_lib_choice *choice, bool with_pattern)
{
    const struct hn_bindings *problem = choice->asked->problem;
    struct hn_lib_module *module =
        choice->configuration == NULL || choice->asked->options->separate != 0
            ? NULL
            : choice->configuration->modules;
    for (; module != NULL; module = module->next) {
        const struct hn_bindings *values = &module->values;
        bool fits = module->context == choice->asked->context;
        for (size_t i = 0; fits && i < values->count; i++) {
            const struct hn_value *value = hn_bindings_get(problem, values->names[i]);
            fits = value != NULL && hn_value_equal(value, &values->values[i]);
        }
        if (fits &&
            (with_pattern ? module->pattern != NULL : image_launches(&module->image, choice)))
            return module;
    }
    return NULL;
}

/* A kernel with slots, problem values and grids of its own behind it, in one piece. */
static struct hone_kernel *copy(const struct hone_kernel *kernel, const struct hn_value *problem)
{
    size_t slots = kernel->slot_count * sizeof *kernel->slots;
    size_t values = kernel->problem.count * sizeof *problem;
    size_t grids = kernel->step_count * sizeof *kernel->grids;
    struct hone_kernel *made = malloc(sizeof *made + slots + values + grids);
    if (made == NULL)
        return NULL;
    char *behind = (char *)(made + 1);
    memcpy(made, kernel, sizeof *made);
    made->slots = memcpy(behind, kernel->slots, slots);
    made->problem.values = memcpy(behind + slots, problem, values);
    made->grids = memcpy(behind + slots + values, kernel->grids, grids);
    made->is_piece = true;
    return made;
}

static bool fill_pattern(struct hn_lib_pattern *made, const struct hone_kernel *kernel)
{
    const struct hn_plan *plan = kernel->plan->plan;
    made->slots = calloc(kernel->problem.count + 1, sizeof *made->slots);
    made->value_masks = calloc(kernel->slot_count + 1, sizeof *made->value_masks);
    if (made->slots == NULL || made->value_masks == NULL)
        return false;
    for (size_t i = 0; i < kernel->problem.count; i++)
        for (size_t slot = 0; slot < plan->name_count; slot++)
            if (strcmp(plan->names[slot], kernel->problem.names[i]) == 0)
                made->slots[i] = slot;
    for (size_t i = 0; i < kernel->slot_count; i++)
        if (plan->arguments[i].value != NULL)
            made->value_masks[i] = UINT64_MAX >> (64 - 8 * kernel->slots[i].value_bytes);
    made->like = copy(kernel, kernel->problem.values);
    if (made->like == NULL)
        return false;
    /* all that it points to is the rule's, its configuration's or the module's */
    size_t bytes = kernel->step_count * sizeof *kernel->steps;
    made->like->launch = (struct hn_launch){.steps = NULL};
    made->like->steps = malloc(bytes + 1);
    if (made->like->steps == NULL)
        return false;
    memcpy(made->like->steps, kernel->steps, bytes);
    made->like->compiled = false;
    made->like->about = NULL;
    made->like->problem.names = kernel->rule->names.names;
    for (size_t i = 0; i < kernel->problem.count; i++) {
        const struct hn_value *word =
            hn_bindings_get(&kernel->shared->values, kernel->problem.names[i]);
        if (kernel->problem.values[i].type == HN_WORD && word == NULL)
            return false;
        if (kernel->problem.values[i].type == HN_WORD)
            made->like->problem.values[i] = *word;
    }
    return true;
}

static void destroy_pattern(struct hn_lib_pattern *pattern)
{
    if (pattern == NULL)
        return;
    hn_launch_program_finish(&pattern->program);
    free(pattern->slots);
    free(pattern->value_masks);
    if (pattern->like != NULL)
        free(pattern->like->steps);
    free(pattern->like);
    free(pattern);
}

/* Handles for sizes of a family that nobody asked for before. The first handle of a shared module
 * is made as any other is, and leaves a pattern behind: all that its like have in common, and a
 * program for what differs. What is copied is of the kernel alone where it has nothing else than a
 * launch. NULL: its like differ in more than a program can say, or memory is out. */
static struct hn_lib_pattern *make_pattern(const struct hone_kernel *kernel,
                                           const struct hn_lib_choice *choice)
{
    struct hn_bindings low, high;
    bool is_simple = kernel->symbol_count == 0 && kernel->maps == NULL && !kernel->as_graph &&
                     !kernel->is_watched && kernel->shared != NULL;
    struct hn_lib_pattern *made = is_simple ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return NULL;
    bool can = make_corner(choice, false, 0, &low);
    can = make_corner(choice, true, 0, &high) && can &&
          hn_launch_program_make(&made->program, choice->plan->plan, choice->asked->device,
                                 choice->point, &low, &high) &&
          !made->program.varies && fill_pattern(made, kernel);
    hn_bindings_finish(&low);
    hn_bindings_finish(&high);
    if (can)
        return made;
    destroy_pattern(made);
    return NULL;
}

bool hn_lib_pattern_apply(const struct hn_lib_choice *choice, struct hone_kernel **handle)
{
    struct hn_lib_module *module = find_module(choice, true);
    if (module == NULL)
        return false;
    struct hn_lib_pattern *pattern = module->pattern;
    const struct hn_launch_program *own = &pattern->program;
    struct hn_program *program = &pattern->program.program;
    const struct hn_bindings *problem = choice->asked->problem;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_INTEGER)
            hn_program_set(program, pattern->slots[i], problem->values[i].integer);
    struct hone_kernel *made = *handle =
        hn_program_run(program) ? copy(pattern->like, problem->values) : NULL;
    if (made == NULL)
        return true;
    made->sure = choice->sure;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_WORD)
            made->problem.values[i] = pattern->like->problem.values[i];
    for (size_t i = 0; i < made->step_count; i++)
        for (size_t axis = 0; axis < 3; axis++)
            made->grids[i][axis] = (unsigned int)hn_program_result(program, own->grids[i][axis]);
    for (size_t i = 0; i < made->slot_count; i++) {
        struct hn_lib_slot *slot = &made->slots[i];
        int term = own->arguments[i], align = own->aligns[i];
        if (align >= 0)
            slot->below_align = (uint64_t)hn_program_result(program, align) - 1;
        if (term < 0)
            continue;
        uint64_t result = (uint64_t)hn_program_result(program, term);
        if (pattern->value_masks[i] != 0)
            slot->preset = result & pattern->value_masks[i];
        else
            slot->bytes = result * hn_argument_bytes(&made->plan->plan->arguments[i]);
    }
    hn_lib_slots_place(made);
    return true;
}

void hn_lib_module_destroy(struct hn_lib_module *module)
{
    CUcontext outside;
    if (module->module != NULL &&
        hn_lib_enter(module->cache, module->context, &outside) == CUDA_SUCCESS) {
        module->cache->driver.p_cuModuleUnload(module->module);
        hn_lib_leave(module->cache, outside);
    }
    destroy_pattern(module->pattern);
    hn_image_finish(&module->image);
    hn_bindings_finish(&module->values);
    free(module->functions);
    free(module);
}

CUmodule hn_lib_module_load(const struct hone_cache *cache, const struct hn_image *image,
                            struct hn_error *err)
{
    CUmodule module = NULL;
    hn_lib_cuda(cache, cache->driver.p_cuModuleLoadDataEx(&module, image->cubin, 0, NULL, NULL),
                "loading the module", err);
    return hn_failed(err) ? NULL : module;
}

/* Loads it for the configuration. Takes what is in the image. NULL where err has failed. */
static struct hn_lib_module *add_module(const struct hn_lib_choice *choice, struct hn_image *image,
                                        struct hn_error *err)
{
    struct hone_cache *cache = choice->asked->cache;
    struct hn_lib_module *made = hn_allocate(1, sizeof *made, err);
    if (made == NULL)
        return NULL;
    made->cache = cache;
    made->context = choice->asked->context;
    made->image = *image;
    hn_image_init(image);
    made->functions = hn_allocate(made->image.entry_count, sizeof *made->functions, err);
    if (made->functions != NULL &&
        hn_plan_program_values(choice->plan->plan, choice->point, choice->asked->problem,
                               &made->values, err) == HN_OK)
        made->module = hn_lib_module_load(cache, &made->image, err);
    if (hn_failed(err)) {
        hn_lib_module_destroy(made);
        return NULL;
    }
    made->next = choice->configuration->modules;
    choice->configuration->modules = made;
    return made;
}

bool hn_lib_image_is_kept(const struct hn_lib_choice *choice)
{
    struct hn_image image;
    if (find_module(choice, false) != NULL)
        return true;
    hn_image_init(&image);
    bool kept = read_kept(choice, &image);
    hn_image_finish(&image);
    return kept;
}

struct hone_kernel *hn_lib_load(const struct hn_lib_choice *choice, struct hn_image *image,
                                struct hn_error *err)
{
    bool compiled = false;
    hn_image_init(image);
    if (choice->plan->plan->pipeline != NULL) {
        hn_lib_fail(err, HONE_UNSUPPORTED,
                    "the plan of %s is a pipeline between host and device, which the "
                    "library does not launch; `hone run` does",
                    choice->asked->kernel);
        return NULL;
    }
    struct hn_lib_module *shared = find_module(choice, false);
    if (shared == NULL) {
        get_image(choice, image, &compiled, err);
        if (!hn_failed(err) && choice->asked->options->separate == 0 && program_is_shared(choice))
            shared = add_module(choice, image, err);
    }
    struct hone_kernel *handle =
        hn_lib_kernel_make(choice, shared != NULL ? &shared->image : image, shared, compiled, err);
    if (handle != NULL && shared != NULL && !shared->has_pattern) {
        shared->pattern = make_pattern(handle, choice);
        shared->has_pattern = true;
    }
    return handle;
}
