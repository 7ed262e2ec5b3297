/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_IDENTITY_H
#define HONE_CACHE_RECORD_IDENTITY_H

#include <jansson.h>

#include "base/bindings.h"
#include "base/text.h"

/* The device as far as it decides whether a time can be compared. */
struct hn_device_identity {
    char name[128];        /* "NVIDIA H200" */
    int capability;        /* 90 for 9.0 */
    int sm_count;
    char mig_profile[64];  /* "" when the GPU is not divided */
};

bool hn_device_identity_equal(const struct hn_device_identity *a, const struct hn_device_identity *b);

/* What was measured, apart from the point: two records with equal identities and points can be compared. Owns its
 * strings and the problem. Begin with all zero. */
struct hn_identity {
    char *kernel;
    char *signature; /* argument names, types and roles in order */
    struct hn_bindings problem;
    char *regime;    /* a name of regime.h, or HN_REGIME_UNKNOWN */
    char *objective; /* "time" or "<metric> minimize|maximize" */
    struct hn_device_identity device;
};

/* Of files of Kernel Tuner, which do not say how launches found the L2 cache. */
#define HN_REGIME_UNKNOWN "unknown"

/* With what it was measured: a record of an equal identity but another version is stale. Owns nothing. */
struct hn_version {
    char template_hash[33]; /* template with its quoted includes */
    char options_hash[33];  /* compile options */
    char plan_hash[33];     /* launch, arguments, reference, comparison */
    char driver[32];        /* "580.159.04", or the driver's CUDA version where that is all there is */
    char nvrtc[16];         /* "13.0" */
    int protocol;           /* how Hone verifies and measures; raised when times of old and new can not be compared */
};

#define HN_MEASURING_PROTOCOL 1
/* Not Hone but Kernel Tuner measured: means of plain launches; what was verified is not known. */
#define HN_KERNEL_TUNER_PROTOCOL 1000

void hn_identity_finish(struct hn_identity *identity);
enum hn_status hn_identity_copy(struct hn_identity *to, const struct hn_identity *from, struct hn_error *err);
bool hn_identity_equal(const struct hn_identity *a, const struct hn_identity *b);
bool hn_version_equal(const struct hn_version *a, const struct hn_version *b);
/* Of the same template, options and plan, whatever compiled and ran them. */
bool hn_version_same_source(const struct hn_version *a, const struct hn_version *b);
/* Whether it says of which template it is. What Kernel Tuner measured does not: then equal versions may be of any two
 * kernels, and none of them has a plan. */
bool hn_version_knows_template(const struct hn_version *version);
/* "driver 580.82 -> 580.159, template": the parts that differ, for messages; "" when equal. */
void hn_version_append_difference(struct hn_text *text, const struct hn_version *was, const struct hn_version *is);

/* Where the measurements of a session come from: they were taken by the Hone that keeps the cache, or imported into it. What
 * is imported leads searches and serves look-ups, marked as such; `hone tune` measures again what it takes from it. */
struct hn_origin {
    char machine[65]; /* the host on which they were taken; "" where that is not known */
    char source[256]; /* the file that they were imported from, or are read from; "": they were taken here */
    double imported;  /* when, seconds since the epoch; 0 where they are read from a recording */
};

void hn_origin_of_file(const char *path, struct hn_origin *origin);
bool hn_origin_is_foreign(const struct hn_origin *origin);
/* "measured on node7", "imported from a.json.gz on 2026-11-22", "imported from b.db on 2026-11-22, measured on node7". */
void hn_origin_append(struct hn_text *text, const struct hn_origin *origin);
/* The same by itself; NULL when out of memory. Free it. */
char *hn_origin_text(const struct hn_origin *origin);
json_t *hn_origin_to_json(const struct hn_origin *origin);

#endif
