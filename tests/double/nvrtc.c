/* SPDX-License-Identifier: MIT */
/* An NVRTC that compiles every program once: what the real one made of it is kept in the folder
 * $HONE_DOUBLE_KEPT. Set as HONE_NVRTC. A program that includes files, has name expressions or
 * does not compile is compiled each time. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "runtime/compile/nvrtc.h"

#define EXPORT __attribute__((visibility("default")))

struct program {
    nvrtcProgram real;
    char *name;
    struct hn_hash key;
    bool may_be_kept;
    /* What was kept of it, else NULL. */
    char *log;
    char *cubin;
    uint64_t sizes[2];
};

static const struct hn_nvrtc *real(void)
{
    static struct hn_nvrtc nvrtc;
    struct hn_error err;
    if (nvrtc.library != NULL)
        return &nvrtc;
    unsetenv("HONE_NVRTC");
    if (hn_nvrtc_open(&nvrtc, &err) != HN_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return &nvrtc;
}

static bool includes_files(const char *text)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, " \t\n");
        if (*line == '#' && strncmp(line + 1 + strspn(line + 1, " \t"), "include", 7) == 0)
            return true;
    }
    return false;
}

static void add(struct hn_hash *key, const char *text)
{
    struct hn_hash hash = hn_hash_string(text);
    *key = hn_hash_join(key, &hash);
}

static FILE *open_kept(const struct program *program, const char *mode, char path[4096])
{
    const char *folder = getenv("HONE_DOUBLE_KEPT");
    if (folder == NULL || !program->may_be_kept)
        return NULL;
    if (*mode == 'r')
        snprintf(path, 4096, "%s/%s", folder, program->key.hex);
    else
        snprintf(path, 4096, "%s/%s.%d", folder, program->key.hex, (int)getpid());
    return fopen(path, mode);
}

static char *read_part(FILE *file, uint64_t size)
{
    char *part = malloc(size + 1);
    if (part != NULL && fread(part, 1, size, file) == size)
        return part;
    abort();
}

static bool find_kept(struct program *program)
{
    char path[4096];
    FILE *file = open_kept(program, "rb", path);
    if (file == NULL)
        return false;
    if (fread(program->sizes, sizeof program->sizes, 1, file) != 1)
        abort();
    program->log = read_part(file, program->sizes[0]);
    program->cubin = read_part(file, program->sizes[1]);
    fclose(file);
    return true;
}

static void write_kept(struct program *program)
{
    char path[4096];
    size_t log_size = 0;
    size_t cubin_size = 0;
    real()->p_nvrtcGetProgramLogSize(program->real, &log_size);
    real()->p_nvrtcGetCUBINSize(program->real, &cubin_size);
    char *data = malloc(log_size + cubin_size);
    if (data == NULL)
        abort();
    real()->p_nvrtcGetProgramLog(program->real, data);
    real()->p_nvrtcGetCUBIN(program->real, data + log_size);
    FILE *file = NULL;
    if (memmem(data, log_size + cubin_size, program->name, strlen(program->name)) == NULL)
        file = open_kept(program, "wb", path);
    if (file != NULL) {
        uint64_t sizes[] = {log_size, cubin_size};
        bool written = fwrite(sizes, sizeof sizes, 1, file) == 1 &&
                       fwrite(data, log_size + cubin_size, 1, file) == 1;
        char *last_dot = strrchr(path, '.');
        char whole[4096];
        snprintf(whole, sizeof whole, "%.*s", (int)(last_dot - path), path);
        if (fclose(file) != 0 || !written || rename(path, whole) != 0)
            unlink(path);
    }
    free(data);
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    return real()->p_nvrtcVersion(major, minor);
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    return real()->p_nvrtcGetErrorString(result);
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    return real()->p_nvrtcGetNumSupportedArchs(count);
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *architectures)
{
    return real()->p_nvrtcGetSupportedArchs(architectures);
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *handle, const char *text, const char *name,
                                      int count, const char *const *headers,
                                      const char *const *names)
{
    struct program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->may_be_kept = !includes_files(text);
    program->key = hn_hash_string(text);
    program->name = strdup(name);
    *handle = (nvrtcProgram)(void *)program;
    return real()->p_nvrtcCreateProgram(&program->real, text, name, count, headers, names);
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    struct program *program = (void *)*handle;
    nvrtcResult result = real()->p_nvrtcDestroyProgram(&program->real);
    free(program->name);
    free(program->log);
    free(program->cubin);
    free(program);
    *handle = NULL;
    return result;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char *expression)
{
    struct program *program = (void *)handle;
    program->may_be_kept = false;
    return real()->p_nvrtcAddNameExpression(program->real, expression);
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char *expression,
                                       const char **name)
{
    struct program *program = (void *)handle;
    return real()->p_nvrtcGetLoweredName(program->real, expression, name);
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options)
{
    struct program *program = (void *)handle;
    char version[32];
    snprintf(version, sizeof version, "%d.%d", real()->major, real()->minor);
    add(&program->key, version);
    /* Nothing is included. */
    for (int i = 0; i < count; i++)
        if (strncmp(options[i], "--include-path=", 15) != 0)
            add(&program->key, options[i]);
    if (find_kept(program))
        return NVRTC_SUCCESS;
    nvrtcResult result = real()->p_nvrtcCompileProgram(program->real, count, options);
    if (result == NVRTC_SUCCESS)
        write_kept(program);
    return result;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *size)
{
    const struct program *program = (void *)handle;
    if (program->cubin == NULL)
        return real()->p_nvrtcGetCUBINSize(program->real, size);
    *size = program->sizes[1];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *cubin)
{
    const struct program *program = (void *)handle;
    if (program->cubin == NULL)
        return real()->p_nvrtcGetCUBIN(program->real, cubin);
    memcpy(cubin, program->cubin, program->sizes[1]);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *size)
{
    const struct program *program = (void *)handle;
    if (program->log == NULL)
        return real()->p_nvrtcGetProgramLogSize(program->real, size);
    *size = program->sizes[0];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *log)
{
    const struct program *program = (void *)handle;
    if (program->log == NULL)
        return real()->p_nvrtcGetProgramLog(program->real, log);
    memcpy(log, program->log, program->sizes[0]);
    return NVRTC_SUCCESS;
}
