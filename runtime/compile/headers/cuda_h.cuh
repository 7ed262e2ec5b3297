/* SPDX-License-Identifier: MIT */
/* Of the driver's API what kernels name: its functions are the host's. */
#ifndef HONE_CUDA_H
#define HONE_CUDA_H
#define __cuda_cuda_h__
#include <stdint.h>
#ifndef CUDA_VERSION
#define CUDA_VERSION (1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__)
#endif
typedef unsigned int cuuint32_t;
typedef unsigned long long cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUtensorMap_st {
    alignas(64) cuuint64_t opaque[16];
} CUtensorMap;
#endif
