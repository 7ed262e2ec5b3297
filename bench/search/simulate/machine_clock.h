/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_MACHINE_CLOCK_H
#define HONE_BENCH_SIMULATE_MACHINE_CLOCK_H

#include <stddef.h>

/* When a session would have had its results: cores that compile side by side, oldest proposal first, and one GPU that takes
 * what it is told to in that order. What the tuner itself takes is left out, and so are finals. */
struct hn_machine {
    double *free_ms; /* by core: from when on it is */
    size_t cores;
    double gpu_free_ms;
    double now_ms; /* the owner's to move on */
};

void hn_machine_init(struct hn_machine *machine, size_t cores);
void hn_machine_finish(struct hn_machine *machine);
/* Asked for now: from when on it is compiled. It begins compile_ms before. */
double hn_machine_compile(struct hn_machine *machine, double compile_ms);
/* Given to the GPU now: when it is done. */
double hn_machine_evaluate(struct hn_machine *machine, double evaluate_ms);

#endif
