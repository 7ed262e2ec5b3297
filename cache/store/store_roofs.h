/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_ROOFS_H
#define HONE_CACHE_STORE_STORE_ROOFS_H

#include "cache/store/store.h"
#include "cache/store/tensor_roofs.h"

/* What a device can do at best, as measured on it: what times are set against. */
struct hn_roofs {
    double copy_gb_per_s; /* read and written by a device-to-device memcpy */
    double l2_gb_per_s;   /* read from the L2 cache */
    double fp32_gflops;   /* multiply-adds of float32, two each */
    double launch_us;     /* of an empty kernel, one after the other */
    double measured;      /* seconds since the epoch */
    char driver[32];
    struct hn_tensor_roofs tensor;
};

/* Replaces what this driver measured before, of tensor cores only what is known. */
enum hn_status hn_store_put_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const struct hn_roofs *roofs, struct hn_error *err);
/* Of this driver, or with driver NULL the newest. HN_ENOTFOUND. */
enum hn_status hn_store_get_roofs(struct hn_store *store, const struct hn_device_identity *device, const char *driver,
                                  struct hn_roofs *roofs, struct hn_error *err);
/* All that are kept, without what is known of tensor cores. */
typedef enum hn_status hn_store_visit_roofs_of(void *visitor, const struct hn_device_identity *device,
                                               const struct hn_roofs *roofs, struct hn_error *err);
enum hn_status hn_store_visit_roofs(struct hn_store *store, hn_store_visit_roofs_of *visit, void *visitor,
                                    struct hn_error *err);

#endif
