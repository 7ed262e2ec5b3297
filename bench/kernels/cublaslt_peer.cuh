// SPDX-License-Identifier: MIT
// cublasLt as a peer at its best: of all that its heuristics propose, the algorithm that is fastest here.
#ifndef HONE_BENCH_CUBLASLT_PEER_CUH
#define HONE_BENCH_CUBLASLT_PEER_CUH

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "cublas_peer.cuh"

static inline cudaDataType_t cuda_type(const float *) { return CUDA_R_32F; }
static inline cudaDataType_t cuda_type(const __half *) { return CUDA_R_16F; }
static inline cudaDataType_t cuda_type(const __nv_bfloat16 *) { return CUDA_R_16BF; }
static inline cudaDataType_t cuda_type(const __nv_fp8_e4m3 *) { return CUDA_R_8F_E4M3; }

// C = A B of row-major matrices, m x k times k x n, summed in float32 without TF32: C^T = B^T A^T, as cublasLt has columns.
// B may be column-major; of 8-bit numbers, which are summed as fast as it can, it has to be.
template <typename In, typename Out> class lt_product
{
  public:
    lt_product(const In *A, const In *B, Out *C, int64_t m, int64_t n, int64_t k, bool trans_b = false) : A(A), B(B), C(C)
    {
        const cublasOperation_t operation_b = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
        check_cublas(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        check_cublas(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &operation_b, sizeof operation_b));
        const int8_t fast = sizeof(In) == 1;
        if (fast)
            check_cublas(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
        check_cublas(cublasLtMatrixLayoutCreate(&layout_a, cuda_type(A), k, m, k));
        check_cublas(cublasLtMatrixLayoutCreate(&layout_b, cuda_type(B), trans_b ? k : n, trans_b ? n : k, trans_b ? k : n));
        check_cublas(cublasLtMatrixLayoutCreate(&layout_c, cuda_type(C), n, m, n));
    }

    // What the heuristics propose, as far as it runs: how many algorithms that is.
    int propose()
    {
        cublasLtMatmulPreference_t preference;
        check_cublas(cublasLtMatmulPreferenceCreate(&preference));
        check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                          &workspace_bytes, sizeof workspace_bytes));
        std::vector<cublasLtMatmulHeuristicResult_t> found(most_algorithms);
        int count = 0;
        check_cublas(cublasLtMatmulAlgoGetHeuristic(means().handle, product, layout_b, layout_a, layout_c, layout_c, preference,
                                                    most_algorithms, found.data(), &count));
        check_cublas(cublasLtMatmulPreferenceDestroy(preference));
        algorithms.clear();
        for (int i = 0; i < count; ++i)
            if (found[i].state == CUBLAS_STATUS_SUCCESS && run(found[i].algo) == CUBLAS_STATUS_SUCCESS)
                algorithms.push_back(found[i].algo);
        return (int)algorithms.size();
    }

    // Takes the fastest of these, the best of five runs each. Returns how many there were.
    template <typename Measure> int choose(Measure measure)
    {
        double best_us = INFINITY;
        const int count = propose();
        for (int i = 0; i < count; ++i) {
            double us = INFINITY;
            for (int round = 0; round == 0 || (round < 5 && us < 2 * best_us); ++round)
                us = std::min(us, measure([&] { check_cublas(run(algorithms[i])); }));
            if (us < best_us) {
                best_us = us;
                chosen = i;
            }
        }
        return count;
    }

    void take(int index) { chosen = index; }
    void use(cudaStream_t other) { stream = other; }
    void operator()() { check_cublas(run(algorithms[chosen])); }

  private:
    static constexpr int most_algorithms = 100;
    static constexpr size_t workspace_bytes = 64u << 20;
    // What all products of the process share.
    struct means_of_all {
        cublasLtHandle_t handle;
        char *workspace = allocate<char>(workspace_bytes);
        means_of_all() { check_cublas(cublasLtCreate(&handle)); }
    };
    const In *A, *B;
    Out *C;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t layout_a, layout_b, layout_c;
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    int chosen = 0;
    cudaStream_t stream = nullptr;

    static means_of_all &means()
    {
        static means_of_all shared;
        return shared;
    }

    cublasStatus_t run(const cublasLtMatmulAlgo_t &algorithm)
    {
        const float one = 1, zero = 0;
        return cublasLtMatmul(means().handle, product, &one, B, layout_b, A, layout_a, &zero, C, layout_c, C, layout_c, &algorithm,
                              means().workspace, workspace_bytes, stream);
    }
};

#endif
