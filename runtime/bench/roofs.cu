/* SPDX-License-Identifier: MIT */
/* What a device can do at best, one kernel for each thing that it does. */

typedef unsigned long long u64;

/* A multiply-add is two operations; a thread has CHAINS of them under way, none of which waits for another. */
#define CHAINS 16

extern "C" __global__ void __launch_bounds__(256) hone_roof_fp32(float *sink, int rounds, float a, float b)
{
    float x[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 4 * CHAINS; i++)
            x[i % CHAINS] = fmaf(x[i % CHAINS], a, b);
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    /* Never true in practice; keeps the work. */
    if (sum == -1.0f)
        *sink = sum;
}

/* Reads `count` words of 16 bytes again and again, past the first cache. */
extern "C" __global__ void __launch_bounds__(256) hone_roof_l2(const uint4 *words, u64 count, int rounds, u64 *sink)
{
    unsigned int own = 0;
    u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; round++) {
#pragma unroll 4
        for (u64 i = first; i < count; i += stride) {
            uint4 word;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                         : "l"(words + i));
            own += word.x ^ word.y ^ word.z ^ word.w;
        }
    }
    if (own == 0x5bd1e995u)
        *sink = own;
}

/* Copies `count` words of 16 bytes, by a thread for each or by fewer that take several. */
extern "C" __global__ void __launch_bounds__(256) hone_roof_copy(const uint4 *from, uint4 *to, u64 count)
{
    u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
#pragma unroll 4
    for (u64 i = first; i < count; i += stride)
        to[i] = from[i];
}

extern "C" __global__ void hone_roof_launch()
{
}

/* Products on the tensor cores: `words` of four bytes with numbers of a type, about normally distributed, are multiplied
 * again and again. What is random costs more power than zeros do, and with it the clock. */
enum type { BF16, FP16, TF32, FP8 };

__device__ unsigned int scrambled(unsigned int x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ float normal(unsigned int i)
{
    const unsigned int a = scrambled(2 * i), b = scrambled(2 * i + 1);
    const unsigned int sum = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
    return ((float)sum - 131070.0f) / 37837.0f;
}

template <type T> __device__ unsigned int word(unsigned int i)
{
    unsigned int bits = 0;
    if (T == BF16)
        bits = __float_as_uint(normal(2 * i)) >> 16 | (__float_as_uint(normal(2 * i + 1)) & 0xffff0000u);
    if (T == FP16)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(normal(2 * i + 1)), "f"(normal(2 * i)));
    if (T == TF32)
        bits = __float_as_uint(normal(i)) & 0xffffe000u;
#if __CUDA_ARCH__ >= 890
    if (T == FP8) {
        unsigned short low, high;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(normal(4 * i + 1)), "f"(normal(4 * i)));
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(normal(4 * i + 3)), "f"(normal(4 * i + 2)));
        bits = low | (unsigned int)high << 16;
    }
#endif
    return bits;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
    "+f"(d[i + 6]), "+f"(d[i + 7])
#define NAMES \
    "%0, %1, %2, %3, %4, %5, %6, %7, " \
    "%8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, " \
    "%24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, " \
    "%40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, " \
    "%56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, " \
    "%72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, " \
    "%88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, " \
    "%104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, " \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS \
    EIGHT(0), EIGHT(8), \
    EIGHT(16), EIGHT(24), \
    EIGHT(32), EIGHT(40), \
    EIGHT(48), EIGHT(56), \
    EIGHT(64), EIGHT(72), \
    EIGHT(80), EIGHT(88), \
    EIGHT(96), EIGHT(104), \
    EIGHT(112), EIGHT(120)
#define WGMMA(shape, across) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256" shape " {" NAMES "}, %128, %129, 1, 1, 1" across ";" \
                 : SUMS : "l"(tall), "l"(wide))

/* Two warpgroups multiply 64 rows each by 256 columns: in a round a line of 128 bytes of both, from shared memory, where
 * eight lines make a pattern of 1024 bytes. */
template <type T> __device__ void multiply(float *sink, int rounds)
{
    __shared__ __align__(1024) unsigned int words[(2 * 64 + 256) * 32];
    float d[128];
    for (unsigned int i = threadIdx.x; i < sizeof words / 4; i += 256)
        words[i] = word<T>(i + blockIdx.x * (sizeof words / 4));
    for (int i = 0; i < 128; i++)
        d[i] = 0.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(words);
    const u64 kind = (1ull << 62) | ((u64)(1024 >> 4) << 32) | (1ull << 16);
    const u64 first = kind | (at + threadIdx.x / 128 * (64 * 128)) >> 4, second = kind | (at + 2 * 64 * 128) >> 4;
    for (int round = 0; round < rounds; round++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < 4; step++) {
            const u64 tall = first + step * (32 >> 4), wide = second + step * (32 >> 4);
            if (T == BF16)
                WGMMA("k16.f32.bf16.bf16", ", 0, 0");
            if (T == FP16)
                WGMMA("k16.f32.f16.f16", ", 0, 0");
            if (T == TF32)
                WGMMA("k8.f32.tf32.tf32", "");
            if (T == FP8)
                WGMMA("k32.f32.e4m3.e4m3", "");
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    float sum = 0.0f;
    for (int i = 0; i < 128; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
        sum += d[i];
    }
    if (sum == 0.1234567f)
        *sink = sum;
}
#else
#define MMA(shape) \
    asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <type T> __device__ void product(float *d, const unsigned int *a, const unsigned int *b)
{
#if __CUDA_ARCH__ >= 800
    if (T == BF16)
        MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    if (T == FP16)
        MMA("m16n8k16.row.col.f32.f16.f16.f32");
    if (T == TF32)
        MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#endif
#if __CUDA_ARCH__ >= 890
    if (T == FP8)
        MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#endif
}

/* Eight warps, each with eight products of 16 rows by 8 columns under way, sixteen of each a round. */
template <type T> __device__ void multiply(float *sink, int rounds)
{
    float d[8][4] = {};
    unsigned int a[4][4], b[2][2];
    for (int i = 0; i < 16; i++)
        a[i / 4][i % 4] = word<T>(threadIdx.x * 20 + i);
    for (int i = 0; i < 4; i++)
        b[i / 2][i % 2] = word<T>(threadIdx.x * 20 + 16 + i);
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int i = 0; i < 16 * 8; i++)
            product<T>(d[i % 8], a[i % 4], b[i / 4 % 2]);
    float sum = 0.0f;
    for (int i = 0; i < 32; i++)
        sum += d[i / 4][i % 4];
    if (sum == 0.1234567f)
        *sink = sum;
}
#endif

/* As above, and how many cycles that were in how many nanoseconds. */
template <type T> __device__ void multiply_and_time(float *sink, int rounds, u64 *clocks)
{
    u64 start_ns, end_ns;
    const u64 start = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns)::"memory");
    multiply<T>(sink, rounds);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns)::"memory");
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        clocks[0] = clock64() - start;
        clocks[1] = end_ns - start_ns;
    }
}

#define TENSOR_ROOF(name, T) \
    extern "C" __global__ void __launch_bounds__(256) hone_roof_##name(float *sink, int rounds, u64 *clocks) \
    { \
        multiply_and_time<T>(sink, rounds, clocks); \
    }
TENSOR_ROOF(fp8, FP8)
TENSOR_ROOF(bf16, BF16)
TENSOR_ROOF(fp16, FP16)
TENSOR_ROOF(tf32, TF32)
