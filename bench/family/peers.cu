// SPDX-License-Identifier: MIT
// What bench_family takes from the toolkit, in a library of its own, so that the program needs no nvcc: CUB, a kernel
// that reads, for a cold L2 cache without lines that have to be written back, and cublasLt with all that its heuristics propose.
// cublasLt is not linked: who calls it here has loaded it for all, and without it the rest works.
#include <cub/cub.cuh>

#include "../kernels/cublaslt_peer.cuh"

extern "C" int peers_cub_version()
{
    return CUB_VERSION;
}

extern "C" int peers_read(void *data, size_t bytes)
{
    read_all<<<1024, 256>>>((const float4 *)data, bytes / sizeof(float4), (float *)data);
    return cudaGetLastError();
}

// As CUB's functions: without storage it says how many bytes that takes.
extern "C" int peers_sum(void *storage, size_t *bytes, const float *in, float *out, int64_t count)
{
    return cub::DeviceReduce::Sum(storage, *bytes, in, out, count);
}

static lt_product<__nv_bfloat16, __nv_bfloat16> *product;

extern "C" int peers_lt_version()
{
    return (int)cublasLtGetVersion();
}

// C = A B, m x k times k x n, B column-major where transposed. Returns how many algorithms there are for it.
extern "C" int peers_lt_set(const void *A, const void *B, void *C, int64_t m, int64_t n, int64_t k, int transposed)
{
    delete product;
    product = new lt_product<__nv_bfloat16, __nv_bfloat16>((const __nv_bfloat16 *)A, (const __nv_bfloat16 *)B, (__nv_bfloat16 *)C, m, n, k,
                                                           transposed != 0);
    return product->propose();
}

extern "C" int peers_lt_run(int algorithm)
{
    product->take(algorithm);
    (*product)();
    return cudaGetLastError();
}
