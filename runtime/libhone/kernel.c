/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/record/record_json.h"
#include "runtime/compile/signature.h"

_Static_assert(HONE_FLOAT8_E4M3 - HONE_INT8 == HN_FLOAT8_E4M3 - HN_INT8,
               "kinds follow the elements");

enum { ALIGNMENT = 512 };

static enum hn_status make_scalar(const struct hn_argument *argument, const struct hn_value *values,
                                  struct hn_lib_slot *slot, struct hn_error *err)
{
    slot->kind = (enum hone_argument_kind)((int)HONE_INT8 + (int)argument->element);
    slot->value_bytes = (uint32_t)hn_element_size(argument->element);
    bool constant = hn_expression_slots(argument->value) == 0;
    slot->need = constant || !slot->taken ? HONE_OPTIONAL : HONE_FIXED;
    return hn_argument_evaluate_scalar(argument, values, &slot->preset, err);
}

/* The contents of an input as one structure. */
static enum hn_status make_structure(const struct hn_plan *plan, size_t index,
                                     const struct hn_value *values, struct hn_lib_slot *slot,
                                     struct hn_error *err)
{
    uint64_t bytes = 0;
    const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
    slot->kind = HONE_BYTES;
    enum hn_status status = hn_argument_buffer_bytes(source, values, &bytes, err);
    slot->value_bytes = (uint32_t)bytes;
    return status;
}

/* Bits that the address of a buffer under tensor maps has not got. */
static uint64_t below_maps(const struct hn_launch *launch, size_t index)
{
    uint64_t below = 0;
    for (size_t i = 0; i < launch->tensor_count; i++)
        if (launch->tensors[i].buffer == index)
            below |= (uint64_t)hn_tensor_grain(&launch->tensors[i]) - 1;
    return below;
}

static enum hn_status make_buffer(const struct hn_launch *launch, size_t index,
                                  const struct hn_argument *argument, const struct hn_value *values,
                                  struct hn_lib_slot *slot, struct hn_error *err)
{
    bool owned = argument->role == HN_ROLE_SCRATCH || argument->role == HN_ROLE_COUNTER ||
                 argument->role == HN_ROLE_METRIC;
    slot->kind = HONE_BUFFER;
    slot->zeroed =
        slot->taken && argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE;
    slot->starts_zero = argument->zero == HN_ZERO_ONCE;
    uint64_t align = 1;
    if (owned)
        slot->need = HONE_OWNED;
    enum hn_status status = hn_argument_evaluate_align(argument, values, &align, err);
    slot->below_align = (align - 1) | below_maps(launch, index);
    return status == HN_OK ? hn_argument_buffer_bytes(argument, values, &slot->bytes, err) : status;
}

static enum hn_status make_slot(struct hone_kernel *kernel, size_t index,
                                const struct hn_value *values, struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_argument *argument = &plan->arguments[index];
    struct hn_lib_slot *slot = &kernel->slots[index];
    slot->name = argument->name;
    slot->taken = hn_launch_takes(&kernel->launch, index);
    slot->need = slot->taken ? HONE_REQUIRED : HONE_OPTIONAL;
    if (argument->role == HN_ROLE_TEXTURE) {
        slot->kind = HONE_TEXTURE;
        slot->value_bytes = sizeof(CUtexObject);
        return HN_OK;
    }
    if (argument->role == HN_ROLE_TENSOR_MAP) {
        slot->kind = HONE_BYTES;
        slot->need = HONE_OWNED;
        slot->mapped = true;
        slot->value_bytes = sizeof(CUtensorMap);
        return HN_OK;
    }
    if (argument->value != NULL)
        return make_scalar(argument, values, slot, err);
    if (argument->role == HN_ROLE_VALUE)
        return make_structure(plan, index, values, slot, err);
    return make_buffer(&kernel->launch, index, argument, values, slot, err);
}

static enum hone_status make_slots(struct hone_kernel *kernel, const struct hn_value *values,
                                   struct hone_error *err)
{
    struct hn_error reason;
    hn_error_init(&reason);
    enum hn_status status = HN_OK;
    const struct hn_plan *plan = kernel->plan->plan;
    /* Symbols stand behind the arguments. */
    size_t count = 0;
    while (count < plan->argument_count && hn_argument_is_passed(&plan->arguments[count]))
        count++;
    if (count > HN_LIB_MAX_ARGUMENTS)
        return hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu arguments; the library takes %d",
                           plan->kernel, count, (int)HN_LIB_MAX_ARGUMENTS);
    if (kernel->launch.tensor_count > HN_LIB_MAX_MAPS)
        return hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu tensor maps; the library takes %d",
                           plan->kernel, kernel->launch.tensor_count, (int)HN_LIB_MAX_MAPS);
    kernel->slots = calloc(count + 1, sizeof *kernel->slots);
    if (kernel->slots == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    kernel->slot_count = count;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        status = make_slot(kernel, i, values, &reason);
    hn_lib_slots_place(kernel);
    return hn_lib_take(err, status, &reason);
}

void hn_lib_slots_place(struct hone_kernel *kernel)
{
    kernel->workspace_bytes = 0;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        struct hn_lib_slot *slot = &kernel->slots[i];
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
        .role = hn_role_name(kernel->plan->plan->arguments[index].role),
        .need = slot->need,
        .bytes = slot->kind == HONE_BUFFER ? slot->bytes : slot->value_bytes,
    };
    return HONE_OK;
}

/* Counters are filled with zeros. */
static bool is_counter(const struct hn_argument *symbol)
{
    const struct hn_fill *fill = &symbol->fill;
    return symbol->changes && fill->kind == HN_FILL_CONSTANT && fill->expressions[0] == NULL &&
           !(fill->numbers[0] < 0 || fill->numbers[0] > 0);
}

static enum hone_status set_value(struct hone_kernel *kernel, const struct hn_argument *symbol,
                                  const struct hn_value *values, CUdeviceptr address,
                                  struct hone_error *err)
{
    uint64_t bits = 0;
    struct hn_error reason = {0};
    enum hone_status status =
        hn_lib_take(err, hn_argument_evaluate_scalar(symbol, values, &bits, &reason), &reason);
    if (status != HONE_OK)
        return status;
    return hn_lib_cuda(
        kernel->cache,
        kernel->cache->driver.p_cuMemcpyHtoD(address, &bits, hn_element_size(symbol->element)),
        "setting a symbol", err);
}

static enum hone_status add_symbol(struct hone_kernel *kernel, size_t index,
                                   const struct hn_value *values, CUdeviceptr address,
                                   uint64_t room, struct hone_error *err)
{
    struct hn_error reason = {0};
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_argument *symbol = &plan->arguments[index];
    const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
    struct hn_lib_symbol *made = &kernel->symbols[kernel->symbol_count];
    *made = (struct hn_lib_symbol){.name = symbol->name,
                                   .from = source->name,
                                   .address = address,
                                   .zeroed = is_counter(symbol)};
    enum hone_status status =
        hn_lib_take(err, hn_argument_buffer_bytes(source, values, &made->bytes, &reason), &reason);
    if (status != HONE_OK)
        return status;
    if (symbol->changes && !made->zeroed)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "symbol '%s' has role inout: it would have to be set before every "
                           "launch, which the library does for counters only",
                           symbol->name);
    if (made->bytes > room)
        return hn_lib_fail(err, HONE_BAD_FILE,
                           "symbol '%s' has %llu bytes in the module; the plan gives it %llu",
                           symbol->name, (unsigned long long)room, (unsigned long long)made->bytes);
    kernel->symbol_count++;
    kernel->symbols_to_set += !made->zeroed;
    return HONE_OK;
}

static enum hone_status find_symbol(struct hone_kernel *kernel, size_t index,
                                    const struct hn_value *values, struct hone_error *err)
{
    const struct hn_argument *symbol = &kernel->plan->plan->arguments[index];
    CUdeviceptr address = 0;
    size_t room = 0;
    enum hone_status status = hn_lib_cuda(
        kernel->cache,
        kernel->cache->driver.p_cuModuleGetGlobal(&address, &room, kernel->module, symbol->name),
        symbol->name, err);
    if (status != HONE_OK)
        return status;
    return symbol->value != NULL ? set_value(kernel, symbol, values, address, err)
                                 : add_symbol(kernel, index, values, address, room, err);
}

static enum hone_status find_symbols(struct hone_kernel *kernel, const struct hn_value *values,
                                     struct hone_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    enum hone_status status = HONE_OK;
    if (!hn_plan_has_role(plan, HN_ROLE_SYMBOL))
        return HONE_OK;
    kernel->symbols = calloc(plan->argument_count + 1, sizeof *kernel->symbols);
    if (kernel->symbols == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    for (size_t i = 0; status == HONE_OK && i < plan->argument_count; i++) {
        bool applies = false;
        struct hn_error reason = {0};
        if (plan->arguments[i].role != HN_ROLE_SYMBOL)
            continue;
        status = hn_lib_take(
            err, hn_argument_applies(&plan->arguments[i], values, &applies, &reason), &reason);
        if (status == HONE_OK && applies)
            status = find_symbol(kernel, i, values, err);
    }
    return status;
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

static const struct hone_argument *find_contents(const struct hn_lib_symbol *symbol,
                                                 const struct hone_argument *arguments,
                                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (arguments[i].name != NULL && (strcmp(arguments[i].name, symbol->name) == 0 ||
                                          strcmp(arguments[i].name, symbol->from) == 0))
            return &arguments[i];
    return NULL;
}

static enum hone_status set_symbol(struct hone_kernel *kernel, CUstream stream,
                                   const struct hn_lib_symbol *symbol,
                                   const struct hone_argument *contents, struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    if (contents->kind == HONE_BUFFER)
        return hn_lib_cuda(kernel->cache,
                           driver->p_cuMemcpyDtoDAsync(symbol->address, contents->as.buffer,
                                                       symbol->bytes, stream),
                           symbol->name, err);
    if (contents->kind != HONE_BYTES || contents->as.host == NULL ||
        contents->bytes != symbol->bytes)
        return hn_lib_fail(err, HONE_INVALID,
                           "symbol '%s' takes a buffer, or %llu bytes of host memory", symbol->name,
                           (unsigned long long)symbol->bytes);
    return hn_lib_cuda(
        kernel->cache,
        driver->p_cuMemcpyHtoDAsync(symbol->address, contents->as.host, symbol->bytes, stream),
        symbol->name, err);
}

enum hone_status hone_set_symbols(struct hone_kernel *kernel, CUstream stream,
                                  const struct hone_argument *arguments, size_t count,
                                  struct hone_error *err)
{
    if (kernel == NULL || (arguments == NULL && count > 0))
        return hn_lib_fail(err, HONE_INVALID, "hone_set_symbols: '%s' is NULL",
                           kernel == NULL ? "kernel" : "arguments");
    enum hone_status status = HONE_OK;
    bool all = true;
    for (size_t i = 0; status == HONE_OK && i < kernel->symbols_to_set; i++) {
        const struct hn_lib_symbol *symbol = symbol_to_set(kernel, i);
        const struct hone_argument *contents = find_contents(symbol, arguments, count);
        all = all && contents != NULL;
        if (contents != NULL)
            status = set_symbol(kernel, stream, symbol, contents, err);
        else if (!atomic_load(&kernel->symbols_are_set))
            status = hn_lib_fail(err, HONE_INVALID,
                                 "symbol '%s' is not given and was never set: all %zu symbols have "
                                 "to be given the first time",
                                 symbol->name, kernel->symbols_to_set);
    }
    if (status == HONE_OK && all)
        atomic_store(&kernel->symbols_are_set, true);
    return status;
}

/* Takes a string over, which may be NULL for want of memory. */
static const char *keep(struct hone_kernel *kernel, char *string, bool *failed)
{
    size_t free_place = 0;
    while (kernel->about->strings[free_place] != NULL)
        free_place++;
    kernel->about->strings[free_place] = string;
    *failed = *failed || string == NULL;
    return string;
}

static char *record_text(const struct hn_record *record)
{
    json_t *json = hn_record_to_json(record);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

static char *stale_text(const struct hone_kernel *kernel, const struct hn_tuned *tuned)
{
    struct hn_text text;
    const struct hn_device *device = kernel->device;
    hn_text_init(&text);
    if (strcmp(tuned->version.driver, device->driver) != 0)
        hn_text_printf(&text, "driver %s -> %s", tuned->version.driver, device->driver);
    if (tuned->stale)
        hn_text_printf(&text, "%sa later session had another version", text.length > 0 ? ", " : "");
    if (kernel->plan->changed)
        hn_text_printf(&text, "%sthe template is another now", text.length > 0 ? ", " : "");
    return hn_text_take(&text);
}

/* One string of everything that the identity says, and the pieces pointing into it. */
static void describe_source(struct hone_kernel *kernel, const struct hn_tuned *tuned, bool *failed)
{
    struct hone_info *info = &kernel->about->info;
    struct hn_text text;
    size_t at[5];
    const char *const parts[5] = {tuned->identity.device.name, tuned->identity.regime,
                                  tuned->identity.objective, tuned->version.driver,
                                  tuned->version.nvrtc};
    hn_text_init(&text);
    for (size_t i = 0; i < 5; i++) {
        at[i] = text.length;
        hn_text_append_bytes(&text, parts[i], strlen(parts[i]) + 1);
    }
    const char *all = keep(kernel, hn_text_take(&text), failed);
    if (all == NULL)
        return;
    info->device = all + at[0];
    info->regime = all + at[1];
    info->objective = all + at[2];
    info->driver = all + at[3];
    info->nvrtc = all + at[4];
    info->simulated = tuned->simulated;
    info->imported = hn_origin_is_foreign(&tuned->origin);
    info->origin = keep(kernel, hn_origin_text(&tuned->origin), failed);
    info->recorded = tuned->best.time;
    info->stale_because = keep(kernel, stale_text(kernel, tuned), failed);
    info->stale = info->stale_because != NULL && info->stale_because[0] != '\0';
}

static void describe_record(struct hone_kernel *kernel, const struct hn_tuned *tuned, bool *failed)
{
    struct hone_info *info = &kernel->about->info;
    const struct hn_timing *timing = &tuned->best.timing;
    info->verification = hn_verification_names[tuned->best.verdict.kind];
    info->median_us = timing->median_us;
    info->low_us = timing->low_us;
    info->high_us = timing->high_us;
    info->tuned_problem = keep(kernel, hn_bindings_text(&tuned->identity.problem), failed);
    info->record = keep(kernel, record_text(&tuned->best), failed);
}

static struct hone_loss loss_of(const struct hn_rule_loss *loss)
{
    return (struct hone_loss){loss->mean, loss->worst, loss->sizes};
}

static void describe_rule(struct hone_kernel *kernel)
{
    const struct hn_rule *rule = &kernel->rule->stored->rule;
    kernel->about->info.grade = HONE_GRADE_FAMILY;
    kernel->about->info.sure = kernel->sure;
    kernel->about->info.predicted = loss_of(&rule->predicted);
    kernel->about->info.measured = loss_of(&rule->measured);
}

static enum hone_grade grade_of(enum hn_grade grade)
{
    static const enum hone_grade grades[] = {
        [HN_GRADE_NONE] = HONE_GRADE_DEFAULT,
        [HN_GRADE_ANY] = HONE_GRADE_ANY,
        [HN_GRADE_ARCHITECTURE] = HONE_GRADE_ARCHITECTURE,
        [HN_GRADE_PROBLEM] = HONE_GRADE_PROBLEM,
        [HN_GRADE_EXACT] = HONE_GRADE_EXACT,
    };
    return grades[grade];
}

/* Of whatever chose it; false when out of memory: then strings are missing. */
static bool describe(struct hone_kernel *kernel, const struct hn_tuned *tuned)
{
    bool failed = false;
    kernel->about->info.problem = keep(kernel, hn_bindings_text(&kernel->problem), &failed);
    kernel->about->info.point = keep(kernel, hn_bindings_text(&kernel->point), &failed);
    if (tuned != NULL)
        describe_source(kernel, tuned, &failed);
    if (kernel->rule != NULL)
        describe_rule(kernel);
    else if (tuned != NULL)
        describe_record(kernel, tuned, &failed);
    return !failed;
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

static bool begin(struct hone_kernel *kernel)
{
    kernel->about = calloc(1, sizeof *kernel->about);
    if (kernel->about == NULL)
        return false;
    kernel->about->info = nothing;
    kernel->about->info.kernel = kernel->name;
    kernel->about->info.compiled = kernel->compiled;
    return true;
}

static void free_info(struct hone_kernel *kernel)
{
    for (size_t i = 0; kernel->about != NULL && i < sizeof kernel->about->strings / sizeof(char *);
         i++)
        free(kernel->about->strings[i]);
    free(kernel->about);
}

enum hone_status hn_lib_info_make(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                  bool compiled, struct hone_error *err)
{
    kernel->compiled = compiled;
    kernel->rule = choice->rule;
    kernel->sure = choice->sure;
    if (choice->rule != NULL) {
        kernel->name = choice->rule->kernel;
        return HONE_OK;
    }
    bool failed = !begin(kernel);
    if (!failed) {
        kernel->name = keep(kernel, strdup(choice->kernel), &failed);
        kernel->about->info.kernel = kernel->name;
        kernel->about->info.grade = grade_of(choice->grade);
        failed = !describe(kernel, choice->tuned) || failed;
    }
    atomic_store(&kernel->has_info, !failed);
    return failed ? hn_lib_fail(err, HONE_NO_MEMORY, "out of memory") : HONE_OK;
}

static const char *or_empty(const char *string)
{
    return string == NULL ? "" : string;
}

/* Of what a rule chose. Without memory, strings are empty. */
static bool make_late(struct hone_kernel *kernel)
{
    struct hn_c_locale locale;
    if (!begin(kernel))
        return false;
    struct hone_info *info = &kernel->about->info;
    hn_c_locale_enter(&locale);
    (void)describe(kernel, &kernel->configuration->tuned);
    hn_c_locale_leave(&locale);
    info->problem = or_empty(info->problem);
    info->point = or_empty(info->point);
    info->origin = or_empty(info->origin);
    info->stale_because = or_empty(info->stale_because);
    return true;
}

/* What it adds to a kernel is for all who ask: to them it has always been there. */
const struct hone_info *hone_kernel_info(const struct hone_kernel *kernel)
{
    struct hone_kernel *own = (struct hone_kernel *)(uintptr_t)kernel;
    if (kernel == NULL)
        return NULL;
    if (!atomic_load_explicit(&own->has_info, memory_order_acquire)) {
        pthread_mutex_lock(&own->cache->info_lock);
        bool has = atomic_load(&own->has_info) || make_late(own);
        atomic_store_explicit(&own->has_info, has, memory_order_release);
        pthread_mutex_unlock(&own->cache->info_lock);
        if (!has)
            return &nothing;
    }
    return &kernel->about->info;
}

static void free_workspaces(struct hone_kernel *kernel, bool on_device)
{
    struct hn_lib_workspace *workspace = atomic_load(&kernel->workspaces);
    while (workspace != NULL) {
        struct hn_lib_workspace *next = workspace->next;
        if (on_device && !workspace->is_piece)
            kernel->cache->driver.p_cuMemFree(workspace->address);
        free(workspace);
        workspace = next;
    }
}

bool hn_lib_enter(const struct hone_cache *cache, CUcontext context, CUcontext *outside)
{
    const struct hn_driver *driver = &cache->driver;
    *outside = NULL;
    return driver->p_cuCtxGetCurrent(outside) == CUDA_SUCCESS &&
           driver->p_cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

void hn_lib_leave(const struct hone_cache *cache, CUcontext outside)
{
    cache->driver.p_cuCtxSetCurrent(outside);
}

/* In its own context, and leaves the one that is current as it was. A context that is gone has
 * freed all that was in it. */
static void unload(struct hone_kernel *kernel)
{
    CUcontext outside;
    if (kernel->module == NULL)
        return;
    bool is_there = hn_lib_enter(kernel->cache, kernel->context, &outside);
    free_workspaces(kernel, is_there);
    hn_lib_graphs_free(kernel, is_there);
    if (!is_there)
        return;
    if (kernel->shared == NULL)
        kernel->cache->driver.p_cuModuleUnload(kernel->module);
    hn_lib_leave(kernel->cache, outside);
}

void hn_lib_kernel_destroy(struct hone_kernel *kernel)
{
    if (kernel == NULL)
        return;
    hn_lib_race_destroy(kernel->race);
    unload(kernel);
    hn_lib_maps_free(kernel);
    free_info(kernel);
    if (kernel->is_piece) {
        free(kernel);
        return;
    }
    hn_launch_finish(&kernel->launch);
    hn_bindings_finish(&kernel->problem);
    if (kernel->configuration == NULL)
        hn_bindings_finish(&kernel->point);
    free(kernel->symbols);
    free(kernel->steps);
    free(kernel->grids);
    free(kernel->slots);
    free(kernel);
}

/* Plans come from files: slots are the arguments before the first that is not passed, which those
 * of a step and of its window may lie behind. */
static enum hone_status take_arguments(const struct hone_kernel *kernel,
                                       const struct hn_launch_step *launch,
                                       struct hn_lib_step *step, struct hone_error *err)
{
    size_t count = launch->step->argument_count;
    if (count > HN_LIB_MAX_ARGUMENTS)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "step '%s' has %zu arguments; the library takes %d", launch->step->entry,
                           count, (int)HN_LIB_MAX_ARGUMENTS);
    bool valid = step->shape.window == SIZE_MAX || step->window_argument < kernel->slot_count;
    for (size_t i = 0; i < count; i++) {
        valid = valid && launch->step->arguments[i] < kernel->slot_count;
        step->arguments[i] = (unsigned short)launch->step->arguments[i];
    }
    step->argument_count = count;
    return valid ? HONE_OK
                 : hn_lib_fail(err, HONE_BAD_FILE,
                               "the plan's step '%s' takes an argument that stands behind a symbol",
                               launch->step->entry);
}

static void set_shape(struct hone_kernel *kernel, size_t index)
{
    struct hn_module_step *shape = &kernel->steps[index].shape;
    *shape = hn_module_step_of(&kernel->launch.steps[index]);
    kernel->grids[index][0] = shape->config.gridDimX;
    kernel->grids[index][1] = shape->config.gridDimY;
    kernel->grids[index][2] = shape->config.gridDimZ;
}

static enum hone_status make_step(struct hone_kernel *kernel, const struct hn_image *image,
                                  size_t index, struct hone_error *err)
{
    const struct hn_launch_step *launch = &kernel->launch.steps[index];
    struct hn_lib_step *step = &kernel->steps[index];
    set_shape(kernel, index);
    step->window_argument = launch->step->geometry.window.argument;
    enum hone_status status = take_arguments(kernel, launch, step, err);
    if (status != HONE_OK)
        return status;
    char what[96];
    CUresult result = kernel->shared != NULL
                          ? hn_lib_module_find_function(kernel->shared, &kernel->launch, index,
                                                        &step->function, what)
                          : hn_module_find(&kernel->cache->driver, kernel->module, image,
                                           &kernel->launch, index, &step->function, what);
    return hn_lib_cuda(kernel->cache, result, what, err);
}

/* The grid of a step that asks for it, by what this device has room for. */
static enum hone_status fit_clusters(struct hone_kernel *kernel, size_t index,
                                     struct hone_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    struct hn_launch_step *launch = &kernel->launch.steps[index];
    struct hn_value *values = NULL;
    struct hn_record record;
    struct hn_error reason = {0};
    int clusters = 0;
    if (!hn_plan_asks_clusters(plan, launch->step))
        return HONE_OK;
    enum hone_status status =
        hn_lib_cuda(kernel->cache,
                    hn_module_active_clusters(&kernel->cache->driver, launch,
                                              kernel->steps[index].function, &clusters),
                    "asking for clusters that run at once", err);
    if (status == HONE_OK)
        status = hn_lib_take(
            err, hn_plan_values(plan, &kernel->problem, &kernel->point, &values, &reason), &reason);
    if (status != HONE_OK)
        return status;
    hn_record_init(&record);
    hn_launch_fit_clusters(plan, kernel->device, values, clusters, launch, &record);
    if (record.outcome != HN_OUTCOME_OK)
        status = hn_lib_fail(err, HONE_UNSUPPORTED, "%.1000s",
                             record.message != NULL ? record.message : "out of memory");
    set_shape(kernel, index);
    hn_record_finish(&record);
    free(values);
    return status;
}

static enum hone_status load_module(struct hone_kernel *kernel, const struct hn_image *image,
                                    struct hone_error *err)
{
    CUresult result =
        kernel->cache->driver.p_cuModuleLoadDataEx(&kernel->module, image->cubin, 0, NULL, NULL);
    if (result != CUDA_SUCCESS)
        kernel->module = NULL;
    return hn_lib_cuda(kernel->cache, result, "loading the module", err);
}

static enum hone_status make_steps(struct hone_kernel *kernel, const struct hn_image *image,
                                   struct hone_error *err)
{
    enum hone_status status = HONE_OK;
    kernel->steps = calloc(kernel->launch.step_count + 1, sizeof *kernel->steps);
    kernel->grids = calloc(kernel->launch.step_count + 1, sizeof *kernel->grids);
    if (kernel->steps == NULL || kernel->grids == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    kernel->step_count = kernel->launch.step_count;
    if (kernel->shared != NULL)
        kernel->module = kernel->shared->module;
    else
        status = load_module(kernel, image, err);
    for (size_t i = 0; status == HONE_OK && i < kernel->step_count; i++) {
        status = make_step(kernel, image, i, err);
        if (status == HONE_OK)
            status = fit_clusters(kernel, i, err);
    }
    return status;
}

static enum hone_status check_arguments(const struct hone_kernel *kernel,
                                        const struct hn_image *image, const struct hn_value *values,
                                        struct hone_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status =
        hn_signature_check(kernel->plan->plan, values, &kernel->launch, image, &reason);
    if (status == HN_ECONFIG || status == HN_EFORMAT)
        return hn_lib_fail(err, HONE_BAD_FILE, "%.1000s", reason.message);
    return hn_lib_take(err, status, &reason);
}

/* Takes the launch that the choice was found with. */
static enum hn_status take_launch(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                  struct hn_value **values, struct hn_error *err)
{
    const struct hn_plan *plan = choice->plan->plan;
    if (choice->launch != NULL) {
        kernel->launch = *choice->launch;
        *choice->launch = (struct hn_launch){.steps = NULL};
        return HN_OK;
    }
    enum hn_status status =
        hn_launch_make(plan, choice->problem, choice->point, &kernel->launch, err);
    return status == HN_OK ? hn_plan_values(plan, &kernel->problem, &kernel->point, values, err)
                           : status;
}

/* The point of a rule's configuration lives as long as the cache. */
static enum hone_status evaluate(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                 struct hn_value **values, struct hone_error *err)
{
    struct hn_error reason;
    hn_error_init(&reason);
    enum hn_status status = hn_bindings_copy(&kernel->problem, choice->problem, &reason);
    if (choice->configuration != NULL)
        kernel->point = *choice->point;
    else if (status == HN_OK)
        status = hn_bindings_copy(&kernel->point, choice->point, &reason);
    if (status == HN_OK)
        status = take_launch(kernel, choice, values, &reason);
    return hn_lib_take(err, status, &reason);
}

enum hone_status hn_lib_kernel_make(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                    const struct hn_image *image, struct hn_lib_module *shared,
                                    struct hone_kernel **kernel, struct hone_error *err)
{
    struct hn_value *own = NULL;
    struct hone_kernel *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    made->cache = cache;
    made->context = choice->context;
    made->plan = choice->plan;
    made->device = choice->device;
    made->configuration = choice->configuration;
    made->is_watched = cache->capture_folder != NULL;
    hn_bindings_init(&made->problem);
    hn_bindings_init(&made->point);
    enum hone_status status = evaluate(made, choice, &own, err);
    const struct hn_value *values = own != NULL ? own : choice->values;
    if (status == HONE_OK && shared != NULL && hn_lib_module_serves(shared, &made->launch))
        made->shared = shared;
    bool is_checked = made->shared != NULL && shared->is_checked;
    if (status == HONE_OK && !is_checked)
        status = check_arguments(made, image, values, err);
    if (status == HONE_OK && made->shared != NULL)
        shared->is_checked = true;
    if (status == HONE_OK)
        status = make_slots(made, values, err);
    if (status == HONE_OK)
        status = make_steps(made, image, err);
    if (status == HONE_OK)
        status = find_symbols(made, values, err);
    free(own);
    for (size_t i = 0; i < made->slot_count; i++)
        made->has_zeroed = made->has_zeroed || made->slots[i].zeroed;
    made->has_zeroed = made->has_zeroed || made->symbol_count > made->symbols_to_set;
    if (status == HONE_OK && made->launch.tensor_count > 0) {
        made->maps = calloc(HN_LIB_PLACES, sizeof *made->maps);
        if (made->maps == NULL)
            status = hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    }
    made->as_graph = status == HONE_OK && choice->options->graph != 0 && hn_lib_graph_suits(made);
    if (status == HONE_OK)
        *kernel = made;
    else
        hn_lib_kernel_destroy(made);
    return status;
}
