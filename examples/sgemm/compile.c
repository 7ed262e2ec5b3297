/* SPDX-License-Identifier: MIT */
#include "compile.h"

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TEMPLATES: the folder that sgemm.cu is in; CUDA_INCLUDE: that of cuda_fp16.h and the like. */

enum { MOST_OPTIONS = 32 };

static void check(nvrtcResult result, const char *what)
{
    if (result == NVRTC_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, nvrtcGetErrorString(result));
    exit(1);
}

/* prelude, a line that says where the template begins, the template. */
static char *read_source(const char *path, const char *prelude)
{
    FILE *file = fopen(path, "rb");
    long size = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *source = size < 0 ? NULL : malloc(strlen(prelude) + (size_t)size + 16);
    if (source == NULL) {
        perror(path);
        exit(1);
    }
    rewind(file);
    size_t length = (size_t)sprintf(source, "%s#line 1\n", prelude);
    length += fread(source + length, 1, (size_t)size, file);
    source[length] = '\0';
    fclose(file);
    return source;
}

static void print_log(nvrtcProgram program)
{
    size_t size = 0;
    char *log;
    if (nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || (log = malloc(size)) == NULL)
        return;
    if (nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS)
        fprintf(stderr, "%s\n", log);
    free(log);
}

static void compile(nvrtcProgram program, const struct gpu *gpu, const char *const *options)
{
    char architecture[64];
    const char *all[MOST_OPTIONS] = {architecture, "--std=c++17", "-no-cache", "-I" TEMPLATES,
                                     "-I" CUDA_INCLUDE};
    int count = 5;
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", gpu->capability);
    for (; *options != NULL && count < MOST_OPTIONS; options++)
        all[count++] = *options;
    nvrtcResult result = nvrtcCompileProgram(program, count, all);
    if (result != NVRTC_SUCCESS)
        print_log(program);
    check(result, "nvrtcCompileProgram");
}

CUmodule compile_template(const struct gpu *gpu, const char *name, const char *prelude,
                          const char *const *options)
{
    char path[4096];
    nvrtcProgram program;
    CUmodule module;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", TEMPLATES, name);
    char *source = read_source(path, prelude);
    check(nvrtcCreateProgram(&program, source, path, 0, NULL, NULL), "nvrtcCreateProgram");
    compile(program, gpu, options);
    check(nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize");
    char *cubin = malloc(size);
    if (cubin == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    check(nvrtcGetCUBIN(program, cubin), "nvrtcGetCUBIN");
    gpu_check(cuModuleLoadDataEx(&module, cubin, 0, NULL, NULL), "cuModuleLoadDataEx");
    nvrtcDestroyProgram(&program);
    free(cubin);
    free(source);
    return module;
}
