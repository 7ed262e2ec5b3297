/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_NVRTC_H
#define HONE_RUNTIME_COMPILE_NVRTC_H

#include <nvrtc.h>

#include "base/error.h"

#define HN_NVRTC_FUNCTIONS(X)                                                                                          \
    X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs)                      \
    X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcAddNameExpression) X(nvrtcCompileProgram)                      \
    X(nvrtcGetLoweredName) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)

struct hn_nvrtc {
    void *library;
    int major;
    int minor;
    char include_dir[1024]; /* of the toolkit's or wheel's headers (cuda_fp16.h), "" when not found */
    char cccl_dir[1024];    /* of <cub/...> and <cuda/...>, "" when not found */
    /* NULL before 13.3: unpacks the headers that NVRTC brings. */
    nvrtcResult (*p_nvrtcInstallBundledHeaders)(const char *folder, unsigned flags, const char **reason);
#define X(name) __typeof__(&name) p_##name;
    HN_NVRTC_FUNCTIONS(X)
#undef X
};

/* $HONE_NVRTC (a file) alone where it is set; else looks in the wheel folder $HONE_CUDA_WHEELS, $CUDA_HOME, the loader's
 * path, /usr/local/cuda, /opt/cuda, the build's wheel folder and Python environments. HN_ERUN says what was tried and
 * how to get it. */
enum hn_status hn_nvrtc_open(struct hn_nvrtc *nvrtc, struct hn_error *err);
void hn_nvrtc_close(struct hn_nvrtc *nvrtc);

/* The architectures that it compiles for (75, 80, …), ascending; returns how many, 0 when NVRTC does not tell. */
enum { HN_NVRTC_ARCHITECTURES = 64 };
size_t hn_nvrtc_architectures(const struct hn_nvrtc *nvrtc, int architectures[HN_NVRTC_ARCHITECTURES]);

#endif
