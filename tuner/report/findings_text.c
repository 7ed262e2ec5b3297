/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "tuner/report/findings.h"
#include "tuner/report/format.h"

void hn_findings_bound(const struct hn_findings *findings, char *text, size_t size)
{
    double share = findings->busy[findings->busiest];
    const char *name = hn_unit_names[findings->busiest];
    if (share < HN_UNIT_BUSY)
        snprintf(text, size, "latency, no unit is busier than %d%% (%s)", hn_format_percent(share),
                 name);
    else if (findings->busiest == HN_UNIT_DRAM)
        snprintf(text, size, "DRAM, %d%% of what %s", hn_format_percent(findings->dram_share),
                 findings->by_roof ? "a copy gives" : "the memory can do at best");
    else
        snprintf(text, size, "%s, %d%% busy", name, hn_format_percent(share));
}

static double hits(const struct hn_counters *counters, enum hn_counter hit, enum hn_counter all)
{
    return hn_counter_ratio(counters, hit, all) * 100;
}

static void print_rates(const struct hn_findings *findings, const struct hn_counters *counters,
                        const char *indent, FILE *file)
{
    fprintf(file, "%scounted: ", indent);
    if (findings->effective_gb_per_s > 0)
        fprintf(file, "effective %.0f GB/s, actual ", findings->effective_gb_per_s);
    fprintf(file, "%.0f GB/s; %d%% of what %s", findings->dram_gb_per_s,
            hn_format_percent(findings->dram_share),
            findings->by_roof ? "DRAM gives a copy" : "DRAM can do at best");
    char read[HN_FORMAT_SIZE];
    char written[HN_FORMAT_SIZE];
    hn_format_bytes(hn_counter(counters, HN_COUNTER_DRAM_READ), read);
    hn_format_bytes(hn_counter(counters, HN_COUNTER_DRAM_WRITTEN), written);
    fprintf(file, " (%s read, %s written)\n", read, written);
}

/* Those that do something to speak of. */
static void print_units(const struct hn_findings *findings, const struct hn_counters *counters,
                        const char *indent, FILE *file)
{
    fprintf(file, "%sbusy: ", indent);
    for (int unit = 0, shown = 0; unit < HN_UNIT_COUNT; unit++)
        if (findings->busy[unit] >= 0.05)
            fprintf(file, "%s%s %d%%", shown++ > 0 ? ", " : "", hn_unit_names[unit],
                    hn_format_percent(findings->busy[unit]));
    fprintf(file, "; L2 hits %.0f%%, L1 hits %.0f%%; occupancy %.0f%% achieved\n",
            hits(counters, HN_COUNTER_L2_SM_HITS, HN_COUNTER_L2_SM_SECTORS),
            hits(counters, HN_COUNTER_LOAD_HITS, HN_COUNTER_LOAD_SECTORS),
            hn_counter(counters, HN_COUNTER_OCCUPANCY_PERCENT));
}

void hn_findings_print(const struct hn_findings *findings, const struct hn_record *record,
                       const char *indent, size_t most, FILE *file)
{
    struct hn_counters counters;
    hn_counters_read(&record->observed, &counters);
    if (!findings->known)
        return;
    print_rates(findings, &counters, indent, file);
    print_units(findings, &counters, indent, file);
    for (size_t i = 0; i < findings->count && i < most; i++)
        fprintf(file, "%s%s (%s)\n", indent, findings->items[i].text, findings->items[i].counted);
}

json_t *hn_findings_to_json(const struct hn_findings *findings)
{
    char bound[128];
    json_t *busy = json_object();
    json_t *items = json_array();
    if (!findings->known) {
        json_decref(busy);
        json_decref(items);
        return NULL;
    }
    hn_findings_bound(findings, bound, sizeof bound);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++)
        json_object_set_new(busy, hn_unit_names[unit], json_real(findings->busy[unit]));
    for (size_t i = 0; i < findings->count; i++) {
        const struct hn_finding *finding = &findings->items[i];
        json_array_append_new(items, json_pack("{ss sf ss ss ss}", "kind", finding->kind, "share",
                                               finding->share, "text", finding->text, "counted",
                                               finding->counted, "remedy", finding->remedy));
    }
    return json_pack("{ss sf sf sf sb s{sf sf sf} so so}", "bound", bound, "effective_gb_per_s",
                     findings->effective_gb_per_s, "dram_gb_per_s", findings->dram_gb_per_s,
                     "dram_share", findings->dram_share, "by_roof", findings->by_roof, "levels",
                     "DRAM", findings->dram_bytes, "L2", findings->l2_bytes, "L1",
                     findings->l1_bytes, "busy", busy, "findings", items);
}
