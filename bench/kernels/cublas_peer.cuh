// SPDX-License-Identifier: MIT
// cuBLAS as a peer.
#ifndef HONE_BENCH_CUBLAS_PEER_CUH
#define HONE_BENCH_CUBLAS_PEER_CUH

#include <cublas_v2.h>

#include "paired.cuh"

static inline void check_cublas(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    std::fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
    std::exit(1);
}

// "cuBLAS 13.0.2 cublasSdot"
static inline const char *cublas_name(cublasHandle_t handle, const char *function)
{
    static char name[64];
    int version = 0;
    check_cublas(cublasGetVersion(handle, &version));
    std::snprintf(name, sizeof name, "cuBLAS %d.%d.%d %s", version / 10000, version / 100 % 100, version % 100, function);
    return name;
}

#endif
