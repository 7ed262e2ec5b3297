/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_FINDINGS_H
#define HONE_TUNER_REPORT_FINDINGS_H

#include "runtime/counters/counters.h"
#include "cache/record/record.h"
#include "cache/store/store_roofs.h"

/* What the counters say of a launch: which unit is busiest, and what keeps it from doing more, each with the figures that say so. */

/* The units that can bound a launch. */
enum hn_unit {
    HN_UNIT_DRAM,
    HN_UNIT_L2,
    HN_UNIT_L1,
    HN_UNIT_ISSUE,
    HN_UNIT_FMA,
    HN_UNIT_ALU,
    HN_UNIT_FP64,
    HN_UNIT_SPECIAL,
    HN_UNIT_TENSOR,
    HN_UNIT_COUNT,
};
extern const char *const hn_unit_names[HN_UNIT_COUNT];

/* From this on a unit bounds a launch; below, waiting does. */
#define HN_UNIT_BUSY 0.6

struct hn_finding {
    const char *kind;  /* one word, for programs: "uncoalesced", "conflicts", … */
    double share;      /* of the time, by estimate, that it may cost at most; findings are sorted by it */
    char text[200];    /* what is found */
    char counted[256]; /* by which counters */
    const char *remedy;
};

enum { HN_FINDINGS_MOST = 16 };

struct hn_findings {
    bool known;                 /* there are counters */
    double time_us;             /* that rates are by: the measured one, or where there is none what the counted launch takes by its cycles */
    double dram_gb_per_s;       /* what crossed the memory's bus in that time */
    double dram_share;          /* of what a copy gives (the roof), or where there is no roof of what the memory can do at best */
    bool by_roof;
    double effective_gb_per_s;  /* by the metric `bytes`; 0: there is none */
    double dram_bytes;          /* of a launch, that crossed each level: L1 is what threads and L1 exchange */
    double l2_bytes;
    double l1_bytes;
    double read_bytes;          /* of dram_bytes */
    double written_bytes;
    double l2_hits;             /* 0 to 1 */
    double l1_hits;
    double occupancy;           /* achieved */
    double busy[HN_UNIT_COUNT]; /* 0 to 1, over the whole launch */
    enum hn_unit busiest;
    struct hn_finding items[HN_FINDINGS_MOST];
    size_t count;
};

/* roofs may be NULL. clock_mhz: of the SMs, for a record without a time; 0: not known. */
void hn_findings_make(const struct hn_record *record, const struct hn_roofs *roofs, double clock_mhz,
                      struct hn_findings *findings);

/* "DRAM, 98% of what a copy gives", or "latency, no unit is busier than 34% (L2)". */
void hn_findings_bound(const struct hn_findings *findings, char *text, size_t size);
/* {"bound": …, "dram_gb_per_s": …, "busy": {…}, "findings": […]}; NULL where nothing was counted. */
json_t *hn_findings_to_json(const struct hn_findings *findings);

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
