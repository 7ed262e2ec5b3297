/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_RECORDING_TABLE_H
#define HONE_BENCH_SIMULATE_RECORDING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cache/record/record.h"

/* A recorded tuning as a table, for simulations: what each point's outcome was, how fast it is and what it cost to find
 * out. Reads what hn_recording_load reads and takes more of Kernel Tuner's: parameter values of any kind (strings that
 * are no words too; arrays, objects and null as their JSON text), failures without a known name. */
struct hn_table_parameter {
    char *name;
    struct hn_value *values; /* as the file lists them, then those that only rows have; their words are owned */
    size_t count;
};

struct hn_table_row {
    enum hn_outcome outcome;       /* a failure without a known name counts as launch_error */
    double time_ms;                /* NAN for failures */
    double cost_ms;                /* compiling, measuring, verifying and Kernel Tuner's own overhead */
    double compile_ms;             /* of the cost: compiling alone */
    struct hn_resources resources; /* known in Hone's own recordings only */
};

struct hn_recording_table {
    struct hn_table_parameter *parameters;
    size_t parameter_count;
    struct hn_table_row *rows; /* in the file's order */
    uint16_t *choices;         /* parameter_count value indices a row */
    size_t row_count;
};

/* HN_EFORMAT: what was found where; HN_ERUN: cannot be read. */
enum hn_status hn_recording_table_load(const char *path, struct hn_recording_table *table, struct hn_error *err);
void hn_recording_table_finish(struct hn_recording_table *table);

#endif
