/* SPDX-License-Identifier: MIT */
/* What libclang has to know of CUDA C++ to read a source whose headers are missing. Declarations alone: nothing is compiled. */
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
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline
#define __noinline__
#define __CUDACC__ 1
#define CUDART_VERSION 12080

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t, uchar;
typedef unsigned short uint16_t, ushort;
typedef unsigned int uint32_t, uint;
typedef unsigned long uint64_t, ulong, uintptr_t;
typedef long intptr_t, ssize_t, longlong;
typedef unsigned long ulonglong;
namespace std
{
using ::int16_t, ::int32_t, ::int64_t, ::int8_t, ::ptrdiff_t, ::size_t, ::uint16_t, ::uint32_t, ::uint64_t, ::uint8_t;
}

#define VECTORS(T, N)                                                                                                                    \
    struct N##1 { T x; };                                                                                                                \
    struct N##2 { T x, y; };                                                                                                             \
    struct N##3 { T x, y, z; };                                                                                                          \
    struct N##4 { T x, y, z, w; };
VECTORS(signed char, char)
VECTORS(unsigned char, uchar)
VECTORS(short, short)
VECTORS(unsigned short, ushort)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(long, longlong)
VECTORS(unsigned long, ulonglong)
VECTORS(float, float)
VECTORS(double, double)
#undef VECTORS
struct __half {
    unsigned short bits;
    __half(float = 0);
    operator float() const;
};
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16(float = 0);
    operator float() const;
};
struct __half2 { __half x, y; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
struct __nv_fp8_e4m3 { unsigned char bits; };
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned = 1, unsigned = 1, unsigned = 1);
    __host__ __device__ dim3(uint3);
};
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t, CUtexObject;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct { unsigned long opaque[16]; } CUtensorMap;
enum cudaError_t { cudaSuccess };
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = nullptr);
int cudaConfigureCall(dim3, dim3, size_t = 0, void * = nullptr);

/* What functions are often passed: one whose parameters are not known has no body. */
#define CLASS(name) template <typename...> struct name { template <typename... T> name(T...); };
namespace std
{
CLASS(vector) CLASS(unique_ptr) CLASS(shared_ptr) CLASS(pair) CLASS(tuple) CLASS(function) CLASS(optional)
CLASS(map) CLASS(unordered_map) CLASS(set) CLASS(span)
template <typename T> struct complex { T real_, imaginary; };
template <typename T, size_t N> struct array { T values[N]; };
template <bool, typename T = void> struct enable_if { typedef T type; };
template <bool C, typename T = void> using enable_if_t = typename enable_if<C, T>::type;
template <bool, typename T, typename> struct conditional { typedef T type; };
template <bool C, typename T, typename U> using conditional_t = typename conditional<C, T, U>::type;
#define TRAIT(name) \
    template <typename...> struct name { static constexpr bool value = true; }; \
    template <typename... T> constexpr bool name##_v = true;
TRAIT(is_same) TRAIT(is_integral) TRAIT(is_floating_point) TRAIT(is_arithmetic) TRAIT(is_signed) TRAIT(is_unsigned)
TRAIT(is_pointer) TRAIT(is_const) TRAIT(is_convertible) TRAIT(is_base_of) TRAIT(is_enum) TRAIT(is_trivially_copyable)
#undef TRAIT
struct string { string(const char * = 0); };
struct string_view { string_view(const char * = 0); };
struct ostream;
}
namespace thrust
{
CLASS(device_vector) CLASS(host_vector) CLASS(device_ptr)
template <typename T> struct complex { T real_, imaginary; };
}
namespace cooperative_groups
{
struct thread_group {};
struct thread_block {};
struct grid_group {};
struct coalesced_group {};
template <unsigned, typename = thread_block> struct thread_block_tile {};
}
namespace at
{
struct Tensor {};
}
namespace torch
{
using at::Tensor;
}
namespace cv
{
struct Mat {};
}
#undef CLASS
typedef float2 cuFloatComplex, cuComplex, cufftComplex;
typedef double2 cuDoubleComplex, cufftDoubleComplex;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef struct curandStateXORWOW {
    unsigned d, v[5];
    int flag, flag_double;
    float extra;
    double extra_double;
} curandState, curandState_t, curandStateXORWOW_t;
typedef struct curandStatePhilox4_32_10 {
    uint4 counter, output;
    uint2 key;
    unsigned state;
    int flag, flag_double;
    float extra;
    double extra_double;
} curandStatePhilox4_32_10_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct cusparseContext *cusparseHandle_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef int cufftHandle;
struct cudaDeviceProp;

#define NULL 0
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define assert(x) ((void)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

/* Of headers of C; their values are of no interest. */
#define CHAR_BIT 1
#define CHAR_MAX 1
#define CHAR_MIN 1
#define SCHAR_MAX 1
#define SCHAR_MIN 1
#define UCHAR_MAX 1
#define SHRT_MAX 1
#define SHRT_MIN 1
#define USHRT_MAX 1
#define INT_MAX 1
#define INT_MIN 1
#define UINT_MAX 1
#define LONG_MAX 1
#define LONG_MIN 1
#define ULONG_MAX 1
#define LLONG_MAX 1
#define LLONG_MIN 1
#define ULLONG_MAX 1
#define INT8_MAX 1
#define INT8_MIN 1
#define UINT8_MAX 1
#define INT16_MAX 1
#define INT16_MIN 1
#define UINT16_MAX 1
#define INT32_MAX 1
#define INT32_MIN 1
#define UINT32_MAX 1
#define INT64_MAX 1
#define INT64_MIN 1
#define UINT64_MAX 1
#define SIZE_MAX 1
#define RAND_MAX 1
#define EXIT_SUCCESS 1
#define EXIT_FAILURE 1
#define FLT_MAX 1
#define FLT_MIN 1
#define FLT_EPSILON 1
#define FLT_DIG 1
#define DBL_MAX 1
#define DBL_MIN 1
#define DBL_EPSILON 1
#define M_E 1
#define M_LN2 1
#define M_LN10 1
#define M_PI 1
#define M_PI_2 1
#define M_PI_4 1
#define M_1_PI 1
#define M_2_PI 1
#define M_2_SQRTPI 1
#define M_SQRT2 1
#define M_SQRT1_2 1
