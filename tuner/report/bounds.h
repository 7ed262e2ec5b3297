/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_BOUNDS_H
#define HONE_TUNER_REPORT_BOUNDS_H

#include <jansson.h>

#include "cache/store/store_roofs.h"
#include "runtime/bench/observe/counters.h"
#include "tuner/session/backend.h"

/* What bounds a launch: how near it is to what the device can do at best, what its counters say, and how the parts of a
 * pipeline stand to the whole. */

/* How near a time is to what the device can do at best (Williams, Waterman and Patterson, "Roofline", 2009): the time
 * that the device needs at least for what a launch moves and computes, by the metrics named bytes and flops, over the
 * time that it took. What tensor cores compute is named flops_bf16, flops_fp16, flops_tf32 or flops_fp8. */
struct hn_roof {
    const char *name; /* what bounds it: copy, L2, FP32, launch, or the type of the tensor cores' numbers: BF16; NULL: not known */
    double share;     /* the largest of those below */
    double bytes; /* of a launch, by the metrics named so; 0: not said */
    double flops;
    const char *flops_name; /* what computes them: FP32, BF16, … */
    double flops_rate;      /* its roof in GFLOP/s; 0: not known */
    double bytes_share; /* the time that each roof alone would take over the time it took; 0: not known */
    double flops_share;
    double launch_share;
    /* The metric ("bytes", "flops" or "flops_bf16", …) that cannot be true of what was measured; NULL: both can. The whole interval of the
     * time lies below what the device needs for so much, of which the L2 cache may have kept its size for later, at 1.1
     * times its measured rates: reads alone are up to 8% faster than a copy. */
    const char *beyond;
};

/* Whether the plan says how much that is. */
bool hn_roof_is_known(const struct hn_plan *plan);
/* The tensor cores that the plan's metrics name, HN_PIPE_COUNT: none. */
enum hn_tensor_pipe hn_roof_pipe(const struct hn_plan *plan);
/* False when the record has no time or no such metric, or no roofs are given (NULL): then only bytes and flops are set. In a warm
 * regime bytes are set against the L2 cache where half of it holds them. */
bool hn_roof_find(const struct hn_roofs *roofs, enum hn_regime regime, const struct hn_record *record, struct hn_roof *roof);

/* A line for hn_render: "copy 4012 GB/s, L2 7120 GB/s, FP32 61.2 TFLOP/s, launch 1.52 us, measured 2026-11-21 with driver 580.82". at:
 * the path to them, with a point behind it. */
#define HN_ROOFS_LINE(at)                                                                             \
    "copy {" at "copy_gb_per_s:.0f} GB/s, L2 {" at "l2_gb_per_s:.0f} GB/s, FP32 {" at "fp32_gflops/1e3:.3g} TFLOP/s, " \
    "launch {" at "launch_us:.3g} us, measured {" at "measured:date} with driver {" at "driver}"

/* Adds to a record's JSON, under staging, estimates of a pipeline and its limit, where its parts were measured on their own in one
 * chunk and one stream, which is only done of the best. Staging says how it was cut (chunks, streams; register_ms: what registering
 * its host memory took, once) and what kernels, upload and download take.
 *
 * With tE the kernels' time, tT that of the transfers both ways, and n chunks that overlap (1 in one stream), the CUDA C++ Best
 * Practices Guide ("Asynchronous and Overlapping Transfers with Computation") estimates tE + tT/n where the kernels take longer, and
 * tT + tE/n where the transfers do. No schedule is faster than the limit: the longest of upload, download and kernels, each going on
 * without a break. With one copy engine both ways share it; without any nothing overlaps. */
void hn_staging_add_json(json_t *record);
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

/* What the counters say of a launch: which unit is busiest, and what keeps it from doing more, each with the figures that say so:
 * {"bound": …, "dram_gb_per_s": …, "busy": {…}, "findings": [{"kind", "share", "text", "counted", "remedy"}, …]}, those first that may
 * cost most; NULL where nothing was counted. roofs may be NULL. clock_mhz: of the SMs, for a record without a time; 0: not known. */
json_t *hn_findings(const struct hn_record *record, const struct hn_roofs *roofs, double clock_mhz);
/* Views of a document that has them under `counted`: rates, units, and the first `shown` findings. */
#define HN_FINDINGS_VIEWS(document, indent, shown)                                                                   \
    {.at = document,                                                                                                 \
     .line = indent "counted: [{?counted.effective_gb_per_s}effective {counted.effective_gb_per_s:.0f} GB/s, actual ]" \
                    "{counted.dram_gb_per_s:.0f} GB/s; {counted.dram_share:percent} of what "                        \
                    "[{?counted.by_roof}DRAM gives a copy|DRAM can do at best] ({counted.read_bytes:bytes} read, "     \
                    "{counted.written_bytes:bytes} written)"},                                                       \
    {.at = document,                                                                                                 \
     .line = indent "busy: {counted.busy:busy}; L2 hits {counted.l2_hits:.0%}, L1 hits {counted.l1_hits:.0%}; "      \
                    "occupancy {counted.occupancy:.0%} achieved"},                                                   \
    {.at = document ".counted.findings", .line = indent "{text} ({counted})", .most = (shown)}

/* A record as JSON with what bounds it: the estimates above, and what hn_findings says under `counted`. */
json_t *hn_bounds_to_json(const struct hn_record *record, const struct hn_roofs *roofs, double clock_mhz);

#endif
