// SPDX-License-Identifier: MIT
// Runs the matmul kernel that Hone tuned for this GPU, checks rows of the product on the CPU and prints the time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HONE_MATMUL_APPLY
#include "matmul_tuned.h"
#include "matmul.cu"
#define HONE_MATMUL_UNAPPLY
#include "matmul_tuned.h"

// The sizes that the kernel was tuned for; M and N may be others, K is compiled in.
static const int m = HONE_MATMUL_TUNED_M, n = HONE_MATMUL_TUNED_N, k = HONE_MATMUL_K;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static size_t index_b(size_t row, size_t column)
{
#if defined HONE_MATMUL_B_LAYOUT_column
    if (HONE_MATMUL_B_LAYOUT == HONE_MATMUL_B_LAYOUT_column)
        return column * k + row;
#endif
    return row * n + column;
}

static std::vector<float> random_matrix(size_t count, unsigned seed)
{
    std::vector<float> matrix(count);
    for (float &element : matrix) {
        seed = seed * 1664525u + 1013904223u;
        element = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
    return matrix;
}

static float *to_device(const std::vector<float> &matrix)
{
    float *device = nullptr;
    check(cudaMalloc(&device, matrix.size() * sizeof(float)), "cudaMalloc");
    check(cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return device;
}

static void launch(const float *a, const float *b, float *c)
{
    hone_matmul_problem problem = HONE_MATMUL_TUNED_PROBLEM; // since C++20 {.M = m, .N = n, .K = k, ...}, too
    problem.M = m;
    problem.N = n;
    const hone_step s = hone_matmul_step(HONE_MATMUL_CONFIG, 0, problem);
    matmul<<<s.grid, s.block, s.shared_bytes>>>(a, b, c, m, n);
}

// The largest |c - c_cpu| in some rows, over the largest |c_cpu|.
static double relative_error(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c)
{
    double worst = 0, largest = 0;
    for (size_t row : {(size_t)0, (size_t)m / 3, (size_t)m - 1}) {
        for (size_t column = 0; column < (size_t)n; ++column) {
            double sum = 0;
            for (size_t i = 0; i < (size_t)k; ++i)
                sum += (double)a[row * k + i] * b[index_b(i, column)];
            worst = std::max(worst, std::fabs(c[row * n + column] - sum));
            largest = std::max(largest, std::fabs(sum));
        }
    }
    return worst / largest;
}

static double median_us(const float *a, const float *b, float *c)
{
    std::vector<float> times;
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&stop), "cudaEventCreate");
    for (int i = 0; i < 21; ++i) {
        float milliseconds;
        check(cudaEventRecord(start), "cudaEventRecord");
        launch(a, b, c);
        check(cudaEventRecord(stop), "cudaEventRecord");
        check(cudaEventSynchronize(stop), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
        times.push_back(milliseconds * 1000);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main()
{
    const std::vector<float> a = random_matrix((size_t)m * k, 1), b = random_matrix((size_t)k * n, 2);
    std::vector<float> c((size_t)m * n, NAN);
    float *device_a = to_device(a), *device_b = to_device(b), *device_c = to_device(c);

    launch(device_a, device_b, device_c);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost), "matmul");
    const double error = relative_error(a, b, c);
    const double us = median_us(device_a, device_b, device_c);

    printf("C = A B, %d x %d x %d: %.1f us, %.0f GFLOP/s (tuned on %s: %.1f us)\n", m, n, k, us,
           2.0 * m * n * k / us / 1000, HONE_MATMUL_TUNED_DEVICE, HONE_MATMUL_TUNED_TIME_US);
    printf("relative error in three rows: %.2g: %s\n", error, error < 1e-5 ? "right" : "WRONG");
    return error < 1e-5 ? 0 : 1;
}
