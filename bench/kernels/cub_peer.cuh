// SPDX-License-Identifier: MIT
// CUB as a peer: its temporary storage is allocated before anything is timed.
#ifndef HONE_BENCH_CUB_PEER_CUH
#define HONE_BENCH_CUB_PEER_CUH

#include <cub/cub.cuh>

#include "paired.cuh"

// "CUB 3.0.1 DeviceReduce::Sum"
static inline const char *cub_name(const char *function)
{
    static char name[64];
    std::snprintf(name, sizeof name, "CUB %d.%d.%d %s", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION,
                  function);
    return name;
}

// call(temporary storage, its size) as CUB's functions take them. Returns a function that runs it.
template <typename Call> auto with_storage(Call call)
{
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    void *const storage = allocate<char>(bytes);
    return [=]() mutable { CHECK(call(storage, bytes)); };
}

#endif
