/* SPDX-License-Identifier: MIT */
#include "tuner/report/bounds.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/record.h"
#include "tuner/report/render.h"

/* Where several are given, the first counts. */
static const struct {
    const char *metric;
    enum hn_tensor_pipe pipe; /* HN_PIPE_COUNT: none of the tensor cores' */
} computing[] = {
#define X(identifier, key, name, bytes) {"flops_" key, identifier},
    HN_TENSOR_PIPES(X)
#undef X
        {"flops", HN_PIPE_COUNT},
};
enum { COMPUTING = sizeof computing / sizeof *computing };

static bool has_metric(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->metric_count; i++)
        if (strcmp(plan->metrics[i].name, name) == 0)
            return true;
    return false;
}

/* Those of a pipeline are what crosses the bus. */
bool hn_roof_is_known(const struct hn_plan *plan)
{
    bool known = has_metric(plan, "bytes");
    for (int i = 0; i < COMPUTING; i++)
        known = known || has_metric(plan, computing[i].metric);
    return known && plan->pipeline == NULL;
}

enum hn_tensor_pipe hn_roof_pipe(const struct hn_plan *plan)
{
    int i = 0;
    while (i < COMPUTING - 1 && !has_metric(plan, computing[i].metric))
        i++;
    return computing[i].pipe;
}

/* 0: there is none. */
static double metric(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    double number = value == NULL ? 0.0 : hn_value_number(value);
    return number > 0.0 ? number : 0.0;
}

/* Of a roof that allows so many thousands in a microsecond. */
static double share_of(double amount, double rate, double time_us)
{
    return rate > 0.0 ? amount / rate / 1e3 / time_us : 0.0;
}

/* What the device needs at least is less than what a roof says: see bounds.h. */
static const double roof_margin = 1.1;
/* As data.js: of no device of today the L2 cache is larger. */
static const double most_l2_bytes = 0x1p27;

static const char *find_beyond(const struct hn_roofs *roofs, double l2_bytes,
                               const struct hn_roof *roof, const char *flops, enum hn_regime regime,
                               const struct hn_record *record)
{
    double high_us = record->timing.high_us * roof_margin;
    if (regime != HN_COLD || record->outcome != HN_OUTCOME_OK || !(high_us > 0.0))
        return NULL;
    if (share_of(roof->bytes - l2_bytes, roofs->copy_gb_per_s, high_us) > 1.0 ||
        share_of(roof->bytes, roofs->l2_gb_per_s, high_us) > 1.0)
        return "bytes";
    return share_of(roof->flops, roof->flops_rate, high_us) > 1.0 ? flops : NULL;
}

bool hn_roof_find(const struct hn_roofs *roofs, enum hn_regime regime,
                  const struct hn_record *record, struct hn_roof *roof)
{
    double time_us = record->timing.median_us;
    int i = 0;
    while (i < COMPUTING - 1 && metric(record, computing[i].metric) == 0.0)
        i++;
    enum hn_tensor_pipe pipe = computing[i].pipe;
    *roof =
        (struct hn_roof){.bytes = metric(record, "bytes"),
                         .flops = metric(record, computing[i].metric),
                         .flops_name = pipe < HN_PIPE_COUNT ? hn_tensor_pipe_names[pipe] : "FP32"};
    if (roofs == NULL)
        return false;
    roof->flops_rate = pipe < HN_PIPE_COUNT ? roofs->tensor.pipes[pipe].gflops : roofs->fp32_gflops;
    if ((roof->bytes == 0.0 && roof->flops == 0.0) || !(time_us > 0.0))
        return false;
    double l2_bytes = roofs->l2_bytes > 0.0 ? roofs->l2_bytes : most_l2_bytes;
    bool cached = regime != HN_COLD && roof->bytes <= l2_bytes / 2.0;
    roof->bytes_share =
        share_of(roof->bytes, cached ? roofs->l2_gb_per_s : roofs->copy_gb_per_s, time_us);
    roof->flops_share = share_of(roof->flops, roof->flops_rate, time_us);
    roof->launch_share = roofs->launch_us / time_us;
    roof->beyond = find_beyond(roofs, l2_bytes, roof, computing[i].metric, regime, record);
    const char *const names[] = {"launch", cached ? "L2" : "copy", roof->flops_name};
    const double shares[] = {roof->launch_share, roof->bytes_share, roof->flops_share};
    for (size_t k = 0; k < 3; k++)
        if (shares[k] > roof->share) {
            roof->share = shares[k];
            roof->name = names[k];
        }
    return roof->share > 0.0;
}

void hn_staging_add_json(json_t *record)
{
    json_t *staging = json_object_get(record, "staging");
    double chunks = 0, streams = 0, engines = 0, kernels_us = 0, up_us = 0, down_us = 0,
           sequential_us = 0;
    (void)json_unpack(staging, "{s?F s?F s?F s?F s?F s?F s?F}", "chunks", &chunks, "streams",
                      &streams, "copy_engines", &engines, "kernels_us", &kernels_us, "upload_us",
                      &up_us, "download_us", &down_us, "sequential_us", &sequential_us);
    if (!(chunks > 0 && sequential_us > 0))
        return;
    double transfers_us = up_us + down_us, overlapping = streams > 1 ? chunks : 1;
    double limit_us = engines <= 0   ? kernels_us + transfers_us
                      : engines == 1 ? fmax(kernels_us, transfers_us)
                                     : fmax(kernels_us, fmax(up_us, down_us));
    json_object_update_new(
        staging, json_pack("{sf sf sf sf}", "overlapping", overlapping, "compute_bound_us",
                           kernels_us + transfers_us / overlapping, "transfer_bound_us",
                           transfers_us + kernels_us / overlapping, "limit_us", limit_us));
}

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

static const struct {
    const char *name;
    enum hn_counter percent; /* that it is busy */
} units[HN_UNIT_COUNT] = {
    [HN_UNIT_DRAM] = {"DRAM", HN_COUNTER_DRAM_PERCENT},
    [HN_UNIT_L2] = {"L2", HN_COUNTER_L2_PERCENT},
    [HN_UNIT_L1] = {"L1 and shared memory", HN_COUNTER_L1_PERCENT},
    [HN_UNIT_ISSUE] = {"issue slots", HN_COUNTER_ISSUE_PERCENT},
    [HN_UNIT_FMA] = {"FP32 units", HN_COUNTER_FMA_PERCENT},
    [HN_UNIT_ALU] = {"integer units", HN_COUNTER_ALU_PERCENT},
    [HN_UNIT_FP64] = {"FP64 units", HN_COUNTER_FP64_PERCENT},
    [HN_UNIT_SPECIAL] = {"special functions", HN_COUNTER_SPECIAL_PERCENT},
    [HN_UNIT_TENSOR] = {"tensor cores", HN_COUNTER_TENSOR_PERCENT},
};

/* From this on a unit bounds a launch; below, waiting does. */
static const double bounding = 0.6;
/* What costs less than this is not worth a word. */
static const double least_share = 0.05;
/* From here on more warps do not help where loads do. */
static const double enough_occupancy = 0.5;
enum { WARP = 32 };

/* A launch as its counters tell it, while findings are made of them. */
struct view {
    double counters[HN_COUNTER_COUNT]; /* 0: this one is not known, too */
    double stretch;                    /* how much longer was counted than the launch takes */
    double dram_gb_per_s;              /* what crossed the memory's bus in that time */
    double dram_share; /* of what a copy gives (the roof), or where there is no roof of what the
                          memory can do at best */
    bool by_roof;
    double effective_gb_per_s;  /* by the metric `bytes`; 0: there is none */
    double busy[HN_UNIT_COUNT]; /* 0 to 1, over the whole launch */
    enum hn_unit busiest;
    double most;      /* that anything can cost: what the problem has to move takes the rest */
    double atomics;   /* how busy the slice of L2 is that has most atomics */
    double idle;      /* of the time that SMs have work, what the busiest unit leaves: only of that
                         waiting can cost something */
    double memory;    /* of the warps, the share that waits for global and local memory */
    double shared;    /* and for shared memory */
    double sectors;   /* of loads and stores of global and local memory */
    json_t *findings; /* those first that may cost most */
};

static double count(const struct view *view, enum hn_counter counter)
{
    return view->counters[counter];
}

/* a / b; 0 where either is not known, or b is 0. */
static double ratio_of(const struct view *view, enum hn_counter a, enum hn_counter b)
{
    return count(view, b) > 0 ? count(view, a) / count(view, b) : 0;
}

/* Bytes that crossed the device's memory bus, both ways. */
static double dram_bytes_of(const struct view *view)
{
    return count(view, HN_COUNTER_DRAM_READ) + count(view, HN_COUNTER_DRAM_WRITTEN);
}

/* Of warps that wait, the share that waits for this, 0 to 1. */
static double stall(const struct view *view, enum hn_counter counter)
{
    return ratio_of(view, counter, HN_COUNTER_WARPS_PER_ISSUE);
}

/* What is counted begins before the first block and ends behind the last one, by 20 to 50 us that
 * differ from lap to lap: what is told of all of that time says less of the launch. How long the
 * launch itself takes is measured; else it is what the busiest SM's cycles take at its clock. Only
 * without that is it a ratio of cycles, of a lap that may have waited longer than others. */
static double stretch_of(const struct hn_record *record, const struct view *view, double clock_mhz)
{
    double launch_us = record->timing.median_us;
    double stretch = ratio_of(view, HN_COUNTER_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    if (!(launch_us > 0) && clock_mhz > 0)
        launch_us = count(view, HN_COUNTER_LONGEST_CYCLES) / clock_mhz;
    if (launch_us > 0 && count(view, HN_COUNTER_TIME) > 0)
        stretch = count(view, HN_COUNTER_TIME) / 1e3 / launch_us;
    return fmax(stretch, 1);
}

/* The share of the time for which a multiprocessor has work, in the mean; 1: it is not known. */
static double active_of(const struct view *view)
{
    double active = ratio_of(view, HN_COUNTER_ACTIVE_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    return active > 0 ? fmin(active, 1) : 1;
}

/* Adds a finding, unless it costs too little. kind: one word, for programs. share: of the time, by
 * estimate, that it may cost at most. The first line says what is found, the second by which
 * counters. */
__attribute__((format(printf, 5, 6))) static void find(const struct view *view, const char *kind,
                                                       double share, const char *remedy,
                                                       const char *format, ...)
{
    struct hn_text text = {0};
    va_list arguments;
    share = fmin(share, view->most);
    if (!(share >= least_share))
        return;
    va_start(arguments, format);
    hn_text_vprintf(&text, format, arguments);
    va_end(arguments);
    char *found HN_FREED = hn_needed(hn_text_take(&text)), *counted = strchr(found, '\n');
    *counted++ = '\0';
    hn_render_insert(view->findings, "share", false,
                     json_pack("{ss sf ss ss ss}", "kind", kind, "share", share, "text", found,
                               "counted", counted, "remedy", remedy));
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
    return fmax(fmax(view->busy[HN_UNIT_DRAM], view->busy[HN_UNIT_L2]),
                fmax(view->busy[HN_UNIT_L1], view->memory));
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
        find(view, "uncoalesced", excess * weight * way_of_memory(view),
             "let neighbouring threads touch neighbouring addresses, through shared memory "
             "where the order has to change",
             "%s of global memory are not coalesced: %.0f%% of what they move was not asked "
             "for\n"
             "%.1f sectors a request of a warp (%.4g sectors, %.4g requests, %.4g bytes asked for)",
             ways[i].what, excess * 100, ratio_of(view, ways[i].sectors, ways[i].requests),
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
    find(view, "conflicts", excess * fmax(view->busy[HN_UNIT_L1], view->shared),
         "pad the rows of the tile, or swizzle its columns",
         "bank conflicts: %.0f%% of the passes through shared memory repeat others\n"
         "%.4g conflicts of %.4g wavefronts; %.0f%% of the warps wait for shared memory",
         excess * 100, conflicts, wavefronts, view->shared * 100);
}

static void find_spills(const struct view *view)
{
    double local =
        count(view, HN_COUNTER_LOCAL_LOAD_SECTORS) + count(view, HN_COUNTER_LOCAL_STORE_SECTORS);
    double share = view->sectors > 0 ? local / view->sectors : 0;
    find(view, "local", share * way_of_memory(view),
         "smaller tiles or less unrolling, a looser __launch_bounds__, constant indices into "
         "arrays of a thread",
         "local memory (spills, arrays without registers): %.0f%% of what threads move\n"
         "%.4g of %.4g sectors between SMs and L1 are local",
         share * 100, local, view->sectors);
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
    find(view, "atomics", fmax(slice, part * view->memory),
         "add up in registers, a warp or shared memory first; spread what is added to over "
         "more addresses",
         "atomics wait for each other: the busiest slice of L2 spends %.0f%% of the time on "
         "them\n"
         "%.4g requests are atomics, of %.4g; %.0f%% of the warps wait for memory",
         slice * 100, atomics, requests, view->memory * 100);
}

static void find_idle_multiprocessors(const struct view *view)
{
    double active = active_of(view);
    /* Others of them would have no more than what the busiest unit leaves. */
    double share = fmin(1 - active, 1 - view->busy[view->busiest]);
    find(view, "idle", share,
         "more and smaller blocks, of like work; a grid that fills whole waves",
         "multiprocessors have no work for %.0f%% of the time: too few blocks, a last wave "
         "that is not full, or blocks that take much longer than others\n"
         "an SM is active for %.4g cycles in the mean, the busiest for %.4g",
         (1 - active) * 100, count(view, HN_COUNTER_ACTIVE_CYCLES),
         count(view, HN_COUNTER_LONGEST_CYCLES));
}

/* Whether more warps or more loads of each would help is a matter of how many warps there are. */
static void find_waiting(const struct view *view)
{
    double occupancy = count(view, HN_COUNTER_OCCUPANCY_PERCENT) / 100;
    double atomics = count(view, HN_COUNTER_ATOMIC_REQUESTS),
           loads = stall(view, HN_COUNTER_STALL_LONG_SCOREBOARD);
    /* Atomics whose result is wanted are waited for in the same way, by the name of loads, and are
     * not fewer where more loads are in flight. */
    if (atomics > 0)
        loads *= count(view, HN_COUNTER_LOAD_REQUESTS) /
                 (count(view, HN_COUNTER_LOAD_REQUESTS) + atomics);
    double waits = fmin(view->memory + view->shared, 1);
    bool few = occupancy > 0 && occupancy < enough_occupancy;
    find(view, "occupancy", few ? view->idle * (1 - occupancy) * waits : 0,
         "fewer registers or less shared memory a block, or blocks that fill the SM",
         "low occupancy: %.0f%% of the warps that fit are there, and they wait\n"
         "%.0f%% achieved occupancy; %.0f%% of the warps wait for memory, %.0f%% for shared memory",
         occupancy * 100, occupancy * 100, view->memory * 100, view->shared * 100);
    find(view, "loads", view->idle * occupancy * loads,
         "wider loads, several before the first is used (unrolling, prefetching, asynchronous "
         "copies)",
         "too few loads in flight: warps wait for memory that could give more\n"
         "%.0f%% of the warps wait for a load (long scoreboard); DRAM is %.0f%% busy, L2 %.0f%%",
         loads * 100, view->busy[HN_UNIT_DRAM] * 100, view->busy[HN_UNIT_L2] * 100);
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
        find(view, reasons[i].kind, view->idle * share, reasons[i].remedy,
             "%s\n%.0f%% of the warps (%s)", reasons[i].text, share * 100, reasons[i].counter);
    }
}

/* Instructions that are issued for a few threads of a warp. */
static void find_divergence(const struct view *view)
{
    double threads = count(view, HN_COUNTER_THREADS_PER_INSTRUCTION);
    double used = 0;
    for (int unit = HN_UNIT_ISSUE; unit <= HN_UNIT_SPECIAL; unit++)
        used = fmax(used, view->busy[unit]);
    find(view, "divergence", threads > 0 ? used * (1 - fmin(threads / WARP, 1)) : 0,
         "let the threads of a warp go the same way: sort the work, or branch by warp",
         "divergent warps: an instruction is for %.1f threads of %d\n"
         "%.1f active threads an instruction; issue slots are %.0f%% busy",
         threads, WARP, threads, view->busy[HN_UNIT_ISSUE] * 100);
}

static void find_traffic(const struct view *view)
{
    double ratio = view->dram_gb_per_s > 0 ? view->effective_gb_per_s / view->dram_gb_per_s : 0;
    /* Behind what may be its cause. */
    const double behind = 0.9;
    find(view, "traffic", ratio > 0 ? behind * fmax(0, 1 - ratio) * view->busy[HN_UNIT_DRAM] : 0,
         "blocks that run at the same time should share what they read (order, tiles), and "
         "write whole sectors",
         "memory moves %.2f times what the metric `bytes` says\n"
         "%.4g bytes read and %.4g written",
         1 / fmax(ratio, 1e-9), count(view, HN_COUNTER_DRAM_READ),
         count(view, HN_COUNTER_DRAM_WRITTEN));
}

static void find_rates(const struct hn_record *record, const struct hn_roofs *roofs,
                       struct view *view)
{
    double time_us = record->timing.median_us > 0
                         ? record->timing.median_us
                         : count(view, HN_COUNTER_TIME) / 1e3 / view->stretch;
    double per_us = time_us > 0 ? 1e-3 / time_us : 0;
    view->dram_gb_per_s = dram_bytes_of(view) * per_us;
    view->effective_gb_per_s = metric(record, "bytes") * per_us;
    view->by_roof = roofs != NULL && roofs->copy_gb_per_s > 0 && view->dram_gb_per_s > 0;
    view->dram_share = view->by_roof ? view->dram_gb_per_s / roofs->copy_gb_per_s
                                     : count(view, HN_COUNTER_DRAM_PERCENT) / 100 * view->stretch;
}

static void find_units(struct view *view)
{
    double active = ratio_of(view, HN_COUNTER_ACTIVE_CYCLES, HN_COUNTER_LONGEST_CYCLES);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++) {
        double percent = count(view, units[unit].percent) / 100;
        bool within_sm = unit >= HN_UNIT_L1;
        view->busy[unit] = fmin(percent * (within_sm ? active : view->stretch), 1);
    }
    view->busy[HN_UNIT_DRAM] = fmin(view->dram_share, 1);
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++)
        if (view->busy[unit] > view->busy[view->busiest])
            view->busiest = (enum hn_unit)unit;
}

/* "DRAM, 98% of what a copy gives", or "latency, no unit is busier than 34% (L2)". */
static json_t *describe_bound(const struct view *view)
{
    double share = view->busy[view->busiest];
    const char *name = units[view->busiest].name;
    if (share < bounding)
        return json_sprintf("latency, no unit is busier than %d%% (%s)", hn_format_percent(share),
                            name);
    if (view->busiest == HN_UNIT_DRAM)
        return json_sprintf("DRAM, %d%% of what %s", hn_format_percent(view->dram_share),
                            view->by_roof ? "a copy gives" : "the memory can do at best");
    return json_sprintf("%s, %d%% busy", name, hn_format_percent(share));
}

/* L1 is what threads and L1 exchange. */
static json_t *to_json(const struct view *view)
{
    json_t *busy = json_object();
    for (int unit = 0; unit < HN_UNIT_COUNT; unit++)
        json_object_set_new(busy, units[unit].name, json_real(view->busy[unit]));
    return json_pack(
        "{so sf sf sf sb s{sf sf sf} sf sf sf sf sf so so}", "bound", describe_bound(view),
        "effective_gb_per_s", view->effective_gb_per_s, "dram_gb_per_s", view->dram_gb_per_s,
        "dram_share", view->dram_share, "by_roof", view->by_roof, "levels", "DRAM",
        dram_bytes_of(view), "L2", HN_SECTOR_BYTES * count(view, HN_COUNTER_L2_SECTORS), "L1",
        HN_SECTOR_BYTES * view->sectors, "read_bytes", count(view, HN_COUNTER_DRAM_READ),
        "written_bytes", count(view, HN_COUNTER_DRAM_WRITTEN), "l2_hits",
        ratio_of(view, HN_COUNTER_L2_SM_HITS, HN_COUNTER_L2_SM_SECTORS), "l1_hits",
        ratio_of(view, HN_COUNTER_LOAD_HITS, HN_COUNTER_LOAD_SECTORS), "occupancy",
        count(view, HN_COUNTER_OCCUPANCY_PERCENT) / 100, "busy", busy, "findings", view->findings);
}

json_t *hn_findings(const struct hn_record *record, const struct hn_roofs *roofs, double clock_mhz)
{
    struct view view = {.busiest = HN_UNIT_DRAM};
    const double moved = 0.9;
    bool known = false;
    for (int i = 0; i < HN_COUNTER_COUNT; i++) {
        const struct hn_value *value = hn_bindings_get(&record->observed, hn_counter_names[i]);
        double number = value != NULL ? hn_value_number(value) : 0;
        view.counters[i] = isnan(number) ? 0 : number;
        known = known || value != NULL;
    }
    if (!known)
        return NULL;
    view.findings = json_array();
    view.stretch = stretch_of(record, &view, clock_mhz);
    find_rates(record, roofs, &view);
    find_units(&view);
    /* By the metric `bytes`, where memory did move them, and not a cache. */
    double needed = view.effective_gb_per_s, actual = view.dram_gb_per_s;
    view.most = !(needed > 0) || actual < moved * needed
                    ? 1
                    : fmax(0, 1 - view.dram_share * fmin(needed / actual, 1));
    if (atomic_requests(&view) > 0)
        view.atomics = fmin(count(&view, HN_COUNTER_L2_ATOMIC_PERCENT) / 100 * view.stretch, 1);
    view.idle = fmax(0, active_of(&view) - fmax(view.busy[view.busiest], view.atomics));
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
    return to_json(&view);
}

json_t *hn_bounds_to_json(const struct hn_record *record, const struct hn_roofs *roofs,
                          double clock_mhz)
{
    json_t *json = hn_needed(hn_record_to_json(record));
    hn_staging_add_json(json);
    json_object_set_new(json, "counted", hn_findings(record, roofs, clock_mhz));
    return json;
}
