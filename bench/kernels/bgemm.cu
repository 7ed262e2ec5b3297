// SPDX-License-Identifier: MIT
// The tuned product of 16-bit matrices beside cublasGemmEx and beside the best of what cublasLt proposes, cold and warm, and
// the errors of all beside a sum in float64. The kernel comes as machine code, for sm_90a.
#include "cublaslt_peer.cuh"

#include "bgemm_tuned.h"

#if HONE_BGEMM_TYPE == HONE_BGEMM_TYPE___nv_bfloat16
using element = __nv_bfloat16;
#elif defined HONE_BGEMM_TYPE___nv_fp8_e4m3 && HONE_BGEMM_TYPE == HONE_BGEMM_TYPE___nv_fp8_e4m3
using element = __nv_fp8_e4m3;
#else
using element = __half;
#endif
#if defined HONE_BGEMM_OUT_float && HONE_BGEMM_OUT == HONE_BGEMM_OUT_float
using result = float;
#elif defined HONE_BGEMM_OUT_half && HONE_BGEMM_OUT == HONE_BGEMM_OUT_half
using result = __half;
#else
using result = __nv_bfloat16;
#endif
#if defined HONE_BGEMM_TRANS_B_t && HONE_BGEMM_TRANS_B == HONE_BGEMM_TRANS_B_t
static constexpr bool trans_b = true;
#else
static constexpr bool trans_b = false;
#endif
static constexpr hone_bgemm_problem problem = HONE_BGEMM_TUNED_PROBLEM;
static constexpr int64_t m = problem.M, n = problem.N, k = problem.K;

// Normally distributed.
static __global__ void fill_normal(element *data, size_t count, size_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        const float u = (float)((scrambled(2 * (i + salt)) >> 8) + 1) * 0x1p-24f;
        const float v = (float)(scrambled(2 * (i + salt) + 1) >> 8) * 0x1p-24f;
        data[i] = (element)(sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
}

// A warp computes an element in float64: of `count` drawn ones the sum, and the errors of three results.
static __global__ void find_errors(const element *A, const element *B, const result *of_tuned, const result *of_cublas,
                                   const result *of_lt, int count, double *largest)
{
    const int sample = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (sample >= count)
        return;
    const size_t row = scrambled(2 * sample) % m, column = scrambled(2 * sample + 1) % n;
    double sum = 0;
    for (size_t i = lane; i < k; i += 32)
        sum += (double)(float)A[row * k + i] * (double)(float)B[trans_b ? column * k + i : i * n + column];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane >= 4)
        return;
    const result *const found = lane == 0 ? of_tuned : lane == 1 ? of_cublas : of_lt;
    const double value = lane == 3 ? fabs(sum) : fabs((double)(float)found[row * n + column] - sum);
    // Of numbers that are not negative, bits have the same order; those of NaN are the largest.
    atomicMax((unsigned long long *)&largest[lane], (unsigned long long)__double_as_longlong(value));
}

static void check_driver(CUresult status, const char *what)
{
    const char *name = "unknown";
    if (status == CUDA_SUCCESS)
        return;
    cuGetErrorName(status, &name);
    std::fprintf(stderr, "%s: %s\n", what, name);
    std::exit(1);
}

int main()
{
    const struct hone_bgemm_sizes size = hone_bgemm_size(HONE_BGEMM_CONFIG, problem);
    auto *A = allocate<element>(m * k), *B = allocate<element>(k * n);
    auto *C = allocate<result>(m * n), *of_cublas = allocate<result>(m * n), *of_lt = allocate<result>(m * n);
    auto *A_lines = allocate<char>(size.A_lines_size), *B_lines = allocate<char>(size.B_lines_size);
    auto *partial = allocate<char>(size.partial_size), *done = allocate<char>(size.done_size);
    fill_normal<<<1024, 256>>>(A, m * k, 0);
    fill_normal<<<1024, 256>>>(B, k * n, m * k);
    CHECK(cudaMemset(C, 0x7f, m * n * sizeof(result)));

    struct hone_bgemm_kernel kernel;
    check_driver(hone_bgemm_load(HONE_BGEMM_CONFIG, &kernel), "hone_bgemm_load");
    auto tuned = [=] {
        check_driver(hone_bgemm_launch(kernel.functions, HONE_BGEMM_CONFIG, nullptr, problem, (CUdeviceptr)A,
                                       (CUdeviceptr)B, (CUdeviceptr)C, 0, 0, (CUdeviceptr)A_lines, (CUdeviceptr)B_lines,
                                       (CUdeviceptr)partial, (CUdeviceptr)done),
                     "hone_bgemm_launch");
    };
    constexpr bool is_fp8 = sizeof(element) == 1; // of which cublasGemmEx knows nothing
    cublasHandle_t handle;
    const float one = 1, zero = 0;
    check_cublas(cublasCreate(&handle));
    auto cublas = [&] { // cuBLAS is column-major: C^T = B^T A^T
        check_cublas(cublasGemmEx(handle, trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one,
                                  B, cuda_type(B), (int)(trans_b ? k : n), A, cuda_type(A), (int)k, &zero, of_cublas,
                                  cuda_type(of_cublas), (int)n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    pairing pairs((double)m * n * k < 1e11 ? 101 : (double)m * n * k < 1e12 ? 41 : 15);

    lt_product<element, result> lt(A, B, of_lt, m, n, k, trans_b), warm_lt = lt;
    const int algorithms = lt.choose([&](auto run) { return pairs.measure(run); });
    warm_lt.choose([&](auto run) { return pairs.measure(run, true); });

    const int samples = 1 << 14;
    auto *largest = allocate<double>(4);
    tuned();
    tuned(); // what one launch leaves behind must not disturb the next
    if (is_fp8)
        CHECK(cudaMemset(of_cublas, 0, m * n * sizeof(result)));
    else
        cublas();
    lt();
    find_errors<<<samples / 8, 256>>>(A, B, C, of_cublas, of_lt, samples, largest);
    CHECK(cudaGetLastError());
    const auto errors = from_device(largest, 4);
    const double of_others = is_fp8 ? errors[2] : std::max(errors[1], errors[2]);
    char what[64], name[64];
    std::snprintf(what, sizeof what, "bgemm%s %lldx%lldx%lld%c", is_fp8 ? "_fp8" : "", (long long)m, (long long)n, (long long)k,
                  trans_b ? 't' : 'n');
    std::printf("%-30s error, of max |C|: tuned %.1e, cuBLAS %.1e\n", what, errors[0] / errors[3], of_others / errors[3]);
    require(errors[0] <= 1.25 * of_others, "bgemm"); // rounding to 16 bits, mostly

    const double bytes = (double)sizeof(element) * (m * k + k * n) + (double)sizeof(result) * m * n;
    if (!is_fp8)
        pairs.compare(what, cublas_name(handle, "cublasGemmEx"), bytes, 1, cublas, tuned);
    std::snprintf(name, sizeof name, "cublasLt, best of %d", algorithms);
    pairs.compare(what, name, bytes, 1, lt, tuned);
    std::snprintf(name, sizeof name, "cublasLt, best of %d, warm", algorithms);
    pairs.compare(what, name, bytes, 1, warm_lt, tuned, true);
    check_cublas(cublasDestroy(handle));
    return 0;
}
