/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/compile/cubin.h"

/* The input as a cubin with the kernels `k` and `m` and the fields of `p`, and as a compiler's log.
 */

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

static void lay_out(const uint8_t *data, size_t size)
{
    char name[] = "p", type[] = "params", number[] = "n", address[] = "x";
    struct hn_expression *value = NULL;
    struct hn_blocks memory ENDED_BY(hn_blocks_finish) = {0};
    struct hn_error err = {0};
    hn_expression_parse("300", &value, &err);
    struct hn_member members[] = {{.name = number, .value = value}, {.name = address}};
    const struct hn_argument argument = {
        .name = name, .structure = type, .members = members, .member_count = 2};
    uint8_t *copy FREED = malloc(size > 0 ? size : 1);
    fuzz_require(copy != NULL, "there is memory");
    memcpy(copy, data, size);
    const struct hn_image image = {.cubin = copy, .size = size};
    struct hn_passed *passed = hn_cubin_make_structure(&image, &argument, NULL, &memory, &err);
    fuzz_require((passed != NULL) == !hn_failed(&err), "there is a structure, or a reason");
    if (passed != NULL)
        fuzz_require(passed->offsets[1] + 8 <= passed->bytes, "an address lies in its structure");
    hn_expression_destroy(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const entries[] = {"k", "m"};
    struct hn_resources resources = {.known = false};
    inspect(data, size, entries, 1);
    inspect(data, size, entries, 2);
    lay_out(data, size);
    char *log FREED = malloc(size + 1);
    fuzz_require(log != NULL, "there is memory");
    if (size > 0)
        memcpy(log, data, size);
    log[size] = '\0';
    hn_cubin_read_log(log, entries, 2, &resources);
    struct hn_error err;
    struct hn_parameters parameters ENDED_BY(hn_parameters_finish);
    (void)hn_cubin_read_parameters(data, size, "k", &parameters, &err);
    return 0;
}
