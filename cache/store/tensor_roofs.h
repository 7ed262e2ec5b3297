/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_TENSOR_ROOFS_H
#define HONE_CACHE_STORE_TENSOR_ROOFS_H

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

/* What a device's tensor cores do at best, by the type of what they multiply; sums are float32. */

/* X(identifier, key, name, bytes of an element) */
#define HN_TENSOR_PIPES(X)              \
    X(HN_PIPE_FP8, "fp8", "FP8", 1)     \
    X(HN_PIPE_BF16, "bf16", "BF16", 2)  \
    X(HN_PIPE_FP16, "fp16", "FP16", 2)  \
    X(HN_PIPE_TF32, "tf32", "TF32", 4)

enum hn_tensor_pipe {
#define X(identifier, key, name, bytes) identifier,
    HN_TENSOR_PIPES(X)
#undef X
        HN_PIPE_COUNT
};

struct hn_tensor_roof {
    double gflops;    /* 0: not known, or the device has no such */
    double clock_mhz; /* of the multiprocessors meanwhile */
};

struct hn_tensor_roofs {
    struct hn_tensor_roof pipes[HN_PIPE_COUNT];
    double power_limit_w; /* 0: not known */
};

extern const char *const hn_tensor_pipe_names[HN_PIPE_COUNT]; /* "BF16" */

/* {"bf16": {"gflops": …, "clock_mhz": …}, …, "power_limit_w": …}, of what is known; NULL: nothing is. */
json_t *hn_tensor_roofs_to_json(const struct hn_tensor_roofs *roofs);
/* NULL stands for nothing known. HN_EFORMAT. */
enum hn_status hn_tensor_roofs_from_json(const json_t *json, struct hn_tensor_roofs *roofs, struct hn_error *err);
/* "BF16 790 TFLOP/s at 1755 MHz, …; power limit 700 W", "" where none is known. */
void hn_tensor_roofs_append(struct hn_text *text, const struct hn_tensor_roofs *roofs);

#endif
