// Prefix sums within blocks.
#include <cub/cub.cuh>

template <int BLOCK_THREADS, int ITEMS_PER_THREAD>
__global__ void scan_blocks(const int *d_in, int *d_out, int num_items)
{
    using BlockLoad = cub::BlockLoad<int, BLOCK_THREADS, ITEMS_PER_THREAD, cub::BLOCK_LOAD_TRANSPOSE>;
    using BlockStore = cub::BlockStore<int, BLOCK_THREADS, ITEMS_PER_THREAD, cub::BLOCK_STORE_TRANSPOSE>;
    using BlockScan = cub::BlockScan<int, BLOCK_THREADS>;
    __shared__ union {
        typename BlockLoad::TempStorage load;
        typename BlockStore::TempStorage store;
        typename BlockScan::TempStorage scan;
    } temp;
    int items[ITEMS_PER_THREAD];
    int offset = blockIdx.x * BLOCK_THREADS * ITEMS_PER_THREAD;
    BlockLoad(temp.load).Load(d_in + offset, items, num_items - offset, 0);
    __syncthreads();
    BlockScan(temp.scan).InclusiveSum(items, items);
    __syncthreads();
    BlockStore(temp.store).Store(d_out + offset, items, num_items - offset);
}
