/* SPDX-License-Identifier: MIT */
#include "runtime/bench/support.h"
#include "runtime/bench/support_host.h"

#include <string.h>

#include "runtime/bench/support_grid.cuh"
/* Each of these needs those before it. */
#include "runtime/bench/support_element.cuh"
#include "runtime/bench/support_random.cuh"

#include "runtime/bench/support_fill.cuh"
#include "runtime/bench/support_sum.cuh"

_Static_assert(sizeof(struct hone_recipe) == sizeof(struct hn_filling), "one struct, twice");
_Static_assert((int)TRANSPOSED == (int)HN_FILL_TRANSPOSED && (int)SORTED == (int)HN_FILL_SORTED &&
                   (int)ZIPF == (int)HN_FILL_ZIPF && (int)FLOAT8_E4M3 == (int)HN_FLOAT8_E4M3,
               "one list, twice");

void hn_host_fill(const struct hn_recipe *recipe, enum hn_element element, uint64_t seed,
                  uint64_t first, uint64_t count, void *data)
{
    struct hn_filling filling = hn_filling_of(recipe, element, seed);
    struct hone_recipe own;
    memcpy(&own, &filling, sizeof own);
    struct zipf zipf = zipf_of(&own);
    for (uint64_t i = 0; i < count; i++)
        store(data, i, (int)element, fill_value(&own, &zipf, first + i));
}

uint64_t hn_support_checksum_of_zeros(CUdeviceptr data, uint64_t bytes)
{
    uint64_t words = data % 8 == 0 ? bytes / 8 : 0, sum = 0;
    for (uint64_t i = 0; i < words; i++)
        sum += mix_word(0, i);
    for (uint64_t i = words * 8; i < bytes; i++)
        sum += mix_byte(0, i);
    return sum;
}
