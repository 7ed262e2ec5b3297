/* SPDX-License-Identifier: MIT */
#include "runtime/bench/support.h"
#include "runtime/bench/support_host.h"

#include <string.h>

#include "runtime/bench/support_grid.cuh"
/* Each of these needs those before it. */
#include "runtime/bench/support_element.cuh"
#include "runtime/bench/support_random.cuh"

#include "runtime/bench/support_fill.cuh"

_Static_assert(sizeof(struct hone_recipe) == sizeof(struct hn_filling), "one struct, twice");
_Static_assert((int)TRANSPOSED == (int)HN_FILL_TRANSPOSED && (int)SORTED == (int)HN_FILL_SORTED &&
                   (int)ZIPF == (int)HN_FILL_ZIPF && (int)BFLOAT16 == (int)HN_BFLOAT16,
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
