// SPDX-License-Identifier: MIT
// Moves a matrix by one row and four columns, box by box, through a tensor map over each side: what is read outside is
// zero, and what would be written outside is not. FAULT 1 moves it by eight columns.
struct alignas(64) tensor_map {
    unsigned long long words[16];
};

static_assert(sizeof(tensor_map) == 128, "as the driver makes them");
extern "C" __device__ const int hone_double[] = {BOX, FAULT, 0};

static __device__ unsigned int shared_address(const void *pointer)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(pointer));
}

extern "C" __global__ void tensor(const __grid_constant__ tensor_map x_map, const __grid_constant__ tensor_map y_map)
{
    constexpr int ROWS_OF_BOX = 8;
    __shared__ alignas(1024) float box[ROWS_OF_BOX * BOX];
    __shared__ alignas(8) unsigned long long arrived;
    const int column = blockIdx.x * BOX, row = blockIdx.y * ROWS_OF_BOX;
    const unsigned int bar = shared_address(&arrived), data = shared_address(box);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"((unsigned int)sizeof box) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(data), "l"(&x_map), "r"(column + 4 + 4 * FAULT), "r"(row + 1), "r"(bar) : "memory");
    }
    __syncthreads();
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&y_map), "r"(column), "r"(row), "r"(data) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
