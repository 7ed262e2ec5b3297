/* SPDX-License-Identifier: MIT */
/* C = A B in fp32 with the kernel that Hone tuned for the shape given, or for the nearest one that
 * was tuned: compiled when the program runs, checked on the CPU, and timed beside cuBLAS where that
 * is installed.  usage: sgemm M N K [alone] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "cublas.h"
#include "gpu.h"
#include "sgemm_tuned.h" /* hone export sgemm --format driver-header; includes cuda.h */

struct sgemm {
    struct hone_sgemm_problem problem;
    int config;
    CUfunction functions[HONE_SGEMM_STEP_COUNT];
    CUdeviceptr a, b, c;
    CUdeviceptr partial,
        done; /* scratch memory and counters, as large as the configuration has them */
};

/* The configuration for this device and shape. The sizes are constants of the kernel, so that only
 * a shape that was tuned has code of its own: for others, the nearest configuration is compiled
 * with their sizes. */
static void choose(const struct gpu *gpu, struct sgemm *sgemm)
{
    static const char *const grades[] = {"none", "another architecture",
                                         "another device of this architecture",
                                         "this device, another shape", "this device and shape"};
    struct hone_match match =
        hone_sgemm_lookup(gpu->name, gpu->capability, gpu->sm_count, 0, sgemm->problem);
    sgemm->config = match.config;
    if (match.config < 0) { /* no result holds for a shape like this */
        sgemm->config = HONE_SGEMM_DEFAULT;
        printf("the template's default point: nothing that was tuned can be used\n");
        return;
    }
    const struct hone_sgemm_result *result = &hone_sgemm_results[match.result];
    printf("configuration %d of %d, tuned for %lld x %lld x %lld on %s (%s)\n", match.config,
           HONE_SGEMM_CONFIG_COUNT, (long long)result->problem.M, (long long)result->problem.N,
           (long long)result->problem.K, result->device, grades[match.grade]);
}

/* The configuration's constants, then the template: what Hone compiled when it tuned. */
static void compile(const struct gpu *gpu, struct sgemm *sgemm)
{
    char prelude[4096];
    int length = hone_sgemm_prelude(prelude, sizeof prelude, sgemm->config, sgemm->problem);
    if (length < 0 || (size_t)length >= sizeof prelude) {
        fprintf(stderr, "the constants of the configuration take more than %zu bytes\n",
                sizeof prelude);
        exit(1);
    }
    CUmodule module = compile_template(gpu, "sgemm.cu", prelude, hone_sgemm_options(sgemm->config));
    gpu_check(hone_sgemm_functions(module, hone_sgemm_entries(sgemm->config), sgemm->functions),
              "hone_sgemm_functions");
}

static void launch(void *context)
{
    const struct sgemm *s = context;
    gpu_check(hone_sgemm_launch(s->functions, s->config, NULL, s->problem, s->a, s->b, s->c,
                                s->partial, s->done),
              "hone_sgemm_launch");
}

static void fill(float *matrix, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        matrix[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
}

/* The largest |c - r| over the largest |r| in some rows, r computed in double. */
static double relative_error(const struct sgemm *s, const float *a, const float *b, const float *c)
{
    const size_t columns = (size_t)s->problem.N, depth = (size_t)s->problem.K;
    const size_t rows[] = {0, (size_t)s->problem.M / 3, (size_t)s->problem.M - 1};
    double worst = 0, largest = 0;
    double *row = malloc(columns * sizeof *row);
    for (size_t i = 0; row != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        memset(row, 0, columns * sizeof *row);
        for (size_t k = 0; k < depth; k++)
            for (size_t n = 0; n < columns; n++)
                row[n] += (double)a[rows[i] * depth + k] * b[k * columns + n];
        for (size_t n = 0; n < columns; n++) {
            double error = fabs(c[rows[i] * columns + n] - row[n]);
            worst = error > worst || isnan(error) ? error : worst;
            largest = fmax(largest, fabs(row[n]));
        }
    }
    free(row);
    return row == NULL ? NAN : worst / largest;
}

static void measure(const struct gpu *gpu, struct sgemm *sgemm, struct cublas *cublas)
{
    struct gpu_work own = {launch, sgemm, 0}, other = {cublas_launch, cublas, 0};
    gpu_measure(gpu, &own, &other);
    const struct hone_sgemm_problem *p = &sgemm->problem;
    double us = own.us, flops = 2.0 * (double)p->M * (double)p->N * (double)p->K;
    printf("%.1f us, %.0f GFLOP/s", us, flops / us / 1000);
    if (cublas != NULL)
        printf("; cuBLAS %.1f us: %.2f times as fast as that", other.us, other.us / us);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct sgemm s = {.config = -1};
    int m = 0, n = 0, k = 0;
    if (argc == 4 || (argc == 5 && strcmp(argv[4], "alone") == 0)) {
        m = atoi(argv[1]);
        n = atoi(argv[2]);
        k = atoi(argv[3]);
    }
    if (m < 1 || n < 1 || k < 1) {
        fprintf(stderr,
                "usage: sgemm M N K [alone], as in sgemm 4096 4096 4096; alone: without cuBLAS\n");
        return 2;
    }

    struct gpu gpu;
    gpu_open(&gpu);
    s.problem = (struct hone_sgemm_problem){.M = m, .N = n, .K = k};
    choose(&gpu, &s);
    compile(&gpu, &s);

    const struct hone_sgemm_sizes size = hone_sgemm_size(s.config, s.problem);
    float *a = malloc(size.A_size), *b = malloc(size.B_size), *c = malloc(size.C_size);
    if (a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    fill(a, size.A_size / sizeof *a, 1);
    fill(b, size.B_size / sizeof *b, 2);
    s.a = gpu_upload(a, size.A_size);
    s.b = gpu_upload(b, size.B_size);
    s.c = gpu_upload(NULL, size.C_size);
    s.partial = gpu_upload(NULL, size.partial_size);
    s.done = gpu_upload(NULL, size.done_size);

    launch(&s);
    gpu_check(cuMemcpyDtoH(c, s.c, size.C_size), "the kernel");
    double error = relative_error(&s, a, b, c), tolerance = 1e-5 * fmax(1, sqrt(k / 65536.0));
    printf("relative error in three rows: %.2g: %s\n", error,
           error <= tolerance ? "right" : "WRONG");

    struct cublas cublas = {.m = m, .n = n, .k = k, .a = s.a, .b = s.b, .c = s.c};
    measure(&gpu, &s, argc == 4 && cublas_open(&cublas) ? &cublas : NULL);
    return error <= tolerance ? 0 : 1; /* what was allocated ends with the process */
}
