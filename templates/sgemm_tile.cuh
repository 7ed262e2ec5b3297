// SPDX-License-Identifier: MIT
// The geometry of sgemm.cu: which elements a block, a warp and a thread have, and where they lie in shared memory.
#ifndef HONE_SGEMM_TILE_CUH
#define HONE_SGEMM_TILE_CUH

// Floats that one instruction moves.
template <int count> struct __align__(4 * count) words {
    float value[count];
};

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__device__ constexpr int widest(int count) { return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1; }

// How A and B lie in memory, by lines whose elements are neighbours: of A rows, or columns where it is transposed.
constexpr bool trans_a = TRANS_A == TRANS_A_t, trans_b = TRANS_B == TRANS_B_t;

// The sizes of the problem, and how far lines of A, B and C are apart; what is computed is alpha A B + beta C.
struct sizes {
#if FROZEN
    static constexpr int m = M, n = N, k = K;
    static constexpr int lda = (trans_a ? M : K) + GAP_A, ldb = (trans_b ? K : N) + GAP_B, ldc = N + GAP_C;
#else
    const int m, n, k, lda, ldb, ldc;
#endif
#if GENERAL
    const float alpha, beta;
#else
    static constexpr float alpha = 1, beta = 0;
#endif
#if FROZEN && GENERAL
    __device__ sizes(int, int, int, int, int, int, float alpha, float beta) : alpha(alpha), beta(beta) {}
#elif FROZEN
    __device__ constexpr sizes(int, int, int) {}
#elif GENERAL
    __device__ sizes(int m, int n, int k, int lda, int ldb, int ldc, float alpha, float beta)
        : m(m), n(n), k(k), lda(lda), ldb(ldb), ldc(ldc), alpha(alpha), beta(beta)
    {
    }
#else
    __device__ sizes(int m, int n, int k) : m(m), n(n), k(k), lda(k), ldb(n), ldc(n) {}
#endif
};
#if GENERAL // what kernels are told behind the sizes
#define LAYOUT_PARAMETERS , int lda, int ldb, int ldc, float alpha, float beta
#define LAYOUT_VALUES , lda, ldb, ldc, alpha, beta
#else
#define LAYOUT_PARAMETERS
#define LAYOUT_VALUES
#endif

// The longest words that lines are made of: a | b is a multiple of 2 or 4 where both are. Where A is transposed, a tile's
// part of a line has BM elements.
#if FROZEN
constexpr int align_a = widest(GAP_A | (trans_a ? M | BM : K)), align_b = widest(GAP_B | (trans_b ? K : N));
constexpr int align_c = widest(GAP_C | N);
#else
constexpr int align_a = widest(ALIGN_A | (trans_a ? BM : 0)), align_b = ALIGN_B, align_c = ALIGN_B;
#endif

constexpr bool transposed = A_TILE == A_TILE_transposed;
constexpr int warps_m = BM / WM, warps_n = BN / WN, threads = 32 * warps_m * warps_n * WK;
constexpr int lanes_m = WM / TM, lanes_n = WN / TN;
constexpr int slice = BK / WK;                              // steps of k of a tile that a warp does
constexpr int word_m = transposed ? widest(TM) : 1;         // rows of a thread that lie side by side
constexpr int word_n = widest(TN);                          // columns
// Steps of k whose elements of A one read brings.
constexpr int depth_a = transposed ? 1 : FRAGMENTS == 1 || slice % 8 == 0 ? widest(slice) : widest(slice / 2);
constexpr int a_pitch = (transposed ? BM : BK) + PAD;
constexpr int b_pitch = BN + (trans_b ? 4 : 0);             // B, too, is transposed on its way into different banks
constexpr int a_floats = a_pitch * (transposed ? BK : BM), stage_floats = a_floats + BK * b_pitch;
constexpr int stage_bytes = 4 * stage_floats;

static_assert(lanes_m * lanes_n == 32, "a warp's part is 32 threads' parts");
static_assert(warps_m * WM == BM && warps_n * WN == BN && slice * WK == BK, "parts fill the tile");
static_assert(transposed || !trans_a, "columns of A stay columns in shared memory");
static_assert(stage_floats % 4 == 0 && a_floats % 4 == 0, "words of 16 bytes");

__device__ __forceinline__ int tiles_m(const sizes &all) { return ceil_div(all.m, BM); }
__device__ __forceinline__ int tiles_n(const sizes &all) { return ceil_div(all.n, BN); }
__device__ __forceinline__ int tiles_k(const sizes &all) { return ceil_div(all.k, BK); }

// Where an element of A or B is.
__device__ __forceinline__ size_t index_in(int row, int column, int apart, bool trans)
{
    return trans ? (size_t)column * apart + row : (size_t)row * apart + column;
}

struct place {
    sizes all;
    int tile, m, n;         // of the block: its tile, and the first element's row and column in C
    int new_m, new_n;       // the tile's rows and columns before these are its neighbours': not to be written
    int row, column, slice; // of the thread: its first row and column in the tile, its first step of k
};

// The last tiles begin early enough to end at the edges, so that they need no tests. In a matrix smaller than a tile,
// there are elements beyond the edges all the same.
__device__ constexpr bool may_be_small(int size, int tile) { return FROZEN ? size < tile : SMALL; }
__device__ __forceinline__ int begin_of(int tile_number, int tile, int size)
{
    return may_be_small(size, tile) && size < tile ? 0 : min(tile_number * tile, size - tile);
}

__device__ __forceinline__ place place_of(const sizes &all, int tile_m, int tile_n)
{
    const int m = begin_of(tile_m, BM, all.m), n = begin_of(tile_n, BN, all.n);
    return {all, tile_m * tiles_n(all) + tile_n, m, n, tile_m * BM - m, tile_n * BN - n, 0, 0, 0};
}

// Of a program for all sizes the grid's columns and rows are the tiles', so that nothing is divided by what is known at run
// time only. With RASTER it is one line, as where the sizes are constants: groups of RASTER rows, column by column within
// a group.
__device__ __forceinline__ place own_tile(const sizes &all)
{
    if (!FROZEN && RASTER == 1)
        return place_of(all, blockIdx.y, blockIdx.x);
    const int group_tiles = RASTER * tiles_n(all), group = blockIdx.x / group_tiles, in_group = blockIdx.x % group_tiles;
    const int rows = tiles_m(all) % RASTER == 0 ? RASTER : min(RASTER, tiles_m(all) - group * RASTER);
    return place_of(all, group * RASTER + in_group % rows, in_group / rows);
}

__device__ __forceinline__ place this_place(const sizes &all)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    place at = own_tile(all);
    at.row = warp / warps_n % warps_m * WM + lane / lanes_n * word_m;
    at.column = warp % warps_n * WN + lane % lanes_n * word_n;
    at.slice = warp / (warps_n * warps_m) * slice;
    return at;
}

// A thread's i-th row and j-th column in the tile: words of several, one for each lane in turn.
__device__ __forceinline__ int row_of(const place &at, int i)
{
    return at.row + (i / word_m * word_m * lanes_m + i % word_m);
}
__device__ __forceinline__ int column_of(const place &at, int j)
{
    return at.column + (j / word_n * word_n * lanes_n + j % word_n);
}

// The steps of k are cut into tiles of BK. Where BK does not divide K, the first tile is the short one: so the loop
// that follows needs no tests. The tiles are dealt out to all blocks of a tile of C: SPLIT_K, or of a program for all
// sizes, unless those of a cluster are all, as many as it is launched with.
__device__ __forceinline__ unsigned splits() { return FROZEN || FINISH == FINISH_store ? SPLIT_K : gridDim.z; }
__device__ __forceinline__ int own_split() { return (FROZEN || FINISH == FINISH_store) && SPLIT_K == 1 ? 0 : blockIdx.z; }
__device__ __forceinline__ int short_tile(const sizes &all) { return all.k - (tiles_k(all) - 1) * BK; }

__device__ __forceinline__ int steps_tiles(const sizes &all, unsigned split)
{
    const unsigned tiles = tiles_k(all), share = tiles / splits();
    return share + (split < tiles - share * splits());
}
__device__ __forceinline__ int first_step(const sizes &all, unsigned split)
{
    const unsigned tiles = tiles_k(all), share = tiles / splits();
    const unsigned tile = split * share + min(split, tiles - share * splits());
    return tile == 0 ? 0 : short_tile(all) + (tile - 1) * BK;
}

// Where A(row, k) lies in its tile. Swizzling, the word is one that differs in neighbouring rows: so words of the
// same k in eight rows are in different banks.
__device__ __forceinline__ int a_index(int row, int k)
{
    if (transposed)
        return k * a_pitch + row;
    constexpr int row_words = BK / 4, line_rows = row_words < 8 ? 8 / row_words : 1;
    return row * a_pitch + (SWIZZLE ? k ^ row / line_rows % row_words * 4 : k);
}

template <typename T> __device__ __forceinline__ T *bytes_on(T *pointer, int bytes)
{
    return (T *)((char *)pointer + bytes);
}

// What a thread needs of A's tile for depth_a steps from its k-th on, and of B's for its k-th: from its own first
// elements on, which `own` points to.
__device__ __forceinline__ void load_a(float *a, const float *own, const place &at, int k)
{
#pragma unroll
    for (int i = 0; i < TM; i += word_m) {
        constexpr int count = word_m * depth_a;
        const int row = row_of(at, i), to_row = row - at.row;
        const int offset = SWIZZLE ? a_index(row, at.slice + k) - a_index(at.row, at.slice) : a_index(to_row, k);
        const words<count> read = *(const words<count> *)&own[offset];
#pragma unroll
        for (int j = 0; j < count; ++j)
            a[i * depth_a + j] = read.value[j];
    }
}

__device__ __forceinline__ void load_b(float *b, const float *own, int k)
{
#pragma unroll
    for (int j = 0; j < TN; j += word_n) {
        const words<word_n> read = *(const words<word_n> *)&own[k * b_pitch + j * lanes_n];
#pragma unroll
        for (int i = 0; i < word_n; ++i)
            b[j + i] = read.value[i];
    }
}

#endif
