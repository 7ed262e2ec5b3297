/* SPDX-License-Identifier: MIT */
#include "hone_sgemm.h"

#include <stdint.h>
#include <stdlib.h>

#include "sgemm_blas_embedded.h" /* hone export sgemm_blas --format cubin-header */

enum { CONFIGURATIONS = HONE_SGEMM_BLAS_CONFIG_COUNT, WORD = 16 };

struct memory {
    CUdeviceptr address;
    size_t size;
};

struct hone_blas {
    CUstream stream;
    char device[256];
    int capability, sm_count; /* 90 for 9.0 */
    int preferred;
    struct memory partial, done; /* scratch memory; counters, which kernels leave at 0 */
    struct hone_sgemm_blas_kernel kernels[CONFIGURATIONS]; /* module NULL: not loaded yet */
};

/* C = alpha op(A) op(B) + beta C, row-major, and where the matrices are. */
struct product {
    struct hone_sgemm_blas_problem problem;
    CUdeviceptr a, b, c;
};

static CUresult read_device(struct hone_blas *blas)
{
    CUdevice device = 0;
    int major = 0, minor = 0;
    CUresult result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetName(blas->device, (int)sizeof blas->device, device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (result == CUDA_SUCCESS)
        result =
            cuDeviceGetAttribute(&blas->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    blas->capability = 10 * major + minor;
    return result;
}

CUresult hone_blas_create(CUstream stream, struct hone_blas **blas)
{
    *blas = calloc(1, sizeof **blas);
    if (*blas == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*blas)->stream = stream;
    (*blas)->preferred = -1;
    CUresult result = read_device(*blas);
    if (result != CUDA_SUCCESS) {
        free(*blas);
        *blas = NULL;
    }
    return result;
}

void hone_blas_destroy(struct hone_blas *blas)
{
    if (blas == NULL)
        return;
    cuStreamSynchronize(blas->stream);
    for (int i = 0; i < CONFIGURATIONS; i++)
        hone_sgemm_blas_unload(&blas->kernels[i]);
    if (blas->partial.address != 0)
        cuMemFree(blas->partial.address);
    if (blas->done.address != 0)
        cuMemFree(blas->done.address);
    free(blas);
}

int hone_blas_configurations(void)
{
    return CONFIGURATIONS;
}

void hone_blas_prefer(struct hone_blas *blas, int configuration)
{
    blas->preferred = configuration < CONFIGURATIONS ? configuration : -1;
}

/* The position of the first argument that BLAS would not take, as the header counts; 0: there is
 * none. Where nothing is read or written, there need be nothing. */
static int find_wrong(enum hone_order order, enum hone_transpose transa, enum hone_transpose transb,
                      int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                      int ldb, const float *c, int ldc)
{
    const int row_major = order == HONE_ROW_MAJOR;
    const int a_line = row_major == (transa == HONE_NO_TRANS) ? k : m;
    const int b_line = row_major == (transb == HONE_NO_TRANS) ? n : k;
    const int c_line = row_major ? n : m;
    const int read = m > 0 && n > 0 && k > 0 && alpha != 0;
    const struct {
        int holds, position;
    } needs[] = {
        {row_major || order == HONE_COLUMN_MAJOR, 1},
        {transa >= HONE_NO_TRANS && transa <= HONE_CONJ_TRANS, 2},
        {transb >= HONE_NO_TRANS && transb <= HONE_CONJ_TRANS, 3},
        {m >= 0, 4},
        {n >= 0, 5},
        {k >= 0, 6},
        {!read || (a != NULL && (uintptr_t)a % sizeof *a == 0), 8},
        {lda >= 1 && lda >= a_line, 9},
        {!read || (b != NULL && (uintptr_t)b % sizeof *b == 0), 10},
        {ldb >= 1 && ldb >= b_line, 11},
        {m <= 0 || n <= 0 || (c != NULL && (uintptr_t)c % sizeof *c == 0), 13},
        {ldc >= 1 && ldc >= c_line, 14},
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (!needs[i].holds)
            return needs[i].position;
    return 0;
}

/* The configuration for what is asked, with lines that look as if they were not aligned where the
 * first elements are not: the kernels then copy by single floats. */
static int choose(const struct hone_blas *blas, const struct product *product)
{
    struct hone_sgemm_blas_problem problem = product->problem;
    if ((product->a | product->b | product->c) % WORD != 0)
        problem.GAP_C |= 1;
    problem.ALPHA = 1; /* which factors they are makes no difference */
    problem.BETA = problem.BETA != 0;
    if (blas->preferred >= 0 && hone_sgemm_blas_fits(blas->preferred, problem) &&
        hone_sgemm_blas_usable(blas->preferred, blas->capability, problem))
        return blas->preferred;
#ifdef HONE_SGEMM_BLAS_LOSS /* there is a family's rule, learnt on some device */
    const int chosen = hone_sgemm_blas_choose(problem, NULL);
    if (chosen >= 0 && hone_sgemm_blas_usable(chosen, blas->capability, problem))
        return chosen;
#endif
    return hone_sgemm_blas_select(blas->device, blas->capability, blas->sm_count, problem);
}

/* As much memory, of zeros where it is new. */
static CUresult reserve(struct memory *memory, size_t size, CUstream stream)
{
    if (size <= memory->size)
        return CUDA_SUCCESS;
    CUresult result = cuStreamSynchronize(stream); /* what runs may use it */
    if (result == CUDA_SUCCESS && memory->address != 0)
        result = cuMemFree(memory->address);
    *memory = (struct memory){0, 0};
    if (result == CUDA_SUCCESS)
        result = cuMemAlloc(&memory->address, size);
    if (result == CUDA_SUCCESS)
        result = cuMemsetD8Async(memory->address, 0, size, stream);
    if (result == CUDA_SUCCESS)
        memory->size = size;
    return result;
}

static CUresult launch(struct hone_blas *blas, const struct product *product)
{
    const int config = choose(blas, product);
    if (config < 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct hone_sgemm_blas_kernel *kernel = &blas->kernels[config];
    const struct hone_sgemm_blas_sizes sizes = hone_sgemm_blas_size(config, product->problem);
    CUresult result = CUDA_SUCCESS;
    if (kernel->module == NULL)
        result = hone_sgemm_blas_load(config, kernel);
    if (result == CUDA_SUCCESS)
        result = reserve(&blas->partial, sizes.partial_size, blas->stream);
    if (result == CUDA_SUCCESS)
        result = reserve(&blas->done, sizes.done_size, blas->stream);
    if (result != CUDA_SUCCESS) {
        hone_sgemm_blas_unload(kernel);
        return result;
    }
    return hone_sgemm_blas_launch(kernel->functions, config, blas->stream, product->problem,
                                  product->a, product->b, product->c, blas->partial.address,
                                  blas->done.address);
}

static int64_t gap(int leading, int64_t line)
{
    return leading - line;
}

/* The product of row-major matrices. Without steps of k neither A nor B is read, wherever they are.
 */
static struct product row_major(int trans_a, int trans_b, int m, int n, int k, float alpha,
                                const float *a, int lda, const float *b, int ldb, float beta,
                                float *c, int ldc)
{
    struct hone_sgemm_blas_problem problem = {.M = m, .N = n, .K = k, .ALPHA = alpha, .BETA = beta};
    problem.TRANS_A = trans_a ? HONE_SGEMM_BLAS_TRANS_A_t : HONE_SGEMM_BLAS_TRANS_A_n;
    problem.TRANS_B = trans_b ? HONE_SGEMM_BLAS_TRANS_B_t : HONE_SGEMM_BLAS_TRANS_B_n;
    problem.GAP_A = k == 0 ? 0 : gap(lda, trans_a ? m : k);
    problem.GAP_B = k == 0 ? 0 : gap(ldb, trans_b ? k : n);
    problem.GAP_C = gap(ldc, n);
    return (struct product){problem, (uintptr_t)(k == 0 ? c : a), (uintptr_t)(k == 0 ? c : b),
                            (uintptr_t)c};
}

int hone_sgemm(struct hone_blas *blas, enum hone_order order, enum hone_transpose transa,
               enum hone_transpose transb, int m, int n, int k, float alpha, const float *a,
               int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    const int wrong = find_wrong(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, c, ldc);
    const int trans_a = transa != HONE_NO_TRANS, trans_b = transb != HONE_NO_TRANS;
    struct product product;
    if (wrong > 0)
        return -wrong;
    if (alpha == 0 || k == 0) {
        alpha = 0;
        k = 0;
    }
    if (m == 0 || n == 0 || (k == 0 && beta == 1))
        return 0;
    if (order == HONE_ROW_MAJOR)
        product = row_major(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else /* C' = op(B)' op(A)', and what is transposed is row-major */
        product = row_major(trans_b, trans_a, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
    return (int)launch(blas, &product);
}
