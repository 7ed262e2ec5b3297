/* SPDX-License-Identifier: MIT */
#include "tuner/simulate/machine_clock.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/strategy/telling.h"

struct machine {
    double *free_ms; /* by core: from when on it is */
    size_t cores;
    double gpu_free_ms;
    double *compiled_ms; /* by job: it and all before it are compiled */
    double *finished_ms; /* by job: the same of finished */
};

static size_t first_free(const struct machine *machine)
{
    size_t first = 0;
    for (size_t i = 1; i < machine->cores; i++)
        if (machine->free_ms[i] < machine->free_ms[first])
            first = i;
    return first;
}

/* From when on job t can be proposed. */
static double proposed_ms(const struct machine *machine, size_t t, unsigned look_ahead)
{
    struct hn_telling due = hn_telling_before(t, look_ahead, t);
    double compiled = due.compiled > 0 ? machine->compiled_ms[due.compiled - 1] : 0;
    double finished = due.finished > 0 ? machine->finished_ms[due.finished - 1] : 0;
    return fmax(compiled, finished);
}

/* When it is finished, which others before it may be later. */
static double run_job(struct machine *machine, const struct hn_machine_job *job, size_t t,
                      double from_ms)
{
    size_t core = first_free(machine);
    double compiled = fmax(from_ms, machine->free_ms[core]) + job->compile_ms;
    machine->free_ms[core] = compiled;
    if (t > 0)
        compiled = fmax(compiled, machine->compiled_ms[t - 1]);
    machine->compiled_ms[t] = compiled;
    if (job->evaluate_ms <= 0)
        return compiled;
    machine->gpu_free_ms = fmax(machine->gpu_free_ms, compiled) + job->evaluate_ms;
    return machine->gpu_free_ms;
}

static void run_all(struct machine *machine, const struct hn_machine_job *jobs, size_t count,
                    unsigned look_ahead, double *ends_ms)
{
    double from_ms = 0;
    for (size_t t = 0; t < count; t++) {
        from_ms = fmax(from_ms, proposed_ms(machine, t, look_ahead));
        double compiled = t > 0 ? machine->compiled_ms[t - 1] : 0;
        double finished = t > 0 ? machine->finished_ms[t - 1] : 0;
        if (jobs[t].original == t) {
            ends_ms[t] = run_job(machine, &jobs[t], t, from_ms);
        } else {
            machine->compiled_ms[t] = compiled;
            ends_ms[t] = fmax(from_ms, ends_ms[jobs[t].original]);
        }
        machine->finished_ms[t] = fmax(finished, ends_ms[t]);
    }
}

enum hn_status hn_machine_clock(const struct hn_machine_job *jobs, size_t count,
                                unsigned look_ahead, size_t cores, double *ends_ms,
                                struct hn_error *err)
{
    struct machine machine = {.cores = cores};
    machine.free_ms = calloc(cores, sizeof *machine.free_ms);
    machine.compiled_ms = calloc(count + 1, sizeof *machine.compiled_ms);
    machine.finished_ms = calloc(count + 1, sizeof *machine.finished_ms);
    bool fine =
        machine.free_ms != NULL && machine.compiled_ms != NULL && machine.finished_ms != NULL;
    if (fine)
        run_all(&machine, jobs, count, look_ahead, ends_ms);
    free(machine.free_ms);
    free(machine.compiled_ms);
    free(machine.finished_ms);
    return fine ? HN_OK : hn_fail_memory(err);
}
