/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/choice.h"
#include "runtime/libhone/family.h"
#include "runtime/libhone/kernel.h"
#include "runtime/libhone/sizes.h"

void hn_lib_module_destroy(struct hn_lib_module *module)
{
    CUcontext outside;
    if (module->module != NULL && hn_lib_enter(module->cache, module->context, &outside)) {
        module->cache->driver.p_cuModuleUnload(module->module);
        hn_lib_leave(module->cache, outside);
    }
    hn_lib_pattern_destroy(module->pattern);
    hn_image_finish(&module->image);
    hn_bindings_finish(&module->values);
    free(module->functions);
    free(module);
}

/* Whether the values are those of the problem. */
static bool has_values(const struct hn_bindings *problem, const struct hn_bindings *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const struct hn_value *value = hn_bindings_get(problem, values->names[i]);
        if (value == NULL || !hn_value_equal(value, &values->values[i]))
            return false;
    }
    return true;
}

struct hn_lib_module *hn_lib_module_find(const struct hn_lib_choice *choice)
{
    struct hn_lib_module *module = choice->configuration == NULL || choice->options->separate != 0
                                       ? NULL
                                       : choice->configuration->modules;
    while (module != NULL &&
           (module->context != choice->context || !has_values(choice->problem, &module->values) ||
            !hn_lib_image_launches(&module->image, choice)))
        module = module->next;
    return module;
}

/* Which steps are launched is the same for all that have a pattern. */
struct hn_lib_module *hn_lib_module_find_pattern(const struct hn_lib_choice *choice)
{
    struct hn_lib_module *module = choice->configuration->modules;
    while (module != NULL && (module->pattern == NULL || module->context != choice->context ||
                              !has_values(choice->problem, &module->values)))
        module = module->next;
    return module;
}

enum hone_status hn_lib_module_add(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                   struct hn_image *image, struct hn_lib_module **module,
                                   struct hone_error *err)
{
    struct hn_error reason = {0};
    struct hn_lib_module *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    made->cache = cache;
    made->context = choice->context;
    made->image = *image;
    hn_image_init(image);
    enum hone_status status =
        hn_lib_take(err,
                    hn_plan_program_values(choice->plan->plan, choice->point, choice->problem,
                                           &made->values, &reason),
                    &reason);
    made->functions = calloc(made->image.entry_count + 1, sizeof *made->functions);
    if (status == HONE_OK && made->functions == NULL)
        status = hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    if (status == HONE_OK)
        status = hn_lib_cuda(
            cache,
            cache->driver.p_cuModuleLoadDataEx(&made->module, made->image.cubin, 0, NULL, NULL),
            "loading the module", err);
    if (status != HONE_OK) {
        made->module = NULL;
        hn_lib_module_destroy(made);
        return status;
    }
    made->next = choice->configuration->modules;
    choice->configuration->modules = made;
    *module = made;
    return HONE_OK;
}

bool hn_lib_module_serves(const struct hn_lib_module *module, const struct hn_launch *launch)
{
    bool serves = launch->step_count == module->image.entry_count;
    for (size_t i = 0; serves && i < launch->step_count; i++)
        serves = module->functions[i].function == NULL ||
                 module->functions[i].carveout == launch->steps[i].carveout;
    return serves;
}

static bool has_large_clusters(const struct hn_launch_step *step)
{
    return step->cluster[0] * step->cluster[1] * step->cluster[2] > HN_PORTABLE_CLUSTER;
}

CUresult hn_lib_module_find_function(struct hn_lib_module *module, const struct hn_launch *launch,
                                     size_t step, CUfunction *function, char what[96])
{
    struct hn_lib_function *own = &module->functions[step];
    const struct hn_launch_step *shape = &launch->steps[step];
    int64_t shared_bytes = hn_module_shared_bytes(launch, &module->image, step);
    CUresult result = CUDA_SUCCESS;
    if (own->function == NULL || shared_bytes > own->shared_bytes ||
        (has_large_clusters(shape) && !own->has_large_clusters)) {
        result = hn_module_find(&module->cache->driver, module->module, &module->image, launch,
                                step, &own->function, what);
        own->shared_bytes = shared_bytes > own->shared_bytes ? shared_bytes : own->shared_bytes;
        own->has_large_clusters = own->has_large_clusters || has_large_clusters(shape);
        own->carveout = shape->carveout;
    }
    *function = own->function;
    return result;
}
