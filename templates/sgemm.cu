// SPDX-License-Identifier: MIT
// C = A B in fp32, row-major, M x K times K x N. A block computes a tile of C, a warp a part of it, a thread a part of
// that in registers, so that each element once fetched serves many multiply-adds (Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication"; Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra"). Tuned:
// the size of the parts, the way of the data through shared memory, the order of the work, and how blocks or warps
// share K where C alone has too few elements to fill the GPU. In general it is BLAS's C = alpha A B + beta C, where A and
// B may be transposed, and lines lie apart.
#ifndef FROZEN // 1: the sizes are constants of the program; 0: the kernel is told them, and one program serves them all
#define FROZEN 1
#endif
#if FROZEN && !defined M
#define M 4096
#define N 4096
#define K 4096
#endif
#ifndef ALIGN_A // what the lines of A, and those of B and C, are multiples of, where sizes are no constants
#define ALIGN_A 1
#endif
#ifndef ALIGN_B
#define ALIGN_B 1
#endif
#ifndef GENERAL // 1: BLAS in general, as in sgemm_blas.cu: A and B may be transposed; factors and how lines lie are told
#define GENERAL 0
#define TRANS_A_n 1
#define TRANS_A_t 2
#define TRANS_A TRANS_A_n
#define TRANS_B_n 1
#define TRANS_B_t 2
#define TRANS_B TRANS_B_n
#endif
#ifndef GAP_A // floats between a line and the next, where these are constants
#define GAP_A 0
#define GAP_B 0
#define GAP_C 0
#endif
#ifndef SMALL // whether C may have less rows or columns than a tile, where they are no constants
#define SMALL 0
#endif

#ifndef BM // the block's tile: BM x BN of C, BK steps of k at a time
#define BM 32
#define BN 32
#define BK 8
#endif
#ifndef WM // the warp's part: WM x WN
#define WM 16
#define WN 32
#endif
#ifndef TM // the thread's part: TM x TN, 32 of which are the warp's
#define TM 4
#define TN 4
#endif
#ifndef WK // so many warps share the steps of k of a part
#define WK 1
#endif
#ifndef STAGES // tiles of A and B in shared memory; 0: none, everything is read from global memory
#define STAGES 1
#endif
#ifndef LOAD // through registers; or past them by cp.async, in words of 4 bytes, or of up to 16 as rows are aligned
#define LOAD_plain 1
#define LOAD_async4 2
#define LOAD_async16 3
#define LOAD LOAD_plain
#endif
#ifndef A_TILE // in shared memory: rows as in A, or transposed, so that a thread's rows lie side by side
#define A_TILE_rows 1
#define A_TILE_transposed 2
#define A_TILE A_TILE_transposed
#endif
#ifndef PAD // floats after each row of A's tile, against bank conflicts
#define PAD 4
#endif
#ifndef SWIZZLE // instead: words of 16 bytes change places within a row, other ones in each row
#define SWIZZLE 0
#endif
#ifndef FRAGMENTS // 2: the elements of the next step are read while this one is computed
#define FRAGMENTS 1
#endif
#ifndef SPREAD // steps of k over which the copies of a tile are spread
#define SPREAD 1
#endif
#ifndef ORDER_M // a thread's multiply-adds go through its part in blocks of ORDER_M x ORDER_N; SNAKE: there and back
#define ORDER_M 1
#define ORDER_N 1
#endif
#ifndef SNAKE
#define SNAKE 0
#endif
#ifndef RASTER // rows of tiles that blocks go through together, for the sake of the L2 cache
#define RASTER 1
#endif
#ifndef SPLIT_K // so many blocks share the steps of k of a tile; CLUSTER of them add up by way of shared memory. Of a
                // program for all sizes, so many blocks are to be launched in all
#define SPLIT_K 1
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef FINISH // what such a group of blocks found is C; or is added to it, which a kernel before or the tile's first
               // block makes 0; or is added up by the tile's last block, or by a kernel behind
#define FINISH_store 1
#define FINISH_atomic 2
#define FINISH_first_clears 3
#define FINISH_last_block 4
#define FINISH_second_step 5
#define FINISH FINISH_store
#endif
#ifndef MIN_BLOCKS // that a multiprocessor is to have room for
#define MIN_BLOCKS 1
#endif

#include "sgemm_tile.cuh"
#include "sgemm_copy.cuh"
#include "sgemm_finish.cuh"

extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
    sgemm(const float *__restrict__ A, const float *__restrict__ B, float *C, float *partial, unsigned *done, int rows,
          int columns, int depth LAYOUT_PARAMETERS)
{
    extern __shared__ __align__(16) float shared[];
    const sizes all(rows, columns, depth LAYOUT_VALUES);
    const place at = this_place(all);
    const int first = first_step(all, own_split()), tiles = steps_tiles(all, own_split());
    float a[FRAGMENTS][TM * depth_a], b[FRAGMENTS][TN], c[TM][TN] = {};

    const auto multiply_add = [&](int k) { // one step of k of the thread's part
        const float *const x = a[k / depth_a % FRAGMENTS] + k % depth_a, *const y = b[k % FRAGMENTS];
#pragma unroll
        for (int i0 = 0; i0 < TM; i0 += ORDER_M)
#pragma unroll
            for (int j0 = 0; j0 < TN; j0 += ORDER_N)
#pragma unroll
                for (int i = i0; i < i0 + ORDER_M; ++i)
#pragma unroll
                    for (int jj = j0; jj < j0 + ORDER_N; ++jj) {
                        const int j = SNAKE && i0 / ORDER_M % 2 == 1 ? TN - 1 - jj : jj;
                        c[i][j] += x[i * depth_a] * y[j];
                    }
    };

#if STAGES == 0
    for (int k = first; k < min(all.k, first + tiles * BK); ++k) {
#pragma unroll
        for (int i = 0; i < TM; ++i)
            a[0][i * depth_a] = A[index_in(min(at.m + row_of(at, i), all.m - 1), k, all.lda, trans_a)];
#pragma unroll
        for (int j = 0; j < TN; ++j)
            b[0][j] = B[index_in(k, min(at.n + column_of(at, j), all.n - 1), all.ldb, trans_b)];
        multiply_add(0);
    }
#else
    tile_copy copy(A, B, shared, at, first);
    const float *const own_a = shared + a_index(at.row, at.slice);
    const float *const own_b = shared + a_floats + at.slice * b_pitch + at.column;
    int reading = stage_bytes * (STAGES - 1), before = 0; // the stage that is read and the one before it, as offsets

    const auto next_stage = [&] { // goes on to the next, when its tile is there
        before = reading;
        reading = reading == stage_bytes * (STAGES - 1) ? 0 : reading + stage_bytes;
        copy.arrive(reading);
    };
    const auto load = [&](int k) { // what step k needs, from shared memory
        if (k % depth_a == 0)
            load_a(a[k / depth_a % FRAGMENTS], bytes_on(own_a, reading), at, k);
        load_b(b[k % FRAGMENTS], bytes_on(own_b, reading), k);
    };

    unsigned ticket = 1;
    if (FINISH == FINISH_first_clears && groups() > 1)
        ticket = take_ticket(done, at);
    copy.begin(tiles);
    if (FINISH == FINISH_first_clears && groups() > 1) // while the first tiles are on their way
        clear_if_first(ticket, C, done, at);
    if (FRAGMENTS == 2) {
        next_stage();
        load(0);
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int k = 0; k < slice; ++k) {
            if (k == (FRAGMENTS == 2 ? slice - 1 : 0))
                next_stage();
            load((k + FRAGMENTS - 1) % slice);
            copy.part(k, before, tile + copy.ahead < tiles);
            multiply_add(k);
        }
    }
    copy.end();
#endif
    finish(c, shared, at, C, partial, done);
}
