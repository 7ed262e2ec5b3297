/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvcc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scratch.h"
#include "base/text.h"
#include "runtime/compile/compile_log.h"
#include "runtime/compile/cubin_kernels.h"
#include "runtime/compile/entry_marker.h"
#include "runtime/compile/nvcc_program.h"
#include "runtime/plan/option_list.h"

enum { LOG_LIMIT = 16 << 20, CUBIN_LIMIT = 1 << 30, OWN_OPTIONS = 12 };
/* So long a process of a compilation may compute whose waiting parent was killed. */
enum { MOST_CPU_SECONDS = 600 };
#define CUBIN "program.cubin"

static bool is_program(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

static char *in_folder(const char *folder, size_t length, const char *below)
{
    char *path = NULL;
    if (length == 0 || asprintf(&path, "%.*s%s/nvcc", (int)length, folder, below) < 0)
        return NULL;
    if (is_program(path))
        return path;
    free(path);
    return NULL;
}

enum hn_status hn_nvcc_find(char **path, struct hn_error *err)
{
    const char *chosen = getenv("NVCC");
    const char *home = getenv("CUDA_HOME");
    *path = NULL;
    if (chosen != NULL && *chosen != '\0') {
        if (!is_program(chosen))
            return hn_fail(err, HN_ERUN,
                           "$NVCC is '%.500s', which is no program; expected the path of nvcc",
                           chosen);
        *path = strdup(chosen);
        return *path != NULL ? HN_OK : hn_fail_memory(err);
    }
    for (const char *at = getenv("PATH"); at != NULL && *path == NULL;) {
        size_t length = strcspn(at, ":");
        *path = *at == '/' ? in_folder(at, length, "") : NULL;
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    if (*path == NULL && home != NULL)
        *path = in_folder(home, strlen(home), "/bin");
    if (*path == NULL)
        *path = in_folder("/usr/local/cuda", strlen("/usr/local/cuda"), "/bin");
    if (*path != NULL)
        return HN_OK;
    return hn_fail(err, HN_ERUN,
                   "the config says `compiler: nvcc`, but nvcc was not found in $NVCC, PATH, "
                   "$CUDA_HOME/bin or /usr/local/cuda/bin; install the CUDA toolkit, or set NVCC "
                   "to its path");
}

/* How nvcc is called. Its files are in its working folder, so that no path stands in its command
 * lines, which it hands to a shell. */
struct call {
    struct hn_scratch scratch;
    char *program;
    const char **arguments;
    size_t argument_count;
    const char **environment;
    char log[600];
};

extern char **environ;

/* Options that are set there decide the code, and would stand in no version. */
static bool make_environment(struct call *call)
{
    static const char *const dropped[] = {"NVCC_PREPEND_FLAGS=", "NVCC_APPEND_FLAGS=", "TMPDIR="};
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    call->environment = calloc(count + 2, sizeof *call->environment);
    size_t kept = 0;
    for (size_t i = 0; call->environment != NULL && i < count; i++) {
        bool drop = false;
        for (size_t j = 0; j < sizeof dropped / sizeof *dropped; j++)
            drop = drop || strncmp(environ[i], dropped[j], strlen(dropped[j])) == 0;
        if (!drop)
            call->environment[kept++] = environ[i];
    }
    if (call->environment != NULL)
        call->environment[kept] = "TMPDIR=.";
    return call->environment != NULL;
}

static void finish_call(struct call *call)
{
    hn_scratch_remove(&call->scratch);
    free(call->program);
    free(call->arguments);
    free(call->environment);
}

static enum hn_status start_call(struct call *call, size_t options, struct hn_error *err)
{
    *call = (struct call){.argument_count = 0};
    enum hn_status status = hn_nvcc_find(&call->program, err);
    if (status == HN_OK)
        status = hn_scratch_make(&call->scratch, err);
    if (status != HN_OK) {
        free(call->program);
        return status;
    }
    hn_scratch_path(&call->scratch, "log", call->log, sizeof call->log);
    call->arguments = calloc(options + OWN_OPTIONS, sizeof *call->arguments);
    if (call->arguments != NULL && make_environment(call)) {
        call->arguments[call->argument_count++] = call->program;
        return HN_OK;
    }
    finish_call(call);
    return hn_fail_memory(err);
}

static void add(struct call *call, const char *argument)
{
    call->arguments[call->argument_count++] = argument;
}

/* In the child: nothing that allocates. */
static void become(const struct call *call, pid_t parent)
{
    const struct rlimit cpu = {MOST_CPU_SECONDS, MOST_CPU_SECONDS};
    int output = open(call->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &cpu);
    if (output >= 0 && getppid() == parent && chdir(call->scratch.path) == 0 &&
        dup2(output, 1) >= 0 && dup2(output, 2) >= 0)
        execve(call->program, (char *const *)call->arguments, (char *const *)call->environment);
    _exit(127);
}

/* *succeeded: it ended with status 0. *log is its output. */
static enum hn_status run_nvcc(const struct call *call, bool *succeeded, char **log,
                               struct hn_error *err)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become(call, parent);
    if (child < 0)
        return hn_fail(err, HN_ERUN, "%s can not be started: %s", call->program, strerror(errno));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return hn_fail(err, HN_ERUN, "waiting for nvcc: %s", strerror(errno));
    *succeeded = status == 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return hn_fail(err, HN_ERUN, "%s can not be run", call->program);
    return hn_text_read_file(call->log, LOG_LIMIT, log, NULL, err);
}

enum hn_status hn_nvcc_version(char version[16], struct hn_error *err)
{
    struct call call;
    char *log = NULL;
    bool succeeded = false;
    enum hn_status status = start_call(&call, 0, err);
    if (status != HN_OK)
        return status;
    add(&call, "--version");
    status = run_nvcc(&call, &succeeded, &log, err);
    const char *mark = log != NULL ? strstr(log, ", V") : NULL;
    if (status == HN_OK && (!succeeded || mark == NULL))
        status =
            hn_fail(err, HN_ERUN, "`%s --version` does not say which version it is; is it nvcc?",
                    call.program);
    if (status == HN_OK)
        snprintf(version, 16, "nvcc %.*s", (int)strspn(mark + 3, "0123456789."), mark + 3);
    free(log);
    finish_call(&call);
    return status;
}

/* nvcc's own command lines go through a shell. */
static enum hn_status check_shell(const char *what, const char *text, struct hn_error *err)
{
    static const char safe[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.,:=/@";
    size_t length = strspn(text, safe);
    if (text[length] == '\0')
        return HN_OK;
    return hn_fail(err, HN_ECONFIG,
                   "%s '%s': nvcc takes letters, digits and _+-.,:=/@ there, not '%c'", what, text,
                   text[length]);
}

static enum hn_status add_options(const struct hn_compile_request *request, struct call *call,
                                  struct hn_error *err)
{
    enum hn_status status = check_shell("architecture", request->architecture, err);
    static const char *const own[] = {
        "-cubin", "-o", CUBIN, "-std=c++17", "--ptxas-options=-v", HN_NVCC_PROGRAM, "-arch"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add(call, own[i]);
    add(call, request->architecture);
    for (size_t i = 0; status == HN_OK && i < request->option_count; i++) {
        bool defines;
        if (hn_option_macro(request->options[i], &defines) != NULL)
            continue;
        status = check_shell("option", request->options[i], err);
        add(call, request->options[i]);
    }
    return status;
}

static enum hn_status mark_entry(const struct hn_kernel_names *kernels, const char *expression,
                                 struct hn_image *image, struct hn_error *err)
{
    for (size_t i = 0; i < kernels->count * kernels->count; i++) {
        const char *marker = kernels->names[i / kernels->count];
        const char *kernel = kernels->names[i % kernels->count];
        if (!hn_entry_marker_names(marker, image->entry_count, kernel))
            continue;
        image->entries[image->entry_count] = strdup(kernel);
        return image->entries[image->entry_count++] != NULL ? HN_OK : hn_fail_memory(err);
    }
    return hn_fail(err, HN_ERUN, "nvcc made no kernel of the name expression '%s'", expression);
}

static enum hn_status read_entries(const struct hn_compile_request *request, struct hn_image *image,
                                   struct hn_error *err)
{
    struct hn_kernel_names kernels;
    enum hn_status status = hn_cubin_read_kernels(image->cubin, image->size, &kernels, err);
    image->entries = calloc(request->entry_count + 1, sizeof *image->entries);
    if (status == HN_OK && image->entries == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < request->entry_count; i++) {
        const char *entry = request->entries[i];
        if (!hn_text_is_word(entry))
            status = mark_entry(&kernels, entry, image, err);
        else if ((image->entries[image->entry_count++] = strdup(entry)) == NULL)
            status = hn_fail_memory(err);
    }
    hn_kernel_names_finish(&kernels);
    return status;
}

/* "hone_entry(2): error: …" is one in the second entry. */
static char *describe_error(const struct hn_compile_request *request, const char *log)
{
    char *error = hn_compile_log_error(log);
    static const char mark[] = HN_MARKER_FILE "(";
    if (error == NULL || strncmp(error, mark, strlen(mark)) != 0)
        return error;
    unsigned long entry = strtoul(error + strlen(mark), NULL, 10);
    const char *reason = strstr(error, "error: ");
    char *message = NULL;
    if (reason == NULL || entry < 1 || entry > request->entry_count ||
        asprintf(&message, "name expression '%s': %s", request->entries[entry - 1],
                 strstr(reason, "hone_entry_") != NULL ? "it names no kernel, or several"
                                                       : reason + strlen("error: ")) < 0)
        return error;
    free(error);
    return message;
}

static enum hn_status judge_failure(const struct hn_compile_request *request,
                                    struct hn_image *image, struct hn_error *err)
{
    const char *unsupported = strstr(image->log, "Unsupported gpu architecture");
    if (unsupported != NULL)
        return hn_fail(err, HN_EUSAGE, "nvcc: %.*s", (int)strcspn(unsupported, "\n"), unsupported);
    image->outcome = strstr(image->log, "died due to signal") != NULL ? HN_OUTCOME_COMPILE_CRASH
                                                                      : HN_OUTCOME_COMPILE_ERROR;
    image->message = describe_error(request, image->log);
    return HN_OK;
}

static enum hn_status compile(struct call *call, const struct hn_compile_request *request,
                              struct hn_image *image, struct hn_error *err)
{
    bool succeeded = false;
    char path[600];
    double start = hn_now_ms();
    enum hn_status status = run_nvcc(call, &succeeded, &image->log, err);
    image->compile_ms = hn_now_ms() - start;
    if (status != HN_OK)
        return status;
    hn_compile_log_strip(image->log);
    if (!succeeded)
        return judge_failure(request, image, err);
    hn_scratch_path(&call->scratch, CUBIN, path, sizeof path);
    char *cubin = NULL;
    status = hn_text_read_file(path, CUBIN_LIMIT, &cubin, &image->size, err);
    image->cubin = cubin;
    return status == HN_OK ? read_entries(request, image, err) : status;
}

enum hn_status hn_nvcc_compile(const struct hn_compile_request *request, struct hn_image *image,
                               struct hn_error *err)
{
    struct call call;
    enum hn_status status = start_call(&call, request->option_count, err);
    if (status != HN_OK)
        return status;
    status = add_options(request, &call, err);
    if (status == HN_OK)
        status = hn_nvcc_write_program(request, &call.scratch, err);
    if (status == HN_OK)
        status = compile(&call, request, image, err);
    finish_call(&call);
    return status;
}
