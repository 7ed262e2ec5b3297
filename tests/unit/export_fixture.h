/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_EXPORT_FIXTURE_H
#define HONE_TESTS_EXPORT_FIXTURE_H

/* A cache of tuned kernels, from which headers and tables are exported. */

#include "tests/unit/store_fixture.h"
#include "tuner/export/export.h"

extern const struct hn_device_identity h200, h100, odd;

/* One tuned result to put into the cache. */
struct result {
    const char *kernel;
    const struct hn_device_identity *device;
    const char *problem, *point;
    double time_us;
    bool simulated;
    const char *regime;
};

/* Two problems on an H200, one on an H100, and a simulated one on a device with an odd name; of the second also faster
 * results, one simulated and one warm. */
enum { MATMULS = 6 };
extern const struct result matmuls[MATMULS];

void fill_cache(const char *path, const struct result *results, size_t count);

/* device NULL or problem "": any. */
enum hn_status open_export(const char *path, const char *kernel, const char *device, const char *problem,
                           struct hn_export *export, struct hn_error *err);
/* One format of a kernel as text, which the caller frees. */
char *export_as(const char *path, const char *kernel, const char *device, const char *problem,
                enum hn_export_kind kind);

#endif
