/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_OBSERVE_CUPTI_H
#define HONE_RUNTIME_BENCH_OBSERVE_CUPTI_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* CUPTI's range profiler as far as we use it, loaded at run time: drivers come without CUPTI, and toolkits and wheels do
 * not always bring its headers, of which one is C++. Every function takes one structure, which begins with its size: by
 * that the library knows which members its caller knows, so that a newer one serves an older caller. The range profiler
 * is there from CUDA 12.6 on. */

#define HN_CUPTI_HEAD                                                                                                  \
    size_t size; /* HN_CUPTI_SIZE */                                                                                   \
    void *private_data

/* Up to the end of the last member: what pads a structure does not count. */
#define HN_CUPTI_SIZE(type, last) (offsetof(struct type, last) + sizeof((struct type *)NULL)->last)

struct hn_cupti_plain { /* cuptiProfilerInitialize, cuptiProfilerDeInitialize */
    HN_CUPTI_HEAD;
};
struct hn_cupti_handle { /* what is done to the host's part, or the device's, with nothing more */
    HN_CUPTI_HEAD;
    void *handle;
};
struct hn_cupti_chip {
    HN_CUPTI_HEAD;
    size_t device; /* its number */
    const char *name;
};
struct hn_cupti_availability {
    HN_CUPTI_HEAD;
    CUcontext context;
    size_t image_size; /* is set where there is no image */
    uint8_t *image;
};

/* The host's part: from names of metrics to what is counted in which pass, and from what was counted to numbers. */
struct hn_cupti_host {
    HN_CUPTI_HEAD;
    int kind; /* HN_CUPTI_RANGES */
    const char *chip;
    const uint8_t *availability;
    void *host;
};
struct hn_cupti_metrics {
    HN_CUPTI_HEAD;
    void *host;
    const char **names;
    size_t count;
};
struct hn_cupti_config { /* up to the size, to ask for that */
    HN_CUPTI_HEAD;
    void *host;
    size_t config_size;
    uint8_t *config;
};
struct hn_cupti_values {
    HN_CUPTI_HEAD;
    void *host;
    const uint8_t *data;
    size_t data_size;
    size_t range;
    const char **names;
    size_t count;
    double *values;
};

/* The device's part. */
struct hn_cupti_enable {
    HN_CUPTI_HEAD;
    CUcontext context;
    void *profiler;
};
struct hn_cupti_data_size {
    HN_CUPTI_HEAD;
    void *profiler;
    const char **names;
    size_t count;
    size_t ranges;
    uint32_t nodes;
    size_t data_size;
};
struct hn_cupti_data {
    HN_CUPTI_HEAD;
    void *profiler;
    size_t data_size;
    uint8_t *data;
};
struct hn_cupti_plan {
    HN_CUPTI_HEAD;
    void *profiler;
    size_t config_size;
    const uint8_t *config;
    size_t data_size;
    uint8_t *data;
    int range;  /* HN_CUPTI_USER_RANGE */
    int replay; /* HN_CUPTI_USER_REPLAY */
    size_t ranges_a_pass;
    uint16_t levels;
    uint16_t least_level;
    size_t pass;
    uint16_t level;
};
struct hn_cupti_range {
    HN_CUPTI_HEAD;
    void *profiler;
    const char *name;
};
struct hn_cupti_stop {
    HN_CUPTI_HEAD;
    void *profiler;
    size_t pass;
    size_t level;
    uint8_t all_submitted;
};
struct hn_cupti_decode {
    HN_CUPTI_HEAD;
    void *profiler;
    size_t dropped;
};

enum { HN_CUPTI_RANGES = 0, HN_CUPTI_USER_RANGE = 2, HN_CUPTI_USER_REPLAY = 3 };
enum {
    HN_CUPTI_SUCCESS = 0,
    HN_CUPTI_HARDWARE_BUSY = 26,
    HN_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    HN_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    HN_CUPTI_VIRTUAL_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
};

/* X(member, function, its structure) */
#define HN_CUPTI_FUNCTIONS(X)                                                                                          \
    X(initialize, cuptiProfilerInitialize, hn_cupti_plain)                                                             \
    X(deinitialize, cuptiProfilerDeInitialize, hn_cupti_plain)                                                         \
    X(chip_name, cuptiDeviceGetChipName, hn_cupti_chip)                                                                \
    X(availability, cuptiProfilerGetCounterAvailability, hn_cupti_availability)                                        \
    X(host_begin, cuptiProfilerHostInitialize, hn_cupti_host)                                                          \
    X(host_end, cuptiProfilerHostDeinitialize, hn_cupti_handle)                                                        \
    X(add_metrics, cuptiProfilerHostConfigAddMetrics, hn_cupti_metrics)                                                \
    X(config_size, cuptiProfilerHostGetConfigImageSize, hn_cupti_config)                                               \
    X(config, cuptiProfilerHostGetConfigImage, hn_cupti_config)                                                        \
    X(values, cuptiProfilerHostEvaluateToGpuValues, hn_cupti_values)                                                   \
    X(enable, cuptiRangeProfilerEnable, hn_cupti_enable)                                                               \
    X(disable, cuptiRangeProfilerDisable, hn_cupti_handle)                                                             \
    X(data_size, cuptiRangeProfilerGetCounterDataSize, hn_cupti_data_size)                                             \
    X(data, cuptiRangeProfilerCounterDataImageInitialize, hn_cupti_data)                                               \
    X(plan, cuptiRangeProfilerSetConfig, hn_cupti_plan)                                                                \
    X(start, cuptiRangeProfilerStart, hn_cupti_handle)                                                                 \
    X(push, cuptiRangeProfilerPushRange, hn_cupti_range)                                                               \
    X(pop, cuptiRangeProfilerPopRange, hn_cupti_handle)                                                                \
    X(stop, cuptiRangeProfilerStop, hn_cupti_stop)                                                                     \
    X(decode, cuptiRangeProfilerDecodeData, hn_cupti_decode)

struct hn_cupti {
    void *library;
    int (*version)(uint32_t *version);
    int (*message)(int result, const char **text);
#define X(member, function, structure) int (*member)(struct structure *parameters);
    HN_CUPTI_FUNCTIONS(X)
#undef X
};

#endif
