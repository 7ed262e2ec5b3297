/* SPDX-License-Identifier: MIT */
#include "tuner/report/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tuner/report/render.h"

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

static const char *const unit_names[HN_UNIT_COUNT] = {
    [HN_UNIT_DRAM] = "DRAM",
    [HN_UNIT_L2] = "L2",
    [HN_UNIT_L1] = "L1 and shared memory",
    [HN_UNIT_ISSUE] = "issue slots",
    [HN_UNIT_FMA] = "FP32 units",
    [HN_UNIT_ALU] = "integer units",
    [HN_UNIT_FP64] = "FP64 units",
    [HN_UNIT_SPECIAL] = "special functions",
    [HN_UNIT_TENSOR] = "tensor cores",
};

/* From this on a unit bounds a launch; below, waiting does. */
static const double bounding = 0.6;
/* What costs less than this is not worth a word. */
static const double least_share = 0.05;
/* From here on more warps do not help where loads do. */
static const double enough_occupancy = 0.5;
enum { WARP = 32 };

/* What was counted, as numbers. */
struct counted {
    bool known;                  /* there are any */
    double of[HN_COUNTER_COUNT]; /* NAN: this one is not known */
};

static void read_counters(const struct hn_bindings *observed, struct counted *counters)
{
    counters->known = false;
    for (int i = 0; i < HN_COUNTER_COUNT; i++) {
        const struct hn_value *value = hn_bindings_get(observed, hn_counter_names[i]);
        counters->of[i] = value != NULL ? hn_value_number(value) : NAN;
        counters->known = counters->known || value != NULL;
    }
}

/* Its number, or 0 where it is not known. */
static double counter_of(const struct counted *counters, enum hn_counter counter)
{
    return isnan(counters->of[counter]) ? 0 : counters->of[counter];
}

/* a / b; 0 where either is not known, or b is 0. */
static double ratio_of(const struct counted *counters, enum hn_counter a, enum hn_counter b)
{
    double below = counter_of(counters, b);
    return below > 0 ? counter_of(counters, a) / below : 0;
}

/* Bytes that crossed the device's memory bus, both ways. */
static double dram_bytes_of(const struct counted *counters)
{
    return counter_of(counters, HN_COUNTER_DRAM_READ) +
           counter_of(counters, HN_COUNTER_DRAM_WRITTEN);
}

struct finding {
    const char *kind; /* one word, for programs: "uncoalesced", "conflicts", … */
    double
        share; /* of the time, by estimate, that it may cost at most; findings are sorted by it */
    char text[200];    /* what is found */
    char counted[256]; /* by which counters */
    const char *remedy;
};

enum { FINDINGS_MOST = 16 };

struct findings {
    double dram_gb_per_s; /* what crossed the memory's bus in that time */
    double dram_share;    /* of what a copy gives (the roof), or where there is no roof of what the
                             memory can do at best */
    bool by_roof;
    double effective_gb_per_s;  /* by the metric `bytes`; 0: there is none */
    double busy[HN_UNIT_COUNT]; /* 0 to 1, over the whole launch */
    enum hn_unit busiest;
    struct finding items[FINDINGS_MOST];
    size_t count;
};

/* A launch as its counters tell it, while findings are made of them. */
struct view {
    const struct counted *counters;
    struct findings *findings;
    double most;    /* that anything can cost: what the problem has to move takes the rest */
    double atomics; /* how busy the slice of L2 is that has most atomics */
    double idle;    /* of the time that SMs have work, what the busiest unit leaves: only of that
                       waiting can cost something */
    double memory;  /* of the warps, the share that waits for global and local memory */
    double shared;  /* and for shared memory */
    double sectors; /* of loads and stores of global and local memory */
};

static double count(const struct view *view, enum hn_counter counter)
{
    return counter_of(view->counters, counter);
}

/* Of warps that wait, the share that waits for this, 0 to 1. */
static double stall(const struct view *view, enum hn_counter counter)
{
    return ratio_of(view->counters, counter, HN_COUNTER_WARPS_PER_ISSUE);
}

static double busy(const struct view *view, enum hn_unit unit)
{
    return view->findings->busy[unit];
}

/* What is counted begins before the first block and ends behind the last one, by 20 to 50 us that
 * differ from lap to lap: what is told of all of that time says less of the launch. How long the
 * launch itself takes is measured; else it is what the busiest SM's cycles take at its clock. Only
 * without that is it a ratio of cycles, of a lap that may have waited longer than others. */
static double stretch_of(const struct hn_record *record, const struct counted *counters,
                         double clock_mhz)
{
    double launch_us = record->timing.median_us;
    double stretch = ratio_of(counters, HN_COUNTER_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    if (!(launch_us > 0) && clock_mhz > 0)
        launch_us = counter_of(counters, HN_COUNTER_LONGEST_CYCLES) / clock_mhz;
    if (launch_us > 0 && counter_of(counters, HN_COUNTER_TIME) > 0)
        stretch = counter_of(counters, HN_COUNTER_TIME) / 1e3 / launch_us;
    return fmax(stretch, 1);
}

/* Of the time, for how much of it a multiprocessor has work, in the mean; 1 where that is not
 * known. */
static double active_of(const struct counted *counters)
{
    double active = ratio_of(counters, HN_COUNTER_ACTIVE_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    return active > 0 ? fmin(active, 1) : 1;
}

/* A finding with its text; the caller says what was counted. NULL where it costs too little. */
__attribute__((format(printf, 5, 6))) static struct finding *find(const struct view *view,
                                                                  const char *kind, double share,
                                                                  const char *remedy,
                                                                  const char *format, ...)
{
    struct findings *findings = view->findings;
    share = fmin(share, view->most);
    if (!(share >= least_share) || findings->count == FINDINGS_MOST)
        return NULL;
    struct finding *finding = &findings->items[findings->count++];
    va_list arguments;
    *finding = (struct finding){.kind = kind, .share = share, .remedy = remedy};
    va_start(arguments, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    return finding;
}

__attribute__((format(printf, 2, 3))) static void tell(struct finding *finding, const char *format,
                                                       ...)
{
    va_list arguments;
    if (finding == NULL)
        return;
    va_start(arguments, format);
    (void)vsnprintf(finding->counted, sizeof finding->counted, format, arguments);
    va_end(arguments);
}

/* The share of the sectors that nobody asked for. Without the bytes that threads ask for only what
 * no width of an access explains counts: 16 sectors are the 512 bytes of a warp of 16-byte
 * accesses. */
static double excess_of(const struct view *view, enum hn_counter sectors, enum hn_counter requests,
                        enum hn_counter bytes)
{
    const double widest = 16;
    double moved = count(view, sectors);
    double asked = count(view, bytes) / HN_SECTOR_BYTES;
    if (moved <= 0)
        return 0;
    if (asked <= 0)
        asked = moved > widest * count(view, requests) ? widest * count(view, requests) / 4 : moved;
    return fmax(0, 1 - asked / moved);
}

/* What is moved in vain weighs by how busy the way is, or how long warps wait at it. */
static double way_of_memory(const struct view *view)
{
    return fmax(fmax(busy(view, HN_UNIT_DRAM), busy(view, HN_UNIT_L2)),
                fmax(busy(view, HN_UNIT_L1), view->memory));
}

static void find_uncoalesced(const struct view *view)
{
    const struct {
        const char *what;
        enum hn_counter sectors, requests, bytes;
    } ways[] = {
        {"loads", HN_COUNTER_LOAD_SECTORS, HN_COUNTER_LOAD_REQUESTS, HN_COUNTER_LOAD_BYTES},
        {"stores", HN_COUNTER_STORE_SECTORS, HN_COUNTER_STORE_REQUESTS, HN_COUNTER_STORE_BYTES},
    };
    for (size_t i = 0; view->sectors > 0 && i < sizeof ways / sizeof *ways; i++) {
        double excess = excess_of(view, ways[i].sectors, ways[i].requests, ways[i].bytes);
        double weight = count(view, ways[i].sectors) / view->sectors;
        tell(find(view, "uncoalesced", excess * weight * way_of_memory(view),
                  "let neighbouring threads touch neighbouring addresses, through shared memory "
                  "where the order has to change",
                  "%s of global memory are not coalesced: %.0f%% of what they move was not asked "
                  "for",
                  ways[i].what, excess * 100),
             "%.1f sectors a request of a warp (%.4g sectors, %.4g requests, %.4g bytes asked for)",
             ratio_of(view->counters, ways[i].sectors, ways[i].requests),
             count(view, ways[i].sectors), count(view, ways[i].requests),
             count(view, ways[i].bytes));
    }
}

static void find_conflicts(const struct view *view)
{
    double conflicts = count(view, HN_COUNTER_SHARED_LOAD_CONFLICTS) +
                       count(view, HN_COUNTER_SHARED_STORE_CONFLICTS);
    double wavefronts = count(view, HN_COUNTER_SHARED_LOAD_WAVEFRONTS) +
                        count(view, HN_COUNTER_SHARED_STORE_WAVEFRONTS);
    double excess = wavefronts > 0 ? fmin(conflicts / wavefronts, 1) : 0;
    tell(find(view, "conflicts", excess * fmax(busy(view, HN_UNIT_L1), view->shared),
              "pad the rows of the tile, or swizzle its columns",
              "bank conflicts: %.0f%% of the passes through shared memory repeat others",
              excess * 100),
         "%.4g conflicts of %.4g wavefronts; %.0f%% of the warps wait for shared memory", conflicts,
         wavefronts, view->shared * 100);
}

static void find_spills(const struct view *view)
{
    double local =
        count(view, HN_COUNTER_LOCAL_LOAD_SECTORS) + count(view, HN_COUNTER_LOCAL_STORE_SECTORS);
    double share = view->sectors > 0 ? local / view->sectors : 0;
    tell(find(view, "local", share * way_of_memory(view),
              "smaller tiles or less unrolling, a looser __launch_bounds__, constant indices into "
              "arrays of a thread",
              "local memory (spills, arrays without registers): %.0f%% of what threads move",
              share * 100),
         "%.4g of %.4g sectors between SMs and L1 are local", local, view->sectors);
}

static double atomic_requests(const struct view *view)
{
    return count(view, HN_COUNTER_ATOMIC_REQUESTS) + count(view, HN_COUNTER_REDUCTION_REQUESTS);
}

/* One address takes its atomics one after another, in the slice of L2 that has it. */
static void find_atomics(const struct view *view)
{
    double atomics = atomic_requests(view), slice = view->atomics;
    double requests =
        atomics + count(view, HN_COUNTER_LOAD_REQUESTS) + count(view, HN_COUNTER_STORE_REQUESTS);
    double part = requests > 0 ? atomics / requests : 0;
    tell(find(view, "atomics", fmax(slice, part * view->memory),
              "add up in registers, a warp or shared memory first; spread what is added to over "
              "more addresses",
              "atomics wait for each other: the busiest slice of L2 spends %.0f%% of the time on "
              "them",
              slice * 100),
         "%.4g requests are atomics, of %.4g; %.0f%% of the warps wait for memory", atomics,
         requests, view->memory * 100);
}

static void find_idle_multiprocessors(const struct view *view)
{
    double active = active_of(view->counters);
    /* Others of them would have no more than what the busiest unit leaves. */
    double share = fmin(1 - active, 1 - busy(view, view->findings->busiest));
    tell(find(view, "idle", share,
              "more and smaller blocks, of like work; a grid that fills whole waves",
              "multiprocessors have no work for %.0f%% of the time: too few blocks, a last wave "
              "that is not full, or blocks that take much longer than others",
              (1 - active) * 100),
         "an SM is active for %.4g cycles in the mean, the busiest for %.4g",
         count(view, HN_COUNTER_ACTIVE_CYCLES), count(view, HN_COUNTER_LONGEST_CYCLES));
}

/* Of what warps wait for by name of loads, the share that are loads: atomics whose result is wanted
 * are waited for in the same way, and are not fewer where more loads are in flight. */
static double share_of_loads(const struct view *view)
{
    double atomics = count(view, HN_COUNTER_ATOMIC_REQUESTS);
    double loads = count(view, HN_COUNTER_LOAD_REQUESTS);
    return atomics > 0 ? loads / (loads + atomics) : 1;
}

/* Whether more warps or more loads of each would help is a matter of how many warps there are. */
static void find_waiting(const struct view *view)
{
    double occupancy = count(view, HN_COUNTER_OCCUPANCY_PERCENT) / 100;
    double loads = stall(view, HN_COUNTER_STALL_LONG_SCOREBOARD) * share_of_loads(view);
    double waits = fmin(view->memory + view->shared, 1);
    bool few = occupancy > 0 && occupancy < enough_occupancy;
    tell(find(view, "occupancy", few ? view->idle * (1 - occupancy) * waits : 0,
              "fewer registers or less shared memory a block, or blocks that fill the SM",
              "low occupancy: %.0f%% of the warps that fit are there, and they wait",
              occupancy * 100),
         "%.0f%% achieved occupancy; %.0f%% of the warps wait for memory, %.0f%% for shared memory",
         occupancy * 100, view->memory * 100, view->shared * 100);
    tell(find(view, "loads", view->idle * occupancy * loads,
              "wider loads, several before the first is used (unrolling, prefetching, asynchronous "
              "copies)",
              "too few loads in flight: warps wait for memory that could give more"),
         "%.0f%% of the warps wait for a load (long scoreboard); DRAM is %.0f%% busy, L2 %.0f%%",
         loads * 100, busy(view, HN_UNIT_DRAM) * 100, busy(view, HN_UNIT_L2) * 100);
}

static void find_stalls(const struct view *view)
{
    const struct {
        const char *kind, *text, *counter, *remedy;
        enum hn_counter stall;
    } reasons[] = {
        {"barrier", "warps wait for others of their block", "barrier",
         "smaller blocks, fewer __syncthreads, like work for all warps", HN_COUNTER_STALL_BARRIER},
        {"dependency", "instructions wait for the result of the one before",
         "wait: a fixed latency",
         "more independent work of a thread (unrolling, several sums), or more warps",
         HN_COUNTER_STALL_WAIT},
        {"fetch", "instructions come too slowly: the code is larger than its caches, or jumps",
         "no instruction", "less unrolling", HN_COUNTER_STALL_NO_INSTRUCTION},
        {"branches", "warps wait for their branches", "branch resolving",
         "fewer branches in the inner loop", HN_COUNTER_STALL_BRANCH},
        {"fences", "warps wait at memory fences", "membar", "fewer or narrower fences",
         HN_COUNTER_STALL_MEMBAR},
        {"constants", "constants are not in their cache", "immediate constant miss",
         "constants that all threads of a warp read at the same address, and fewer of them",
         HN_COUNTER_STALL_CONSTANT},
        {"tensor", "warps wait for the tensor cores they have given work to", "gmma",
         "more tiles in flight, so that others can be prepared meanwhile", HN_COUNTER_STALL_TENSOR},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        double share = stall(view, reasons[i].stall);
        tell(find(view, reasons[i].kind, view->idle * share, reasons[i].remedy, "%s",
                  reasons[i].text),
             "%.0f%% of the warps (%s)", share * 100, reasons[i].counter);
    }
}

/* Instructions that are issued for a few threads of a warp. */
static void find_divergence(const struct view *view)
{
    double threads = count(view, HN_COUNTER_THREADS_PER_INSTRUCTION);
    double used = 0;
    for (int unit = HN_UNIT_ISSUE; unit <= HN_UNIT_SPECIAL; unit++)
        used = fmax(used, busy(view, (enum hn_unit)unit));
    tell(find(view, "divergence", threads > 0 ? used * (1 - fmin(threads / WARP, 1)) : 0,
              "let the threads of a warp go the same way: sort the work, or branch by warp",
              "divergent warps: an instruction is for %.1f threads of %d", threads, WARP),
         "%.1f active threads an instruction; issue slots are %.0f%% busy", threads,
         busy(view, HN_UNIT_ISSUE) * 100);
}

static void find_traffic(const struct view *view)
{
    const struct findings *findings = view->findings;
    double ratio =
        findings->dram_gb_per_s > 0 ? findings->effective_gb_per_s / findings->dram_gb_per_s : 0;
    /* Behind what may be its cause. */
    const double behind = 0.9;
    tell(find(view, "traffic",
              ratio > 0 ? behind * fmax(0, 1 - ratio) * busy(view, HN_UNIT_DRAM) : 0,
              "blocks that run at the same time should share what they read (order, tiles), and "
              "write whole sectors",
              "memory moves %.2f times what the metric `bytes` says", 1 / fmax(ratio, 1e-9)),
         "%.4g bytes read and %.4g written", count(view, HN_COUNTER_DRAM_READ),
         count(view, HN_COUNTER_DRAM_WRITTEN));
}

static double metric(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    return value != NULL ? hn_value_number(value) : 0;
}

static void find_rates(const struct hn_record *record, const struct hn_roofs *roofs,
                       const struct counted *counters, double stretch, struct findings *findings)
{
    double time_us = record->timing.median_us > 0
                         ? record->timing.median_us
                         : counter_of(counters, HN_COUNTER_TIME) / 1e3 / stretch;
    double per_us = time_us > 0 ? 1e-3 / time_us : 0;
    findings->dram_gb_per_s = dram_bytes_of(counters) * per_us;
    findings->effective_gb_per_s = metric(record, "bytes") * per_us;
    findings->by_roof = roofs != NULL && roofs->copy_gb_per_s > 0 && findings->dram_gb_per_s > 0;
    findings->dram_share = findings->by_roof
                               ? findings->dram_gb_per_s / roofs->copy_gb_per_s
                               : counter_of(counters, HN_COUNTER_DRAM_PERCENT) / 100 * stretch;
}

static void find_units(const struct counted *counters, double stretch, struct findings *findings)
{
    static const enum hn_counter percents[HN_UNIT_COUNT] = {
        [HN_UNIT_DRAM] = HN_COUNTER_DRAM_PERCENT,
        [HN_UNIT_L2] = HN_COUNTER_L2_PERCENT,
        [HN_UNIT_L1] = HN_COUNTER_L1_PERCENT,
        [HN_UNIT_ISSUE] = HN_COUNTER_ISSUE_PERCENT,
        [HN_UNIT_FMA] = HN_COUNTER_FMA_PERCENT,
        [HN_UNIT_ALU] = HN_COUNTER_ALU_PERCENT,
        [HN_UNIT_FP64] = HN_COUNTER_FP64_PERCENT,
        [HN_UNIT_SPECIAL] = HN_COUNTER_SPECIAL_PERCENT,
        [HN_UNIT_TENSOR] = HN_COUNTER_TENSOR_PERCENT,
    };
    double active = ratio_of(counters, HN_COUNTER_ACTIVE_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++) {
        double percent = counter_of(counters, percents[unit]) / 100;
        bool within_sm = unit >= HN_UNIT_L1;
        findings->busy[unit] = fmin(percent * (within_sm ? active : stretch), 1);
    }
    findings->busy[HN_UNIT_DRAM] = fmin(findings->dram_share, 1);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++)
        if (findings->busy[unit] > findings->busy[findings->busiest])
            findings->busiest = (enum hn_unit)unit;
}

/* By the metric `bytes`, where memory did move them, and not a cache. */
static double most_of(const struct findings *findings)
{
    const double moved = 0.9;
    double needed = findings->effective_gb_per_s;
    double actual = findings->dram_gb_per_s;
    if (!(needed > 0) || actual < moved * needed)
        return 1;
    return fmax(0, 1 - findings->dram_share * fmin(needed / actual, 1));
}

static int compare_shares(const void *a, const void *b)
{
    double first = ((const struct finding *)a)->share;
    double second = ((const struct finding *)b)->share;
    return (first < second) - (first > second);
}

/* "DRAM, 98% of what a copy gives", or "latency, no unit is busier than 34% (L2)". */
static void describe_bound(const struct findings *findings, char *text, size_t size)
{
    double share = findings->busy[findings->busiest];
    const char *name = unit_names[findings->busiest];
    if (share < bounding)
        snprintf(text, size, "latency, no unit is busier than %d%% (%s)", hn_format_percent(share),
                 name);
    else if (findings->busiest == HN_UNIT_DRAM)
        snprintf(text, size, "DRAM, %d%% of what %s", hn_format_percent(findings->dram_share),
                 findings->by_roof ? "a copy gives" : "the memory can do at best");
    else
        snprintf(text, size, "%s, %d%% busy", name, hn_format_percent(share));
}

/* L1 is what threads and L1 exchange. */
static json_t *to_json(const struct view *view)
{
    const struct findings *findings = view->findings;
    const struct counted *counters = view->counters;
    char bound[128];
    json_t *busy = json_object(), *items = json_array();
    describe_bound(findings, bound, sizeof bound);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++)
        json_object_set_new(busy, unit_names[unit], json_real(findings->busy[unit]));
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        json_array_append_new(items, json_pack("{ss sf ss ss ss}", "kind", finding->kind, "share",
                                               finding->share, "text", finding->text, "counted",
                                               finding->counted, "remedy", finding->remedy));
    }
    return json_pack(
        "{ss sf sf sf sb s{sf sf sf} sf sf sf sf sf so so}", "bound", bound, "effective_gb_per_s",
        findings->effective_gb_per_s, "dram_gb_per_s", findings->dram_gb_per_s, "dram_share",
        findings->dram_share, "by_roof", findings->by_roof, "levels", "DRAM",
        dram_bytes_of(counters), "L2", HN_SECTOR_BYTES * count(view, HN_COUNTER_L2_SECTORS), "L1",
        HN_SECTOR_BYTES * view->sectors, "read_bytes", count(view, HN_COUNTER_DRAM_READ),
        "written_bytes", count(view, HN_COUNTER_DRAM_WRITTEN), "l2_hits",
        ratio_of(counters, HN_COUNTER_L2_SM_HITS, HN_COUNTER_L2_SM_SECTORS), "l1_hits",
        ratio_of(counters, HN_COUNTER_LOAD_HITS, HN_COUNTER_LOAD_SECTORS), "occupancy",
        count(view, HN_COUNTER_OCCUPANCY_PERCENT) / 100, "busy", busy, "findings", items);
}

json_t *hn_findings(const struct hn_record *record, const struct hn_roofs *roofs, double clock_mhz)
{
    struct counted counters;
    struct findings findings = {.count = 0};
    struct view view = {.counters = &counters, .findings = &findings};
    read_counters(&record->observed, &counters);
    if (!counters.known)
        return NULL;
    double stretch = stretch_of(record, &counters, clock_mhz);
    find_rates(record, roofs, &counters, stretch, &findings);
    find_units(&counters, stretch, &findings);
    view.most = most_of(&findings);
    if (atomic_requests(&view) > 0)
        view.atomics = fmin(count(&view, HN_COUNTER_L2_ATOMIC_PERCENT) / 100 * stretch, 1);
    view.idle = fmax(0, active_of(&counters) - fmax(findings.busy[findings.busiest], view.atomics));
    view.memory =
        fmin(stall(&view, HN_COUNTER_STALL_LONG_SCOREBOARD) +
                 stall(&view, HN_COUNTER_STALL_LG_THROTTLE) + stall(&view, HN_COUNTER_STALL_DRAIN),
             1);
    view.shared = fmin(stall(&view, HN_COUNTER_STALL_SHORT_SCOREBOARD) +
                           stall(&view, HN_COUNTER_STALL_MIO_THROTTLE),
                       1);
    view.sectors = count(&view, HN_COUNTER_LOAD_SECTORS) + count(&view, HN_COUNTER_STORE_SECTORS) +
                   count(&view, HN_COUNTER_LOCAL_LOAD_SECTORS) +
                   count(&view, HN_COUNTER_LOCAL_STORE_SECTORS);
    find_uncoalesced(&view);
    find_conflicts(&view);
    find_spills(&view);
    find_atomics(&view);
    find_divergence(&view);
    find_idle_multiprocessors(&view);
    find_waiting(&view);
    find_stalls(&view);
    find_traffic(&view);
    qsort(findings.items, findings.count, sizeof *findings.items, compare_shares);
    return to_json(&view);
}
