// SPDX-License-Identifier: MIT
// Keys and values of a warp in registers, for decode.cu, in the order in which products take them (mma.cuh): the loads of a thread
// are words of 16 bytes, which stand for the elements that the product's own order of columns has. Of lane i, g is i / 4 and t i % 4.
#ifndef HONE_DECODE_TILE_CUH
#define HONE_DECODE_TILE_CUH

constexpr int slices = KEYS / 16, key_words = WIDTH / 32, value_words = WIDTH / 64, sums = WIDTH / 16;

struct words { // 8 elements
    unsigned pair[4];
};

__device__ __forceinline__ words load_words(const element *from)
{
    const float4 word = *(const float4 *)from;
    return {__float_as_uint(word.x), __float_as_uint(word.y), __float_as_uint(word.z), __float_as_uint(word.w)};
}

// Of keys g and g + 8 of a slice each fourth word, of values 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 each eighth. `end` and what lies
// behind it are not touched: the last one before it stands in for them.
struct loaded_keys {
    words of[2 * slices][key_words];

    __device__ __forceinline__ void load(const element *K, int key, int end)
    {
#pragma unroll
        for (int half = 0; half < 2 * slices; ++half) {
            const int row = min(key + half * 8 + (int)threadIdx.x % 32 / 4, end - 1);
#pragma unroll
            for (int i = 0; i < key_words; ++i)
                of[half][i] = load_words(K + (size_t)row * WIDTH + i * 32 + threadIdx.x % 4 * 8);
        }
    }
};
struct loaded_values {
    words of[4 * slices][value_words];

    __device__ __forceinline__ void load(const element *V, int key, int end)
    {
#pragma unroll
        for (int quarter = 0; quarter < 4 * slices; ++quarter) {
            const int row = min(key + quarter / 2 * 8 + (int)threadIdx.x % 4 * 2 + quarter % 2, end - 1);
#pragma unroll
            for (int i = 0; i < value_words; ++i)
                of[quarter][i] = load_words(V + (size_t)row * WIDTH + i * 64 + threadIdx.x % 32 / 4 * 8);
        }
    }

    // Element i of a thread's, of two values that follow one another.
    __device__ __forceinline__ unsigned pair(int half, int i) const
    {
        return __byte_perm(of[2 * half][i / 8].pair[i % 8 / 2], of[2 * half + 1][i / 8].pair[i % 8 / 2],
                           i % 2 == 0 ? 0x5410 : 0x7632);
    }
};

// What a thread knows of 8 rows of Q: the products are S^T = K Q^T and O^T = V^T P^T, so that rows 2 t and 2 t + 1 are its own.
struct progress {
    words query[key_words];
    float scores[slices][4], top[2] = {lowest, lowest}, total[2] = {};
    float out[sums][4] = {};

    __device__ __forceinline__ void find_scores(const loaded_keys &keys)
    {
#pragma unroll
        for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                scores[slice][i] = 0;
#pragma unroll
            for (int i = 0; i < 4 * key_words; i += 2) {
                const words &upper = keys.of[2 * slice][i / 4], &lower = keys.of[2 * slice + 1][i / 4], &column = query[i / 4];
                multiply(scores[slice], upper.pair[i % 4], lower.pair[i % 4], upper.pair[i % 4 + 1], lower.pair[i % 4 + 1],
                         column.pair[i % 4], column.pair[i % 4 + 1]);
            }
        }
    }

    // Scores become weights beside the largest so far, and what was summed up before shrinks as that grows. A row sees the keys
    // before its end.
    __device__ __forceinline__ void find_weights(int key, const int (&ends)[2], float scale)
    {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float most = top[row];
#pragma unroll
            for (int half = 0; half < 2 * slices; ++half) {
                float &score = scores[half / 2][half % 2 * 2 + row];
                if (key + half * 8 + (int)threadIdx.x % 32 / 4 >= ends[row])
                    score = 2 * lowest;
                most = fmaxf(most, score);
            }
#pragma unroll
            for (int lanes = 4; lanes < 32; lanes *= 2)
                most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
            const float shrink = exp2f((top[row] - most) * scale);
            top[row] = most;
            total[row] *= shrink;
#pragma unroll
            for (int i = row; i < 4; i += 2) {
#pragma unroll
                for (int slice = 0; slice < slices; ++slice)
                    total[row] += scores[slice][i] = exp2f((scores[slice][i] - most) * scale);
#pragma unroll
                for (int sum = 0; sum < sums; ++sum)
                    out[sum][i] *= shrink;
            }
        }
    }

    __device__ __forceinline__ void add_values(const loaded_values &values)
    {
#pragma unroll
        for (int slice = 0; slice < slices; ++slice) {
            const float(&weights)[4] = scores[slice];
            const unsigned upper = exchanged(packed(weights[0], weights[1])), lower = exchanged(packed(weights[2], weights[3]));
#pragma unroll
            for (int i = 0; i < sums; ++i)
                multiply(out[i], values.pair(2 * slice, i), values.pair(2 * slice, i + sums), values.pair(2 * slice + 1, i),
                         values.pair(2 * slice + 1, i + sums), upper, lower);
        }
    }

    // Of row 2 t + row: four sums from element i of a thread's on.
    __device__ __forceinline__ float4 four(int row, int i) const
    {
        const int half = i / sums * 2 + row, first = i % sums;
        return {out[first][half], out[first + 1][half], out[first + 2][half], out[first + 3][half]};
    }
};

// The rows beside the keys that a warp has: KEYS from `key` on, then those a step further, up to `end`.
__device__ __forceinline__ void attend(float *share, const element *Q, const element *K, const element *V, int key, int end,
                                       int length, float scale)
{
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    progress own[tiles];
    int ends[tiles][2];
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
        const int row = tile * 8 + g < rows ? tile * 8 + g : 0; // what stands in for a row is not kept
#pragma unroll
        for (int i = 0; i < key_words; ++i)
            own[tile].query[i] = load_words(Q + row * WIDTH + i * 32 + t * 8);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            ends[tile][i] = min(end, length - (QUERIES - 1) + (tile * 8 + 2 * t + i) % QUERIES);
    }

    loaded_keys keys;
    loaded_values values;
    if (AHEAD) {
        keys.load(K, key, end);
        values.load(V, key, end);
    }
#pragma unroll 1
    for (; key < end; key += step_keys) {
        if (!AHEAD) {
            keys.load(K, key, end);
            values.load(V, key, end);
        }
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
            own[tile].find_scores(keys);
        if (AHEAD)
            keys.load(K, key + step_keys, end);
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
            own[tile].find_weights(key, ends[tile], scale);
            own[tile].add_values(values);
        }
        if (AHEAD)
            values.load(V, key + step_keys, end);
    }

#pragma unroll
    for (int i = 0; i < 2 * tiles; ++i) {
        const int row = i / 2 * 8 + 2 * t + i % 2;
        float total = own[i / 2].total[i % 2];
#pragma unroll
        for (int lanes = 4; lanes < 32; lanes *= 2)
            total += __shfl_xor_sync(~0u, total, lanes);
        if (row >= rows)
            continue;
#pragma unroll
        for (int j = 0; j < 2 * sums; j += 4)
            *(float4 *)(share + row * pitch + j / 8 * 64 + g * 8 + j % 8) = own[i / 2].four(i % 2, j);
        if (g == 0)
            *(float2 *)(share + row * pitch + WIDTH) = {own[i / 2].top[i % 2], total};
    }
}

#endif
