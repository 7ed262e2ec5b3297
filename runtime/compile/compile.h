/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_COMPILE_H
#define HONE_RUNTIME_COMPILE_COMPILE_H

#include "runtime/compile/image.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/source.h"

/* Compiles to a cubin. A program that does not compile is HN_OK with image->outcome compile_error; HN_ERUN is for
 * failures of the compiler itself. Adds -no-cache, ptxas -v, the include folders of the toolkit or the NVRTC wheel, and
 * --modify-stack-limit=false; nvcc gets what it has of these. */
enum hn_status hn_compile(const struct hn_nvrtc *nvrtc, const struct hn_source *source, const char *architecture,
                          struct hn_image *image, struct hn_error *err);
/* "13.0", or "nvcc 13.0.88", which needs no NVRTC: the compiler's part of a version. */
enum hn_status hn_compiler_version(enum hn_compiler compiler, const struct hn_nvrtc *nvrtc, char version[16],
                                   struct hn_error *err);

#endif
