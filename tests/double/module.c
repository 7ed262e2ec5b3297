/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static struct double_module *modules;

bool double_modules_left(void)
{
    return modules != NULL;
}

void double_modules_free(void)
{
    while (modules != NULL) {
        struct double_module *next = modules->next;
        free(modules);
        modules = next;
    }
}

void *double_global(const struct double_module *module, const char *name)
{
    for (int i = 0; i < module->global_count; i++)
        if (strcmp(module->globals[i].name, name) == 0)
            return module->globals[i].data;
    return NULL;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int option_count,
                                    CUjit_option *options, void **values)
{
    ENTER();
    (void)option_count;
    (void)options;
    (void)values;
    struct double_module *made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = double_module_read(image, made);
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    made->next = modules;
    modules = made;
    *module = (CUmodule)(void *)made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    ENTER();
    struct double_module **link = &modules;
    while (*link != NULL && (void *)*link != (void *)module)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    struct double_module *found = *link;
    *link = found->next;
    for (int i = 0; i < found->global_count; i++)
        if (found->globals[i].data != NULL)
            double_release((CUdeviceptr)(uintptr_t)found->globals[i].data);
    free(found);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER();
    struct double_module *own = (struct double_module *)(void *)module;
    for (int i = 0; i < own->function_count; i++) {
        if (strcmp(own->functions[i].name, name) != 0)
            continue;
        *function = (CUfunction)(void *)&own->functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* Zero, as far as the double knows: it reads no initialisers. */
static CUresult allocate_global(struct double_global *global)
{
    CUdeviceptr address = 0;
    CUresult result = double_allocate(&address, global->bytes);
    if (result != CUDA_SUCCESS)
        return result;
    global->data = (unsigned char *)(uintptr_t)address;
    memset(global->data, 0, global->bytes);
    return CUDA_SUCCESS;
}

void *double_variable(struct double_module *module, const char *name)
{
    for (int i = 0; i < module->global_count; i++) {
        struct double_global *global = &module->globals[i];
        if (strcmp(global->name, name) == 0 &&
            (global->data != NULL || allocate_global(global) == CUDA_SUCCESS))
            return global->data;
    }
    return NULL;
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module,
                                   const char *name)
{
    ENTER();
    struct double_module *own = (struct double_module *)(void *)module;
    for (int i = 0; i < own->global_count; i++) {
        struct double_global *global = &own->globals[i];
        if (strcmp(global->name, name) != 0)
            continue;
        CUresult result = global->data == NULL ? allocate_global(global) : CUDA_SUCCESS;
        *address = (CUdeviceptr)(uintptr_t)global->data;
        *bytes = global->bytes;
        return result;
    }
    return CUDA_ERROR_NOT_FOUND;
}
