/* SPDX-License-Identifier: MIT */
#ifndef COMPILE_H
#define COMPILE_H

#include "gpu.h"

/* Compiles a file of the folder of templates for the GPU, behind a prelude of #defines, and loads it. options ends with
 * NULL. Ends the program where that fails, with the compiler's log. */
CUmodule compile_template(const struct gpu *gpu, const char *name, const char *prelude, const char *const *options);

#endif
