/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_COUNTERS_H
#define HONE_CACHE_RECORD_COUNTERS_H

#include <stdbool.h>

#include "base/bindings.h"

/* What the GPU's counters say of one launch of the whole plan: X(id, name). A record has those that its device could tell,
 * by name. Bytes, sectors (of 32 bytes), requests (of a warp), wavefronts (passes through L1's data stage) and instructions
 * (of a warp) are sums over the device; a percent is of what the unit can do at best while it is on, 0 to 100; stalls are warps of a
 * scheduler that wait for that reason, for each instruction that it issues. */
#define HN_COUNTERS(X)                                                                                                 \
    X(TIME, "time_ns")                                                                                                 \
    X(CYCLES, "cycles")                 /* of an SM, all the time it counted */                                         \
    X(ACTIVE_CYCLES, "active_cycles")   /* of them, with a warp on it: the mean over the SMs */                        \
    X(LONGEST_CYCLES, "longest_cycles") /* and of the SM that was longest at it */                                     \
    X(DRAM_READ, "dram_read_bytes")                                                                                    \
    X(DRAM_WRITTEN, "dram_written_bytes")                                                                              \
    X(DRAM_PERCENT, "dram_percent")                                                                                    \
    X(L2_SECTORS, "l2_sectors")                                                                                        \
    X(L2_PERCENT, "l2_percent")                                                                                        \
    X(L2_SM_SECTORS, "l2_sm_sectors") /* asked for by SMs, and found there */                                          \
    X(L2_SM_HITS, "l2_sm_hits")                                                                                        \
    X(L2_ATOMIC_SECTORS, "l2_atomic_sectors")                                                                          \
    X(L2_REDUCTION_SECTORS, "l2_reduction_sectors")                                                                    \
    X(L2_ATOMIC_PERCENT, "l2_atomic_percent") /* of the slice that is busiest with atomics */                          \
    X(LOAD_REQUESTS, "load_requests")         /* of global memory */                                                   \
    X(LOAD_SECTORS, "load_sectors")                                                                                    \
    X(LOAD_HITS, "load_hit_sectors") /* found in L1 */                                                                 \
    X(LOAD_BYTES, "load_bytes")      /* that threads asked for */                                                      \
    X(STORE_REQUESTS, "store_requests")                                                                                \
    X(STORE_SECTORS, "store_sectors")                                                                                  \
    X(STORE_BYTES, "store_bytes")                                                                                      \
    X(ATOMIC_REQUESTS, "atomic_requests")                                                                              \
    X(REDUCTION_REQUESTS, "reduction_requests")                                                                        \
    X(LOCAL_LOAD_SECTORS, "local_load_sectors")                                                                        \
    X(LOCAL_STORE_SECTORS, "local_store_sectors")                                                                      \
    X(SHARED_BYTES, "shared_bytes")                                                                                    \
    X(SHARED_LOAD_WAVEFRONTS, "shared_load_wavefronts")                                                                \
    X(SHARED_LOAD_CONFLICTS, "shared_load_conflicts") /* wavefronts more than without bank conflicts */                \
    X(SHARED_STORE_WAVEFRONTS, "shared_store_wavefronts")                                                              \
    X(SHARED_STORE_CONFLICTS, "shared_store_conflicts")                                                                \
    X(SHARED_ATOMICS, "shared_atomic_instructions")                                                                    \
    X(INSTRUCTIONS, "instructions")                                                                                    \
    X(INSTRUCTIONS_ALU, "instructions_alu")                                                                            \
    X(INSTRUCTIONS_FMA, "instructions_fma")                                                                            \
    X(INSTRUCTIONS_FP64, "instructions_fp64")                                                                          \
    X(INSTRUCTIONS_SPECIAL, "instructions_special") /* functions and conversions */                                    \
    X(INSTRUCTIONS_MEMORY, "instructions_memory")                                                                      \
    X(INSTRUCTIONS_TENSOR, "instructions_tensor")                                                                      \
    X(INSTRUCTIONS_UNIFORM, "instructions_uniform")                                                                    \
    X(INSTRUCTIONS_CONTROL, "instructions_control")                                                                    \
    X(THREADS_PER_INSTRUCTION, "threads_per_instruction")                                                              \
    X(ISSUE_PERCENT, "issue_percent")         /* of the slots in which a scheduler can issue */                        \
    X(OCCUPANCY_PERCENT, "occupancy_percent") /* achieved, while an SM has work */                                     \
    X(ALU_PERCENT, "alu_percent")                                                                                      \
    X(FMA_PERCENT, "fma_percent")                                                                                      \
    X(FP64_PERCENT, "fp64_percent")                                                                                    \
    X(SPECIAL_PERCENT, "special_percent")                                                                              \
    X(TENSOR_PERCENT, "tensor_percent")                                                                                \
    X(L1_PERCENT, "l1_percent") /* of the data stage of L1 and shared memory */                                        \
    X(WARPS_PER_ISSUE, "warps_per_issue")                                                                              \
    X(STALL_LONG_SCOREBOARD, "stall_long_scoreboard")                                                                  \
    X(STALL_SHORT_SCOREBOARD, "stall_short_scoreboard")                                                                \
    X(STALL_BARRIER, "stall_barrier")                                                                                  \
    X(STALL_LG_THROTTLE, "stall_lg_throttle")                                                                          \
    X(STALL_MIO_THROTTLE, "stall_mio_throttle")                                                                        \
    X(STALL_MATH_THROTTLE, "stall_math_pipe_throttle")                                                                 \
    X(STALL_WAIT, "stall_wait")                                                                                        \
    X(STALL_NOT_SELECTED, "stall_not_selected")                                                                        \
    X(STALL_SELECTED, "stall_selected")                                                                                \
    X(STALL_NO_INSTRUCTION, "stall_no_instruction")                                                                    \
    X(STALL_BRANCH, "stall_branch_resolving")                                                                          \
    X(STALL_MEMBAR, "stall_membar")                                                                                    \
    X(STALL_SLEEPING, "stall_sleeping")                                                                                \
    X(STALL_DRAIN, "stall_drain")                                                                                      \
    X(STALL_TENSOR, "stall_gmma")                                                                                      \
    X(STALL_TEXTURE, "stall_tex_throttle")                                                                             \
    X(STALL_CONSTANT, "stall_imc_miss")                                                                                \
    X(STALL_DISPATCH, "stall_dispatch_stall")                                                                          \
    X(STALL_OTHER, "stall_misc")

enum hn_counter {
#define X(id, name) HN_COUNTER_##id,
    HN_COUNTERS(X)
#undef X
    HN_COUNTER_COUNT,
};
/* They are written to caches and files: never change one. */
extern const char *const hn_counter_names[HN_COUNTER_COUNT];

enum { HN_SECTOR_BYTES = 32 };

/* The same as numbers. */
struct hn_counters {
    bool known;                  /* there are any */
    double of[HN_COUNTER_COUNT]; /* NAN: this one is not known */
};
void hn_counters_read(const struct hn_bindings *bindings, struct hn_counters *counters);
/* Its number, or 0 where it is not known. */
double hn_counter(const struct hn_counters *counters, enum hn_counter counter);
/* a / b; 0 where either is not known, or b is 0. */
double hn_counter_ratio(const struct hn_counters *counters, enum hn_counter a, enum hn_counter b);
/* Bytes that crossed the device's memory bus, both ways. */
double hn_counters_dram_bytes(const struct hn_counters *counters);
/* Of warps that wait, the share that waits for this: a stall over warps_per_issue, 0 to 1. */
double hn_counters_stall(const struct hn_counters *counters, enum hn_counter stall);

#endif
