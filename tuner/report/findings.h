/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_FINDINGS_H
#define HONE_TUNER_REPORT_FINDINGS_H

#include "runtime/bench/observe/counters.h"
#include "cache/record/record.h"
#include "cache/store/store_roofs.h"

/* What the counters say of a launch: which unit is busiest, and what keeps it from doing more, each with the figures that say so. */

/* {"bound": …, "dram_gb_per_s": …, "busy": {…}, "findings": [{"kind", "share", "text", "counted", "remedy"}, …]}, those first that may
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

#endif
