/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/compile/cubin.h"

/* The input as a cubin with the kernels `k` and `m`, and as a compiler's log. */

static void inspect(const uint8_t *data, size_t size, const char *const *entries, size_t count)
{
    struct hn_resources resources;
    char code_hash[33] = "";
    struct hn_error err = {0};
    if (!fuzz_fine(hn_cubin_inspect(data, size, entries, count, &resources, code_hash, &err), &err))
        return;
    fuzz_require(strlen(code_hash) == 32, "a hash has 32 digits");
    fuzz_require(resources.registers >= 0 && resources.shared_bytes >= 0,
                 "no resource is negative");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const entries[] = {"k", "m"};
    struct hn_resources resources = {.known = false};
    inspect(data, size, entries, 1);
    inspect(data, size, entries, 2);
    char *log FREED = malloc(size + 1);
    fuzz_require(log != NULL, "there is memory");
    if (size > 0)
        memcpy(log, data, size);
    log[size] = '\0';
    hn_cubin_read_log(log, entries, 2, &resources);
    struct hn_parameters parameters ENDED_BY(hn_parameters_finish);
    (void)hn_cubin_read_parameters(data, size, "k", &parameters, NULL);
    return 0;
}
