/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_OBSERVE_COUNTERS_H
#define HONE_RUNTIME_BENCH_OBSERVE_COUNTERS_H

/* What the GPU's counters say of one launch of the whole plan: X(id, name, CUPTI's metric). A record has those that its
 * device could tell, as observed values by "counters.name". Bytes, sectors (of 32 bytes), requests (of a warp), wavefronts
 * (passes through L1's data stage) and instructions (of a warp) are sums over the device; a percent is of what the unit can
 * do at best while it is on, 0 to 100; stalls are warps of a scheduler that wait for that reason, for each instruction that
 * it issues. Names are written to caches and files: never change one. */
#define HN_STALL(X, id, reason) \
    X(STALL_##id, "stall_" reason, "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio")
#define HN_COUNTERS(X)                                                                                                 \
    X(TIME, "time_ns", "gpu__time_duration.sum")                                                                       \
    X(CYCLES, "cycles", "sm__cycles_elapsed.max") /* of an SM, all the time it counted */                              \
    X(ACTIVE_CYCLES, "active_cycles", "sm__cycles_active.avg") /* of them, with a warp on it: the mean over the SMs */ \
    X(LONGEST_CYCLES, "longest_cycles", "sm__cycles_active.max") /* and of the SM that was longest at it */            \
    X(DRAM_READ, "dram_read_bytes", "dram__bytes_read.sum")                                                            \
    X(DRAM_WRITTEN, "dram_written_bytes", "dram__bytes_write.sum")                                                     \
    X(DRAM_PERCENT, "dram_percent", "dram__throughput.avg.pct_of_peak_sustained_elapsed")                              \
    X(L2_SECTORS, "l2_sectors", "lts__t_sectors.sum")                                                                  \
    X(L2_PERCENT, "l2_percent", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed")                                    \
    X(L2_SM_SECTORS, "l2_sm_sectors", "lts__t_sectors_srcunit_tex.sum") /* asked for by SMs, and found there */        \
    X(L2_SM_HITS, "l2_sm_hits", "lts__t_sectors_srcunit_tex_lookup_hit.sum")                                           \
    X(L2_ATOMIC_SECTORS, "l2_atomic_sectors", "lts__t_sectors_op_atom.sum")                                            \
    X(L2_REDUCTION_SECTORS, "l2_reduction_sectors", "lts__t_sectors_op_red.sum")                                       \
    /* of the slice that is busiest with atomics */                                                                    \
    X(L2_ATOMIC_PERCENT, "l2_atomic_percent",                                                                          \
      "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed")                                           \
    X(LOAD_REQUESTS, "load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") /* of global memory */        \
    X(LOAD_SECTORS, "load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")                                  \
    X(LOAD_HITS, "load_hit_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum") /* found in L1 */    \
    X(LOAD_BYTES, "load_bytes", "smsp__sass_data_bytes_mem_global_op_ld.sum") /* that threads asked for */             \
    X(STORE_REQUESTS, "store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                             \
    X(STORE_SECTORS, "store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                                \
    X(STORE_BYTES, "store_bytes", "smsp__sass_data_bytes_mem_global_op_st.sum")                                        \
    X(ATOMIC_REQUESTS, "atomic_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum")                         \
    X(REDUCTION_REQUESTS, "reduction_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum")                    \
    X(LOCAL_LOAD_SECTORS, "local_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")                       \
    X(LOCAL_STORE_SECTORS, "local_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")                     \
    X(SHARED_BYTES, "shared_bytes", "smsp__sass_data_bytes_mem_shared.sum")                                            \
    X(SHARED_LOAD_WAVEFRONTS, "shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")        \
    X(SHARED_LOAD_CONFLICTS, "shared_load_conflicts",                                                                  \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum") /* wavefronts more than without bank conflicts */    \
    X(SHARED_STORE_WAVEFRONTS, "shared_store_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")      \
    X(SHARED_STORE_CONFLICTS, "shared_store_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")    \
    X(SHARED_ATOMICS, "shared_atomic_instructions", "smsp__inst_executed_op_shared_atom.sum")                          \
    X(INSTRUCTIONS, "instructions", "smsp__inst_executed.sum")                                                         \
    X(INSTRUCTIONS_ALU, "instructions_alu", "smsp__inst_executed_pipe_alu.sum")                                        \
    X(INSTRUCTIONS_FMA, "instructions_fma", "smsp__inst_executed_pipe_fma.sum")                                        \
    X(INSTRUCTIONS_FP64, "instructions_fp64", "smsp__inst_executed_pipe_fp64.sum")                                     \
    X(INSTRUCTIONS_SPECIAL, "instructions_special", "smsp__inst_executed_pipe_xu.sum") /* functions and conversions */ \
    X(INSTRUCTIONS_MEMORY, "instructions_memory", "smsp__inst_executed_pipe_lsu.sum")                                  \
    X(INSTRUCTIONS_TENSOR, "instructions_tensor", "smsp__inst_executed_pipe_tensor.sum")                               \
    X(INSTRUCTIONS_UNIFORM, "instructions_uniform", "smsp__inst_executed_pipe_uniform.sum")                            \
    X(INSTRUCTIONS_CONTROL, "instructions_control", "smsp__inst_executed_pipe_cbu.sum")                                \
    X(THREADS_PER_INSTRUCTION, "threads_per_instruction",                                                              \
      "smsp__average_thread_inst_executed_per_inst_executed.ratio")                                                    \
    X(ISSUE_PERCENT, "issue_percent",                                                                                  \
      "smsp__issue_active.avg.pct_of_peak_sustained_active") /* of the slots in which a scheduler can issue */         \
    X(OCCUPANCY_PERCENT, "occupancy_percent",                                                                          \
      "sm__warps_active.avg.pct_of_peak_sustained_active") /* achieved, while an SM has work */                        \
    X(ALU_PERCENT, "alu_percent", "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active")                       \
    X(FMA_PERCENT, "fma_percent", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active")                       \
    X(FP64_PERCENT, "fp64_percent", "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active")                    \
    X(SPECIAL_PERCENT, "special_percent", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active")                \
    X(TENSOR_PERCENT, "tensor_percent", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")              \
    /* of the data stage of L1 and shared memory */                                                                    \
    X(L1_PERCENT, "l1_percent",                                                                                        \
      "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active")                                              \
    X(WARPS_PER_ISSUE, "warps_per_issue", "smsp__average_warps_active_per_issue_active.ratio")                         \
    HN_STALL(X, LONG_SCOREBOARD, "long_scoreboard")                                                                    \
    HN_STALL(X, SHORT_SCOREBOARD, "short_scoreboard")                                                                  \
    HN_STALL(X, BARRIER, "barrier")                                                                                    \
    HN_STALL(X, LG_THROTTLE, "lg_throttle")                                                                            \
    HN_STALL(X, MIO_THROTTLE, "mio_throttle")                                                                          \
    HN_STALL(X, MATH_THROTTLE, "math_pipe_throttle")                                                                   \
    HN_STALL(X, WAIT, "wait")                                                                                          \
    HN_STALL(X, NOT_SELECTED, "not_selected")                                                                          \
    HN_STALL(X, SELECTED, "selected")                                                                                  \
    HN_STALL(X, NO_INSTRUCTION, "no_instruction")                                                                      \
    HN_STALL(X, BRANCH, "branch_resolving")                                                                            \
    HN_STALL(X, MEMBAR, "membar")                                                                                      \
    HN_STALL(X, SLEEPING, "sleeping")                                                                                  \
    HN_STALL(X, DRAIN, "drain")                                                                                        \
    HN_STALL(X, TENSOR, "gmma")                                                                                        \
    HN_STALL(X, TEXTURE, "tex_throttle")                                                                               \
    HN_STALL(X, CONSTANT, "imc_miss")                                                                                  \
    HN_STALL(X, DISPATCH, "dispatch_stall")                                                                            \
    HN_STALL(X, OTHER, "misc")

enum hn_counter {
#define X(id, name, metric) HN_COUNTER_##id,
    HN_COUNTERS(X)
#undef X
    HN_COUNTER_COUNT,
};
/* "counters.dram_read_bytes" */
extern const char *const hn_counter_names[HN_COUNTER_COUNT];

enum { HN_SECTOR_BYTES = 32 };

#endif
