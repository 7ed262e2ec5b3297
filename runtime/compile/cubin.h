/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CUBIN_H
#define HONE_RUNTIME_COMPILE_CUBIN_H

#include <stdint.h>

#include "runtime/compile/image.h"
#include "runtime/plan/launch.h"

/* Reads a cubin by plain ELF: registers, static shared memory and frame of the entries (largest of each), and the
 * hash of their code sections, constants and resources, which is equal for kernels that run the same whatever their
 * names and options were. Trusts nothing of the file: HN_EFORMAT. HN_ENOTFOUND names an entry that is not there.
 * Spills stand only in the compiler's log. */
enum hn_status hn_cubin_inspect(const void *cubin, size_t size, const char *const *entries, size_t entry_count,
                                struct hn_resources *resources, char code_hash[33], struct hn_error *err);

/* Adds what `ptxas -v` wrote into the log of these entries, and of functions that they may call: spill bytes (largest of
 * each) and warnings. */
void hn_cubin_read_log(const char *log, const char *const *entries, size_t entry_count,
                       struct hn_resources *resources);

/* The bytes of each parameter that a kernel declares, in its order, whether it uses them or not. */
struct hn_parameters {
    uint16_t *bytes;
    size_t count;
};

/* HN_EFORMAT: no cubin, or one that says nothing of this kernel. */
enum hn_status hn_cubin_read_parameters(const void *cubin, size_t size, const char *entry,
                                        struct hn_parameters *parameters, struct hn_error *err);
void hn_parameters_finish(struct hn_parameters *parameters);

/* A structure that is passed by value, as a program has it by its table (hn_source): all values, and no addresses. */
struct hn_passed {
    uint32_t bytes;
    unsigned char *data; /* behind the offsets */
    uint32_t offsets[];  /* one a member */
};

/* NULL where err has failed. HN_EVALUE: also a field that is no such thing. HN_EFORMAT: no table. */
struct hn_passed *hn_cubin_make_structure(const struct hn_image *image, const struct hn_argument *argument,
                                          const struct hn_value *values, struct hn_blocks *memory,
                                          struct hn_error *err);

/* Compares what each step of a launch passes with the parameters that its kernel declares in the cubin: how many there
 * are, and how many bytes each has. The driver is given nothing but addresses and would read whatever lies there.
 * HN_ECONFIG names the kernel and the argument, as "argument 'n' is float64 (8 bytes); parameter 3 of kernel 'k' has 4
 * bytes". HN_EFORMAT: the cubin does not say. Sticky. values: of the plan's names. */
void hn_signature_check(const struct hn_plan *plan, const struct hn_value *values, const struct hn_launch *launch,
                        const struct hn_image *image, struct hn_error *err);

/* The mangled names of all kernels, in order, which point into the cubin. Free the array. NULL where err has failed. */
const char **hn_cubin_kernels(const void *cubin, size_t size, size_t *count, struct hn_error *err);

#endif
