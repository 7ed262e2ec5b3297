/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "double.h"

/* The kernels of tests/data/double/<feature>.cu in C. */

#define TAKE(type, index) (*(type *)parameters[index])

/* symbols.cu */
static CUresult look_up(struct double_device *device, struct double_function *function,
                        const struct double_geometry *geometry, void **parameters)
{
    const struct double_module *module = function->module;
    const int *x = TAKE(const int *, 0);
    const int *weights = TAKE(const int *, 1);
    int *y = TAKE(int *, 2);
    int n = TAKE(int, 3);
    (void)geometry;
    if (module->table[0])
        weights = double_global(module, "constant_weights");
    const int *offsets = double_global(module, "offsets");
    const int *scale = double_global(module, "scale");
    unsigned int *turns = double_global(module, "turns");
    if (weights == NULL || offsets == NULL || scale == NULL || turns == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < n; i++)
        y[i] = *scale * weights[x[i] & 15] + offsets[x[i] & 3] + (int)*turns;
    ++*turns;
    device->now_us += 30.0 * double_noise(device);
    device->flushed = false;
    return CUDA_SUCCESS;
}

static CUresult look_up_reference(struct double_device *device, struct double_function *function,
                                  const struct double_geometry *geometry, void **parameters)
{
    const int *x = TAKE(const int *, 0);
    const int *weights = TAKE(const int *, 1);
    const int *offsets = double_global(function->module, "offsets");
    (void)geometry;
    for (int i = 0; i < TAKE(int, 3); i++)
        TAKE(int *, 2)[i] = 3 * weights[x[i] & 15] + offsets[x[i] & 3];
    device->now_us += 100.0;
    return CUDA_SUCCESS;
}

static const struct {
    const char *name;
    CUresult (*run)(struct double_device *device, struct double_function *function,
                    const struct double_geometry *geometry, void **parameters);
} kernels[] = {
    {"look_up", look_up},
    {"look_up_reference", look_up_reference},
};

CUresult double_template_run(struct double_device *device, struct double_function *function,
                             const struct double_geometry *geometry, void **parameters)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(function->name, kernels[i].name) == 0)
            return kernels[i].run(device, function, geometry, parameters);
    return CUDA_ERROR_NOT_SUPPORTED;
}
