# SPDX-License-Identifier: MIT
"""The small problems of each config that are emulated; no tile divides most of them."""

# Words of problem values, in the order of the templates' own definitions.
WORDS = {
    "PATTERN": ["plain", "offset", "stride", "permuted", "same", "sequential", "random"],
    "SIDE": ["load", "store"],
    "ACCESS": ["uniform", "divergent"],
    "USED": ["all", "first"],
    "B_LAYOUT": ["row", "column"],
    "TRANS_A": ["n", "t"],
    "TRANS_B": ["n", "t"],
    "TYPE": ["__nv_bfloat16", "half"],
}

# Kernels whose output is compared as a multiset, and where its order is right all the same.
ORDERED = {"compact": "AGGREGATE == 'look_back'"}

# What points are restricted to, as `hone space -s` takes it: there are no clusters here.
EMULATED = {"dot_zero_copy": "BLOCKS=132,BLOCK=256,HOST_MEMORY=pinned", "sgemm": "CLUSTER=1", "sgemm_blas": "CLUSTER=1"}

SMALL = {
    "copy": [{"SIZE": 10003}, {"SIZE": 1}, {"SIZE": 1026}, {"SIZE": 10004, "PATTERN": "offset", "OFFSET": 8},
             {"SIZE": 4100, "PATTERN": "stride", "STRIDE": 3, "SIDE": "store"}, {"SIZE": 4101, "PATTERN": "permuted"}],
    "transpose": [{"ROWS": 132, "COLUMNS": 260}, {"ROWS": 33, "COLUMNS": 67}, {"ROWS": 1060, "COLUMNS": 132},
                  {"ROWS": 1001, "COLUMNS": 3}, {"ROWS": 7, "COLUMNS": 2050}, {"ROWS": 1, "COLUMNS": 1}, {"ROWS": 32, "COLUMNS": 515},
                  {"ROWS": 258, "COLUMNS": 34}],
    "transpose_tma": [{"ROWS": 132, "COLUMNS": 260, "SM_COUNT": 1}, {"ROWS": 4, "COLUMNS": 2052, "SM_COUNT": 2},
                      {"ROWS": 1060, "COLUMNS": 36, "SM_COUNT": 1}],
    "reduce": [{"SIZE": 100003, "SM_COUNT": 3}, {"SIZE": 5, "SM_COUNT": 2}, {"SIZE": 1, "SM_COUNT": 2}],
    "dot": [{"SIZE": 100003, "SM_COUNT": 3}, {"SIZE": 1, "SM_COUNT": 2}],
    "stencil_1d": [{"SIZE": 10004, "RADIUS": 4}, {"SIZE": 4099, "RADIUS": 8}, {"SIZE": 4099, "RADIUS": 1}, {"SIZE": 3, "RADIUS": 4},
                   {"SIZE": 1, "RADIUS": 8}],
    "read_only": [{"SIZE": 10003, "PATTERN": "random"}, {"SIZE": 10003, "PATTERN": "sequential"}],
    "histogram": [{"SIZE": 10003, "SKEW": 0.5, "SM_COUNT": 2}, {"SIZE": 5003, "VALUE_BYTES": 2, "BINS": 1024, "SM_COUNT": 2},
                  {"SIZE": 777, "BINS": 64, "SM_COUNT": 1}, {"SIZE": 1, "SM_COUNT": 2}, {"SIZE": 3, "VALUE_BYTES": 2, "SM_COUNT": 2}],
    "atomics": [{"SIZE": 10003, "TARGETS": 64}, {"SIZE": 10003, "TARGETS": 1024}],
    "matmul_aat": [{"M": 45, "K": 40}],
    "struct_layout": [{"WIDTH": 67, "HEIGHT": 5, "MEMBERS": 3}, {"WIDTH": 64, "HEIGHT": 3, "MEMBERS": 7},
                      {"WIDTH": 65, "HEIGHT": 3, "MEMBERS": 4, "USED": "first"}],
    "bank_stride": [{"STRIDE": 33, "WORD": 4, "WARPS": 2}, {"STRIDE": 32, "WORD": 16, "WARPS": 1}],
    "async_copy": [{"TILE_BYTES": 2048, "SM_COUNT": 2}],
    "occupancy": [{"ROWS": 1003, "LENGTH": 64}],
    "spheres": [{"WIDTH": 67, "HEIGHT": 35, "SPHERES": 64}],
    "compact": [{"SIZE": 10003, "KEEP": 0.5}, {"SIZE": 70001, "KEEP": 0.1}, {"SIZE": 5, "KEEP": 0.9}],
    "heat_2d": [{"WIDTH": 67, "HEIGHT": 45, "STEPS": 6}, {"WIDTH": 67, "HEIGHT": 45, "STEPS": 2}, {"WIDTH": 1, "HEIGHT": 1},
                {"WIDTH": 3, "HEIGHT": 5, "STEPS": 8}, {"WIDTH": 70, "HEIGHT": 5, "STEPS": 4}],
    "sgemm": [{"M": 70, "N": 136, "K": 100}, {"M": 45, "N": 51, "K": 77}, {"M": 3, "N": 200, "K": 1100},
              {"M": 33, "N": 16, "K": 2050}, {"M": 68, "N": 140, "K": 104}, {"M": 10, "N": 10, "K": 5000},
              {"M": 1, "N": 1, "K": 4000}, {"M": 200, "N": 1, "K": 130}, {"M": 7, "N": 5, "K": 0}],
    "sgemm_blas": [{"M": 45, "N": 51, "K": 77, "TRANS_A": "t", "TRANS_B": "t", "GAP_A": 3, "GAP_C": 5, "ALPHA": 0.5, "BETA": 2.0},
                   {"M": 68, "N": 140, "K": 104, "TRANS_A": "t", "GAP_A": 4, "GAP_B": 8, "GAP_C": 12, "BETA": 1.0},
                   {"M": 72, "N": 136, "K": 100, "TRANS_B": "t", "GAP_A": 4, "ALPHA": -1.0, "BETA": 1.0},
                   {"M": 33, "N": 17, "K": 1100, "GAP_A": 1, "GAP_B": 1, "GAP_C": 1, "ALPHA": 2.0, "BETA": -0.5},
                   {"M": 4, "N": 200, "K": 1100, "TRANS_A": "t", "TRANS_B": "t", "BETA": 1.0},
                   {"M": 7, "N": 5, "K": 0, "TRANS_A": "t", "GAP_C": 2, "BETA": 3.0}],
    "matmul": [{"M": 37, "N": 36, "K": 20}, {"M": 61, "N": 33, "K": 45, "B_LAYOUT": "column"}],
    "l2_window": [{"STREAM_MIB": 2, "PERSISTENT_MIB": 1}],
    "pipeline": [{"SIZE": 10003, "WORK": 33}],
    "pipeline_stencil": [{"WIDTH": 67, "HEIGHT": 45, "RADIUS": 8}, {"WIDTH": 3, "HEIGHT": 2, "RADIUS": 1}],
    "dot_zero_copy": [{"SIZE": 10003, "REUSE": 3}, {"SIZE": 200003, "REUSE": 2}],
    "decode": [{"BATCH": 2, "HEADS": 3, "GROUP": 5, "LENGTH": 300, "RAGGED": 0, "SM_COUNT": 2},
               {"BATCH": 35, "HEADS": 2, "GROUP": 2, "QUERIES": 3, "LENGTH": 90, "RAGGED": 1, "WIDTH": 64, "TYPE": "half", "SM_COUNT": 3},
               {"BATCH": 1, "HEADS": 1, "GROUP": 17, "LENGTH": 1500, "RAGGED": 1, "WIDTH": 64, "SM_COUNT": 5},
               {"BATCH": 1, "HEADS": 1, "GROUP": 1, "LENGTH": 1, "RAGGED": 0, "WIDTH": 64, "SM_COUNT": 1},
               {"BATCH": 3, "HEADS": 1, "GROUP": 8, "QUERIES": 2, "LENGTH": 40, "RAGGED": 1, "SM_COUNT": 1}],
    "transfer_batch": [{"SIZE": 10003, "PIECES": 7}],
}
