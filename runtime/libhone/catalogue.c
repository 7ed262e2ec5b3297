/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

#include "cache/recording/recording.h"
#include "runtime/device/device.h"
#include "runtime/plan/launch_program.h"

/* Takes what is stored. The cache keeps the template first, then its includes. */
static void take_files(struct hn_lib_plan *plan, struct hn_stored_plan *stored,
                       struct hn_error *err)
{
    struct hn_template *template = &plan->template;
    plan->json = stored->json;
    stored->json = NULL;
    if (stored->file_count == 0) {
        hn_fail(err, HN_ENOTFOUND, "the cache keeps no template of this version");
        return;
    }
    template->includes = calloc(stored->file_count, sizeof *template->includes);
    if (template->includes == NULL) {
        hn_fail_memory(err);
        return;
    }
    template->path = stored->files[0].name;
    template->text = stored->files[0].text;
    for (size_t i = 1; i < stored->file_count; i++)
        template->includes[template->include_count++] =
            (struct hn_template_include){stored->files[i].name, stored->files[i].text};
    free(stored->files);
    stored->files = NULL;
    stored->file_count = 0;
}

static void read_plan(struct hn_lib_plan *plan, struct hn_error *err)
{
    json_error_t place;
    if (hn_failed(err))
        return;
    json_t *json = json_loads(plan->json, 0, &place);
    if (json == NULL) {
        hn_fail(err, HN_EFORMAT, "the plan of %s is no JSON: %s", plan->template.path, place.text);
        return;
    }
    plan->has_pipeline = json_object_get(json, "pipeline") != NULL;
    enum hn_status status = hn_plan_from_json(json, &plan->plan, err);
    json_decref(json);
    if (status != HN_OK)
        return;
    plan->types = calloc(plan->plan->argument_count + 1, HN_TYPE_SIZE);
    if (plan->types == NULL)
        hn_fail_memory(err);
    for (size_t i = 0; plan->types != NULL && i < plan->plan->argument_count; i++)
        hn_argument_format_type(&plan->plan->arguments[i], plan->types + i * HN_TYPE_SIZE);
}

static void finish_plan(struct hn_lib_plan *plan)
{
    hn_plan_destroy(plan->plan);
    hn_template_finish(&plan->template);
    free(plan->json);
    free(plan->types);
    free(plan);
}

/* Where it lay when it was tuned the template may have changed; a recording does not say where. */
const struct hn_lib_plan *hn_lib_plan_get(struct hone_cache *cache, const struct hn_tuned *tuned,
                                          struct hn_error *err)
{
    struct hn_error own;
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_template now;
    const char *kernel = tuned->identity.kernel;
    const struct hn_lib_plan *known = cache->plans;
    while (known != NULL && (!hn_version_equal(&known->version, &tuned->version) ||
                             strcmp(known->plan->kernel, kernel) != 0))
        known = known->next;
    if (known != NULL)
        return known;
    err = hn_error_begin(err, &own);
    struct hn_lib_plan *made = calloc(1, sizeof *made);
    if (made == NULL)
        hn_fail_memory(err);
    else if (cache->store != NULL)
        hn_store_get_plan(cache->store, kernel, &tuned->version, &stored, err);
    else if (hn_recording_plan_find(cache->path, kernel, &tuned->version, &stored, err) == HN_OK &&
             stored.json == NULL)
        hn_fail(err, HN_ENOTFOUND,
                "the recordings in '%s' do not hold the plan they were made with: `hone "
                "cache import FILE... --config CONFIG` adds it, `hone cache export` writes "
                "them again",
                cache->path);
    if (!hn_failed(err))
        take_files(made, &stored, err);
    read_plan(made, err);
    hn_stored_plan_free(&stored);
    if (hn_failed(err)) {
        if (made != NULL)
            finish_plan(made);
        return NULL;
    }
    made->version = tuned->version;
    const char *path = made->template.path;
    if (path[0] == '/' && hn_template_load(path, &now, NULL) == HN_OK) {
        made->changed = strcmp(now.hash.hex, tuned->version.template_hash) != 0;
        hn_template_finish(&now);
    }
    made->next = cache->plans;
    cache->plans = made;
    return made;
}

/* Families: rules, and the modules that problems of one share. */

struct hn_lib_pattern {
    struct hn_launch_program program;
    size_t *slots;         /* of each problem value: the program's */
    uint64_t *value_masks; /* of each argument: the bits that its type has; 0: it is a buffer */
    struct hone_kernel *like;
};

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

/* What is copied is of the kernel alone where it has nothing else than a launch. */
struct hn_lib_pattern *hn_lib_pattern_make(const struct hone_kernel *kernel,
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
                                 choice->point, &low, &high, &kernel->launch) &&
          fill_pattern(made, kernel);
    hn_bindings_finish(&low);
    hn_bindings_finish(&high);
    if (can)
        return made;
    destroy_pattern(made);
    return NULL;
}

struct hone_kernel *hn_lib_pattern_apply(struct hn_lib_pattern *pattern,
                                         const struct hn_lib_choice *choice)
{
    const struct hn_launch_program *own = &pattern->program;
    struct hn_program *program = &pattern->program.program;
    const struct hn_bindings *problem = choice->asked->problem;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_INTEGER)
            hn_program_set(program, pattern->slots[i], problem->values[i].integer);
    struct hone_kernel *made =
        hn_program_run(program) ? copy(pattern->like, problem->values) : NULL;
    if (made == NULL)
        return NULL;
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
    return made;
}

static void destroy_module(struct hn_lib_module *module)
{
    CUcontext outside;
    if (module->module != NULL && hn_lib_enter(module->cache, module->context, &outside)) {
        module->cache->driver.p_cuModuleUnload(module->module);
        hn_lib_leave(module->cache, outside);
    }
    destroy_pattern(module->pattern);
    hn_image_finish(&module->image);
    hn_bindings_finish(&module->values);
    free(module->functions);
    free(module);
}

/* That has the values of the choice's problem. Which steps are launched is the same for all that
 * have a pattern. */
struct hn_lib_module *hn_lib_module_find(const struct hn_lib_choice *choice, bool with_pattern)
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
        if (fits && (with_pattern ? module->pattern != NULL
                                  : hn_lib_image_launches(&module->image, choice)))
            return module;
    }
    return NULL;
}

struct hn_lib_module *hn_lib_module_add(const struct hn_lib_choice *choice, struct hn_image *image,
                                        struct hn_error *err)
{
    struct hone_cache *cache = choice->asked->cache;
    struct hn_lib_module *made = calloc(1, sizeof *made);
    if (made == NULL) {
        hn_fail_memory(err);
        return NULL;
    }
    made->cache = cache;
    made->context = choice->asked->context;
    made->image = *image;
    hn_image_init(image);
    made->functions = calloc(made->image.entry_count + 1, sizeof *made->functions);
    if (made->functions == NULL)
        hn_fail_memory(err);
    else if (hn_plan_program_values(choice->plan->plan, choice->point, choice->asked->problem,
                                    &made->values, err) == HN_OK)
        hn_lib_cuda(
            cache,
            cache->driver.p_cuModuleLoadDataEx(&made->module, made->image.cubin, 0, NULL, NULL),
            "loading the module", err);
    if (hn_failed(err)) {
        made->module = NULL;
        destroy_module(made);
        return NULL;
    }
    made->next = choice->configuration->modules;
    choice->configuration->modules = made;
    return made;
}

bool hn_lib_module_serves(const struct hn_lib_module *module, const struct hn_launch *launch)
{
    bool serves = launch->step_count == module->image.entry_count;
    for (size_t i = 0; serves && i < launch->step_count; i++)
        serves = module->functions[i].function == NULL ||
                 module->functions[i].carveout == launch->steps[i].carveout;
    return serves;
}

CUresult hn_lib_module_find_function(struct hn_lib_module *module, const struct hn_launch *launch,
                                     size_t step, CUfunction *function, char what[96])
{
    struct hn_lib_function *own = &module->functions[step];
    const struct hn_launch_step *shape = &launch->steps[step];
    int64_t shared_bytes = hn_module_shared_bytes(launch, &module->image, step);
    bool large = shape->cluster[0] * shape->cluster[1] * shape->cluster[2] > HN_PORTABLE_CLUSTER;
    CUresult result = CUDA_SUCCESS;
    if (own->function == NULL || shared_bytes > own->shared_bytes ||
        (large && !own->has_large_clusters)) {
        result = hn_module_find(&module->cache->driver, module->module, &module->image, launch,
                                step, &own->function, what);
        own->shared_bytes = shared_bytes > own->shared_bytes ? shared_bytes : own->shared_bytes;
        own->has_large_clusters = own->has_large_clusters || large;
        own->carveout = shape->carveout;
    }
    *function = own->function;
    return result;
}

/* Results and rules of kernels. */

static void forget_results(struct hn_lib_known *known)
{
    hn_lookup_index_finish(&known->lookup);
    hn_tuned_list_free(&known->list);
    known->lookup = (struct hn_lookup_index){0};
    known->list = (struct hn_tuned_list){0};
}

static void forget_rules(struct hn_lib_known *known)
{
    for (size_t i = 0; known->rules != NULL && i < known->stored.count; i++) {
        struct hn_lib_rule *rule = &known->rules[i];
        size_t count = rule->configurations == NULL ? 0 : rule->stored->rule->configuration_count;
        for (size_t c = 0; c < count; c++)
            for (struct hn_lib_module *next, *module = rule->configurations[c].modules;
                 module != NULL; module = next) {
                next = module->next;
                destroy_module(module);
            }
        free(rule->configurations);
        hn_bindings_finish(&rule->names);
        hn_rule_program_destroy(rule->program);
        hn_known_problems_finish(&rule->known);
    }
    free(known->rules);
    known->rules = NULL;
    hn_tuned_list_free(&known->stored);
    known->stored = (struct hn_tuned_list){0};
}

void hn_lib_catalogue_free(struct hone_cache *cache)
{
    for (struct hn_lib_known *known = cache->known; known != NULL; known = known->next) {
        forget_results(known);
        forget_rules(known);
    }
    for (struct hn_lib_plan *next, *plan = cache->plans; plan != NULL; plan = next) {
        next = plan->next;
        finish_plan(plan);
    }
}

/* Nothing is known of it yet where it is new. NULL where err has failed. */
static struct hn_lib_known *find_known(struct hone_cache *cache, const char *kernel,
                                       struct hn_error *err)
{
    struct hn_lib_known *known = cache->known;
    while (known != NULL && strcmp(known->kernel, kernel) != 0)
        known = known->next;
    if (known != NULL || hn_failed(err))
        return hn_failed(err) ? NULL : known;
    size_t bytes = strlen(kernel) + 1;
    known = hn_blocks_take(&cache->memory, sizeof *known + bytes);
    if (known == NULL) {
        hn_fail_memory(err);
        return NULL;
    }
    known->kernel = memcpy(known + 1, kernel, bytes);
    known->next = cache->known;
    cache->known = known;
    return known;
}

struct hn_lib_known *hn_lib_known_results(struct hone_cache *cache, const char *kernel,
                                          struct hn_error *err)
{
    struct hn_lib_known *known = find_known(cache, kernel, err);
    if (known == NULL || known->list.count > 0)
        return known;
    if (cache->is_folder)
        hn_recording_list(cache->path, kernel, &known->list, err);
    else
        hn_store_list_problem(cache->store, kernel, NULL, &known->list, err);
    if (!hn_failed(err) && known->list.count > 0)
        hn_lookup_index_make(&known->lookup, &known->list, err);
    if (!hn_failed(err) && known->list.count > 0)
        return known;
    forget_results(known);
    return NULL;
}

static void read_rule(struct hn_lib_known *known, size_t index, struct hn_error *err)
{
    const struct hn_value zero = hn_integer(0);
    const struct hn_tuned *stored = &known->stored.items[index];
    struct hn_lib_rule *rule = &known->rules[index];
    rule->stored = stored;
    rule->kernel = known->kernel;
    rule->configurations = calloc(stored->rule->configuration_count, sizeof *rule->configurations);
    if (rule->configurations == NULL) {
        hn_fail_memory(err);
        return;
    }
    for (size_t i = 0; i < stored->rule->configuration_count; i++)
        rule->configurations[i].tuned = (struct hn_tuned){
            .identity = stored->identity,
            .version = stored->version,
            .best = {.point = stored->rule->configurations[i], .time = stored->learnt},
            .origin = stored->origin,
            .simulated = stored->simulated,
            .stale = stored->stale,
        };
    rule->program = hn_rule_program_make(stored->rule);
    for (size_t i = 0; i < stored->rule->value_count && !hn_failed(err); i++)
        hn_bindings_set(&rule->names, stored->rule->values[i].name, &zero, err);
    for (size_t i = 0; i < HN_DEVICE_LIMITS; i++)
        rule->names_limits =
            rule->names_limits || hn_bindings_get(&rule->names, hn_device_limit_names[i]) != NULL;
}

struct hn_lib_known *hn_lib_known_rules(struct hone_cache *cache, const char *kernel,
                                        struct hn_error *err)
{
    struct hn_lib_known *known = find_known(cache, kernel, err);
    if (known == NULL || known->rules != NULL)
        return known;
    if (cache->store != NULL)
        hn_store_get_rules(cache->store, kernel, &known->stored, err);
    if (!hn_failed(err) &&
        (known->rules = calloc(known->stored.count + 1, sizeof *known->rules)) == NULL)
        hn_fail_memory(err);
    for (size_t i = 0; !hn_failed(err) && i < known->stored.count; i++)
        read_rule(known, i, err);
    if (!hn_failed(err))
        return known;
    forget_rules(known);
    return NULL;
}

void hn_lib_known_forget(struct hone_cache *cache, const char *kernel)
{
    struct hn_lib_known *known = cache->known;
    while (known != NULL && strcmp(known->kernel, kernel) != 0)
        known = known->next;
    if (known == NULL)
        return;
    forget_results(known);
    for (size_t i = 0; known->rules != NULL && i < known->stored.count; i++) {
        hn_known_problems_finish(&known->rules[i].known);
        known->rules[i].has_known = false;
    }
}

/* 0: it does not count. The regimes stand in order: cold comes before the others. */
static int rank_rule(const struct hn_identity *identity, const struct hn_device *device,
                     const struct hone_options *options)
{
    if ((options->regime != NULL && strcmp(options->regime, identity->regime) != 0) ||
        !hn_lookup_is_objective(options->objective, identity->objective))
        return 0;
    int rank = hn_device_identity_equal(&identity->device, &device->identity) ? 6
               : identity->device.capability == device->identity.capability   ? 4
                                                                              : 2;
    return rank + (strcmp(identity->objective, "time") == 0);
}

struct hn_lib_rule *hn_lib_known_rule(const struct hn_lib_known *known,
                                      const struct hn_device *device,
                                      const struct hone_options *options, bool *own)
{
    struct hn_lib_rule *found = NULL;
    int best = 0;
    for (size_t i = 0; i < known->stored.count; i++) {
        int rank = rank_rule(&known->stored.items[i].identity, device, options);
        if (rank > best) {
            best = rank;
            found = &known->rules[i];
        }
    }
    *own = best >= 6;
    return found;
}

bool hn_lib_rule_may_be_tuned(struct hone_cache *cache, struct hn_lib_rule *rule,
                              const struct hn_bindings *problem, struct hn_error *err)
{
    if (!rule->has_known)
        rule->has_known = hn_known_problems_read(cache->store, rule->stored->identity.kernel,
                                                 &rule->known, err) == HN_OK;
    return !rule->has_known || hn_known_problems_may_have(&rule->known, problem);
}

/* The steps that are launched are the same for all problems. */
static bool steps_are_fixed(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t slot = 0; slot < plan->name_count; slot++)
            for (size_t p = 0; plan->steps[i].condition != NULL && p < plan->problem_count; p++)
                if (strcmp(plan->names[slot], plan->problem[p]) == 0 &&
                    hn_plan_uses(plan, plan->steps[i].condition, slot))
                    return false;
    return true;
}

bool hn_lib_program_is_shared(const struct hn_lib_choice *choice)
{
    struct hn_lib_configuration *configuration = choice->configuration;
    struct hn_bindings low, high;
    if (configuration == NULL)
        return false;
    if (configuration->program == HN_PROGRAM_UNKNOWN) {
        const struct hn_plan *plan = choice->plan->plan;
        bool shared = (hn_lib_names_are_plain(plan) || steps_are_fixed(plan)) &&
                      !hn_plan_has_role(plan, HN_ROLE_SYMBOL);
        if (shared) {
            shared = make_corner(choice, false, 0, &low);
            shared = make_corner(choice, true, 1, &high) && shared &&
                     hn_lib_program_is_same(choice, &low, &high);
            hn_bindings_finish(&low);
            hn_bindings_finish(&high);
        }
        configuration->program = shared ? HN_PROGRAM_SHARED : HN_PROGRAM_OWN;
    }
    return configuration->program == HN_PROGRAM_SHARED;
}
