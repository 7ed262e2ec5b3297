/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_NVCC_H
#define HONE_RUNTIME_COMPILE_NVCC_H

#include "runtime/compile/compile_request.h"
#include "runtime/compile/image.h"

/* nvcc's compilation of device code, for sources with host code or headers that NVRTC can not read. Needs a host
 * compiler, which nvcc calls as its preprocessor. */

/* $NVCC (a file; then nothing else counts), PATH, $CUDA_HOME/bin, /usr/local/cuda/bin. Free the path. HN_ERUN. */
enum hn_status hn_nvcc_find(char **path, struct hn_error *err);
/* "nvcc 13.0.88" */
enum hn_status hn_nvcc_version(char version[16], struct hn_error *err);

/* Log, cubin and mangled entries; where the program does not compile, the image has its message and no cubin. Files
 * are in a folder of their own, gone afterwards. Environment, limits and process group are those of the caller, who
 * ends it with its group. */
enum hn_status hn_nvcc_compile(const struct hn_compile_request *request, struct hn_image *image, struct hn_error *err);

#endif
