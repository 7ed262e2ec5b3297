// SPDX-License-Identifier: MIT
// The tuned filter beside CUB's, which keeps the order; whether the tuned one does is said.
#include "cub_peer.cuh"

#define HONE_COMPACT_APPLY
#include "compact_tuned.h"
#include "../../templates/compact.cu"

struct is_kept {
    __device__ bool operator()(float value) const { return keep(value); }
};

int main()
{
    const int64_t size = HONE_COMPACT_TUNED_SIZE;
    const hone_step step = hone_compact_step(HONE_COMPACT_CONFIG, 1, HONE_COMPACT_TUNED_PROBLEM);
    const dim3 grid = step.grid, block = step.block;
    auto *in = allocate<float>(size), *out = allocate<float>(size), *expected = allocate<float>(size);
    auto *length = allocate<unsigned>(1), *expected_length = allocate<unsigned>(1);
    auto *ticket = allocate<unsigned long long>(1), *states = allocate<tile_state>(grid.x);
    const size_t shared = step.shared_bytes;
    CHECK(cudaFuncSetAttribute(compact, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    fill_reals<<<1024, 256>>>(in, size);

    auto tuned = [=] {
        if (AGGREGATE != AGGREGATE_look_back)
            compact_clear<<<1, 1>>>(length);
        compact<<<grid, block, shared>>>(in, out, length, size, ticket, states);
    };
    auto select_if = with_storage([=](void *storage, size_t &bytes) {
        return cub::DeviceSelect::If(storage, bytes, in, expected, expected_length, size, is_kept());
    });
    tuned();
    select_if();
    const unsigned kept = from_device(length, 1)[0];
    require(kept == from_device(expected_length, 1)[0], "the length of compact");
    const bool ordered = AGGREGATE == AGGREGATE_look_back;
    require(ordered ? equal(out, expected, kept) : equal_in_any_order(out, expected, kept), "compact");

    char what[40];
    std::snprintf(what, sizeof what, "compact 2^%d f32, %g kept, %s", (int)std::lround(std::log2((double)size)),
                  (double)KEEP, ordered ? "in order" : "any order");
    pairing().compare(what, cub_name("DeviceSelect::If"), 4.0 * size + 4.0 * kept, 1.01, select_if, tuned);
    return 0;
}
