/* SPDX-License-Identifier: MIT */
#include "cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sgemm/gpu.h"

/* Only what is used, so that the program builds without cuBLAS. */
enum { SUCCESS = 0, TRANSPOSED = 1, COMPUTE_32F = 68, TYPE_32F = 0, TYPE_BF16 = 14 };
enum { PRODUCT_TRANSPOSES_A = 3, PREFERENCE_WORKSPACE_BYTES = 1 };
static const size_t workspace_bytes = 64u << 20;

struct proposal {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

struct functions {
    int (*create)(void **handle);
    int (*create_product)(void **product, int compute, int scale);
    int (*set_product)(void *product, int attribute, const void *value, size_t size);
    int (*create_layout)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t apart);
    int (*create_preference)(void **preference);
    int (*set_preference)(void *preference, int attribute, const void *value, size_t size);
    int (*propose)(void *handle, void *product, void *layout_a, void *layout_b, void *layout_c,
                   void *layout_d, void *preference, int most, struct proposal *proposals,
                   int *count);
};

static int find_functions(struct functions *f, struct cublaslt *lt)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
    const struct {
        const char *name;
        void *to; /* a pointer to a function */
    } symbols[] = {
        {"cublasLtCreate", &f->create},
        {"cublasLtMatmulDescCreate", &f->create_product},
        {"cublasLtMatmulDescSetAttribute", &f->set_product},
        {"cublasLtMatrixLayoutCreate", &f->create_layout},
        {"cublasLtMatmulPreferenceCreate", &f->create_preference},
        {"cublasLtMatmulPreferenceSetAttribute", &f->set_preference},
        {"cublasLtMatmulAlgoGetHeuristic", &f->propose},
        {"cublasLtMatmul", &lt->multiply},
    };
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = library == NULL ? NULL : dlsym(library, symbols[i].name);
        if (symbol == NULL)
            return 0;
        /* ISO C has no cast from an object's pointer to a function's */
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return 1;
}

/* cublasLt is column-major, so that it computes the transposed product, B' A': B lies as B' does
 * not, and is transposed. */
static int describe(const struct functions *f, struct cublaslt *lt)
{
    const int transposed = TRANSPOSED;
    const uint64_t m = (uint64_t)lt->m, n = (uint64_t)lt->n, k = (uint64_t)lt->k;
    return f->create(&lt->handle) == SUCCESS &&
           f->create_product(&lt->product, COMPUTE_32F, TYPE_32F) == SUCCESS &&
           f->set_product(lt->product, PRODUCT_TRANSPOSES_A, &transposed, sizeof transposed) ==
               SUCCESS &&
           f->create_layout(&lt->layout_b, TYPE_BF16, k, n, lt->k) == SUCCESS &&
           f->create_layout(&lt->layout_a, TYPE_BF16, k, m, lt->k) == SUCCESS &&
           f->create_layout(&lt->layout_c, TYPE_BF16, n, m, lt->n) == SUCCESS;
}

int cublaslt_open(struct cublaslt *lt)
{
    struct functions f;
    struct proposal first;
    void *preference;
    int count = 0;
    if (!find_functions(&f, lt) || !describe(&f, lt) ||
        f.create_preference(&preference) != SUCCESS ||
        f.set_preference(preference, PREFERENCE_WORKSPACE_BYTES, &workspace_bytes,
                         sizeof workspace_bytes) != SUCCESS ||
        f.propose(lt->handle, lt->product, lt->layout_b, lt->layout_a, lt->layout_c, lt->layout_c,
                  preference, 1, &first, &count) != SUCCESS ||
        count < 1)
        return 0;
    memcpy(lt->algorithm, first.algorithm, sizeof lt->algorithm);
    lt->workspace = gpu_upload(NULL, workspace_bytes);
    return 1;
}

void cublaslt_launch(void *context)
{
    const struct cublaslt *lt = context;
    const float one = 1, zero = 0;
    void *c = (void *)(uintptr_t)lt->c;
    int status = lt->multiply(lt->handle, lt->product, &one, (void *)(uintptr_t)lt->b, lt->layout_b,
                              (void *)(uintptr_t)lt->a, lt->layout_a, &zero, c, lt->layout_c, c,
                              lt->layout_c, lt->algorithm, (void *)(uintptr_t)lt->workspace,
                              workspace_bytes, NULL);
    if (status != SUCCESS) {
        fprintf(stderr, "cublasLtMatmul: status %d\n", status);
        exit(1);
    }
}
