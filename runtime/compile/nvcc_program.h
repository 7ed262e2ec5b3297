/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_NVCC_PROGRAM_H
#define HONE_RUNTIME_COMPILE_NVCC_PROGRAM_H

#include "runtime/compile/compile_request.h"
#include "base/scratch.h"

#define HN_NVCC_PROGRAM "program.cu"
/* Where what stands in front of the template is said to be. */
#define HN_NVCC_PRELUDE "prelude"

/* Writes a program as files for nvcc: the text with what -D and -U say in front and a marker for each name expression
 * behind, and the includes that were read with the template, flat and under names of their own, so that no name can
 * lead elsewhere. Lines are numbered as in the originals. HN_ERUN. */
enum hn_status hn_nvcc_write_program(const struct hn_compile_request *request, const struct hn_scratch *scratch,
                                     struct hn_error *err);

#endif
