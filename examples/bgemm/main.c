/* SPDX-License-Identifier: MIT */
/* C = A B of bf16 on the tensor cores, with the kernel that Hone tuned for these sizes or for the
 * nearest ones, from machine code that is part of this program: checked on the CPU, and timed
 * beside cublasLt where that is installed.  usage: bgemm M N K [alone] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sgemm/gpu.h"
#include "bgemm_embedded.h" /* hone export bgemm --format cubin-header; includes cuda.h */
#include "cublaslt.h"

struct product {
    struct hone_bgemm_problem problem;
    struct hone_bgemm_kernel kernel;
    CUdeviceptr a, b, c;                         /* A and C row-major, B column-major */
    CUdeviceptr a_lines, b_lines, partial, done; /* as large as the configuration has them */
};

/* Of all that was tuned, what serves this device and problem best. */
static void load(const struct gpu *gpu, struct product *product)
{
    struct hone_match match =
        hone_bgemm_lookup(gpu->name, gpu->capability, gpu->sm_count, 1, product->problem);
    if (match.config < 0) {
        fprintf(stderr, "no tuned configuration can multiply these sizes on %s\n", gpu->name);
        exit(1);
    }
    gpu_check(hone_bgemm_load(match.config, &product->kernel), "hone_bgemm_load");
    const struct hone_bgemm_result *result = &hone_bgemm_results[match.result];
    printf("configuration %d of %d, tuned for %lld x %lld x %lld on %s\n", match.config,
           HONE_BGEMM_CONFIG_COUNT, (long long)result->problem.M, (long long)result->problem.N,
           (long long)result->problem.K, result->device);
}

/* Tensor maps are made of the addresses, at each launch: a microsecond of the CPU's time. There is
 * nothing to be added to the product, so that D and bias are left out. */
static void launch(void *context)
{
    const struct product *p = context;
    gpu_check(hone_bgemm_launch(p->kernel.functions, p->kernel.config, NULL, p->problem, p->a, p->b,
                                p->c, 0, 0, p->a_lines, p->b_lines, p->partial, p->done),
              "hone_bgemm_launch");
}

static float as_float(uint16_t bf16)
{
    uint32_t bits = (uint32_t)bf16 << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Numbers from -1 to 1 with the 8 bits that bf16 has. */
static uint16_t *random_matrix(size_t count, unsigned seed)
{
    uint16_t *matrix = malloc(count * sizeof *matrix);
    for (size_t i = 0; matrix != NULL && i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        float number = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        matrix[i] = (uint16_t)(bits >> 16);
    }
    return matrix;
}

/* The largest |c - r| over the largest |r| in some rows, r computed in double. */
static double relative_error(const struct product *p, const uint16_t *a, const uint16_t *b,
                             const uint16_t *c)
{
    const size_t columns = (size_t)p->problem.N, depth = (size_t)p->problem.K;
    const size_t rows[] = {0, (size_t)p->problem.M / 3, (size_t)p->problem.M - 1};
    double worst = 0, largest = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t n = 0; n < columns; n++) {
            double sum = 0;
            for (size_t k = 0; k < depth; k++)
                sum += (double)as_float(a[rows[i] * depth + k]) * as_float(b[n * depth + k]);
            double error = fabs(as_float(c[rows[i] * columns + n]) - sum);
            worst = error > worst || isnan(error) ? error : worst;
            largest = fmax(largest, fabs(sum));
        }
    return worst / largest;
}

static void measure(const struct gpu *gpu, struct product *product, struct cublaslt *lt)
{
    struct gpu_work own = {launch, product, 0}, other = {cublaslt_launch, lt, 0};
    gpu_measure(gpu, &own, &other);
    const struct hone_bgemm_problem *p = &product->problem;
    double us = own.us, flops = 2.0 * (double)p->M * (double)p->N * (double)p->K;
    printf("%.1f us, %.1f TFLOP/s", us, flops / us / 1e6);
    if (lt != NULL)
        printf("; cublasLt's first choice %.1f us: %.2f times as fast as that", other.us,
               other.us / us);
    printf("\n");
}

static void allocate(struct product *p, const uint16_t *a, const uint16_t *b)
{
    const struct hone_bgemm_sizes size = hone_bgemm_size(p->kernel.config, p->problem);
    p->a = gpu_upload(a, size.A_size);
    p->b = gpu_upload(b, size.B_size);
    p->c = gpu_upload(NULL, size.C_size);
    p->a_lines = gpu_upload(NULL, size.A_lines_size);
    p->b_lines = gpu_upload(NULL, size.B_lines_size);
    p->partial = gpu_upload(NULL, size.partial_size);
    p->done = gpu_upload(NULL, size.done_size); /* 0, and again after each launch */
}

int main(int argc, char **argv)
{
    int m = 0, n = 0, k = 0;
    if (argc == 4 || (argc == 5 && strcmp(argv[4], "alone") == 0)) {
        m = atoi(argv[1]);
        n = atoi(argv[2]);
        k = atoi(argv[3]);
    }
    if (m < 1 || n < 1 || k < 1) {
        fprintf(
            stderr,
            "usage: bgemm M N K [alone], as in bgemm 4096 4096 4096; alone: without cublasLt\n");
        return 2;
    }

    struct gpu gpu;
    gpu_open(&gpu);
    struct product p = {.problem = {.M = m,
                                    .N = n,
                                    .K = k,
                                    .TRANS_B = HONE_BGEMM_TRANS_B_t,
                                    .TYPE = HONE_BGEMM_TYPE___nv_bfloat16,
                                    .OUT = HONE_BGEMM_OUT___nv_bfloat16,
                                    .ALPHA = 1.0,
                                    .BETA = 0.0,
                                    .BIAS = HONE_BGEMM_BIAS_none,
                                    .SM_COUNT = gpu.sm_count}};
    load(&gpu, &p);
    uint16_t *a = random_matrix((size_t)m * (size_t)k, 1);
    uint16_t *b = random_matrix((size_t)n * (size_t)k, 2);
    uint16_t *c = malloc((size_t)m * (size_t)n * sizeof *c);
    if (a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    allocate(&p, a, b);
    launch(&p);
    gpu_check(cuMemcpyDtoH(c, p.c, (size_t)m * (size_t)n * sizeof *c), "the kernel");
    double error = relative_error(&p, a, b, c), tolerance = 8e-3; /* what rounding to bf16 costs */
    printf("relative error in three rows: %.2g: %s\n", error,
           error <= tolerance ? "right" : "WRONG");

    struct cublaslt lt = {.m = m, .n = n, .k = k, .a = p.a, .b = p.b, .c = p.c};
    measure(&gpu, &p, argc == 4 && cublaslt_open(&lt) ? &lt : NULL);
    return error <= tolerance ? 0 : 1; /* what was allocated ends with the process */
}
