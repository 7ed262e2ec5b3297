/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile_internal.h"

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

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/cubin.h"
#include "runtime/plan/option_list.h"

enum { LOG_LIMIT = 16 << 20, CUBIN_LIMIT = 1 << 30, OWN_OPTIONS = 18 };
/* So long a process of a compilation may compute whose waiting parent was killed. */
enum { MOST_CPU_SECONDS = 600 };
#define CUBIN "program.cubin"
#define PROGRAM "program.cu"
/* Where an error in a name expression is said to be: in line i + 1 of this file. */
#define MARKER_FILE "hone_entry"

static bool is_program(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* nvcc compiles device code of sources with host code or headers that NVRTC cannot read. It needs
 * a host compiler, which it calls as its preprocessor. Is looked for in $NVCC (a file; then nothing
 * else counts), PATH, $CUDA_HOME/bin, /usr/local/cuda/bin. Free the path. HN_ERUN. */
static char *find_nvcc(struct hn_error *err)
{
    const char *chosen = getenv("NVCC"), *home = getenv("CUDA_HOME"), *search = getenv("PATH");
    struct hn_text folders HN_ENDED_BY(hn_text_finish) = {0}, path = {0};
    bool is_chosen = chosen != NULL && *chosen != '\0';
    bool has_home = home != NULL && *home != '\0';
    hn_text_append(&path, is_chosen ? chosen : "");
    hn_text_printf(&folders, "%s:%s/bin:/usr/local/cuda/bin", search != NULL ? search : "",
                   has_home ? home : "/usr/local/cuda");
    for (const char *at = folders.data; at != NULL && *at != '\0' && path.length == 0;) {
        size_t length = strcspn(at, ":");
        if (*at == '/')
            hn_text_printf(&path, "%.*s/nvcc", (int)length, at);
        if (path.length > 0 && !is_program(path.data))
            hn_text_finish(&path);
        at += length + (at[length] == ':');
    }
    if (is_chosen && !is_program(chosen))
        hn_fail(err, HN_ERUN, "$NVCC is '%.500s', which is no program; expected the path of nvcc",
                chosen);
    else if (path.length == 0)
        hn_fail(err, HN_ERUN,
                "the config says `compiler: nvcc`, but nvcc was not found in $NVCC, PATH, "
                "$CUDA_HOME/bin or /usr/local/cuda/bin; install the CUDA toolkit, or set NVCC to "
                "its path");
    return hn_made(hn_text_take(&path), err);
}

/* How nvcc is called. Its files are in its working folder, so that no path stands in its command
 * lines, which it hands to a shell. */
struct call {
    struct hn_scratch scratch;
    char *program;
    const char **arguments;
    size_t argument_count;
    char log[600];
};

static void finish_call(struct call *call)
{
    if (*call->log != '\0')
        hn_scratch_remove(&call->scratch);
    free(call->program);
    free(call->arguments);
}

static void add(struct call *call, const char *argument)
{
    call->arguments[call->argument_count++] = argument;
}

static void start_call(struct call *call, size_t options, struct hn_error *err)
{
    /* Options that are set there decide the code, and would stand in no version. */
    static const char *const cleaned[] = {
        "env", "-u", "NVCC_PREPEND_FLAGS", "-u", "NVCC_APPEND_FLAGS", "TMPDIR=."};
    *call = (struct call){.argument_count = 0};
    call->program = hn_failed(err) ? NULL : find_nvcc(err);
    if (hn_failed(err) || hn_scratch_make(&call->scratch, err) != HN_OK)
        return;
    snprintf(call->log, sizeof call->log, "%s/log", call->scratch.path);
    call->arguments = hn_allocate(options + OWN_OPTIONS, sizeof *call->arguments, err);
    for (size_t i = 0; !hn_failed(err) && i < sizeof cleaned / sizeof *cleaned; i++)
        add(call, cleaned[i]);
    if (!hn_failed(err))
        add(call, call->program);
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
        execv("/usr/bin/env", (char *const *)call->arguments);
    _exit(127);
}

/* Returns whether it ended with status 0. *log is its output. */
static bool run_nvcc(const struct call *call, char **log, struct hn_error *err)
{
    if (hn_failed(err))
        return false;
    pid_t parent = getpid();
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        become(call, parent);
    if (child < 0)
        hn_fail(err, HN_ERUN, "%s cannot be started: %s", call->program, strerror(errno));
    while (!hn_failed(err) && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            hn_fail(err, HN_ERUN, "waiting for nvcc: %s", strerror(errno));
    if (hn_failed(err))
        return false;
    /* On a full disk it cannot even write why it failed: no point is to blame for that. */
    bool told = hn_file_read(call->log, LOG_LIMIT, log, NULL, NULL) == HN_OK && **log != '\0';
    if (status != 0 && !told && (WIFEXITED(status) || *log == NULL))
        hn_fail(
            err, HN_ERUN,
            "%s failed without a word: is there no room in %s? Set TMPDIR to a folder with room",
            call->program, call->scratch.path);
    else if (WIFEXITED(status) && WEXITSTATUS(status) >= 126)
        hn_fail(err, HN_ERUN, "%s cannot be run", call->program);
    return status == 0;
}

enum hn_status hn_compiler_version(enum hn_compiler compiler, const struct hn_nvrtc *nvrtc,
                                   char version[16], struct hn_error *err)
{
    struct hn_error own;
    struct call call;
    char *log HN_FREED = NULL;
    err = hn_error_begin(err, &own);
    if (compiler == HN_COMPILER_NVRTC) {
        snprintf(version, 16, "%d.%d", nvrtc->major, nvrtc->minor);
        return HN_OK;
    }
    start_call(&call, 0, err);
    if (!hn_failed(err))
        add(&call, "--version");
    bool succeeded = run_nvcc(&call, &log, err);
    const char *mark = log != NULL ? strstr(log, ", V") : NULL;
    if (!hn_failed(err) && (!succeeded || mark == NULL))
        hn_fail(err, HN_ERUN, "`%s --version` does not say which version it is; is it nvcc?",
                call.program);
    if (!hn_failed(err))
        snprintf(version, 16, "nvcc %.*s", (int)strspn(mark + 3, "0123456789."), mark + 3);
    finish_call(&call);
    return err->status;
}

/* nvcc's own command lines go through a shell. */
static void check_shell(const char *what, const char *text, struct hn_error *err)
{
    static const char safe[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.,:=/@";
    size_t length = strspn(text, safe);
    if (text[length] != '\0' && !hn_failed(err))
        hn_fail(err, HN_ECONFIG,
                "%s '%s': nvcc takes letters, digits and _+-.,:=/@ there, not '%c'", what, text,
                text[length]);
}

static void add_options(const struct hn_source *source, const char *architecture, struct call *call,
                        struct hn_error *err)
{
    static const char *const own[] = {"-cubin", "-o",   CUBIN, "-std=c++17", "--ptxas-options=-v",
                                      PROGRAM,  "-arch"};
    if (hn_failed(err))
        return;
    check_shell("architecture", architecture, err);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add(call, own[i]);
    add(call, architecture);
    for (size_t i = 0; i < source->option_count; i++) {
        const char *option = source->options[i];
        if (hn_option_value(option, "define-macro") != NULL ||
            hn_option_value(option, "undefine-macro") != NULL ||
            hn_option_value(option, "disable-warnings") != NULL)
            continue;
        check_shell("option", option, err);
        add(call, option);
    }
}

static void append_line(struct hn_text *text, int line, const char *file)
{
    hn_text_printf(text, "#line %d \"", line);
    for (; *file != '\0'; file++)
        hn_text_printf(text, *file == '"' || *file == '\\' ? "\\%c" : "%c", *file);
    hn_text_append(text, "\"\n");
}

/* What stands behind `#pragma` in a line of a loop's unrolling with a factor, and how much of it
 * until a comment; NULL: it is no such line. */
static const char *unrolling(const char *line, size_t *length)
{
    const char *end = line + strcspn(line, "\n");
    const char *unroll = hn_code_directive(line, end, "pragma");
    if (unroll == NULL || strncmp(unroll, "unroll", 6) != 0)
        return NULL;
    const char *factor = unroll + 6 + strspn(unroll + 6, " \t");
    *length = strcspn(factor, "/\\\r\n");
    bool comment =
        factor[*length] == '/' && factor[*length + 1] != '/' && factor[*length + 1] != '*';
    return *length > 0 && !comment && factor[*length] != '\\' ? factor : NULL;
}

/* The host's preprocessor leaves macros in `#pragma unroll FACTOR` as they are, but not in the
 * arguments of one. */
static void append_lines(const char *source, size_t size, struct hn_text *text)
{
    const char *end = source + size;
    for (const char *line = source; line < end;) {
        size_t length = strcspn(line, "\n");
        size_t here = line + length < end ? length + 1 : (size_t)(end - line);
        size_t factor_length = 0;
        bool begins = line == source || line[-1] == '\n';
        const char *factor = begins ? unrolling(line, &factor_length) : NULL;
        if (factor != NULL)
            hn_text_printf(text, "HONE_PRAGMA(unroll %.*s)\n", (int)factor_length, factor);
        else
            hn_text_append_bytes(text, line, here);
        line += here;
    }
}

static void append_source(const struct hn_source *source, const char *from, struct hn_text *text)
{
    const struct hn_template *template = source->template;
    struct hn_include_scan scan = {
        .next = from, .macros = template->files, .text_count = template->file_count};
    struct hn_include include;
    while (hn_include_next(&scan, &include)) {
        size_t number = hn_template_find(template, include.name, include.length);
        if (number == 0 || !include.quoted)
            continue;
        append_lines(from, (size_t)(include.name - from), text);
        hn_text_printf(text, "include_%zu.h", number);
        from = include.name + include.length;
    }
    append_lines(from, strlen(from), text);
    hn_text_append(text, "\n");
}

/* What -D and -U say, as lines; NULL: err has failed. */
static char *make_macros(const struct hn_source *source, struct hn_error *err)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < source->option_count; i++) {
        const char *macro = hn_option_value(source->options[i], "define-macro");
        const char *undefined = hn_option_value(source->options[i], "undefine-macro");
        size_t name = macro != NULL ? strcspn(macro, "=") : 0;
        if (macro != NULL)
            hn_text_printf(&text, "#define %.*s %s\n", (int)name, macro,
                           macro[name] == '=' ? macro + name + 1 : "1");
        else if (undefined != NULL)
            hn_text_printf(&text, "#undef %s\n", undefined);
    }
    return hn_made(hn_text_take(&text), err);
}

static void write_file(const struct hn_scratch *scratch, const char *name, struct hn_text *text,
                       struct hn_error *err)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    if (text->failed)
        hn_fail_memory(err);
    else
        hn_file_write(path, text->data, text->length, err);
    hn_text_finish(text);
}

/* The includes that were read with the template are flat and under names of their own, so that no
 * name can lead elsewhere. Lines are numbered as in the originals. */
static void write_program(const struct hn_source *source, const struct hn_scratch *scratch,
                          struct hn_error *err)
{
    for (size_t i = 1; i < source->template->file_count && !hn_failed(err); i++) {
        const struct hn_text_file *include = &source->template->files[i];
        struct hn_text text = {0};
        char name[64];
        append_line(&text, 1, include->name);
        append_source(source, include->text, &text);
        snprintf(name, sizeof name, "include_%zu.h", i);
        write_file(scratch, name, &text, err);
    }
    char *macros HN_FREED = hn_failed(err) ? NULL : make_macros(source, err);
    if (hn_failed(err))
        return;
    /* The template with what -D and -U say in front and markers of name expressions behind. */
    const char *template = strstr(source->text, HN_TEMPLATE_START);
    struct hn_text text = {0};
    hn_text_append(&text, "#define HONE_PRAGMA_TEXT(...) _Pragma(#__VA_ARGS__)\n"
                          "#define HONE_PRAGMA(...) HONE_PRAGMA_TEXT(__VA_ARGS__)\n");
    append_line(&text, 1, "prelude");
    append_source(source, macros, &text);
    append_line(&text, 1, "prelude");
    if (template != NULL)
        hn_text_append_bytes(&text, source->text, (size_t)(template - source->text));
    append_line(&text, 1, source->template->files->name);
    append_source(source, template != NULL ? template + strlen(HN_TEMPLATE_START) : source->text,
                  &text);
    for (size_t i = 0; i < source->entry_count; i++) {
        if (!hn_text_is_word(source->entries[i]))
            hn_text_printf(&text,
                           "\n#line %zu \"" MARKER_FILE "\"\n"
                           "template <auto *kernel> __global__ void hone_entry_%zu() {} "
                           "template __global__ void hone_entry_%zu<%s>();\n",
                           i + 1, i, i, source->entries[i]);
    }
    write_file(scratch, PROGRAM, &text, err);
}

/* A substitution of a mangled name: "S_" is number 0, "S0_" 1, ... "SZ_" 36. Its length, or 0. */
static size_t read_substitution(const char *text, unsigned long *number)
{
    size_t length = strspn(text + (*text != '\0'), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (*text != 'S' || text[length + 1] != '_' || length > 6)
        return 0;
    *number = length > 0 ? strtoul(text + 1, NULL, 36) + 1 : 0;
    return length + 2;
}

/* Within the marker's name the marker itself is substitution 0, and each of the kernel's is one
 * more than in a name of its own. */
static const char *behind_kernel(const char *marker, const char *kernel)
{
    while (*kernel != '\0') {
        unsigned long of_marker = 0, of_kernel = 0;
        size_t marker_length = read_substitution(marker, &of_marker);
        size_t kernel_length = read_substitution(kernel, &of_kernel);
        bool shifted = marker_length > 0 && kernel_length > 0 && of_marker == of_kernel + 1;
        if (!shifted && *marker != *kernel)
            return NULL;
        marker += shifted ? marker_length : 1;
        kernel += shifted ? kernel_length : 1;
    }
    return marker;
}

/* nvcc cannot be asked for the mangled name of a name expression, as NVRTC can. So the program
 * gets an empty kernel for each, a template whose argument is the expression: it makes the compiler
 * instantiate what the expression names, and the marker's own mangled name holds that of the
 * kernel. Whether `marker`, the mangled name of a kernel, marks that entry as `kernel`, the mangled
 * name of another. */
static bool entry_marker_names(const char *marker, size_t entry, const char *kernel)
{
    static const char end[] = "EEEvv";
    char name[300];
    snprintf(name, sizeof name, "hone_entry_%zu", entry);
    char start[80];
    int length = snprintf(start, sizeof start, "_Z%zu%sIXadL_Z", strlen(name), name);
    size_t marker_length = strlen(marker);
    if (strncmp(marker, start, (size_t)length) != 0)
        return false;
    if (strncmp(kernel, "_Z", 2) == 0) {
        const char *rest = behind_kernel(marker + length, kernel + 2);
        return rest != NULL && strcmp(rest, end) == 0;
    }
    /* One that is extern "C" stands there with the types of its arguments. */
    snprintf(name, sizeof name, "%zu%s", strlen(kernel), kernel);
    return strncmp(marker + length, name, strlen(name)) == 0 &&
           strcmp(marker + marker_length - strlen(end), end) == 0;
}

static void read_entries(const struct hn_source *source, struct hn_image *image,
                         struct hn_error *err)
{
    size_t count;
    const char **kernels HN_FREED = hn_cubin_kernels(image->cubin, image->size, &count, err);
    image->entries = hn_allocate(source->entry_count, sizeof *image->entries, err);
    for (size_t i = 0; i < source->entry_count && !hn_failed(err); i++) {
        const char *entry = source->entries[i], *name = hn_text_is_word(entry) ? entry : NULL;
        for (size_t k = 0; name == NULL && k < count * count; k++)
            if (entry_marker_names(kernels[k / count], i, kernels[k % count]))
                name = kernels[k % count];
        if (name != NULL)
            image->entries[image->entry_count++] = hn_copy_string(name, err);
        else
            hn_fail(err, HN_ERUN, "nvcc made no kernel of the name expression '%s'", entry);
    }
}

/* "hone_entry(2): error: …" is one in the second entry. */
static char *describe_error(const struct hn_source *source, const char *log)
{
    char *error = hn_compile_log_error(log);
    static const char mark[] = MARKER_FILE "(";
    if (error == NULL || strncmp(error, mark, strlen(mark)) != 0)
        return error;
    unsigned long entry = strtoul(error + strlen(mark), NULL, 10);
    const char *reason = strstr(error, "error: ");
    char *message = NULL;
    if (reason == NULL || entry < 1 || entry > source->entry_count ||
        asprintf(&message, "name expression '%s': %s", source->entries[entry - 1],
                 strstr(reason, "hone_entry_") != NULL ? "it names no kernel, or several"
                                                       : reason + strlen("error: ")) < 0)
        return error;
    free(error);
    return message;
}

void hn_nvcc_compile(const struct hn_source *source, const char *architecture,
                     struct hn_image *image, struct hn_error *err)
{
    struct call call;
    char path[600];
    char *cubin = NULL;
    start_call(&call, source->option_count, err);
    add_options(source, architecture, &call, err);
    if (!hn_failed(err))
        write_program(source, &call.scratch, err);
    double start = hn_now_ms();
    bool succeeded = run_nvcc(&call, &image->log, err);
    image->compile_ms = hn_now_ms() - start;
    if (image->log != NULL)
        hn_compile_log_strip(image->log);
    if (!hn_failed(err) && !succeeded) {
        const char *unsupported = strstr(image->log, "Unsupported gpu architecture");
        bool crashed = strstr(image->log, "died due to signal") != NULL;
        if (unsupported != NULL)
            hn_fail(err, HN_EUSAGE, "nvcc: %.*s", (int)strcspn(unsupported, "\n"), unsupported);
        image->outcome = crashed ? HN_OUTCOME_COMPILE_CRASH : HN_OUTCOME_COMPILE_ERROR;
        image->message = describe_error(source, image->log);
    } else if (!hn_failed(err)) {
        snprintf(path, sizeof path, "%s/%s", call.scratch.path, CUBIN);
        hn_file_read(path, CUBIN_LIMIT, &cubin, &image->size, err);
        image->cubin = cubin;
        read_entries(source, image, err);
    }
    finish_call(&call);
}
