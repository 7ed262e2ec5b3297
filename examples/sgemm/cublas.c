/* SPDX-License-Identifier: MIT */
#include "cublas.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only what is used, so that the program builds without cuBLAS. */
enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_OP_N = 0 };

int cublas_open(struct cublas *cublas)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
    int (*create)(void **handle) = NULL;
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW);
    void *symbols[2] = {NULL, NULL};
    if (library != NULL) {
        symbols[0] = dlsym(library, "cublasCreate_v2");
        symbols[1] = dlsym(library, "cublasSgemm_v2");
    }
    if (symbols[0] == NULL || symbols[1] == NULL)
        return 0;
    /* ISO C has no cast from an object's pointer to a function's */
    memcpy(&create, &symbols[0], sizeof create);
    memcpy(&cublas->sgemm, &symbols[1], sizeof cublas->sgemm);
    return create(&cublas->handle) == CUBLAS_STATUS_SUCCESS;
}

void cublas_launch(void *context)
{
    const struct cublas *c = context;
    const float one = 1, zero = 0;
    int status = c->sgemm(c->handle, CUBLAS_OP_N, CUBLAS_OP_N, c->n, c->m, c->k, &one,
                          (const float *)(uintptr_t)c->b, c->n, (const float *)(uintptr_t)c->a,
                          c->k, &zero, (float *)(uintptr_t)c->c, c->n);
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cublasSgemm: status %d\n", status);
        exit(1);
    }
}
