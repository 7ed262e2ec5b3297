/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_ROOFS_H
#define HONE_CACHE_STORE_STORE_ROOFS_H

#include "cache/store/store.h"

/* What a device's tensor cores do at best, by the type of what they multiply; sums are float32. */

/* X(identifier, key, name, bytes of an element) */
#define HN_TENSOR_PIPES(X)              \
    X(HN_PIPE_FP8, "fp8", "FP8", 1)     \
    X(HN_PIPE_BF16, "bf16", "BF16", 2)  \
    X(HN_PIPE_FP16, "fp16", "FP16", 2)  \
    X(HN_PIPE_TF32, "tf32", "TF32", 4)

enum hn_tensor_pipe {
    HN_TENSOR_PIPES(HN_IDENTIFIER)
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

/* "BF16 790 TFLOP/s at 1755 MHz, …; power limit 700 W", "" where none is known. */
void hn_tensor_roofs_append(struct hn_text *text, const struct hn_tensor_roofs *roofs);

/* What a device can do at best, as measured on it: what times are set against. */
struct hn_roofs {
    double copy_gb_per_s; /* read and written by a device-to-device memcpy */
    double l2_gb_per_s;   /* read from the L2 cache */
    double fp32_gflops;   /* multiply-adds of float32, two each */
    double launch_us;     /* of an empty kernel, one after the other */
    double measured;      /* seconds since the epoch */
    char driver[32];
    struct hn_tensor_roofs tensor;
    double l2_bytes; /* of its L2 cache; 0: not known */
};

/* With what tensor cores do, where that is known. Reading fails where a rate is missing, or not above 0. */
extern const struct hn_structure hn_roofs_structure;

/* Replaces what this driver measured before, of tensor cores only what is known. */
enum hn_status hn_store_put_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const struct hn_roofs *roofs, struct hn_error *err);
/* Of this driver, or with driver NULL the newest. HN_ENOTFOUND; err may be NULL. */
enum hn_status hn_store_get_roofs(struct hn_store *store, const struct hn_device_identity *device, const char *driver,
                                  struct hn_roofs *roofs, struct hn_error *err);
/* All that are kept, for another cache: an array of "device", "driver", "measured" and "json", device and roofs as JSON in text.
 * Sticky. */
json_t *hn_store_get_all_roofs(struct hn_store *store, struct hn_error *err);
/* Takes those over that are newer than what is there; trusts nothing: HN_EFORMAT. Sticky. */
void hn_store_add_roofs(struct hn_store *store, const char *device, const char *roofs, struct hn_error *err);

#endif
