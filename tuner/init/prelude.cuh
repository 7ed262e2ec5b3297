/* SPDX-License-Identifier: MIT */
/* What libclang has to know of CUDA C++ to read a source whose headers are missing. Declarations alone: nothing is compiled. */
#pragma clang diagnostic ignored "-Weverything"
#pragma clang diagnostic warning "-Wundef"
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(...)
#define C10_LAUNCH_BOUNDS_2(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline
#define __noinline__
#define __CUDACC__ 1
#define CUDART_VERSION 12080

#define NULL 0
#define assert(x) ((void)0)
#define offsetof(type, member) __builtin_offsetof(type, member)
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t, ssize_t;
#include <algorithm>
#include <cuda.h>
#include <float.h>
#include <limits>
#include <math.h>
#include <stddef.h>
typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef unsigned long ulong;

#define VECTORS(T, N)                                                                                                    \
    struct N##1 { T x; }; struct __align__(2 * sizeof(T)) N##2 { T x, y; }; struct N##3 { T x, y, z; };                  \
    struct __align__(sizeof(T) < 8 ? 4 * sizeof(T) : 16) N##4 { T x, y, z, w; };
VECTORS(signed char, char) VECTORS(unsigned char, uchar) VECTORS(short, short) VECTORS(unsigned short, ushort)
VECTORS(int, int) VECTORS(unsigned, uint) VECTORS(long, longlong) VECTORS(unsigned long, ulonglong)
VECTORS(float, float) VECTORS(double, double)
#undef VECTORS
struct __half { unsigned short bits; __half(float = 0); operator float() const; };
struct __nv_bfloat16 { unsigned short bits; __nv_bfloat16(float = 0); operator float() const; };
struct __align__(4) __half2 { __half x, y; };
struct __align__(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
struct __nv_fp8_e4m3 { unsigned char bits; };
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

struct dim3 { unsigned x, y, z; __host__ __device__ dim3(unsigned = 1, unsigned = 1, unsigned = 1); __host__ __device__ dim3(uint3); };
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
enum cudaError_t { cudaSuccess };
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = nullptr);
int cudaConfigureCall(dim3, dim3, size_t = 0, void * = nullptr);

/* What functions are often passed: one whose parameters are not known has no body. */
#define CLASS(name) template <typename...> struct name { template <typename... T> name(T...); };
namespace std {
CLASS(vector) CLASS(unique_ptr) CLASS(shared_ptr) CLASS(tuple) CLASS(function) CLASS(optional)
CLASS(map) CLASS(unordered_map) CLASS(set) CLASS(span)
template <typename T> struct complex { T real_, imaginary; };
template <typename T, size_t N> struct array { T values[N]; };
struct string { string(const char * = 0); };
struct string_view { string_view(const char * = 0); };
struct ostream;
}
namespace thrust {
CLASS(device_vector) CLASS(host_vector) CLASS(device_ptr)
template <typename T> struct complex { T real_, imaginary; };
}
namespace cooperative_groups {
struct thread_group {}; struct thread_block {}; struct grid_group {}; struct coalesced_group {};
template <unsigned, typename = thread_block> struct thread_block_tile {};
}
namespace nvcuda { namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator; struct row_major; struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32; struct u4; struct s4; struct b1; }
template <typename, int, int, int, typename T, typename = void> struct fragment { enum { num_elements = 8 }; T x[8]; };
template <typename... T> void load_matrix_sync(T &&...); template <typename... T> void store_matrix_sync(T &&...);
template <typename... T> void fill_fragment(T &&...); template <typename... T> void mma_sync(T &&...);
} }
namespace at { struct Tensor {}; typedef __half Half; typedef __nv_bfloat16 BFloat16; }
namespace c10 { using at::Half; using at::BFloat16; }
namespace torch { using at::Tensor; }
namespace cv { struct Mat {}; }
#undef CLASS
typedef float2 cuFloatComplex, cuComplex, cufftComplex;
typedef double2 cuDoubleComplex, cufftDoubleComplex;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef struct curandStateXORWOW { unsigned d, v[5]; int flag, flag_double; float extra; double extra_double; } curandState, curandState_t,
    curandStateXORWOW_t;
typedef struct curandStatePhilox4_32_10 { uint4 counter, output; uint2 key; unsigned state; int flag, flag_double; float extra;
    double extra_double; } curandStatePhilox4_32_10_t;
struct cudaDeviceProp;
