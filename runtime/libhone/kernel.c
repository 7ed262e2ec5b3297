/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/compile/cubin.h"

_Static_assert(HONE_FLOAT8_E4M3 - HONE_INT8 == HN_FLOAT8_E4M3 - HN_INT8,
               "kinds follow the elements");
_Static_assert((int)HONE_GRADE_PROBLEM == (int)HN_GRADE_PROBLEM,
               "grades follow those of the cache up to a family's");

enum { ALIGNMENT = 512 };

/* A buffer under tensor maps has to lie as they want it, too. */
static void make_slot(struct hone_kernel *kernel, size_t index, const struct hn_image *image,
                      const struct hn_value *values, struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_launch *launch = &kernel->launch;
    const struct hn_argument *argument = &plan->arguments[index];
    struct hn_lib_slot *slot = &kernel->slots[index];
    uint64_t align = 1, bytes = 0;
    slot->name = argument->name;
    slot->taken = hn_launch_takes(launch, index);
    slot->need = slot->taken ? HONE_REQUIRED : HONE_OPTIONAL;
    if (argument->role == HN_ROLE_TEXTURE) {
        slot->kind = HONE_TEXTURE;
        slot->value_bytes = sizeof(CUtexObject);
    } else if (argument->role == HN_ROLE_TENSOR_MAP) {
        slot->kind = HONE_BYTES;
        slot->need = HONE_OWNED;
        slot->mapped = true;
        slot->value_bytes = sizeof(CUtensorMap);
    } else if (argument->value != NULL) {
        bool constant = hn_expression_slots(argument->value) == 0;
        slot->kind = (enum hone_argument_kind)((int)HONE_INT8 + (int)argument->element);
        slot->value_bytes = (uint32_t)hn_element_size(argument->element);
        slot->need = constant || !slot->taken ? HONE_OPTIONAL : HONE_FIXED;
        hn_argument_evaluate_scalar(argument, values, &slot->preset, err);
    } else if (argument->structure != NULL) { /* the caller has it, with its addresses */
        struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
        struct hn_passed *passed = hn_cubin_make_structure(image, argument, values, &memory, err);
        slot->kind = HONE_BYTES;
        slot->value_bytes = passed == NULL ? 0 : passed->bytes;
    } else if (argument->role == HN_ROLE_VALUE) { /* the contents of an input as one structure */
        const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
        slot->kind = HONE_BYTES;
        hn_argument_buffer_bytes(source, values, &bytes, err);
        slot->value_bytes = (uint32_t)bytes;
    } else {
        slot->kind = HONE_BUFFER;
        slot->zeroed =
            slot->taken && argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE;
        slot->starts_zero = argument->zero == HN_ZERO_ONCE;
        if (argument->role == HN_ROLE_SCRATCH || argument->role == HN_ROLE_COUNTER ||
            argument->role == HN_ROLE_METRIC)
            slot->need = HONE_OWNED;
        hn_argument_evaluate_align(argument, values, &align, err);
        hn_argument_buffer_bytes(argument, values, &slot->bytes, err);
        slot->below_align = align - 1;
        for (size_t i = 0; i < launch->tensor_count; i++)
            if (launch->tensors[i].buffer == index)
                slot->below_align |= (uint64_t)hn_tensor_grain(&launch->tensors[i]) - 1;
    }
    kernel->has_zeroed = kernel->has_zeroed || slot->zeroed;
}

static void make_slots(struct hone_kernel *kernel, const struct hn_image *image,
                       const struct hn_value *values, struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    size_t count = 0;
    if (hn_failed(err))
        return;
    /* Symbols stand behind the arguments. */
    while (count < plan->argument_count && plan->arguments[count].role != HN_ROLE_SYMBOL)
        count++;
    kernel->slots = hn_allocate(count, sizeof *kernel->slots, err);
    kernel->slot_count = kernel->slots == NULL ? 0 : count;
    if (count > HN_LIB_MAX_ARGUMENTS)
        hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu arguments; the library takes %d",
                    plan->kernel, count, (int)HN_LIB_MAX_ARGUMENTS);
    else if (kernel->launch.tensor_count > HN_LIB_MAX_MAPS)
        hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu tensor maps; the library takes %d",
                    plan->kernel, kernel->launch.tensor_count, (int)HN_LIB_MAX_MAPS);
    for (size_t i = 0; i < kernel->slot_count && !hn_failed(err); i++)
        make_slot(kernel, i, image, values, err);
    if (!hn_failed(err))
        hn_lib_slots_place(kernel);
}

void hn_lib_slots_place(struct hone_kernel *kernel)
{
    kernel->workspace_bytes = 0;
    HN_EACH_OF(slot, kernel->slots, kernel->slot_count) {
        if (slot->need != HONE_OWNED || !slot->taken || slot->mapped)
            continue;
        slot->preset = kernel->workspace_bytes;
        kernel->workspace_bytes += (slot->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

size_t hone_kernel_argument_count(const struct hone_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->slot_count;
}

enum hone_status hone_kernel_argument(const struct hone_kernel *kernel, size_t index,
                                      struct hone_argument_info *info)
{
    if (kernel == NULL || info == NULL || index >= kernel->slot_count)
        return HONE_INVALID;
    const struct hn_lib_slot *slot = &kernel->slots[index];
    *info = (struct hone_argument_info){
        .name = slot->name,
        .kind = slot->kind,
        .type = kernel->plan->types + index * HN_TYPE_SIZE,
        .role = hn_role_names[kernel->plan->plan->arguments[index].role],
        .need = slot->need,
        .bytes = slot->kind == HONE_BUFFER ? slot->bytes : slot->value_bytes,
    };
    return HONE_OK;
}

/* Sets a symbol that has a value. Counters are filled with zeros. */
static void find_symbol(struct hone_kernel *kernel, size_t index, const struct hn_value *values,
                        struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_argument *symbol = &plan->arguments[index];
    const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
    const struct hn_fill *fill = &symbol->fill;
    struct hn_lib_symbol *made = &kernel->symbols[kernel->symbol_count];
    CUdeviceptr address = 0;
    uint64_t bits = 0;
    size_t room = 0;
    hn_lib_cuda(kernel->cache,
                driver->p_cuModuleGetGlobal(&address, &room, kernel->module, symbol->name),
                symbol->name, err);
    *made = (struct hn_lib_symbol){.name = symbol->name,
                                   .from = source->name,
                                   .address = address,
                                   .bytes = hn_element_size(symbol->element)};
    if (symbol->value != NULL)
        hn_argument_evaluate_scalar(symbol, values, &bits, err);
    else
        hn_argument_buffer_bytes(source, values, &made->bytes, err);
    if (!hn_failed(err) && made->bytes > room)
        hn_fail(err, HN_EFORMAT, "symbol '%s' has %llu bytes in the module; the plan gives it %llu",
                symbol->name, (unsigned long long)room, (unsigned long long)made->bytes);
    if (hn_failed(err))
        return;
    if (symbol->value != NULL) {
        hn_lib_cuda(kernel->cache, driver->p_cuMemcpyHtoD(address, &bits, made->bytes),
                    "setting a symbol", err);
        return;
    }
    made->zeroed = symbol->changes && fill->kind == HN_FILL_CONSTANT &&
                   fill->expressions[0] == NULL && !(fill->numbers[0] < 0 || fill->numbers[0] > 0);
    if (symbol->changes && !made->zeroed)
        hn_lib_fail(err, HONE_UNSUPPORTED,
                    "symbol '%s' has role inout: it would have to be set before every "
                    "launch, which the library does for counters only",
                    symbol->name);
    kernel->symbol_count++;
    kernel->symbols_to_set += !made->zeroed;
    kernel->has_zeroed = kernel->has_zeroed || made->zeroed;
}

static void find_symbols(struct hone_kernel *kernel, const struct hn_value *values,
                         struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    if (hn_failed(err) || !hn_plan_has_role(plan, HN_ROLE_SYMBOL))
        return;
    kernel->symbols = hn_allocate(plan->argument_count, sizeof *kernel->symbols, err);
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_SYMBOL &&
            hn_expression_holds(plan->arguments[i].condition, values, err))
            find_symbol(kernel, i, values, err);
}

/* The index-th of those that are to be set, or NULL. */
static const struct hn_lib_symbol *symbol_to_set(const struct hone_kernel *kernel, size_t index)
{
    for (size_t i = 0; i < kernel->symbol_count; i++)
        if (!kernel->symbols[i].zeroed && index-- == 0)
            return &kernel->symbols[i];
    return NULL;
}

size_t hone_kernel_symbol_count(const struct hone_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->symbols_to_set;
}

enum hone_status hone_kernel_symbol(const struct hone_kernel *kernel, size_t index,
                                    const char **name, uint64_t *bytes)
{
    const struct hn_lib_symbol *symbol = kernel == NULL ? NULL : symbol_to_set(kernel, index);
    if (symbol == NULL)
        return HONE_INVALID;
    if (name != NULL)
        *name = symbol->name;
    if (bytes != NULL)
        *bytes = symbol->bytes;
    return HONE_OK;
}

static void set_symbol(struct hone_kernel *kernel, CUstream stream,
                       const struct hn_lib_symbol *symbol, const struct hone_argument *contents,
                       struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUresult result = CUDA_SUCCESS;
    if (contents->kind == HONE_BUFFER)
        result = driver->p_cuMemcpyDtoDAsync(symbol->address, contents->as.buffer, symbol->bytes,
                                             stream);
    else if (contents->kind != HONE_BYTES || contents->as.host == NULL ||
             contents->bytes != symbol->bytes)
        hn_lib_fail(err, HONE_INVALID, "symbol '%s' takes a buffer, or %llu bytes of host memory",
                    symbol->name, (unsigned long long)symbol->bytes);
    else
        result =
            driver->p_cuMemcpyHtoDAsync(symbol->address, contents->as.host, symbol->bytes, stream);
    hn_lib_cuda(kernel->cache, result, symbol->name, err);
}

enum hone_status hone_set_symbols(struct hone_kernel *kernel, CUstream stream,
                                  const struct hone_argument *arguments, size_t count,
                                  struct hone_error *err)
{
    struct hn_error why = {.status = HN_OK};
    bool all = true;
    if (kernel == NULL || (arguments == NULL && count > 0)) {
        hn_lib_fail(&why, HONE_INVALID, "hone_set_symbols: '%s' is NULL",
                    kernel == NULL ? "kernel" : "arguments");
        return hn_lib_tell(&why, err);
    }
    for (size_t i = 0; i < kernel->symbols_to_set && !hn_failed(&why); i++) {
        const struct hn_lib_symbol *symbol = symbol_to_set(kernel, i);
        size_t given = 0;
        while (given < count && (arguments[given].name == NULL ||
                                 (strcmp(arguments[given].name, symbol->name) != 0 &&
                                  strcmp(arguments[given].name, symbol->from) != 0)))
            given++;
        all = all && given < count;
        if (given < count)
            set_symbol(kernel, stream, symbol, &arguments[given], &why);
        else if (!atomic_load(&kernel->symbols_are_set))
            hn_lib_fail(&why, HONE_INVALID,
                        "symbol '%s' is not given and was never set: all %zu symbols have "
                        "to be given the first time",
                        symbol->name, kernel->symbols_to_set);
    }
    if (all && !hn_failed(&why))
        atomic_store(&kernel->symbols_are_set, true);
    return hn_lib_tell(&why, err);
}

/* Frees the string; NULL: memory was out. */
static void put_made(struct hone_cache *cache, const char **member, char *string,
                     struct hn_error *err)
{
    if (hn_made(string, err) != NULL)
        hn_lib_put(&cache->infos, member, string, err);
    free(string);
}

/* All that is not known is empty. */
static const struct hone_info nothing = {.problem = "",
                                         .point = "",
                                         .stale_because = "",
                                         .tuned_problem = "",
                                         .device = "",
                                         .regime = "",
                                         .objective = "",
                                         .verification = "",
                                         .driver = "",
                                         .nvrtc = "",
                                         .record = "{}",
                                         .origin = "",
                                         .kernel = ""};

static void describe_source(const struct hone_kernel *kernel, const struct hn_tuned *tuned,
                            struct hone_info *info, struct hn_error *err)
{
    struct hone_cache *cache = kernel->cache;
    struct hn_text why = {0};
    if (strcmp(tuned->version.driver, kernel->device->driver) != 0)
        hn_text_printf(&why, "driver %s -> %s", tuned->version.driver, kernel->device->driver);
    if (tuned->stale)
        hn_text_printf(&why, "%sa later session had another version", why.length > 0 ? ", " : "");
    if (kernel->plan->changed)
        hn_text_printf(&why, "%sthe template is another now", why.length > 0 ? ", " : "");
    info->stale = why.length > 0;
    info->simulated = tuned->simulated;
    info->imported = hn_origin_is_foreign(&tuned->origin);
    info->recorded = tuned->best.time;
    put_made(cache, &info->stale_because, hn_text_take(&why), err);
    hn_lib_put(&cache->infos, &info->device, tuned->identity.device.name, err);
    hn_lib_put(&cache->infos, &info->regime, tuned->identity.regime, err);
    hn_lib_put(&cache->infos, &info->objective, tuned->identity.objective, err);
    hn_lib_put(&cache->infos, &info->driver, tuned->version.driver, err);
    hn_lib_put(&cache->infos, &info->nvrtc, tuned->version.nvrtc, err);
    put_made(cache, &info->origin, hn_origin_text(&tuned->origin), err);
}

static struct hone_loss loss_of(const struct hn_rule_loss *loss)
{
    return (struct hone_loss){loss->mean, loss->worst, loss->sizes};
}

/* What callers are told of a kernel. Strings are empty where there is no memory for them. */
static void make_info(struct hone_kernel *kernel, const struct hn_tuned *tuned, enum hn_grade grade,
                      struct hn_error *err)
{
    struct hone_cache *cache = kernel->cache;
    if (hn_failed(err))
        return;
    struct hone_info *info = hn_made(hn_blocks_take(&cache->infos, sizeof *info), err);
    kernel->about = info;
    if (info == NULL)
        return;
    *info = nothing;
    info->kernel = kernel->name;
    info->compiled = kernel->compiled;
    info->grade = grade == HN_GRADE_EXACT ? HONE_GRADE_EXACT : (enum hone_grade)grade;
    put_made(cache, &info->problem, hn_bindings_text(&kernel->problem), err);
    put_made(cache, &info->point, hn_bindings_text(&kernel->point), err);
    if (tuned != NULL)
        describe_source(kernel, tuned, info, err);
    if (kernel->rule != NULL) {
        const struct hn_rule *rule = kernel->rule->stored->rule;
        info->grade = HONE_GRADE_FAMILY;
        info->sure = kernel->sure;
        info->predicted = loss_of(&rule->predicted);
        info->measured = loss_of(&rule->measured);
        info->choice = loss_of(&rule->parts.choice);
        info->coverage = loss_of(&rule->parts.coverage);
        info->freezing = loss_of(&rule->parts.freezing);
    } else if (tuned != NULL) {
        const struct hn_timing *timing = &tuned->best.timing;
        json_auto_t *json = hn_record_to_json(&tuned->best);
        info->verification = hn_verification_names[tuned->best.verdict.kind];
        info->median_us = timing->median_us;
        info->low_us = timing->low_us;
        info->high_us = timing->high_us;
        put_made(cache, &info->tuned_problem, hn_bindings_text(&tuned->identity.problem), err);
        put_made(cache, &info->record, json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS), err);
    }
}

/* What it adds to a kernel is for all who ask: to them it has always been there. */
const struct hone_info *hone_kernel_info(const struct hone_kernel *kernel)
{
    struct hone_kernel *own = (struct hone_kernel *)(uintptr_t)kernel;
    struct hn_c_locale locale;
    struct hn_error ignored;
    if (kernel == NULL)
        return NULL;
    if (atomic_load_explicit(&own->has_info, memory_order_acquire))
        return kernel->about;
    pthread_mutex_lock(&own->cache->info_lock);
    if (!atomic_load(&own->has_info)) {
        hn_c_locale_enter(&locale);
        hn_error_init(&ignored);
        make_info(own, &own->configuration->tuned, HN_GRADE_NONE, &ignored);
        hn_c_locale_leave(&locale);
        atomic_store_explicit(&own->has_info, own->about != NULL, memory_order_release);
    }
    pthread_mutex_unlock(&own->cache->info_lock);
    return own->about == NULL ? &nothing : own->about;
}

CUresult hn_lib_enter(const struct hone_cache *cache, CUcontext context, CUcontext *outside)
{
    const struct hn_driver *driver = &cache->driver;
    *outside = NULL;
    CUresult result = driver->p_cuCtxGetCurrent(outside);
    return result == CUDA_SUCCESS ? driver->p_cuCtxSetCurrent(context) : result;
}

void hn_lib_leave(const struct hone_cache *cache, CUcontext outside)
{
    cache->driver.p_cuCtxSetCurrent(outside);
}

/* Whether a launch asks for nothing that its functions cannot be for others at the same time. */
static bool module_serves(const struct hn_lib_module *module, const struct hn_launch *launch)
{
    bool serves = launch->step_count == module->image.entry_count;
    for (size_t i = 0; serves && i < launch->step_count; i++)
        serves = module->functions[i].function == NULL ||
                 module->functions[i].carveout == launch->steps[i].carveout;
    return serves;
}

/* As hn_module_find, for all launches so far: what one was given no other one takes away. */
static CUresult find_function(struct hn_lib_module *module, const struct hn_launch_step *shape,
                              size_t step, int64_t shared_bytes, CUfunction *function,
                              char what[96])
{
    struct hn_lib_function *own = &module->functions[step];
    bool large = shape->cluster[0] * shape->cluster[1] * shape->cluster[2] > HN_PORTABLE_CLUSTER;
    *function = own->function;
    if (own->function != NULL && shared_bytes <= own->shared_bytes &&
        (!large || own->has_large_clusters))
        return CUDA_SUCCESS;
    if (shared_bytes < own->shared_bytes)
        shared_bytes = own->shared_bytes;
    CUresult result =
        hn_module_find(&module->cache->driver, module->module, module->image.entries[step], shape,
                       shared_bytes, function, what);
    if (result == CUDA_SUCCESS)
        *own = (struct hn_lib_function){*function, shared_bytes, shape->carveout,
                                        own->has_large_clusters || large};
    return result;
}

/* The grid of a step that asks for it, by what this device has room for. */
static void fit_clusters(struct hone_kernel *kernel, size_t index, struct hn_value *values,
                         struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    struct hn_launch_step *launch = &kernel->launch.steps[index];
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    int clusters = 0;
    if (!hn_plan_asks_clusters(plan, launch->step))
        return;
    hn_lib_cuda(kernel->cache,
                hn_module_active_clusters(&kernel->cache->driver, launch,
                                          kernel->steps[index].function, &clusters),
                "asking for clusters that run at once", err);
    if (hn_failed(err))
        return;
    hn_launch_fit_clusters(plan, kernel->device, values, clusters, launch, &record);
    if (record.outcome != HN_OUTCOME_OK)
        hn_lib_fail(err, HONE_UNSUPPORTED, "%s",
                    record.message != NULL ? record.message : "out of memory");
}

/* Plans come from files: slots are the arguments before the first that is not passed, which those
 * of a step and of its window may lie behind. */
static void make_step(struct hone_kernel *kernel, const struct hn_image *image, size_t index,
                      struct hn_value *values, struct hn_error *err)
{
    const struct hn_launch_step *shape = &kernel->launch.steps[index];
    const struct hn_step *from = shape->step;
    struct hn_lib_step *step = &kernel->steps[index];
    char what[96];
    step->of = from;
    if (from->argument_count > HN_LIB_MAX_ARGUMENTS) {
        hn_lib_fail(err, HONE_UNSUPPORTED, "step '%s' has %zu arguments; the library takes %d",
                    from->entry, from->argument_count, (int)HN_LIB_MAX_ARGUMENTS);
        return;
    }
    bool valid = hn_module_step_of(shape).window == SIZE_MAX ||
                 from->geometry.window.argument < kernel->slot_count;
    for (size_t i = 0; i < from->argument_count; i++)
        valid = valid && from->arguments[i] < kernel->slot_count;
    if (!valid) {
        hn_fail(err, HN_EFORMAT,
                "the plan's step '%s' takes an argument that stands behind a symbol", from->entry);
        return;
    }
    int64_t shared_bytes = hn_module_shared_bytes(&kernel->launch, image, index);
    CUresult result =
        kernel->shared != NULL
            ? find_function(kernel->shared, shape, index, shared_bytes, &step->function, what)
            : hn_module_find(&kernel->cache->driver, kernel->module, image->entries[index], shape,
                             shared_bytes, &step->function, what);
    hn_lib_cuda(kernel->cache, result, what, err);
    if (!hn_failed(err))
        fit_clusters(kernel, index, values, err);
    step->shape = hn_module_step_of(shape);
    const CUlaunchConfig *config = &step->shape.config;
    memcpy(kernel->grids[index],
           (unsigned int[]){config->gridDimX, config->gridDimY, config->gridDimZ},
           sizeof kernel->grids[index]);
}

static void make_steps(struct hone_kernel *kernel, const struct hn_image *image,
                       struct hn_value *values, struct hn_error *err)
{
    kernel->steps = hn_allocate(kernel->launch.step_count, sizeof *kernel->steps, err);
    kernel->grids = hn_allocate(kernel->launch.step_count, sizeof *kernel->grids, err);
    if (hn_failed(err))
        return;
    kernel->step_count = kernel->launch.step_count;
    kernel->module = kernel->shared != NULL ? kernel->shared->module
                                            : hn_lib_module_load(kernel->cache, image, err);
    for (size_t i = 0; i < kernel->step_count && !hn_failed(err); i++)
        make_step(kernel, image, i, values, err);
}

/* Whether a launch is more than one thing to do, and always the same where its values are. */
static bool is_graph(const struct hone_kernel *kernel)
{
    size_t nodes = kernel->step_count;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        nodes += kernel->slots[i].zeroed;
        /* What lies behind such a pointer may be another thing each time. */
        if (kernel->slots[i].kind == HONE_BYTES && kernel->slots[i].taken &&
            !kernel->slots[i].mapped)
            return false;
    }
    for (size_t i = 0; i < kernel->symbol_count; i++)
        nodes += kernel->symbols[i].zeroed;
    return nodes > 1;
}

/* A module is shared, where it serves the launch, too. What it takes was checked where it was
 * loaded. */
struct hone_kernel *hn_lib_kernel_make(const struct hn_lib_choice *choice,
                                       const struct hn_image *image, struct hn_lib_module *shared,
                                       bool compiled, struct hn_error *err)
{
    const struct hn_lib_question *asked = choice->asked;
    struct hone_kernel *made = hn_allocate(1, sizeof *made, err);
    if (made == NULL)
        return NULL;
    made->cache = asked->cache;
    made->context = asked->context;
    made->plan = choice->plan;
    made->device = asked->device;
    made->configuration = choice->configuration;
    made->is_watched = asked->cache->capture_folder != NULL;
    struct hn_value *values = *choice->values;
    made->launch = *choice->launch;
    *choice->launch = (struct hn_launch){.steps = NULL};
    hn_bindings_copy(&made->problem, asked->problem, err);
    /* The point of a rule's configuration lives as long as the cache. */
    if (choice->configuration != NULL)
        made->point = *choice->point;
    else if (!hn_failed(err))
        hn_bindings_copy(&made->point, choice->point, err);
    if (!hn_failed(err) && shared != NULL && module_serves(shared, &made->launch))
        made->shared = shared;
    if (!hn_failed(err) && (made->shared == NULL || !shared->is_checked)) {
        hn_signature_check(made->plan->plan, values, &made->launch, image, err);
        if (err->status == HN_ECONFIG)
            hn_lib_restate(err, HONE_BAD_FILE);
        if (made->shared != NULL)
            shared->is_checked = !hn_failed(err);
    }
    make_slots(made, image, values, err);
    make_steps(made, image, values, err);
    find_symbols(made, values, err);
    made->compiled = compiled;
    made->rule = choice->rule;
    made->sure = choice->sure;
    made->name = asked->kernel;
    /* Of what a rule chose it is made when it is asked for: programs ask for many sizes, and about
     * few. */
    if (choice->rule == NULL) {
        pthread_mutex_lock(&made->cache->info_lock);
        make_info(made, choice->tuned, choice->grade, err);
        pthread_mutex_unlock(&made->cache->info_lock);
        atomic_store(&made->has_info, !hn_failed(err));
    }
    made->as_graph = !hn_failed(err) && asked->options->graph != 0 && is_graph(made);
    if (!hn_failed(err))
        return made;
    hn_lib_kernel_destroy(made);
    return NULL;
}
