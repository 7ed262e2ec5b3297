/* SPDX-License-Identifier: MIT */
/* An NVRTC that compiles every program once: what the real one made of it is kept in the folder
 * $HONE_DOUBLE_KEPT. Set as HONE_NVRTC. A program that does not compile, or that may include files
 * from elsewhere than the toolkit, is compiled each time. $HONE_DOUBLE_COMPILING,
 * "BLOCK=64 ITEMS=8: 5000": so many milliseconds longer where the prelude has these macros. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/library.h"

#define EXPORT __attribute__((visibility("default")))

/* What is kept: the log, the cubin, and the lowered name of each expression, one behind the other.
 */
enum { LOG, CUBIN, NAMES, PARTS };
enum { EXPRESSIONS_MOST = 64 };

struct program {
    nvrtcProgram real; /* NULL: not made yet, since nobody had to compile */
    const char *text;  /* borrowed from Hone, as the headers, until they were compiled */
    const char **headers, **names;
    int header_count;
    char *name;
    struct hn_hash key;
    bool includes_files, may_be_kept;
    int delay_ms;
    char *expressions[EXPRESSIONS_MOST];
    size_t expression_count;
    char *kept[PARTS]; /* NULL: there was nothing */
    uint64_t sizes[PARTS];
};

static const struct hn_nvrtc *real(void)
{
    static struct hn_nvrtc nvrtc;
    struct hn_error err;
    if (nvrtc.library != NULL)
        return &nvrtc;
    /* Whoever opens NVRTC again is to find this one again. */
    char *own = strdup(getenv("HONE_NVRTC"));
    unsetenv("HONE_NVRTC");
    if (hn_nvrtc_open(&nvrtc, &err) != HN_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    setenv("HONE_NVRTC", own, 1);
    free(own);
    return &nvrtc;
}

/* What the real one says of itself, so that a process that compiles nothing does not load it, which
 * takes longer than a short test's other work. It is kept beside this library, for that file. */
struct answers {
    char path[PATH_MAX];
    struct timespec changed;
    int major, minor;
    int architectures[HN_NVRTC_ARCHITECTURES];
    size_t architecture_count;
    char include_dir[1024];
};

static bool find_change(const char *path, struct timespec *changed)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    *changed = status.st_mtim;
    return true;
}

static bool read_answers(const char *path, struct answers *answers)
{
    struct timespec changed;
    FILE *file = fopen(path, "rb");
    bool read = file != NULL && fread(answers, sizeof *answers, 1, file) == 1;
    if (file != NULL)
        fclose(file);
    return read && find_change(answers->path, &changed) &&
           memcmp(&changed, &answers->changed, sizeof changed) == 0;
}

static void ask_real(struct answers *answers)
{
    void *function = NULL;
    memset(answers, 0, sizeof *answers);
    memcpy(&function, &real()->p_nvrtcVersion, sizeof function);
    if (!hn_library_path(function, answers->path, sizeof answers->path) ||
        !find_change(answers->path, &answers->changed))
        abort();
    answers->major = real()->major;
    answers->minor = real()->minor;
    answers->architecture_count = hn_nvrtc_architectures(real(), answers->architectures);
    memcpy(answers->include_dir, real()->include_dir, sizeof answers->include_dir);
}

static const struct answers *answers(void)
{
    static struct answers answers;
    char path[4128], whole[4096];
    if (answers.major > 0)
        return &answers;
    snprintf(whole, sizeof whole, "%s.answers", getenv("HONE_NVRTC"));
    if (read_answers(whole, &answers))
        return &answers;
    ask_real(&answers);
    snprintf(path, sizeof path, "%s.%d", whole, (int)getpid());
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return &answers;
    bool written = fwrite(&answers, sizeof answers, 1, file) == 1;
    if (fclose(file) != 0 || !written || rename(path, whole) != 0)
        unlink(path);
    return &answers;
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

/* Of a program with this text, which has such a prelude. */
static int delay_ms(const char *text)
{
    const char *at = getenv("HONE_DOUBLE_COMPILING");
    char name[32], value[32], line[80];
    int length;
    while (at != NULL && sscanf(at, " %31[A-Z_]=%31[0-9]%n", name, value, &length) == 2) {
        snprintf(line, sizeof line, "#define %s %s\n", name, value);
        const char *found = strstr(text, line);
        if (found == NULL || found > strstr(text, "#line 1\n"))
            return 0;
        at += length;
    }
    return at != NULL && *at == ':' ? atoi(at + 1) : 0;
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

/* What names its file, in a warning or a string, is kept for that file alone (write_kept). */
static bool find_kept(struct program *program)
{
    char path[4096];
    struct hn_hash key = program->key;
    FILE *file = open_kept(program, "rb", path);
    if (file == NULL) {
        add(&program->key, program->name);
        file = open_kept(program, "rb", path);
    }
    if (file == NULL) {
        program->key = key;
        return false;
    }
    if (fread(program->sizes, sizeof program->sizes, 1, file) != 1)
        abort();
    for (int i = 0; i < PARTS; i++)
        program->kept[i] = read_part(file, program->sizes[i]);
    fclose(file);
    return true;
}

/* Each with its end. */
static char *lowered_names(const struct program *program, uint64_t *size)
{
    char *names = malloc(1);
    *size = 0;
    for (size_t i = 0; i < program->expression_count; i++) {
        const char *name = "";
        real()->p_nvrtcGetLoweredName(program->real, program->expressions[i], &name);
        names = realloc(names, *size + strlen(name) + 1);
        if (names == NULL)
            abort();
        memcpy(names + *size, name, strlen(name) + 1);
        *size += strlen(name) + 1;
    }
    if (names == NULL)
        abort();
    return names;
}

static void write_file(const struct program *program, char *const parts[PARTS],
                       const uint64_t sizes[PARTS])
{
    char path[4096];
    FILE *file = open_kept(program, "wb", path);
    if (file == NULL)
        return;
    bool written = fwrite(sizes, PARTS * sizeof *sizes, 1, file) == 1;
    for (int i = 0; i < PARTS; i++)
        written = written && fwrite(parts[i], 1, sizes[i], file) == sizes[i];
    char *last_dot = strrchr(path, '.');
    char whole[4096];
    snprintf(whole, sizeof whole, "%.*s", (int)(last_dot - path), path);
    if (fclose(file) != 0 || !written || rename(path, whole) != 0)
        unlink(path);
}

static void write_kept(struct program *program)
{
    size_t log_size = 0;
    size_t cubin_size = 0;
    uint64_t sizes[PARTS];
    real()->p_nvrtcGetProgramLogSize(program->real, &log_size);
    real()->p_nvrtcGetCUBINSize(program->real, &cubin_size);
    sizes[LOG] = log_size;
    sizes[CUBIN] = cubin_size;
    char *parts[PARTS] = {malloc(log_size + 1), malloc(cubin_size + 1),
                          lowered_names(program, &sizes[NAMES])};
    if (parts[LOG] == NULL || parts[CUBIN] == NULL)
        abort();
    real()->p_nvrtcGetProgramLog(program->real, parts[LOG]);
    real()->p_nvrtcGetCUBIN(program->real, parts[CUBIN]);
    if (memmem(parts[LOG], log_size, program->name, strlen(program->name)) != NULL ||
        memmem(parts[CUBIN], cubin_size, program->name, strlen(program->name)) != NULL)
        add(&program->key, program->name);
    write_file(program, parts, sizes);
    for (int i = 0; i < PARTS; i++)
        free(parts[i]);
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = answers()->major;
    *minor = answers()->minor;
    return NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    return real()->p_nvrtcGetErrorString(result);
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    *count = (int)answers()->architecture_count;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *architectures)
{
    memcpy(architectures, answers()->architectures,
           answers()->architecture_count * sizeof *architectures);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *handle, const char *text, const char *name,
                                      int count, const char *const *headers,
                                      const char *const *names)
{
    struct program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->text = text;
    program->header_count = count;
    program->headers = malloc(2 * ((size_t)count + 1) * sizeof *headers);
    if (program->headers == NULL)
        abort();
    program->names = program->headers + count;
    program->includes_files = includes_files(text);
    program->may_be_kept = true;
    program->key = hn_hash_string(text);
    program->delay_ms = delay_ms(text);
    for (int i = 0; i < count; i++) {
        program->names[i] = names[i];
        program->headers[i] = headers[i];
        add(&program->key, names[i]);
        add(&program->key, headers[i]);
    }
    program->name = strdup(name);
    *handle = (nvrtcProgram)(void *)program;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    struct program *program = (void *)*handle;
    nvrtcResult result =
        program->real == NULL ? NVRTC_SUCCESS : real()->p_nvrtcDestroyProgram(&program->real);
    free(program->name);
    free(program->headers);
    for (int i = 0; i < PARTS; i++)
        free(program->kept[i]);
    for (size_t i = 0; i < program->expression_count; i++)
        free(program->expressions[i]);
    free(program);
    *handle = NULL;
    return result;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char *expression)
{
    struct program *program = (void *)handle;
    if (program->expression_count == EXPRESSIONS_MOST)
        return NVRTC_ERROR_INVALID_INPUT;
    add(&program->key, expression);
    program->expressions[program->expression_count++] = strdup(expression);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char *expression,
                                       const char **name)
{
    struct program *program = (void *)handle;
    const char *lowered = program->kept[NAMES];
    if (lowered == NULL)
        return real()->p_nvrtcGetLoweredName(program->real, expression, name);
    for (size_t i = 0; i < program->expression_count; i++, lowered += strlen(lowered) + 1)
        if (strcmp(program->expressions[i], expression) == 0) {
            *name = lowered;
            return NVRTC_SUCCESS;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

/* The toolkit's headers are those of its version; what lies in other folders may change. */
static bool is_elsewhere(const char *option)
{
    const char *own = answers()->include_dir;
    return strncmp(option, "--include-path=", 15) == 0 ||
           (strncmp(option, "-I", 2) == 0 &&
            (*own == '\0' || strncmp(option + 2, own, strlen(own)) != 0));
}

/* Whether it is Hone's: the double takes no more than the names of these kernels. */
static bool is_own(const struct program *program)
{
    return strncmp(program->name, "hone/", 5) == 0;
}

/* The double takes the names of kernels and some constants, so that it need not be optimized; with
 * $HONE_DOUBLE_OPTIMIZE=1 all but Hone's own kernels are, where registers and spills are looked at.
 */
static const char *level(const struct program *program)
{
    return is_own(program)                          ? "--Ofast-compile=max"
           : getenv("HONE_DOUBLE_OPTIMIZE") == NULL ? "--Ofast-compile=mid"
                                                    : NULL;
}

/* First without what NVRTC declares for few programs, as textures, which is a fifth of a small
 * one's time; CUB needs it, and says so after a second. */
static nvrtcResult compile(struct program *program, int count, const char *const *options)
{
    const char *quick[count + 2];
    int quick_count = count;
    nvrtcResult result =
        real()->p_nvrtcCreateProgram(&program->real, program->text, program->name,
                                     program->header_count, program->headers, program->names);
    for (size_t i = 0; i < program->expression_count && result == NVRTC_SUCCESS; i++)
        result = real()->p_nvrtcAddNameExpression(program->real, program->expressions[i]);
    if (result != NVRTC_SUCCESS)
        return result;
    memcpy(quick, options, (size_t)count * sizeof *quick);
    if (level(program) != NULL)
        quick[quick_count++] = level(program);
    if (strstr(program->text, "<cub/") == NULL)
        quick[quick_count++] = "--minimal";
    result = real()->p_nvrtcCompileProgram(program->real, quick_count, quick);
    return result == NVRTC_SUCCESS || quick_count == count
               ? result
               : real()->p_nvrtcCompileProgram(program->real, count, options);
}

/* Hone's own kernels are compiled once with all that a plan may use, and not for each plan without
 * what it does not use. */
EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options)
{
    struct program *program = (void *)handle;
    char version[32];
    const char *taken[count + 1];
    int taken_count = 0;
    snprintf(version, sizeof version, "%d.%d", answers()->major, answers()->minor);
    add(&program->key, version);
    for (int i = 0; i < count; i++) {
        if (is_own(program) && strncmp(options[i], "-D", 2) == 0)
            continue;
        taken[taken_count++] = options[i];
        bool elsewhere = is_elsewhere(options[i]);
        program->may_be_kept = program->may_be_kept && !(elsewhere && program->includes_files);
        if (!elsewhere)
            add(&program->key, options[i]);
    }
    if (level(program) != NULL)
        add(&program->key, level(program));
    usleep((useconds_t)program->delay_ms * 1000);
    if (find_kept(program))
        return NVRTC_SUCCESS;
    nvrtcResult result = compile(program, taken_count, taken);
    if (result == NVRTC_SUCCESS)
        write_kept(program);
    return result;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *size)
{
    const struct program *program = (void *)handle;
    if (program->kept[CUBIN] == NULL)
        return real()->p_nvrtcGetCUBINSize(program->real, size);
    *size = program->sizes[CUBIN];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *cubin)
{
    const struct program *program = (void *)handle;
    if (program->kept[CUBIN] == NULL)
        return real()->p_nvrtcGetCUBIN(program->real, cubin);
    memcpy(cubin, program->kept[CUBIN], program->sizes[CUBIN]);
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *size)
{
    const struct program *program = (void *)handle;
    if (program->kept[LOG] == NULL)
        return real()->p_nvrtcGetProgramLogSize(program->real, size);
    *size = program->sizes[LOG];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *log)
{
    const struct program *program = (void *)handle;
    if (program->kept[LOG] == NULL)
        return real()->p_nvrtcGetProgramLog(program->real, log);
    memcpy(log, program->kept[LOG], program->sizes[LOG]);
    return NVRTC_SUCCESS;
}
