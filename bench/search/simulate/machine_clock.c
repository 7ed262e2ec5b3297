/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/machine_clock.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

void hn_machine_init(struct hn_machine *machine, size_t cores)
{
    *machine = (struct hn_machine){.free_ms = hn_need(cores + 1, sizeof(double)), .cores = cores};
}

void hn_machine_finish(struct hn_machine *machine)
{
    free(machine->free_ms);
    *machine = (struct hn_machine){0};
}

double hn_machine_compile(struct hn_machine *machine, double compile_ms)
{
    size_t first = 0;
    for (size_t i = 1; i < machine->cores; i++)
        if (machine->free_ms[i] < machine->free_ms[first])
            first = i;
    machine->free_ms[first] = fmax(machine->free_ms[first], machine->now_ms) + compile_ms;
    return machine->free_ms[first];
}

double hn_machine_evaluate(struct hn_machine *machine, double evaluate_ms)
{
    machine->gpu_free_ms = fmax(machine->gpu_free_ms, machine->now_ms) + evaluate_ms;
    return machine->gpu_free_ms;
}
