// SPDX-License-Identifier: MIT
// CUDA C++ on the CPU, as far as the templates need it: a thread is a fiber, a block runs until all of its threads have
// ended, blocks run one after the other. Barriers, warp functions and atomics mean what they do on a GPU; memory is
// coherent and in order, so that a missing fence or a race between blocks does not show here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#include <algorithm>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
using std::max;
using std::min;

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
#define DEFINE_VECTOR(type, element, bytes, ...)                                                                       \
    struct __align__(bytes) type {                                                                                     \
        element __VA_ARGS__;                                                                                           \
    };
DEFINE_VECTOR(float2, float, 8, x, y)
DEFINE_VECTOR(float4, float, 16, x, y, z, w)
DEFINE_VECTOR(int2, int, 8, x, y)
DEFINE_VECTOR(int4, int, 16, x, y, z, w)
DEFINE_VECTOR(uint2, unsigned, 8, x, y)
DEFINE_VECTOR(uint4, unsigned, 16, x, y, z, w)
DEFINE_VECTOR(ulonglong2, unsigned long long, 16, x, y)
DEFINE_VECTOR(uchar4, unsigned char, 4, x, y, z, w)
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

// Numbers of 16 bits, rounded to the nearest even.
struct __half {
    unsigned short bits;
    __half() = default;
    __half(double value)
    {
        const _Float16 rounded = (_Float16)value;
        std::memcpy(&bits, &rounded, sizeof bits);
    }
    static __half of_bits(unsigned short bits)
    {
        __half result;
        result.bits = bits;
        return result;
    }
    operator float() const
    {
        _Float16 value;
        std::memcpy(&value, &bits, sizeof value);
        return (float)value;
    }
};
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(double value)
    {
        const float single = (float)value;
        unsigned all;
        std::memcpy(&all, &single, sizeof all);
        bits = (unsigned short)((all + 0x7FFF + (all >> 16 & 1)) >> 16);
    }
    static __nv_bfloat16 of_bits(unsigned short bits)
    {
        __nv_bfloat16 result;
        result.bits = bits;
        return result;
    }
    operator float() const
    {
        const unsigned all = (unsigned)bits << 16;
        float value;
        std::memcpy(&value, &all, sizeof value);
        return value;
    }
};

namespace emulator
{
constexpr size_t stack_bytes = 128 << 10;
constexpr int most_threads = 1024;

struct barrier {
    unsigned arrived, generation;
};
struct warp {
    barrier at[32]; // by the lowest lane of the mask
    uint64_t value[32];
    unsigned ended; // lanes
};
struct thread {
    ucontext_t context;
    uint3 index;
    unsigned number;
    bool done;
};

inline thread threads[most_threads];
inline warp warps[most_threads / 32];
inline barrier block_barrier;
inline unsigned alive, current, idle;
inline ucontext_t scheduler;
inline char *stacks;
inline unsigned char shared[232448] __align__(1024);
inline void (*body)();

[[noreturn]] inline void fail(const char *message)
{
    std::printf("emulator: %s\n", message);
    std::fflush(stdout);
    std::_Exit(3);
}

inline void yield() { swapcontext(&threads[current].context, &scheduler); }

// Until `expected()` threads have come; whoever ends in the meantime is not waited for.
template <typename Expected> void wait(barrier &at, Expected expected)
{
    const unsigned generation = at.generation;
    ++at.arrived;
    while (at.generation == generation) {
        if (at.arrived >= expected()) {
            at.arrived = 0;
            ++at.generation;
            idle = 0;
            return;
        }
        if (++idle > 1000000)
            fail("threads wait for others that never come");
        yield();
    }
}

inline unsigned lane() { return threads[current].number % 32; }
inline warp &my_warp() { return warps[threads[current].number / 32]; }

inline void wait_warp(unsigned mask)
{
    warp &own = my_warp();
    if (!(mask >> lane() & 1))
        fail("a lane calls a warp function with a mask that leaves it out");
    if (mask & own.ended)
        fail("a warp function waits for a lane that has ended");
    wait(own.at[__builtin_ctz(mask)], [=] { return (unsigned)__builtin_popcount(mask); });
}

template <typename T> T exchange(unsigned mask, T value, unsigned from)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    warp &own = my_warp();
    std::memcpy(&own.value[lane()], &value, sizeof value);
    wait_warp(mask);
    T result = value;
    if (from < 32 && mask >> from & 1)
        std::memcpy(&result, &own.value[from], sizeof result);
    wait_warp(mask);
    return result;
}

inline void run_thread()
{
    body();
    thread &own = threads[current];
    own.done = true;
    my_warp().ended |= 1u << lane();
    --alive;
    idle = 0;
    yield();
}
} // namespace emulator

inline dim3 gridDim, blockDim;
inline uint3 blockIdx;
#define threadIdx (emulator::threads[emulator::current].index)
constexpr int warpSize = 32;

namespace emulator
{
inline void run_block()
{
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    std::memset(warps, 0, sizeof warps);
    block_barrier = {};
    alive = count;
    for (unsigned i = 0; i < most_threads / 32; ++i)
        warps[i].ended = i * 32 >= count ? ~0u : count - i * 32 >= 32 ? 0 : ~0u << (count - i * 32);
    for (unsigned i = 0; i < count; ++i) {
        thread &own = threads[i];
        own = {};
        own.number = i;
        own.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
        getcontext(&own.context);
        own.context.uc_stack.ss_sp = stacks + i * stack_bytes;
        own.context.uc_stack.ss_size = stack_bytes;
        own.context.uc_link = &scheduler;
        makecontext(&own.context, run_thread, 0);
    }
    while (alive > 0)
        for (unsigned i = 0; i < count; ++i)
            if (!threads[i].done) {
                current = i;
                swapcontext(&scheduler, &threads[i].context);
            }
}

inline void launch(dim3 grid, dim3 block, void (*kernel)())
{
    if (block.x * block.y * block.z > most_threads)
        fail("more than 1024 threads in a block");
    if (stacks == nullptr)
        stacks = (char *)std::malloc(most_threads * stack_bytes);
    gridDim = grid;
    blockDim = block;
    body = kernel;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                std::memset(shared, 0xA5, sizeof shared);
                run_block();
            }
}
} // namespace emulator

inline void __syncthreads()
{
    emulator::wait(emulator::block_barrier, [] { return emulator::alive; });
}
inline void __syncwarp(unsigned mask = ~0u) { emulator::wait_warp(mask & ~emulator::my_warp().ended); }
inline int __syncthreads_count(int value)
{
    static int sum;
    sum = 0;
    __syncthreads();
    sum += value != 0;
    __syncthreads();
    const int result = sum;
    __syncthreads();
    return result;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { emulator::yield(); }

template <typename T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    const unsigned own = emulator::lane();
    return emulator::exchange(mask, value, own / width * width + from % width);
}
template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    const unsigned own = emulator::lane();
    return emulator::exchange(mask, value, own % width + delta < (unsigned)width ? own + delta : own);
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    const unsigned own = emulator::lane();
    return emulator::exchange(mask, value, own % width >= delta ? own - delta : own);
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    (void)width;
    return emulator::exchange(mask, value, emulator::lane() ^ bits);
}
inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    emulator::warp &own = emulator::my_warp();
    own.value[emulator::lane()] = predicate != 0;
    emulator::wait_warp(mask);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1 && own.value[lane])
            result |= 1u << lane;
    emulator::wait_warp(mask);
    return result;
}
template <typename T> unsigned __match_any_sync(unsigned mask, T value)
{
    emulator::warp &own = emulator::my_warp();
    own.value[emulator::lane()] = (uint64_t)value;
    emulator::wait_warp(mask);
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1 && own.value[lane] == (uint64_t)value)
            result |= 1u << lane;
    emulator::wait_warp(mask);
    return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

template <typename T> T __ldg(const T *pointer) { return *pointer; }
template <typename T> T __ldcg(const T *pointer) { return *pointer; }
template <typename T> T __ldca(const T *pointer) { return *pointer; }
template <typename T> T __ldcs(const T *pointer) { return *pointer; }
template <typename T> void __stcs(T *pointer, T value) { *pointer = value; }
template <typename T> void __stcg(T *pointer, T value) { *pointer = value; }

namespace emulator
{
// Over a buffer of floats, as it lies or, with a height, over its rows.
struct texture {
    const float *data;
    long long count;
    int width, height;
    long long pitch; // in bytes
};
// Over a matrix: what a box is.
struct tensor_map {
    unsigned char *data;
    long long dims[2], stride; // elements; bytes
    int box[2], element, swizzle;
};
} // namespace emulator
using cudaTextureObject_t = const emulator::texture *;

template <typename T> T tex1Dfetch(cudaTextureObject_t texture, int index)
{
    if (texture->height != 0)
        emulator::fail("tex1Dfetch of a texture of two dimensions");
    return index >= 0 && index < texture->count ? texture->data[index] : 0;
}
template <typename T> T tex2D(cudaTextureObject_t texture, float x, float y)
{
    if (texture->height == 0)
        emulator::fail("tex2D of a texture of one dimension");
    const int column = std::clamp((int)std::floor(x), 0, texture->width - 1);
    const int row = std::clamp((int)std::floor(y), 0, texture->height - 1);
    return texture->data[row * (texture->pitch / (long long)sizeof(float)) + column];
}

#define DEFINE_ATOMIC(name, result)                                                                                    \
    template <typename T, typename V> T name(T *address, V value)                                                      \
    {                                                                                                                  \
        const T old = *address, operand = (T)value;                                                                    \
        *address = result;                                                                                             \
        return old;                                                                                                    \
    }                                                                                                                  \
    template <typename T, typename V> T name##_block(T *address, V value) { return name(address, value); }
DEFINE_ATOMIC(atomicAdd, old + operand)
DEFINE_ATOMIC(atomicSub, old - operand)
DEFINE_ATOMIC(atomicMax, std::max(old, operand))
DEFINE_ATOMIC(atomicMin, std::min(old, operand))
DEFINE_ATOMIC(atomicExch, operand)
DEFINE_ATOMIC(atomicOr, old | operand)
DEFINE_ATOMIC(atomicInc, old >= operand ? 0 : old + 1)
template <typename T> T atomicCAS(T *address, T compare, T value)
{
    const T old = *address;
    if (old == compare)
        *address = value;
    return old;
}
template <typename T> T atomicCAS_block(T *address, T compare, T value) { return atomicCAS(address, compare, value); }

inline unsigned __reduce_add_sync(unsigned mask, unsigned value)
{
    for (int bits = 16; bits > 0; bits /= 2)
        value += __shfl_xor_sync(mask, value, bits);
    return value;
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz((unsigned)bits); }
inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline int __float_as_int(float value) { return (int)__float_as_uint(value); }
inline float __int_as_float(int bits) { return __uint_as_float((unsigned)bits); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const uint64_t bytes = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i)
        result |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return result;
}
inline long long clock64()
{
    static long long now;
    return now += 100;
}
inline long long clock() { return clock64(); }
