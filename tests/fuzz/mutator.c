/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hostile_cache.h"

/* How libFuzzer changes the scripts of hostile_cache.h and, where a target takes both, JSON texts:
 * mostly by what they say, else by their bytes. */

static size_t mutate_json(uint8_t *data, size_t size, size_t most, struct fuzz_random *random)
{
    char *mutated FREED = fuzz_mutate_json((const char *)data, size, random);
    size_t length = mutated == NULL ? 0 : strlen(mutated);
    if (length > most)
        length = 0;
    if (length > 0)
        memcpy(data, mutated, length);
    return length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    struct fuzz_random random = {seed};
    bool json = size > 0 && data[0] == '{';
    size_t mutated = 0;
    if (fuzz_below(&random, 6) != 0)
        mutated = json ? mutate_json(data, size, most, &random)
                       : fuzz_mutate_script(data, size, most, &random);
    return mutated != 0 ? mutated : LLVMFuzzerMutate(data, size, most);
}
