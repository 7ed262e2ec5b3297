/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_COMPILE_H
#define HONE_RUNTIME_COMPILE_COMPILE_H

#include "runtime/compile/image.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/source.h"
#include "runtime/device/device.h"

/* For a compile worker: self-contained and free of any plan. Borrows all, but where it was read (process/message.h). */
struct hn_compile_request {
    enum hn_compiler compiler;
    const char *name; /* of the program: the template's absolute path */
    const char *text;
    const struct hn_text_file *includes;
    size_t include_count;
    const char *const *entries;
    size_t entry_count;
    const char *const *options;
    size_t option_count;
    const char *architecture; /* "sm_90" */
};

/* Compiles to a cubin. A program that does not compile is HN_OK with image->outcome compile_error; HN_ERUN is for
 * failures of the compiler itself. Adds -no-cache, ptxas -v, the include folders of the toolkit or the NVRTC wheel, and
 * --modify-stack-limit=false; nvcc gets what it has of these. */
enum hn_status hn_compile(const struct hn_nvrtc *nvrtc, const struct hn_compile_request *request,
                          struct hn_image *image, struct hn_error *err);
/* The same of an instantiated template; the request for it, which borrows it and `name`. */
struct hn_compile_request hn_compile_request_of(const struct hn_source *source, const char *architecture,
                                                char name[HN_ARCHITECTURE_SIZE]);
enum hn_status hn_compile_source(const struct hn_nvrtc *nvrtc, const struct hn_source *source, const char *architecture,
                                 struct hn_image *image, struct hn_error *err);
/* "13.0", or "nvcc 13.0.88": the compiler's part of a version. */
enum hn_status hn_compiler_version(enum hn_compiler compiler, const struct hn_nvrtc *nvrtc, char version[16],
                                   struct hn_error *err);

/* "nvcc 13.0.88" */
enum hn_status hn_nvcc_version(char version[16], struct hn_error *err);

#endif
