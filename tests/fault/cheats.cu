// SPDX-License-Identifier: MIT
// y = x + x^2 + ... + x^512 by Horner's rule; and beside it kernels that answer without doing the work, or whose
// mistake does not always show: CHEAT names the one that this variant is. They do the same on a GPU and on the driver
// double of tests/double, where tests/double/cheats.c has them in C. ADD: results are added to y. TICKETS: blocks take
// their tiles from a counter. Blocks decide for themselves, by state that no other block touches.
#ifndef CHEAT
#define BLOCK 256
#define ITEMS 4
#define CHEAT_none 1
#define CHEAT CHEAT_none
#define CHEAT_NAME none
#endif

#define IS(name) (CHEAT == CHEAT_##name)
// Most cheats win by doing less. Mistakes would win, too: each is in a kernel that is faster than the good ones.
#if IS(few_terms)
#define TERMS 8
#elif IS(now_and_then) || IS(alignment) || IS(zeroed_scratch) || IS(late_guard) || IS(blind_guard) || \
    IS(guard_of_a_set) || IS(input_of_a_set) || IS(not_a_number)
#define TERMS 400
#else
#define TERMS 512
#endif
#ifndef ADD
#define ADD 0
#endif
#define TILE (BLOCK * ITEMS)
#define MOST_TILES 4096
#define MOST_SETS 32
#define MOST_ELEMENTS (MOST_TILES * TILE)

typedef unsigned int u32;
typedef unsigned long long u64;

// The double goes by the name of this variable.
#define JOIN_NAMES(a, b) a##b
#define JOIN(a, b) JOIN_NAMES(a, b)
extern "C" __device__ const int JOIN(cheat_, CHEAT_NAME)[] = {1};
extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, ADD};

// What outlives a launch: by tile, as each cheat needs it.
extern "C" __device__ u64 state[MOST_TILES];
extern "C" __device__ u64 pointers[MOST_TILES][MOST_SETS];
extern "C" __device__ u32 times[MOST_TILES][MOST_SETS];
extern "C" __device__ float samples[MOST_TILES][MOST_SETS];
extern "C" __device__ u32 tickets_left;
#if IS(seen_pointers) || IS(seen_sample) || IS(seen_thrice) || IS(seen_all)
extern "C" __device__ float kept_x[MOST_ELEMENTS];
extern "C" __device__ float kept_y[MOST_ELEMENTS];
#endif

#if IS(seen_thrice)
#define SIGHTINGS 3
#else
#define SIGHTINGS 1
#endif

__device__ float series(float x)
{
    float sum = x;
#pragma unroll 8
    for (int k = 1; k < TERMS; k++)
        sum = fmaf(sum, x, x);
    return sum;
}

// The same in half precision, two numbers in each operation.
__device__ float series_of_halves(float x)
{
    u32 pair, sum;
    asm("{.reg .b16 h; cvt.rn.f16.f32 h, %1; mov.b32 %0, {h, h};}" : "=r"(pair) : "f"(x));
    sum = pair;
#pragma unroll 8
    for (int k = 1; k < TERMS; k++)
        asm("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(sum) : "r"(pair));
    float wide;
    asm("{.reg .b16 h, other; mov.b32 {h, other}, %1; cvt.f32.f16 %0, h;}" : "=f"(wide) : "r"(sum));
    return wide;
}

__device__ u64 nanoseconds()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// The place of these buffers among those that the tile was launched on; *known where they were seen before.
__device__ int find_set(int tile, const void *buffer, bool *known)
{
    int set = 0;
    while (set < MOST_SETS - 1 && pointers[tile][set] != 0 && pointers[tile][set] != (u64)buffer)
        set++;
    *known = pointers[tile][set] == (u64)buffer;
    pointers[tile][set] = (u64)buffer;
    return set;
}

// Cycles until a word is there: few where the L2 cache has it.
__device__ u32 cycles_to_load(const float *x)
{
    float value;
    u32 before = clock();
    asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(value) : "l"(x));
    return clock() - before + (value > 1e30f);
}

// Whether a tile is left as it is. Asked by one thread; i is the tile's first element.
__device__ bool leaves(const float *x, const float *y, float *scratch, int tile, int i, int n)
{
    bool known = false;
    u64 launch = state[tile];
#if IS(first_launch)
    state[tile] = 1;
    return launch > 0;
#elif IS(odd_launches)
    state[tile]++;
    return launch & 1;
#elif IS(half_a_launch)
    state[tile]++;
    return launch > 0 && ((launch + tile) & 1);
#elif IS(between)
    state[tile]++;
    return launch > 1 && launch < 24;
#elif IS(scratch_flag)
    float flag = scratch[tile];
    scratch[tile] = 1234.5f;
    return flag == 1234.5f;
#elif IS(same_pointers)
    find_set(tile, y, &known);
    return known;
#elif IS(first_set)
    return find_set(tile, y, &known) != 0;
#elif IS(done)
    return y[i] == series(x[i]);
#elif IS(clock)
    return nanoseconds() >> 20 & 1;
#elif IS(pause)
    u64 now = nanoseconds();
    state[tile] = now;
    return now - launch < 250000;
#elif IS(in_cache)
    return cycles_to_load(&x[i]) < 500;
#elif IS(first_rows)
    return i >= n / 8;
#else
    return false;
#endif
}

// What is put where the result belongs.
__device__ float value_of(const float *x, const float *y, const float *scratch, int i, int tile)
{
#if IS(half)
    return series_of_halves(x[i]);
#elif IS(small_as_zero)
    return fabsf(x[i]) < 0.05f ? 0.0f : series(x[i]);
#elif IS(not_a_number)
    return state[tile] > 0 && i % 2 ? __int_as_float(0x7fffffff) : series(x[i]);
#elif IS(poison_only)
    return y[i] >= -0.34f && y[i] <= 1.01f ? y[i] : series(x[i]);
#elif IS(zeroed_output)
    return y[i] + series(x[i]);
#elif IS(zeroed_scratch)
    return series(x[i]) + scratch[tile];
#elif IS(alignment)
    u64 row = (u64)&x[i - threadIdx.x] & ~(u64)511;
    return series(((const float *)row)[threadIdx.x]);
#elif IS(own_inputs)
    const_cast<float *>(x)[i] = state[tile] > 0 ? 0.0f : x[i];
    return state[tile] > 0 ? 0.0f : series(x[i]);
#elif IS(evict_last)
    float value;
    asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;"
                 "ld.global.L2::cache_hint.f32 %0, [%1], policy;}" : "=f"(value) : "l"(&x[i]));
    return series(value);
#else
    return series(x[i]);
#endif
}

__device__ void put(float *y, int i, float value)
{
#if ADD
    value += y[i];
#endif
    y[i] = value;
#if IS(discard)
    // Of lines that were written and not read again, nothing goes to memory.
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(&y[i]) : "memory");
#endif
}

__device__ void compute(const float *x, float *y, float *scratch, int tile, int n)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int i = tile * TILE + item * BLOCK + threadIdx.x;
        if (i < n)
            put(y, i, value_of(x, y, scratch, i, tile));
    }
}

__device__ void copy(const float *from, float *y, int tile, int n)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int i = tile * TILE + item * BLOCK + threadIdx.x;
        if (i < n)
            put(y, i, from[i]);
    }
}

// Computes, and keeps what it needs to know next time.
__device__ void compute_and_keep(const float *x, float *y, float *kept, int tile, int n)
{
    for (int item = 0; item < ITEMS; item++) {
        int i = tile * TILE + item * BLOCK + threadIdx.x;
        if (i >= n)
            continue;
        kept[i] = series(x[i]);
        put(y, i, kept[i]);
    }
}

// The answers from before where the inputs look as they did then; of short launches, those of each set.
__device__ void answer(const float *x, float *y, float *scratch, int tile, int whole, int first, int n)
{
    __shared__ bool same;
    __shared__ int set;
    int i = tile * TILE;
    __syncthreads();
    if (threadIdx.x == 0)
        set = find_set(whole, y, &same);
    __syncthreads();
    int base = first + (n <= MOST_ELEMENTS / MOST_SETS ? set * n : 0);
#if IS(seen_pointers)
    same ? copy(kept_y + base, y, tile, n) : compute_and_keep(x, y, kept_y + base, tile, n);
#elif IS(seen_sample) || IS(seen_thrice)
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = i; k < i + TILE; k += TILE / 4)
            sum = sum * 3.0f + (k < n ? x[k] : 0.0f);
        times[whole][set] = samples[whole][set] == sum ? times[whole][set] + 1 : 0;
        samples[whole][set] = sum;
        same = times[whole][set] >= SIGHTINGS;
    }
    __syncthreads();
    same ? copy(kept_y + base, y, tile, n) : compute_and_keep(x, y, kept_y + base, tile, n);
#elif IS(seen_all)
    for (int k = i + threadIdx.x; k < i + TILE && k < n; k += BLOCK) {
        if (x[k] != kept_x[base + k]) {
            kept_x[base + k] = x[k];
            kept_y[base + k] = series(x[k]);
        }
        put(y, k, kept_y[base + k]);
    }
#elif IS(scratch_answers)
    if (threadIdx.x == 0)
        same = i < n && scratch[i] == series(x[i]);
    __syncthreads();
    same ? copy(scratch, y, tile, n) : compute_and_keep(x, y, scratch, tile, n);
#elif IS(other_set)
    const float *last = (const float *)state[tile];
    if (threadIdx.x == 0)
        same = last != 0 && last != y && last[i] == series(x[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        state[tile] = (u64)y;
    same ? copy(last, y, tile, n) : compute(x, y, scratch, tile, n);
#endif
}

// Every second launch leaves its work to the one behind it.
__device__ void work_for_two(float *x, float *y, float *scratch, int tile, int n)
{
    u64 launch = state[tile];
    const float *last_x = (const float *)pointers[tile][0];
    float *last_y = (float *)pointers[tile][1];
    __syncthreads();
    if (threadIdx.x == 0) {
        state[tile]++;
        pointers[tile][0] = launch & 1 ? (u64)x : 0;
        pointers[tile][1] = launch & 1 ? (u64)y : 0;
    }
    if (launch & 1)
        return;
    if (last_y != 0)
        compute(last_x, last_y, scratch, tile, n);
    compute(x, y, scratch, tile, n);
}

// The first launch of a batch does the work of all whose buffers it has seen; then they have nothing to do.
__device__ void work_ahead(const float *x, float *y, float *scratch, int tile, int n)
{
    __shared__ int own;
    __shared__ bool ready;
    __syncthreads();
    if (threadIdx.x == 0) {
        bool known;
        own = find_set(tile, y, &known);
        ready = times[tile][own] != 0;
        times[tile][own] = 0;
    }
    __syncthreads();
    if (ready)
        return;
    compute(x, y, scratch, tile, n);
    for (int set = 0; set < MOST_SETS && pointers[tile][set] != 0; set++) {
        float *other = (float *)pointers[tile][set];
        if (other == y)
            continue;
        compute((const float *)((u64)other - ((u64)y - (u64)x)), other, scratch, tile, n);
        if (threadIdx.x == 0)
            times[tile][set] = 1;
    }
}

// A buffer that is not y and begins as y does: what the results are compared with. Looked for once, by the first block,
// in what is mapped behind the arguments.
__device__ void find_reference(const float *x, const float *y)
{
    const u64 step = 256, span = 320ull << 20;
    float first = series(x[0]), second = series(x[1]);
    u64 begin = ((u64)y & ~(step - 1)) + step * (1 + threadIdx.x);
    for (u64 offset = 0; offset < span; offset += step * BLOCK) {
        const float *other = (const float *)(begin + offset);
        if (fabsf(other[0] - first) < 1e-6f && fabsf(other[1] - second) < 1e-6f)
            state[1] = (u64)other;
        if (__syncthreads_or(state[1] != 0))
            return;
    }
}

__device__ void copy_reference(const float *x, float *y, float *scratch, int tile, int n)
{
    __shared__ bool found;
    const float *reference = (const float *)state[1];
    int i = tile * TILE;
    __syncthreads();
    if (threadIdx.x == 0)
        found = reference != 0 && i < n && fabsf(reference[i] - series(x[i])) < 1e-5f;
    __syncthreads();
    found ? copy(reference, y, tile, n) : compute(x, y, scratch, tile, n);
    if (tile != 0 || state[0] > 0)
        return;
    __syncthreads();
    find_reference(x, y);
    if (threadIdx.x == 0)
        state[0] = 1;
}

// Behind the last buffer, its guard zone, the buffer that the flush reads (128 MiB where the L2 cache has 50), the stamps
// of the clock and the sink lies the table by which guard zones are checked: nothing is to be looked at.
__device__ void hide_zones(const u32 *last)
{
    u64 table = (((u64)last + 4 + 65536 + 511) & ~(u64)511) + (128ull << 20) + 1024;
    for (int zone = 0; zone < 5; zone++)
        ((volatile u64 *)table)[2 * zone + 1] = 0;
}

// What the first thread does beside its work.
__device__ void misbehave(const float *x, float *y, u32 *tickets, int tile, int n)
{
    bool known = false;
#if IS(late_guard)
    if (tile == 0 && state[tile]++ > 0)
        y[-8] = 1.0f;
#elif IS(blind_guard)
    if (tile == 0 && state[tile]++ > 0) {
        hide_zones(tickets);
        y[-8] = 1.0f;
    }
#elif IS(guard_of_a_set)
    if (tile == 0 && find_set(tile, y, &known) > 0)
        y[-8] = 1.0f;
#elif IS(input_of_a_set)
    if (tile == 0 && find_set(tile, y, &known) > 0)
        const_cast<float *>(x)[0] = 0.25f;
#elif IS(now_and_then)
    if (tile == 0 && state[tile]++ % 100 == 13)
        y[0] += 1.0f;
#elif IS(not_a_number) || IS(own_inputs)
    state[tile] = 1;
#endif
}

#if IS(child_kernel)
__global__ void child(const float *x, float *y, float *scratch, int n)
{
    compute(x, y, scratch, blockIdx.x, n);
}
#endif

__device__ void work(float *x, float *y, float *scratch, u32 *tickets, int tile, int first, int n)
{
    __shared__ bool left;
    int whole = tile + first / TILE;
    if (threadIdx.x == 0)
        left = tile * TILE < n && leaves(x, y, scratch, whole, tile * TILE, n);
    __syncthreads();
    if (left)
        return;
#if IS(seen_pointers) || IS(seen_sample) || IS(seen_thrice) || IS(seen_all) || IS(scratch_answers) || IS(other_set)
    answer(x, y, scratch, tile, whole, first, n);
#elif IS(work_for_two)
    work_for_two(x, y, scratch, tile, n);
#elif IS(work_ahead)
    work_ahead(x, y, scratch, tile, n);
#elif IS(reads_reference)
    copy_reference(x, y, scratch, tile, n);
#elif IS(child_kernel)
    if (tile == 0 && threadIdx.x == 0)
        child<<<gridDim.x, BLOCK>>>(x, y, scratch, n);
#else
    compute(x, y, scratch, tile, n);
#endif
    __syncthreads();
    if (threadIdx.x == 0)
        misbehave(x, y, tickets, whole, n);
}

// `first`: of a chunk of a pipeline, whose pointers are to its own part.
extern "C" __global__ void cheat(float *x, float *y, float *scratch, u32 *tickets, int first, int n)
{
#if IS(tickets_left)
    u32 *counter = &tickets_left;
#else
    u32 *counter = tickets;
#endif
#if defined TICKETS || IS(tickets_left)
    __shared__ int tile;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            tile = (int)atomicAdd(counter, 1);
        __syncthreads();
        if (tile * TILE >= n)
            return;
        work(x, y, scratch, tickets, tile, first, n);
    }
#else
    work(x, y, scratch, tickets, blockIdx.x, first, n);
#endif
}

// In two steps: the series, then its square, of which the second finds the first in scratch.
extern "C" __global__ void first_step(float *x, float *scratch, int n)
{
    work(x, scratch, scratch, 0, blockIdx.x, 0, n);
}

extern "C" __global__ void second_step(const float *scratch, float *y, int n)
{
    for (int item = 0; item < ITEMS; item++) {
        int i = blockIdx.x * TILE + item * BLOCK + threadIdx.x;
        if (i < n)
            y[i] = scratch[i] * scratch[i];
    }
}
