/* SPDX-License-Identifier: MIT */
/* A stand-in for NVRTC that compiles in no time: it hands out what bare.py kept of the same source
 * text, and asks the real one ($BENCH_NVRTC) for anything else. With it as HONE_NVRTC, a tune is
 * its GPU phase alone. cc -O2 -shared -fPIC -I$CUDA_HOME/include bench/throughput/replay_nvrtc.c -o
 * libreplay_nvrtc.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    nvrtcProgram real; /* NULL: the rest was kept */
    char *cubin;       /* NULL: it did not compile */
    size_t cubin_size;
    char *log;
    size_t log_size;
};

/* FNV-1a, 64 bits; bare.py has the same. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static void *real_library(void)
{
    static void *library;
    if (library == NULL)
        library = dlopen(getenv("BENCH_NVRTC"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "BENCH_NVRTC: %s\n", dlerror());
        exit(1);
    }
    return library;
}

#define REAL(name) ((__typeof__(&name))dlsym(real_library(), #name))

static char *read_kept(const char *text, const char *what, size_t *size)
{
    char path[4096];
    char *data = NULL;
    snprintf(path, sizeof path, "%s/%016llx.%s", getenv("BENCH_KEPT"),
             (unsigned long long)hash(text), what);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    data = calloc(*size + 1, 1);
    if (data != NULL && fread(data, 1, *size, file) != *size)
        *size = 0;
    fclose(file);
    return data;
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    return REAL(nvrtcVersion)(major, minor);
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return REAL(nvrtcGetErrorString)(result);
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    return REAL(nvrtcGetNumSupportedArchs)(count);
}

nvrtcResult nvrtcGetSupportedArchs(int *architectures)
{
    return REAL(nvrtcGetSupportedArchs)(architectures);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int count,
                               const char *const *headers, const char *const *names)
{
    nvrtcResult result = NVRTC_SUCCESS;
    struct program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->log = read_kept(text, "log", &program->log_size);
    if (program->log != NULL)
        program->cubin = read_kept(text, "cubin", &program->cubin_size);
    else
        result = REAL(nvrtcCreateProgram)(&program->real, text, name, count, headers, names);
    *out = (nvrtcProgram)program;
    return result;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    struct program *program = (struct program *)*handle;
    if (program->real != NULL)
        REAL(nvrtcDestroyProgram)(&program->real);
    free(program->cubin);
    free(program->log);
    free(program);
    *handle = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char *expression)
{
    struct program *program = (struct program *)handle;
    return program->real != NULL ? REAL(nvrtcAddNameExpression)(program->real, expression)
                                 : NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char *expression, const char **name)
{
    struct program *program = (struct program *)handle;
    return program->real != NULL ? REAL(nvrtcGetLoweredName)(program->real, expression, name)
                                 : NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options)
{
    struct program *program = (struct program *)handle;
    if (program->real != NULL)
        return REAL(nvrtcCompileProgram)(program->real, count, options);
    return program->cubin != NULL ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *size)
{
    struct program *program = (struct program *)handle;
    if (program->real != NULL)
        return REAL(nvrtcGetCUBINSize)(program->real, size);
    *size = program->cubin_size;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *cubin)
{
    struct program *program = (struct program *)handle;
    if (program->real != NULL)
        return REAL(nvrtcGetCUBIN)(program->real, cubin);
    memcpy(cubin, program->cubin, program->cubin_size);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *size)
{
    struct program *program = (struct program *)handle;
    if (program->real != NULL)
        return REAL(nvrtcGetProgramLogSize)(program->real, size);
    *size = program->log_size + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *log)
{
    struct program *program = (struct program *)handle;
    if (program->real != NULL)
        return REAL(nvrtcGetProgramLog)(program->real, log);
    memcpy(log, program->log, program->log_size + 1);
    return NVRTC_SUCCESS;
}
