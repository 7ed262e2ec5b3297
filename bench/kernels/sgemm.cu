// SPDX-License-Identifier: MIT
// The tuned SGEMM beside cublasSgemm with its default math (no TF32) and beside the best of what cublasLt proposes, and
// the errors of both beside a sum in float64.
#include "cublaslt_peer.cuh"

#define HONE_SGEMM_APPLY
#include "sgemm_tuned.h"
#include "../../templates/sgemm.cu"
#undef GENERAL // which the reference finds out by itself
#undef TRANS_A
#include "../../templates/reference/sgemm.cu"

// How many times as fast as cublasSgemm a tuned kernel is to be; elsewhere 0.97.
static const struct goal {
    int64_t m, n, k;
    double speedup;
} goals[] = {
    {4096, 4096, 4096, 0.98},  {8192, 8192, 8192, 0.98}, {2048, 2048, 2048, 0.98}, {1024, 1024, 1024, 1.15},
    {1000, 1000, 1000, 1.1},   {513, 513, 513, 1.1},     {4, 4096, 4096, 3.3},     {16, 4096, 4096, 3.3},
    {16, 11008, 4096, 3.3},    {32, 32, 1048576, 4.8},   {8, 4096, 4096, 2.0},     {32, 4096, 4096, 1.5},
    {4096, 16, 4096, 1.5},     {64, 64, 262144, 1.5},
};

static double goal_of(int64_t m, int64_t n, int64_t k)
{
    for (const goal &g : goals)
        if (g.m == m && g.n == n && g.k == k)
            return g.speedup;
    return 0.97;
}

// max |x - r| / max |r|
static double error_of(const std::vector<float> &x, const std::vector<float> &right)
{
    double error = 0, largest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double difference = std::fabs((double)x[i] - right[i]);
        error = difference <= error ? error : difference; // NaN stays
        largest = std::max(largest, (double)std::fabs(right[i]));
    }
    return error / largest;
}

static hone_step step_of(int step)
{
    return hone_sgemm_step(HONE_SGEMM_CONFIG, step, HONE_SGEMM_TUNED_PROBLEM);
}

static void launch_sgemm(const float *A, const float *B, float *C, float *partial, unsigned *done)
{
#if FINISH == FINISH_atomic
    sgemm_clear<<<step_of(0).grid, step_of(0).block>>>(C, M, N);
#endif
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    config.gridDim = step_of(1).grid;
    config.blockDim = step_of(1).block;
    config.dynamicSmemBytes = step_of(1).shared_bytes;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {1, 1, CLUSTER};
    config.attrs = &cluster;
    config.numAttrs = CLUSTER > 1;
    CHECK(cudaLaunchKernelEx(&config, sgemm, A, B, C, partial, done, M, N, K));
#if FINISH == FINISH_second_step
    sgemm_sum<<<step_of(2).grid, step_of(2).block>>>(partial, C, M, N);
#endif
}

int main()
{
    const int64_t m = M, n = N, k = K;
    const size_t tiles = (size_t)ceil_div(M, BM) * ceil_div(N, BN);
    auto *A = allocate<float>(m * k), *B = allocate<float>(k * n), *C = allocate<float>(m * n);
    auto *expected = allocate<float>(m * n), *of_cublas = allocate<float>(m * n), *of_lt = allocate<float>(m * n);
    auto *partial = allocate<char>(hone_sgemm_size(HONE_SGEMM_CONFIG, HONE_SGEMM_TUNED_PROBLEM).partial_size);
    auto *done = allocate<unsigned>(2 * tiles * CLUSTER);
    fill_reals<<<1024, 256>>>(A, m * k);
    fill_reals<<<1024, 256>>>(B, k * n, m * k);
    CHECK(cudaFuncSetAttribute(sgemm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)step_of(1).shared_bytes));

    cublasHandle_t handle;
    const float one = 1, zero = 0;
    check_cublas(cublasCreate(&handle));
    auto cublas = [&] { // cuBLAS is column-major: C^T = B^T A^T
        check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one, B, (int)n, A, (int)k,
                                 &zero, of_cublas, (int)n));
    };
    auto tuned = [=] { launch_sgemm(A, B, C, (float *)partial, done); };
    pairing pairs((double)m * n * k < 1e10 ? 101 : (double)m * n * k < 1e11 ? 41 : 15);
    lt_product lt(A, B, of_lt, m, n, k);
    const int algorithms = lt.choose([&](auto run) { return pairs.measure(run); });

    sgemm_reference<<<dim3((N + 63) / 64, (M + 63) / 64), 256>>>(A, B, expected, M, N, K);
    CHECK(cudaGetLastError());
    tuned();
    tuned(); // what one launch leaves behind must not disturb the next
    cublas();
    lt();
    const auto right = from_device(expected, m * n);
    const double error = error_of(from_device(C, m * n), right);
    const double theirs = error_of(from_device(of_cublas, m * n), right);
    char what[48], name[48];
    std::snprintf(what, sizeof what, "sgemm %lldx%lldx%lld", (long long)m, (long long)n, (long long)k);
    std::printf("%-30s error, of max |C|: tuned %.1e, cublasSgemm %.1e, cublasLt %.1e\n", what, error, theirs,
                error_of(from_device(of_lt, m * n), right));
    require(error <= 1e-5 * std::max(1.0, std::sqrt((double)k / 16384)), "sgemm");

    const double bytes = 4.0 * (m * k + k * n + m * n);
    pairs.compare(what, cublas_name(handle, "cublasSgemm"), bytes, 1 / goal_of(m, n, k), cublas, tuned);
    std::snprintf(name, sizeof name, "cublasLt, best of %d", algorithms);
    pairs.compare(what, name, bytes, 1, lt, tuned);
    check_cublas(cublasDestroy(handle));
    return 0;
}
