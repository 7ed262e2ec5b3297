/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run.h"
#include "runtime/device/library.h"

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
                "'%.300s' keeps no machine code of %s that fits; to compile it takes the command "
                "`hone`, but %.400s; set options.tune_command or HONE_COMMAND to where it is",
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
        struct hn_message request HN_ENDED_BY(hn_message_finish) = {
            .json = hn_message_of_source(compiling->source, capability, err)};
        if (request.json != NULL)
            hn_channel_send(&compiling->process.channel, &request, err);
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
        hn_fail(err, HN_ERUN, "the process that compiles was %s",
                hn_process_describe_end(process, hn_process_kill(process)));
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
    char *command HN_FREED = hn_made(hn_lib_find_command(choice->asked->options), err);
    hn_lib_compile_start(&compiling, command, choice->asked->cache, err);
    while (!hn_failed(err) && !hn_lib_compile_listen(&compiling, image, err)) {
        struct pollfd fds[2];
        double left_ms = compiling.until_ms - hn_now_ms();
        if (!hn_failed(err))
            poll(fds, hn_process_poll(&compiling.process, fds), left_ms > 0 ? (int)left_ms + 1 : 0);
    }
    hn_process_kill(&compiling.process);
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

/* Whether the kernels that the choice's problem launches are those of the image, which has its
 * program. */
static bool image_launches(const struct hn_image *image, const struct hn_lib_choice *choice)
{
    const struct hn_launch *launch = choice->launch;
    bool same = launch->step_count == image->entry_count;
    if (!names_are_plain(choice->plan->plan))
        return true;
    for (size_t i = 0; same && i < launch->step_count; i++)
        same = strcmp(launch->steps[i].step->entry, image->entries[i]) == 0;
    return same;
}

/* Whether the program of the choice's point is the same for two problems: what is frozen of them is
 * in its text. */
static bool program_is_same(const struct hn_lib_choice *choice, const struct hn_bindings *a,
                            const struct hn_bindings *b)
{
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_template *template = &choice->plan->template;
    struct hn_source one HN_ENDED_BY(hn_source_finish) = {.template = NULL};
    struct hn_source other HN_ENDED_BY(hn_source_finish) = {.template = NULL};
    return hn_source_make(plan, template, a, choice->point, &one, NULL) == HN_OK &&
           hn_source_make(plan, template, b, choice->point, &other, NULL) == HN_OK &&
           strcmp(one.text, other.text) == 0 &&
           (names_are_plain(plan) ||
            same_strings(one.entries, one.entry_count, other.entries, other.entry_count)) &&
           same_strings(one.options, one.option_count, other.options, other.option_count);
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
    struct hn_bindings low HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_bindings high HN_ENDED_BY(hn_bindings_finish) = {0};
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
    char *entries HN_FREED = NULL;
    struct hn_bindings values HN_ENDED_BY(hn_bindings_finish) = {0};
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
                                        &image->cubin, &image->size, &entries, NULL) == HN_OK;
    /* Those of another problem, perhaps, which launches others. */
    const bool plain = names_are_plain(choice->plan->plan);
    for (size_t i = 0; plain && taken && i < choice->launch->step_count; i++)
        taken = hn_image_set_entries(image, choice->launch->steps[i].step->entry, NULL) == HN_OK;
    taken = taken &&
            (plain || (entries != NULL && hn_image_set_entries(image, entries, NULL) == HN_OK));
    image->outcome = HN_OUTCOME_OK;
    return taken;
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
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
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
        const struct hn_lib_compiled *known = cache->compiled;
        bool has_key = hn_source_key(&source, capability, &key, err) == HN_OK;
        while (has_key && known != NULL && strcmp(known->program.hex, key.hash.hex) != 0)
            known = known->next;
        if (has_key && (known == NULL || hn_image_copy(image, &known->image, NULL) != HN_OK)) {
            hn_image_finish(image);
            *compiled = true;
            compile_in_child(choice, &source, image, err);
            if (!hn_failed(err) && image->outcome == HN_OUTCOME_OK)
                remember(cache, &key.hash, image);
        }
    }
    if (!hn_failed(err) && image->outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "%s: %.900s", template->files->name,
                image->message == NULL ? "it does not compile" : image->message);
    if (hn_failed(err) && err->status != HN_ENOMEM && err->status <= HN_EINTERRUPTED)
        hn_lib_restate(err, HONE_COMPILE_FAILED);
}

/* Families: rules, and the modules that problems of one share. */

/* The module that was loaded for another problem with the choice's program; or NULL. with_program:
 * one behind it that has a program for sizes, whatever it launches. */
static struct hn_lib_module *find_module(const struct hn_lib_choice *choice,
                                         const struct hn_lib_module *behind, bool with_program)
{
    const struct hn_bindings *problem = choice->asked->problem;
    struct hn_lib_module *module =
        choice->configuration == NULL || choice->asked->options->separate != 0 ? NULL
        : behind != NULL                                                       ? behind->next
                         : choice->configuration->modules;
    for (; module != NULL; module = module->next) {
        const struct hn_bindings *values = &module->values;
        bool fits = module->context == choice->asked->context;
        for (size_t i = 0; fits && i < values->count; i++) {
            const struct hn_value *value = hn_bindings_get(problem, values->names[i]);
            fits = value != NULL && hn_value_equal(value, &values->values[i]);
        }
        if (fits && (with_program ? module->slots != NULL : image_launches(&module->image, choice)))
            return module;
    }
    return NULL;
}

/* A kernel with what differs between sizes of its own behind it, in one piece, which goes with the
 * cache. */
static struct hone_kernel *copy(const struct hone_kernel *kernel, const struct hn_value *problem)
{
    const struct hn_launch *launch = &kernel->launch;
    size_t slots = kernel->slot_count * sizeof *kernel->slots;
    size_t values = kernel->problem.count * sizeof *problem;
    size_t tensors = launch->tensor_count * sizeof *launch->tensors;
    size_t grids = kernel->step_count * sizeof *kernel->grids;
    struct hone_kernel *made =
        hn_blocks_take(&kernel->cache->memory, sizeof *made + slots + values + tensors + grids);
    if (made == NULL)
        return NULL;
    char *behind = (char *)(made + 1);
    memcpy(made, kernel, sizeof *made);
    made->slots = memcpy(behind, kernel->slots, slots);
    made->problem.values = memcpy(behind + slots, problem, values);
    behind += slots + values;
    if (tensors > 0)
        made->launch.tensors = memcpy(behind, launch->tensors, tensors);
    made->grids = memcpy(behind + tensors, kernel->grids, grids);
    made->is_piece = true;
    return made;
}

static int64_t steps_of(const struct hone_kernel *kernel)
{
    int64_t steps = 0;
    for (size_t i = 0; i < kernel->step_count; i++)
        steps |= INT64_C(1) << (kernel->steps[i].of - kernel->plan->plan->steps);
    return steps;
}

static struct hone_kernel *find_like(const struct hn_lib_module *module, int64_t steps)
{
    struct hone_kernel *like = module->likes;
    while (like != NULL && steps_of(like) != steps)
        like = like->next;
    return like;
}

/* What is copied is of the kernel alone where it has nothing else than a launch. All that it points
 * to is the rule's, its configuration's or the module's then. Without memory there is none. */
static void add_like(struct hn_lib_module *module, const struct hone_kernel *kernel)
{
    size_t bytes = kernel->step_count * sizeof *kernel->steps;
    if (module->slots == NULL || kernel->as_graph || kernel->is_watched ||
        find_like(module, steps_of(kernel)) != NULL)
        return;
    struct hn_lib_step *steps = hn_blocks_take(&module->launches.blocks, bytes);
    struct hone_kernel *made = steps == NULL ? NULL : copy(kernel, kernel->problem.values);
    if (made == NULL)
        return;
    made->launch.steps = NULL;
    made->steps = memcpy(steps, kernel->steps, bytes);
    made->compiled = false;
    made->about = NULL;
    made->problem.names = kernel->rule->names.names;
    for (size_t i = 0; i < kernel->problem.count; i++)
        if (kernel->problem.values[i].type == HN_WORD)
            made->problem.values[i] = *hn_bindings_get(&module->values, kernel->problem.names[i]);
    made->next = module->likes;
    module->likes = made;
}

/* Handles for sizes of a family that nobody asked for before. The first one that launches these
 * steps of a shared module is made as any other is, and others are like it, but for what a program
 * says. */
static void make_program(struct hn_lib_module *module, const struct hn_lib_choice *choice)
{
    const struct hn_plan *plan = choice->plan->plan;
    const struct hn_bindings *problem = choice->asked->problem;
    struct hn_bindings low HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_bindings high HN_ENDED_BY(hn_bindings_finish) = {0};
    bool can = make_corner(choice, false, 0, &low);
    can = make_corner(choice, true, 0, &high) && can &&
          hn_launch_program_make(&module->launches, plan, choice->asked->device, choice->point,
                                 &low, &high);
    for (size_t i = 0; can && i < problem->count; i++)
        can = problem->values[i].type != HN_WORD ||
              hn_bindings_get(&module->values, problem->names[i]) != NULL;
    if (can)
        module->slots =
            hn_blocks_take(&module->launches.blocks, problem->count * sizeof *module->slots);
    for (size_t i = 0; module->slots != NULL && i < problem->count; i++)
        for (size_t slot = 0; slot < plan->name_count; slot++)
            if (strcmp(plan->names[slot], problem->names[i]) == 0)
                module->slots[i] = slot;
}

/* Sets what differs from what the kernel is a copy of. */
static void set_results(struct hone_kernel *made, const struct hn_launch_program *own)
{
    const struct hn_plan *plan = made->plan->plan;
    const struct hn_program *program = &own->program;
    for (size_t i = 0; i < made->step_count; i++)
        for (size_t axis = 0; axis < 3; axis++)
            made->grids[i][axis] = (unsigned int)hn_program_result(
                program, own->grids[made->steps[i].of - plan->steps][axis]);
    for (size_t i = 0; i < made->slot_count; i++) {
        struct hn_lib_slot *slot = &made->slots[i];
        const struct hn_argument *argument = &plan->arguments[i];
        int term = own->arguments[i], align = own->aligns[i];
        if (align >= 0)
            slot->below_align = (uint64_t)hn_program_result(program, align) - 1;
        if (term < 0)
            continue;
        uint64_t result = (uint64_t)hn_program_result(program, term);
        if (argument->value != NULL)
            slot->preset = result & UINT64_MAX >> (64 - 8 * slot->value_bytes);
        else
            slot->bytes = result * hn_argument_bytes(argument);
    }
    HN_EACH_OF(tensor, made->launch.tensors, made->launch.tensor_count) {
        const struct hn_tensor_terms *terms = &own->tensors[tensor->argument];
        tensor->bytes = made->slots[tensor->buffer].bytes;
        for (size_t k = 0; k < terms->rank; k++)
            tensor->dims[k] = hn_program_result(program, terms->dims[k]);
        for (size_t k = 0; k + 1 < terms->rank; k++)
            tensor->strides[k] = hn_program_result(program, terms->strides[k]);
    }
    hn_lib_slots_place(made);
}

bool hn_lib_make_like(const struct hn_lib_choice *choice, struct hone_kernel **handle)
{
    const struct hn_bindings *problem = choice->asked->problem;
    struct hn_lib_module *module = NULL;
    struct hone_kernel *like = NULL;
    bool valid = true;
    while (valid && like == NULL && (module = find_module(choice, module, true)) != NULL) {
        struct hn_program *program = &module->launches.program;
        for (size_t i = 0; i < problem->count; i++)
            if (problem->values[i].type == HN_INTEGER)
                hn_program_set(program, module->slots[i], problem->values[i].integer);
        valid = hn_program_run(program, &module->launches.part);
        like = find_like(module, hn_program_result(program, module->launches.steps));
    }
    struct hone_kernel *made = valid && like != NULL ? copy(like, problem->values) : NULL;
    for (size_t i = 0; made != NULL && i < problem->count; i++)
        if (problem->values[i].type == HN_WORD)
            made->problem.values[i] = like->problem.values[i];
    if (made != NULL) {
        made->sure = choice->sure;
        set_results(made, &module->launches);
    }
    *handle = made;
    return !valid || like != NULL;
}

void hn_lib_module_destroy(struct hn_lib_module *module)
{
    CUcontext outside;
    if (module->module != NULL &&
        hn_lib_enter(module->cache, module->context, &outside) == CUDA_SUCCESS) {
        module->cache->driver.p_cuModuleUnload(module->module);
        hn_lib_leave(module->cache, outside);
    }
    hn_launch_program_finish(&module->launches);
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
    *image = HN_NO_IMAGE;
    made->functions = hn_allocate(made->image.entry_count, sizeof *made->functions, err);
    if (made->functions != NULL &&
        hn_plan_program_values(choice->plan->plan, choice->point, choice->asked->problem,
                               &made->values, err) == HN_OK)
        made->module = hn_lib_module_load(cache, &made->image, err);
    if (hn_failed(err)) {
        hn_lib_module_destroy(made);
        return NULL;
    }
    make_program(made, choice);
    made->next = choice->configuration->modules;
    choice->configuration->modules = made;
    return made;
}

bool hn_lib_image_is_kept(const struct hn_lib_choice *choice)
{
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    return find_module(choice, NULL, false) != NULL || read_kept(choice, &image);
}

struct hone_kernel *hn_lib_load(const struct hn_lib_choice *choice, struct hn_image *image,
                                struct hn_error *err)
{
    bool compiled = false;
    *image = HN_NO_IMAGE;
    if (choice->plan->plan->pipeline != NULL) {
        hn_lib_fail(err, HONE_UNSUPPORTED,
                    "the plan of %s is a pipeline between host and device, which the "
                    "library does not launch; `hone run` does",
                    choice->asked->kernel);
        return NULL;
    }
    struct hn_lib_module *shared = find_module(choice, NULL, false);
    if (shared == NULL) {
        get_image(choice, image, &compiled, err);
        if (!hn_failed(err) && choice->asked->options->separate == 0 && program_is_shared(choice))
            shared = add_module(choice, image, err);
    }
    struct hone_kernel *handle =
        hn_lib_kernel_make(choice, shared != NULL ? &shared->image : image, shared, compiled, err);
    if (handle != NULL && handle->shared != NULL)
        add_like(shared, handle);
    return handle;
}
