/* SPDX-License-Identifier: MIT */
#include "tuner/family/sizes.h"

#include <string.h>

static const int64_t round_to = 16;

static enum hn_status round_sizes(const struct hn_family *family, struct hn_bindings *problem,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < family->value_count && status == HN_OK; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_value *own = hn_bindings_get(problem, value->name);
        if (value->kind != HN_FAMILY_RANGE || own->integer < round_to)
            continue;
        struct hn_value rounded = hn_integer(own->integer / round_to * round_to);
        status = hn_bindings_set(problem, value->name, &rounded, err);
    }
    return status;
}

enum hn_status hn_family_next(const struct hn_family *family, uint64_t seed, uint64_t *at,
                              struct hn_bindings *problem, struct hn_error *err)
{
    struct hn_bindings rounded;
    bool rounds = *at % 2 == 1;
    enum hn_status status = hn_family_draw(family, seed, at, problem, err);
    if (status != HN_OK || !rounds)
        return status;
    status = hn_bindings_copy(&rounded, problem, err);
    if (status == HN_OK)
        status = round_sizes(family, &rounded, err);
    if (status == HN_OK && hn_family_has(family, &rounded)) {
        struct hn_bindings drawn = *problem;
        *problem = rounded;
        rounded = drawn;
    }
    hn_bindings_finish(&rounded);
    if (status != HN_OK)
        hn_bindings_finish(problem);
    return status;
}
