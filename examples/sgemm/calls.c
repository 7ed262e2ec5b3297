/* SPDX-License-Identifier: MIT */
/* Random calls of hone_sgemm, each held against cublasSgemm, or against a sum in double on the CPU:
 * orders, transpositions, leading dimensions, odd sizes and empty ones, first elements anywhere,
 * alpha and beta, NaN where nothing may be read; and what lies around C has to stay as it is.
 * usage: calls COUNT SEED [cpu] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas.h"
#include "gpu.h"
#include "hone_sgemm.h"

enum { MOST_FLOATS = 1 << 20, GUARD = 64, MOST_GAP = 9, SKIPPED = 77 };
enum { LARGEST = 600, DEEPEST = 20000, LARGEST_CPU = 24, DEEPEST_CPU = 48 };

struct call {
    enum hone_order order;
    enum hone_transpose transa, transb;
    int m, n, k, lda, ldb, ldc;
    int a_at, b_at, c_at; /* floats from a multiple of 256 bytes to the first element */
    float alpha, beta;
};

struct matrix {
    float *host; /* as large as device */
    CUdeviceptr device;
};

struct work {
    struct hone_blas *blas;
    struct cublas cublas;
    int on_cpu;
    struct matrix a, b, c, expected;
    float *before; /* what C was, with what is around it */
    double worst;  /* error in shares of the tolerance */
};

static uint64_t state;

static unsigned draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

static int below(int end)
{
    return (int)(draw() % (unsigned)end);
}
static int one_in(int count)
{
    return below(count) == 0;
}
static float uniform(void)
{
    return (float)((int)(draw() >> 7) - (1 << 23)) / (1 << 23);
}

/* From 1 on; each octave as often as another. */
static int draw_size(int largest)
{
    return (int)exp((double)draw() / 2147483648.0 * log(largest + 1.0));
}

static float draw_factor(void)
{
    static const float some[] = {0, 1, 1, -1};
    return one_in(3) ? 2 * uniform() : some[below(4)];
}

static int is_transposed(enum hone_transpose trans)
{
    return trans != HONE_NO_TRANS;
}

/* Rows and columns of a matrix as it is passed. */
static size_t lines(enum hone_order order, int rows, int columns)
{
    return (size_t)(order == HONE_ROW_MAJOR ? rows : columns);
}
static size_t length(enum hone_order order, int rows, int columns)
{
    return lines(order, columns, rows);
}

static int draw_gap(int aligned)
{
    return one_in(2) ? 0 : aligned ? 4 * below(MOST_GAP / 4 + 1) : below(MOST_GAP + 1);
}

/* On the CPU, for the sake of the driver double in tests/, k is more than m and n, which tells it
 * what is transposed. */
static void draw_sizes(const struct work *w, struct call *call, int aligned)
{
    const int step = aligned ? 4 : 1;
    const int most = w->on_cpu ? LARGEST_CPU : LARGEST;
    call->m = one_in(40) ? 0 : (draw_size(most) + step - 1) / step * step;
    call->n = one_in(40) ? 0 : (draw_size(most) + step - 1) / step * step;
    call->k = (draw_size(w->on_cpu ? DEEPEST_CPU : DEEPEST) + step - 1) / step * step;
    if (w->on_cpu)
        call->k += LARGEST_CPU + MOST_GAP + 3;
    if (one_in(25))
        call->k = 0;
}

static size_t floats(size_t lines, int leading)
{
    return lines * (size_t)leading + 2 * GUARD + 64;
}

static struct call draw_call(const struct work *w)
{
    struct call c = {.order = one_in(2) ? HONE_ROW_MAJOR : HONE_COLUMN_MAJOR};
    const int aligned = one_in(3), row_major = c.order == HONE_ROW_MAJOR;
    c.transa = (enum hone_transpose)(HONE_NO_TRANS + below(3));
    c.transb = (enum hone_transpose)(HONE_NO_TRANS + below(3));
    c.alpha = draw_factor();
    c.beta = draw_factor();
    do {
        draw_sizes(w, &c, aligned);
        c.lda = (row_major != is_transposed(c.transa) ? c.k : c.m) + draw_gap(aligned);
        c.ldb = (row_major != is_transposed(c.transb) ? c.n : c.k) + draw_gap(aligned);
        c.ldc = (row_major ? c.n : c.m) + draw_gap(aligned);
    } while (
        floats((size_t)(row_major != is_transposed(c.transa) ? c.m : c.k), c.lda) > MOST_FLOATS ||
        floats((size_t)(row_major != is_transposed(c.transb) ? c.k : c.n), c.ldb) > MOST_FLOATS);
    c.lda += c.lda == 0;
    c.ldb += c.ldb == 0;
    c.ldc += c.ldc == 0;
    c.a_at = GUARD + (aligned ? 4 * below(4) : below(4));
    c.b_at = GUARD + (aligned ? 4 * below(4) : below(4));
    c.c_at = GUARD + (aligned ? 4 * below(4) : below(4));
    return c;
}

/* Elements, and between the lines what nobody may read. */
static void fill(float *first, size_t line_count, size_t line, int leading, int is_read)
{
    for (size_t i = 0; i < line_count * (size_t)leading; i++)
        first[i] = is_read && i % (size_t)leading < line ? uniform() : NAN;
}

static void upload(const struct matrix *matrix, size_t count)
{
    gpu_check(cuMemcpyHtoD(matrix->device, matrix->host, count * sizeof(float)), "cuMemcpyHtoD");
}

static void fill_factor(const struct call *call, enum hone_transpose trans, int rows, int columns,
                        const struct matrix *matrix, int at, int leading)
{
    const int r = is_transposed(trans) ? columns : rows, c = is_transposed(trans) ? rows : columns;
    const size_t count = lines(call->order, r, c);
    fill(matrix->host + at, count, length(call->order, r, c), leading, call->alpha != 0);
    upload(matrix, floats(count, leading));
}

static void fill_all(struct work *w, const struct call *call)
{
    const size_t count = lines(call->order, call->m, call->n);
    const size_t all = floats(count, call->ldc), line = length(call->order, call->m, call->n);
    const int poisoned = call->beta == 0 && one_in(2);
    fill_factor(call, call->transa, call->m, call->k, &w->a, call->a_at, call->lda);
    fill_factor(call, call->transb, call->k, call->n, &w->b, call->b_at, call->ldb);
    for (size_t i = 0; i < all; i++)
        w->c.host[i] = uniform();
    for (size_t i = 0; poisoned && i < count * line; i++)
        w->c.host[(size_t)call->c_at + i / line * (size_t)call->ldc + i % line] = NAN;
    memcpy(w->before, w->c.host, all * sizeof(float));
    memcpy(w->expected.host, w->c.host, all * sizeof(float));
    upload(&w->c, all);
    upload(&w->expected, all);
}

/* Where an element of op(X) is. */
static size_t place(const struct call *call, enum hone_transpose trans, int row, int column,
                    int leading)
{
    const int by_rows = (call->order == HONE_ROW_MAJOR) != is_transposed(trans);
    return by_rows ? (size_t)row * (size_t)leading + (size_t)column
                   : (size_t)column * (size_t)leading + (size_t)row;
}

static void expect_on_cpu(struct work *w, const struct call *c)
{
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            float *to = w->expected.host + c->c_at + place(c, HONE_NO_TRANS, i, j, c->ldc);
            double sum = 0;
            for (int k = 0; k < (c->alpha == 0 ? 0 : c->k); k++)
                sum += (double)w->a.host[(size_t)c->a_at + place(c, c->transa, i, k, c->lda)] *
                       w->b.host[(size_t)c->b_at + place(c, c->transb, k, j, c->ldb)];
            *to = (float)(c->alpha * sum + (c->beta == 0 ? 0.0 : (double)c->beta * *to));
        }
}

static float *element(const struct matrix *matrix, int at)
{
    return (float *)(uintptr_t)matrix->device + at;
}

static void expect_of_cublas(struct work *w, const struct call *c, size_t all)
{
    const struct cublas *cublas = &w->cublas;
    const int ta = is_transposed(c->transa), tb = is_transposed(c->transb);
    const float *a = element(&w->a, c->a_at), *b = element(&w->b, c->b_at);
    float *to = element(&w->expected, c->c_at);
    int status = 0;
    if (c->order == HONE_COLUMN_MAJOR)
        status = cublas->sgemm(cublas->handle, ta, tb, c->m, c->n, c->k, &c->alpha, a, c->lda, b,
                               c->ldb, &c->beta, to, c->ldc);
    else
        status = cublas->sgemm(cublas->handle, tb, ta, c->n, c->m, c->k, &c->alpha, b, c->ldb, a,
                               c->lda, &c->beta, to, c->ldc);
    if (status != 0) {
        fprintf(stderr, "cublasSgemm: status %d\n", status);
        exit(1);
    }
    gpu_check(cuMemcpyDtoH(w->expected.host, w->expected.device, all * sizeof(float)), "cuBLAS");
}

/* Elements of C within what the rounding of sums of k products may do, twice where both are of
 * floats; all else as it was, to the bit. */
static const char *compare(struct work *w, const struct call *call, size_t all)
{
    const size_t count = lines(call->order, call->m, call->n);
    const size_t line = length(call->order, call->m, call->n), leading = (size_t)call->ldc;
    const double tolerance =
        fabs(call->alpha) * 2e-7 * (call->k + 16.0) + fabs(call->beta) * 4e-7 + 1e-30;
    for (size_t i = 0; i < all; i++) {
        const size_t in = i - (size_t)call->c_at;
        if (i < (size_t)call->c_at || in / leading >= count || in % leading >= line) {
            if (memcmp(&w->c.host[i], &w->before[i], sizeof(float)) != 0)
                return "what is around C was written";
            continue;
        }
        const double error = fabs((double)w->c.host[i] - w->expected.host[i]) / tolerance;
        if (!(error <= 1))
            return isnan(w->c.host[i]) ? "NaN" : "an element is wrong";
        w->worst = fmax(w->worst, error);
    }
    return NULL;
}

static const char *make_call(struct work *w, const struct call *c)
{
    const size_t all = floats(lines(c->order, c->m, c->n), c->ldc);
    fill_all(w, c);
    int result = hone_sgemm(w->blas, c->order, c->transa, c->transb, c->m, c->n, c->k, c->alpha,
                            element(&w->a, c->a_at), c->lda, element(&w->b, c->b_at), c->ldb,
                            c->beta, element(&w->c, c->c_at), c->ldc);
    if (result != 0) {
        fprintf(stderr, "hone_sgemm: %d\n", result);
        return "hone_sgemm failed";
    }
    gpu_check(cuMemcpyDtoH(w->c.host, w->c.device, all * sizeof(float)), "hone_sgemm");
    if (w->on_cpu || c->alpha == 0 || c->m == 0 || c->n == 0 || c->k == 0)
        expect_on_cpu(w, c); /* to cuBLAS NaN in A counts where alpha is 0 */
    else
        expect_of_cublas(w, c, all);
    return compare(w, c, all);
}

static float *allocate_host(void)
{
    float *host = calloc(MOST_FLOATS, sizeof *host);
    if (host == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return host;
}

static struct matrix allocate(void)
{
    return (struct matrix){allocate_host(), gpu_upload(NULL, MOST_FLOATS * sizeof(float))};
}

static void print_wrong(const struct call *c, const char *wrong)
{
    printf("order %d, trans %d %d, m n k %d %d %d, alpha %g, lda %d, A at %d, ldb %d, B at %d, "
           "beta %g, ldc %d, C at %d: %s\n",
           c->order, c->transa, c->transb, c->m, c->n, c->k, (double)c->alpha, c->lda, c->a_at,
           c->ldb, c->b_at, (double)c->beta, c->ldc, c->c_at, wrong);
}

int main(int argc, char **argv)
{
    struct work w = {.on_cpu = argc == 4 && strcmp(argv[3], "cpu") == 0};
    const int count = argc > 2 ? atoi(argv[1]) : 0;
    struct gpu gpu;
    if (count < 1 || argc > 4 || (argc == 4 && !w.on_cpu)) {
        fprintf(stderr, "usage: calls COUNT SEED [cpu], as in calls 10000 1; cpu: small products, "
                        "without cuBLAS\n");
        return 2;
    }
    state = strtoull(argv[2], NULL, 10);
    gpu_open(&gpu);
    if (!w.on_cpu && !cublas_open(&w.cublas)) {
        printf("SKIPPED: there is no cuBLAS here\n");
        return SKIPPED;
    }
    gpu_check(hone_blas_create(NULL, &w.blas), "hone_blas_create");
    w.a = allocate();
    w.b = allocate();
    w.c = allocate();
    w.expected = allocate();
    w.before = allocate_host();
    for (int i = 0; i < count; i++) {
        const struct call c = draw_call(&w);
        hone_blas_prefer(w.blas, one_in(3) ? -1 : below(hone_blas_configurations()));
        const char *wrong = make_call(&w, &c);
        if (wrong != NULL) {
            printf("call %d of %d: ", i + 1, count);
            print_wrong(&c, wrong);
            return 1;
        }
    }
    hone_blas_destroy(w.blas);
    printf("%d calls, %d configurations: right, the worst error is %.2g of what may be\n", count,
           hone_blas_configurations(), w.worst);
    return 0;
}
