// SPDX-License-Identifier: MIT
// Attention in one pass: O = softmax(scale Q K^T) V for each head, of 16-bit numbers, summed in fp32 by the tensor cores of
// Hopper (sm_90a). Neither scores nor weights ever reach memory: a warpgroup holds 64 rows of O, and for a tile of keys after
// the other multiplies, finds the new maximum of each row, shrinks what it has by as much as the maximum grew, and adds what
// the tile's values weigh (Dao, "FlashAttention-2", algorithm 1). Weights go from the registers of one product straight into
// the next. As in bgemm.cu a producer has tiles copied, and consumers meet it by barriers alone. Tuned: the tiles and how many
// there are, and what runs beside what.
#ifndef TYPE // of Q, K, V and O
#define TYPE___nv_bfloat16 1
#define TYPE_half 2
#define TYPE TYPE___nv_bfloat16
#endif
#ifndef WIDTH // of a head: elements of a query
#define WIDTH 128
#endif
#ifndef CAUSAL // 1: a query sees no key behind its own
#define CAUSAL 0
#endif

#ifndef CONSUMERS // warpgroups with 64 queries each, that read the same keys and values
#define CONSUMERS 2
#endif
#ifndef KEYS // of a tile
#define KEYS 64
#endif
#ifndef STAGES // tiles of keys or values in shared memory
#define STAGES 2
#endif
#ifndef OVERLAP // 1: the next scores are computed while weights are found, and the values of the last ones added
#define OVERLAP 0
#endif
#ifndef TURNS // 1: consumers start products in turn, so that one finds weights while another multiplies
#define TURNS 0
#endif
#ifndef ORDER // of blocks: all queries of a head, then the next head's, or the same queries of all heads
#define ORDER_queries 1
#define ORDER_heads 2
#define ORDER ORDER_queries
#endif
#ifndef PRODUCER_REGISTERS // that the producer keeps of its share, a warpgroup then; 0: it is a single warp and keeps all
#define PRODUCER_REGISTERS 0
#endif
#ifndef MIN_BLOCKS // that a multiprocessor is to have room for
#define MIN_BLOCKS 1
#endif

#if TYPE == TYPE_half
#define WGMMA_TYPE "f16"
#else
#define WGMMA_TYPE "bf16"
#endif
#include "halves.cuh"
#include "stages.cuh"
#include "tensor_copy.cuh"
#include "wgmma_registers.cuh"

__device__ __forceinline__ unsigned packed(float first, float second)
{
    return packed_as<TYPE == TYPE_half>(first, second);
}
#include "attention_weights.cuh"

// A tile in shared memory is cut into panels whose lines have 64 elements, 128 bytes, of a query, key or value.
constexpr int queries = CONSUMERS * 64, panels = WIDTH / 64;
constexpr int query_panel_bytes = queries * 128, tile_panel_bytes = KEYS * 128;
constexpr int queries_bytes = panels * query_panel_bytes, tile_bytes = panels * tile_panel_bytes;
constexpr int barriers_at = queries_bytes + STAGES * tile_bytes;
constexpr int producer_threads = PRODUCER_REGISTERS > 0 ? 128 : 32, threads = CONSUMERS * 128 + producer_threads;
// What the producer gives away of its registers, consumers take: of 65,536 a multiprocessor, by eights.
constexpr int given = (512 - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8, consumer_registers = given < 240 ? given : 240;

struct barriers {
    mbarrier queries_are_there, full[STAGES], empty[STAGES];
};

struct work {
    int head, first; // query
    int tiles;       // of keys that it sees
};

__device__ __forceinline__ work work_of(int block, int blocks, int length)
{
    const int tiles = (length + queries - 1) / queries, heads = blocks / tiles;
    const int tile = ORDER == ORDER_queries ? block % tiles : block / heads;
    const int head = ORDER == ORDER_queries ? block / tiles : block % heads;
    const int first = (CAUSAL ? tiles - 1 - tile : tile) * queries; // the longest first
    const int seen = CAUSAL ? min(length, first + queries) : length;
    return {head, first, (seen + KEYS - 1) / KEYS};
}

__device__ __forceinline__ void load_tile(unsigned char *to, const tensor_map *map, int panel_bytes, int line, int head,
                                          mbarrier *full)
{
#pragma unroll
    for (int panel = 0; panel < panels; ++panel)
        load_box(to + panel * panel_bytes, map, panel * 64, line, head, full);
}

// Tiles come in the order of keys, values, keys, values.
__device__ __forceinline__ void produce(unsigned char *shared, barriers *meeting, const tensor_map *Q_map,
                                        const tensor_map *K_map, const tensor_map *V_map, const work &own)
{
    barrier_arrive_and_expect(&meeting->queries_are_there, queries_bytes);
    load_tile(shared, Q_map, query_panel_bytes, own.first, own.head, &meeting->queries_are_there);
    ring at;
#pragma unroll 1
    for (int i = 0; i < 2 * own.tiles; ++i, at.advance()) {
        barrier_wait(&meeting->empty[at.stage], at.parity ^ 1);
        barrier_arrive_and_expect(&meeting->full[at.stage], tile_bytes);
        load_tile(shared + queries_bytes + at.stage * tile_bytes, i % 2 == 0 ? K_map : V_map, tile_panel_bytes,
                  i / 2 * KEYS, own.head, &meeting->full[at.stage]);
    }
}

// A warp has read a tile.
__device__ __forceinline__ void release(mbarrier *empty)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(empty);
}

__device__ __forceinline__ void wait_for_turn(int consumer)
{
    if (TURNS)
        asm volatile("bar.sync %0, 256;" ::"r"(8 + consumer) : "memory");
}
__device__ __forceinline__ void pass_turn(int consumer)
{
    if (TURNS)
        asm volatile("bar.arrive %0, 256;" ::"r"(8 + (consumer + 1) % CONSUMERS) : "memory");
}

// Starts scores = Q K^T: lines of both go along what is summed over.
__device__ __forceinline__ void start_scores(float (&scores)[KEYS / 2], unsigned long long query, unsigned long long key)
{
#pragma unroll
    for (int k = 0; k < WIDTH; k += 16)
        wgmma<false, false>(scores, query + (k / 64 * query_panel_bytes + k % 64 * 2) / 16,
                            key + (k / 64 * tile_panel_bytes + k % 64 * 2) / 16, k);
    wgmma_end_group();
}

// Starts out += weights V: weights are in registers, lines of V lie across what is summed over.
__device__ __forceinline__ void start_values(float (&out)[WIDTH / 2], const unsigned (&weights)[KEYS / 4],
                                             unsigned long long value)
{
#pragma unroll
    for (int k = 0; k < KEYS; k += 16)
        wgmma_from_registers<true>(out, weights + k / 4, value + k * 128 / 16);
    wgmma_end_group();
}

// What a consumer knows of its 64 queries.
struct progress {
    float out[WIDTH / 2];
    unsigned weights[KEYS / 4];
    row_sums rows;
    ring keys, values; // the next tile of each
};

// Out shrinks as the weights did that are in it.
__device__ __forceinline__ void shrink(float (&out)[WIDTH / 2], const row_pair &factor)
{
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i)
        out[i] *= i / 2 % 2 ? factor.lower : factor.upper;
}

// The next tile of keys becomes weights. Before that, with OVERLAP the values of the tile before are added meanwhile; else
// the tile's own values afterwards.
template <bool first, bool masked>
__device__ __forceinline__ void attend(progress &own, unsigned long long query, unsigned long long tiles,
                                       barriers *meeting, int consumer, const limits &seen, int key, float scale, bool more)
{
    constexpr bool adds = OVERLAP && !first;
    float scores[KEYS / 2];
    barrier_wait(&meeting->full[own.keys.stage], own.keys.parity);
    if (adds)
        barrier_wait(&meeting->full[own.values.stage], own.values.parity);
    wait_for_turn(consumer);
    wgmma_begin();
    start_scores(scores, query, tiles + own.keys.stage * (tile_bytes / 16));
    if (adds)
        start_values(own.out, own.weights, tiles + own.values.stage * (tile_bytes / 16));
    if (more)
        pass_turn(consumer);

    wgmma_wait<adds>();
    sums_are_there(scores);
    release(&meeting->empty[own.keys.stage]);
    own.keys.advance(2);
    if (masked)
        mask_scores(scores, key, seen);
    const row_pair factor = find_weights(scores, own.rows, scale);
    if (adds) {
        wgmma_wait<0>();
        sums_are_there(own.out);
        release(&meeting->empty[own.values.stage]);
        own.values.advance(2);
    }
    if (!first)
        shrink(own.out, factor);
    pack_weights(own.weights, scores);
}

// The values of the tile that the weights are of.
__device__ __forceinline__ void add_values(progress &own, unsigned long long tiles, barriers *meeting)
{
    barrier_wait(&meeting->full[own.values.stage], own.values.parity);
    wgmma_begin();
    start_values(own.out, own.weights, tiles + own.values.stage * (tile_bytes / 16));
    wgmma_wait<0>();
    sums_are_there(own.out);
    release(&meeting->empty[own.values.stage]);
    own.values.advance(2);
}

template <bool first, bool masked>
__device__ __forceinline__ void attend_and_add(progress &own, unsigned long long query, unsigned long long tiles,
                                               barriers *meeting, int consumer, const limits &seen, int key, float scale,
                                               bool more)
{
    attend<first, masked>(own, query, tiles, meeting, consumer, seen, key, scale, more);
    if (!OVERLAP)
        add_values(own, tiles, meeting);
}

// Through the shared memory where the queries were, which none but this consumer read.
__device__ __forceinline__ void store(const progress &own, unsigned char *lines, const tensor_map *O_map, const work &at,
                                      int consumer)
{
    const int lane = threadIdx.x % 32, line = threadIdx.x % 128 / 32 * 16 + lane % 16;
    const row_pair factor = own.rows.inverse();
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i += 8) {
        // Swizzled: eight lines' words of 16 bytes lie in different banks.
        const int column = 2 * i + lane / 16 * 8, offset = line * 128 + ((column % 64 * 2) ^ (line % 8 * 16));
        store_matrices<false>(lines + column / 64 * query_panel_bytes + offset,
                              packed(own.out[i] * factor.upper, own.out[i + 1] * factor.upper),
                              packed(own.out[i + 2] * factor.lower, own.out[i + 3] * factor.lower),
                              packed(own.out[i + 4] * factor.upper, own.out[i + 5] * factor.upper),
                              packed(own.out[i + 6] * factor.lower, own.out[i + 7] * factor.lower));
    }
    make_visible_to_copies();
    asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
    if (threadIdx.x % 128 == 0) {
#pragma unroll
        for (int panel = 0; panel < panels; ++panel)
            store_box(lines + panel * query_panel_bytes, O_map, panel * 64, at.first + consumer * 64, at.head);
        wait_for_reads_of_stores<0>();
    }
}

__device__ __forceinline__ void consume(unsigned char *shared, barriers *meeting, const tensor_map *O_map, const work &at,
                                        int length, float scale, int consumer)
{
    const int first_query = at.first + consumer * 64;
    const limits seen = {length, first_query};
    const unsigned address = shared_address(shared);
    const unsigned long long query = wgmma_matrix(address + consumer * 64 * 128, query_panel_bytes);
    const unsigned long long tiles = wgmma_matrix(address + queries_bytes, tile_panel_bytes);
    progress own = {};
    own.values.advance();
    barrier_wait(&meeting->queries_are_there, 0);
    if (TURNS && consumer == CONSUMERS - 1)
        pass_turn(consumer);

    const bool passes = consumer < CONSUMERS - 1;
    const int whole = (CAUSAL ? min(length, first_query + 1) : length) / KEYS; // tiles that all queries see all of
    attend_and_add<true, true>(own, query, tiles, meeting, consumer, seen, 0, scale, passes || at.tiles > 1);
    int tile = 1;
#pragma unroll 1
    for (; tile < whole; ++tile)
        attend_and_add<false, false>(own, query, tiles, meeting, consumer, seen, tile * KEYS, scale,
                                     passes || tile + 1 < at.tiles);
#pragma unroll 1
    for (; tile < at.tiles; ++tile)
        attend_and_add<false, true>(own, query, tiles, meeting, consumer, seen, tile * KEYS, scale,
                                    passes || tile + 1 < at.tiles);
    if (OVERLAP)
        add_values(own, tiles, meeting);
    store(own, shared + consumer * 64 * 128, O_map, at, consumer);
}

extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
    attention(const __grid_constant__ tensor_map Q_map, const __grid_constant__ tensor_map K_map,
              const __grid_constant__ tensor_map V_map, const __grid_constant__ tensor_map O_map, int length, float scale)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    barriers *const meeting = (barriers *)(shared + barriers_at);
    const int consumer = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const work own = work_of(blockIdx.x, gridDim.x, length);

    if (threadIdx.x == CONSUMERS * 128) {
        barrier_init(&meeting->queries_are_there, 1);
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&meeting->full[stage], 1);
            barrier_init(&meeting->empty[stage], 4 * CONSUMERS);
        }
        barriers_are_ready();
    }
    __syncthreads();

    if (consumer == CONSUMERS) {
#if PRODUCER_REGISTERS > 0
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
        if (threadIdx.x == CONSUMERS * 128)
            produce(shared, meeting, &Q_map, &K_map, &V_map, own);
    } else {
#if PRODUCER_REGISTERS > 0
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers));
#endif
        consume(shared, meeting, &O_map, own, length, scale, consumer);
    }
}
