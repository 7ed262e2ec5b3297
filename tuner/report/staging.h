/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_STAGING_H
#define HONE_TUNER_REPORT_STAGING_H

#include <jansson.h>

#include "cache/record/record.h"

/* A record's "staging": how a pipeline was cut (chunks, streams, register_ms: what registering its host memory took, once),
 * and what its parts take on their own in one chunk and one stream, which is only measured of the best.
 *
 * With tE the kernels' time, tT that of the transfers both ways, and n chunks that overlap, the CUDA C++ Best Practices
 * Guide ("Asynchronous and Overlapping Transfers with Computation") estimates tE + tT/n where the kernels take longer, and
 * tT + tE/n where the transfers do. */
struct hn_staging {
    double chunks; /* 0: no pipeline */
    double streams;
    double register_ms;
    double copy_engines; /* of the device */
    double kernels_us;
    double upload_us;
    double download_us;
    double sequential_us; /* all of it; 0: the parts were not measured */
    bool measured;
    double overlapping; /* chunks that can overlap: 1 in one stream */
    double compute_bound_us;
    double transfer_bound_us;
    /* No schedule is faster: the longest of upload, download and kernels, each going on without a break. With one copy
     * engine both ways share it; without any nothing overlaps. */
    double limit_us;
};
struct hn_staging hn_staging_of(const struct hn_bindings *observed);

/* Adds to a record's JSON, under staging, the estimates and the limit, where its parts were measured. */
void hn_staging_add_json(const struct hn_record *record, json_t *json);

/* Views of such a record: what a plan with a pipeline took by the host's clock, and set against its parts; nothing of other plans. */
#define HN_STAGING_VIEWS(record, indent)                                                                             \
    {.at = record,                                                                                                   \
     .line = indent "{staging.chunks:.0f} chunk{staging.chunks:s} in {staging.streams:.0f} stream{staging.streams:s}" \
                    "[{?timing.host_us}; {timing.host_us:time} by the host's clock, "                                \
                    "{timing.host_us-timing.median_us:time} more than by events]"                                    \
                    "[{?staging.register_ms}; registering its host memory took {staging.register_ms:.3g} ms, once]"},  \
    {.at = record,                                                                                                   \
     .line = indent "alone: kernels tE {staging.kernels_us:time}, transfers tT {staging.upload_us:time} up and "     \
                    "{staging.download_us:time} down; one after another "                                            \
                    "{staging.sequential_us:time}{?staging.limit_us}"},                                              \
    {.at = record,                                                                                                   \
     .line = indent "estimates: tE + tT/{staging.overlapping:.0f} {staging.compute_bound_us:time}, "                 \
                    "tT + tE/{staging.overlapping:.0f} {staging.transfer_bound_us:time}; limit with "                \
                    "{staging.copy_engines:.0f} copy engine{staging.copy_engines:s} {staging.limit_us:time}"},       \
    {.at = record,                                                                                                   \
     .line = indent "measured: {timing.median_us:time}, at {staging.limit_us/timing.median_us:.1%} of the limit; "   \
                    "{staging.sequential_us/timing.median_us:.3g} times as fast as sequential{?timing.median_us}"}

#endif
