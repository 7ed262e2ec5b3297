/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/compile/cubin_elf.h"

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum hn_status hn_cubin_read_kernels(const void *bytes, size_t size,
                                     struct hn_kernel_names *kernels, struct hn_error *err)
{
    struct hn_cubin cubin;
    *kernels = (struct hn_kernel_names){.names = NULL};
    enum hn_status status = hn_cubin_open(bytes, size, &cubin, err);
    if (status != HN_OK)
        return status;
    kernels->names = calloc(cubin.symbol_count + 1, sizeof *kernels->names);
    bool failed = kernels->names == NULL;
    for (size_t i = 0; i < cubin.symbol_count && !failed; i++) {
        if (!hn_cubin_is_kernel(&cubin.symbols[i]))
            continue;
        char *name = strdup(cubin.symbols[i].name);
        failed = name == NULL;
        if (!failed)
            kernels->names[kernels->count++] = name;
    }
    hn_cubin_close(&cubin);
    if (!failed) {
        qsort(kernels->names, kernels->count, sizeof *kernels->names, compare);
        return HN_OK;
    }
    hn_kernel_names_finish(kernels);
    return hn_fail_memory(err);
}

void hn_kernel_names_finish(struct hn_kernel_names *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->names[i]);
    free(kernels->names);
    *kernels = (struct hn_kernel_names){.names = NULL};
}
