/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/compile_internal.h"
#include "runtime/compile/cubin.h"
#include "runtime/compile/template.h"
#include "runtime/device/library.h"
#include "runtime/plan/option_list.h"

static void check(const struct hn_nvrtc *nvrtc, const char *what, nvrtcResult result,
                  struct hn_error *err)
{
    if (result != NVRTC_SUCCESS)
        hn_fail(err, HN_ERUN, "NVRTC %d.%d: %s: %s", nvrtc->major, nvrtc->minor, what,
                nvrtc->p_nvrtcGetErrorString(result));
}

/* Calls NVRTC, where err has not failed. */
#define CALL(function, arguments)                                                                  \
    (hn_failed(err) ? (void)0 : check(nvrtc, #function, nvrtc->p_##function arguments, err))

/* The compiler calls an unknown architecture an invalid option, as if it were the config's. */
static void check_architecture(const struct hn_nvrtc *nvrtc, const char *architecture,
                               struct hn_error *err)
{
    int known[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(nvrtc, known);
    int asked = strncmp(architecture, "sm_", 3) == 0 ? atoi(architecture + 3) : 0;
    bool found = count == 0;
    struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < count; i++) {
        hn_text_printf(&list, " sm_%d", known[i]);
        found = found || known[i] == asked;
    }
    if (!found)
        hn_fail(err, HN_EUSAGE, "NVRTC %d.%d does not compile for '%.40s'; it knows%s",
                nvrtc->major, nvrtc->minor, architecture, list.data != NULL ? list.data : "");
}

/* An option of the config would win over what was asked for. One that asks for the features of this
 * very architecture, as sm_90a of sm_90, may. */
static void check_options(const struct hn_source *source, const char *architecture,
                          struct hn_error *err)
{
    size_t length = strcspn(architecture, "af");
    for (size_t i = 0; i < source->option_count && !hn_failed(err); i++) {
        const char *option = source->options[i];
        const char *path = hn_option_path(option);
        const char *wanted = hn_option_value(option, "gpu-architecture");
        if (wanted != NULL && (strncmp(wanted, architecture, length) != 0 ||
                               wanted[length + strspn(wanted + length, "af")] != '\0'))
            hn_fail(err, HN_ECONFIG,
                    "option '%s' asks for %s, but %s is compiled for, as the GPU or --arch says; "
                    "take the option out (`hone compile --arch %s` compiles for another GPU)",
                    option, wanted, architecture, wanted);
        else if (path != NULL && *path != '/')
            hn_fail(err, HN_ECONFIG,
                    "option '%s': the folder of the config, to which it is relative, is "
                    "not known here; give it a whole path",
                    option);
    }
}

static bool is_given(const struct hn_source *source, const char *name)
{
    if (hn_template_find(source->template, name, strlen(name)) > 0)
        return true;
    for (size_t i = 0; i < source->option_count; i++) {
        const char *folder = hn_option_value(source->options[i], "include-path");
        char path[4096];
        if (folder == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* A plain name is looked for in the cubin; NVRTC has to be asked for the mangled name of anything
 * else. It is given the includes of the source and headers of the host by name. */
static nvrtcProgram create_program(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                                   struct hn_error *err)
{
    nvrtcProgram program = NULL;
    const struct hn_text_file *includes = source->template->files + 1;
    size_t count = source->template->file_count - 1;
    size_t most = count + HN_HOST_HEADER_COUNT;
    const char **names HN_FREED = hn_allocate(2 * most, sizeof *names, err);
    if (names == NULL)
        return NULL;
    const char **texts = names + most;
    for (size_t i = 0; i < count; i++) {
        names[i] = includes[i].name;
        texts[i] = includes[i].text;
    }
    HN_EACH_OF(header, hn_host_headers, HN_HOST_HEADER_COUNT) {
        if ((header->fallback && *nvrtc->include_dir != '\0') || is_given(source, header->name))
            continue;
        names[count] = header->name;
        texts[count++] = header->text;
    }
    CALL(nvrtcCreateProgram,
         (&program, source->text, source->template->files->name, (int)count, texts, names));
    for (size_t i = 0; i < source->entry_count; i++)
        if (!hn_text_is_word(source->entries[i]))
            CALL(nvrtcAddNameExpression, (program, source->entries[i]));
    return program;
}

/* A folder with the headers that NVRTC brings, for a program that may need them where the toolkit's
 * are not all found; "" where it has none, or they cannot be unpacked. */
static void unpack_headers(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                           char folder[1024])
{
    struct hn_text path HN_ENDED_BY(hn_text_finish) = {0};
    *folder = '\0';
    if (nvrtc->p_nvrtcInstallBundledHeaders == NULL ||
        (*nvrtc->include_dir != '\0' && *nvrtc->cccl_dir != '\0') ||
        !hn_source_includes_others(source))
        return;
    hn_cache_folder_append(&path);
    hn_text_printf(&path, "/headers-%d.%d", nvrtc->major, nvrtc->minor);
    if (!path.failed && path.length < 1000 &&
        nvrtc->p_nvrtcInstallBundledHeaders(path.data, 0, NULL) == NVRTC_SUCCESS)
        memcpy(folder, path.data, path.length + 1);
}

/* The command line: Hone's own options first, so that the config's come last and win. But no option
 * turns off warnings: they tell of macros that are defined again, and of code that is refused. */
static nvrtcResult run(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                       const char *architecture, nvrtcProgram program, struct hn_image *image,
                       struct hn_error *err)
{
    char target[64], bundled[1024], include[4][1100];
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    const char *const own[] = {target, "-no-cache", "--ptxas-options=-v",
                               "--modify-stack-limit=false", "--std=c++17"};
    const char *const folders[] = {nvrtc->include_dir, nvrtc->cccl_dir, bundled, bundled};
    size_t count = sizeof own / sizeof *own;
    const char **options HN_FREED =
        hn_allocate(count + 5 + source->option_count, sizeof *options, err);
    if (options == NULL)
        return NVRTC_SUCCESS;
    memcpy(options, own, sizeof own);
    unpack_headers(nvrtc, source, bundled);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(include[i], sizeof *include, "-I%s%s", folders[i], i == 3 ? "/cccl" : "");
        options[count] = include[i];
        count += *folders[i] != '\0';
    }
    for (size_t i = 0; i < source->option_count; i++)
        if (hn_option_value(source->options[i], "disable-warnings") == NULL)
            options[count++] = source->options[i];
    options[count++] = "--diag-warn=47";
    double start = hn_now_ms();
    nvrtcResult result = nvrtc->p_nvrtcCompileProgram(program, (int)count, options);
    image->compile_ms = hn_now_ms() - start;
    return result;
}

static void read_code(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                      nvrtcProgram program, struct hn_image *image, struct hn_error *err)
{
    CALL(nvrtcGetCUBINSize, (program, &image->size));
    image->cubin = hn_allocate(image->size, 1, err);
    CALL(nvrtcGetCUBIN, (program, image->cubin));
    image->entries = hn_allocate(source->entry_count, sizeof *image->entries, err);
    for (size_t i = 0; i < source->entry_count && !hn_failed(err); i++) {
        const char *name = source->entries[i];
        if (!hn_text_is_word(name))
            CALL(nvrtcGetLoweredName, (program, source->entries[i], &name));
        image->entries[image->entry_count++] = hn_copy_string(name, err);
    }
}

/* Logs. */

/* Static shared memory of a block, on every architecture. */
enum { STATIC_SHARED_LIMIT = 48 * 1024 };

static bool contains(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what)) != NULL;
}

void hn_compile_log_strip(char *log)
{
    char *to = log;
    const char *line, *next = log;
    size_t length;
    while (hn_text_line(&next, &line, &length)) {
        if (contains(line, length, "Compile time ="))
            continue;
        memmove(to, line, (size_t)(next - line));
        to += next - line;
    }
    *to = '\0';
}

/* "x.cu(3): error: …", "x.cu(1): catastrophic error: …", "x.cu:1:10: fatal error: …", "ptxas fatal
 * : …", "ptxas …, line 26; error   : …", "nvrtc: error: …". */
static bool is_error(const char *line, size_t length)
{
    static const char *const marks[] = {": error: ",       ": catastrophic error: ",
                                        ": fatal error: ", ": error #",
                                        "error   : ",      "fatal   : ",
                                        "error : "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (contains(line, length, marks[i]))
            return true;
    return false;
}

/* With -v ptxas writes no error for too much static shared memory, only "… 80000 bytes smem". */
static char *describe_shared(const char *log)
{
    static const char heading[] = "Compiling entry function '";
    const char *line, *kernel = "?";
    size_t length;
    char *message = NULL;
    while (message == NULL && hn_text_line(&log, &line, &length)) {
        const char *name = memmem(line, length, heading, sizeof heading - 1);
        kernel = name != NULL ? name + sizeof heading - 1 : kernel;
        const char *start = memmem(line, length, " bytes smem", 11);
        while (start != NULL && start > line && hn_is_digit(start[-1]))
            start--;
        long bytes = start != NULL ? strtol(start, NULL, 10) : 0;
        size_t shown = strcspn(kernel, "'\n");
        if (bytes > STATIC_SHARED_LIMIT &&
            asprintf(&message,
                     "kernel '%.*s' has %ld bytes of static shared memory; the limit is %d "
                     "(beyond it use dynamic shared memory)",
                     shown < 255 ? (int)shown : 255, kernel, bytes, STATIC_SHARED_LIMIT) < 0)
            return NULL;
    }
    return message;
}

/* NVRTC reports a wrong name expression as an error in a file of its own, with a pragma in the line
 * after it. */
static char *describe_name_expression(const char *line, size_t length)
{
    static const char mark[] = "): error: ";
    static const char pragma[] = "#pragma nv_mangled_name ";
    if (strncmp(line, "__nv_name_map(", 14) != 0)
        return NULL;
    const char *reason = memmem(line, length, mark, sizeof mark - 1);
    const char *expression = strstr(line + length, pragma);
    if (reason == NULL || expression == NULL)
        return NULL;
    reason += sizeof mark - 1;
    expression += sizeof pragma - 1;
    char *message;
    int made = asprintf(&message, "name expression '%.*s': %.*s", (int)strcspn(expression, "\n"),
                        expression, (int)(length - (size_t)(reason - line)), reason);
    return made < 0 ? NULL : message;
}

char *hn_compile_log_error(const char *log)
{
    const char *line, *next = log, *first = NULL;
    size_t length;
    while (hn_text_line(&next, &line, &length)) {
        if (is_error(line, length)) {
            char *message = describe_name_expression(line, length);
            return message != NULL ? message : strndup(line, length);
        }
        first = first == NULL && length > 0 ? line : first;
    }
    char *shared = describe_shared(log);
    if (shared != NULL)
        return shared;
    return first != NULL ? strndup(first, strcspn(first, "\n"))
                         : strdup("the compiler gave no reason");
}

/* What to do where NVRTC refused what nvcc would not (host code, or a header of the host), does not
 * find CUDA's own headers, or the GPU has no such instructions; NULL: nothing is known. */
static const char *find_advice(const struct hn_nvrtc *nvrtc, const char *error)
{
    static const char missing[] = " open source file \"";
    const char *header = strstr(error, missing);
    header = header != NULL ? header + strlen(missing) : NULL;
    if (header != NULL ? hn_is_header_of_host(header, strcspn(header, "\""))
                       : strstr(error, "not allowed in JIT mode") != NULL)
        return "NVRTC compiles device code alone: write what is for the host between #ifndef "
               "__CUDACC_RTC__ and #endif, or have nvcc compile it with `compile: {compiler: "
               "nvcc}`";
    if (header != NULL && (*nvrtc->include_dir == '\0' || *nvrtc->cccl_dir == '\0'))
        return "headers of CUDA, cub/ and cuda/ come with a toolkit, with NVRTC from 13.3 on, "
               "which unpacks them into ~/.cache/hone, or by 'pip install nvidia-cuda-runtime "
               "nvidia-cuda-cccl' beside nvidia-cuda-nvrtc (-cu12 behind each for 12)";
    if (strstr(error, "Instruction 'wgmma.") != NULL)
        return "wgmma is of compute capability 9.0 alone, with `compile: {arch_specific: true}`; "
               "10.0 has tcgen05 and tensor memory instead, 12.0 mma.sync";
    return NULL;
}

static char *describe_nvrtc_error(const struct hn_nvrtc *nvrtc, const char *log)
{
    char *error = hn_compile_log_error(log);
    const char *advice = error != NULL ? find_advice(nvrtc, error) : NULL;
    char *message = NULL;
    if (advice == NULL)
        return error;
    char *of_nvrtc = strstr(error, ". Consider using -default-device");
    if (of_nvrtc != NULL)
        *of_nvrtc = '\0';
    if (asprintf(&message, "%s; %s", error, advice) < 0)
        return error;
    free(error);
    return message;
}

struct macro {
    const char *line; /* "#define NAME 16" in the prelude */
    size_t length;
    int number;
};

/* Of the name that begins there. */
static bool find_macro(const char *text, const char *name, struct macro *macro)
{
    static const char define[] = "#define ";
    size_t length = hn_word_length(name);
    *macro = (struct macro){.line = text, .number = 1};
    for (; strncmp(macro->line, define, strlen(define)) == 0; macro->number++) {
        const char *defined = macro->line + strlen(define);
        macro->length = strcspn(macro->line, "\n");
        if (length > 0 && strncmp(defined, name, length) == 0 && defined[length] == ' ')
            return true;
        macro->line += macro->length + 1;
    }
    return false;
}

static char *describe(const char *place, size_t place_length, const char *what, const char *name,
                      const struct macro *macro)
{
    char *message = NULL;
    int name_length = (int)hn_word_length(name);
    int length = asprintf(
        &message,
        "%.*s: error: macro '%.*s' is %s, but line %d of the prelude has '%.*s', which so has no "
        "effect; take it out, write it between #ifndef %.*s and #endif, or have 'override: {%.*s: "
        "define}' in the config replace its value",
        (int)place_length, place, name_length, name, what, macro->number, (int)macro->length,
        macro->line, name_length, name, name_length, name);
    return length < 0 ? NULL : message;
}

/* What a line says of a macro that is defined twice: its name; NULL: nothing. *place is how long
 * the place before it is. */
static const char *defined_twice(const char *line, size_t length, size_t *place)
{
    static const struct {
        const char *before, *behind;
    } forms[] = {{": warning #47-D: incompatible redefinition of macro \"", "(declared at"},
                 {": warning: incompatible redefinition of macro \"", "(declared at"},
                 {": warning: \"", "\" redefined"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *found = memmem(line, length, forms[i].before, strlen(forms[i].before));
        /* Where the prelude's came second, behind an option -D, there is no place, or its own. */
        if (found == NULL || !contains(line, length, forms[i].behind) ||
            strncmp(line, "prelude:", 8) == 0)
            continue;
        *place = (size_t)(found - line);
        return found + strlen(forms[i].before);
    }
    return NULL;
}

/* "k.cu(5): warning #47-D: incompatible redefinition of macro "BLOCK" (declared at line 1)"; of
 * nvcc its host compiler's 'k.cu:5: warning: "BLOCK" redefined' */
static char *find_second_define(const char *text, const char *log)
{
    const char *line;
    size_t length, place;
    while (hn_text_line(&log, &line, &length)) {
        struct macro macro;
        const char *name = defined_twice(line, length, &place);
        if (name != NULL && find_macro(text, name, &macro))
            return describe(line, place, "defined again", name, &macro);
    }
    return NULL;
}

/* Outside of conditions, but for one alone that holds: an #ifdef of what the prelude defines. What
 * clears away at the end, behind all uses, is none. */
static char *find_undef(const char *name, const char *text)
{
    const char *line = strstr(text, HN_TEMPLATE_START);
    int depth = 0, number = 1;
    bool holds = false;
    line = line == NULL ? "" : line + strlen(HN_TEMPLATE_START);
    for (; *line != '\0'; line = hn_code_next_line(line, &number)) {
        struct macro macro;
        char place[600];
        const char *end = line + strcspn(line, "\n");
        const char *asked = hn_code_directive(line, end, "ifdef");
        const char *undefined = hn_code_directive(line, end, "undef");
        bool opens = hn_code_directive(line, end, "if") != NULL; /* and #ifdef, #ifndef */
        bool closes = hn_code_directive(line, end, "endif") != NULL;
        depth += opens - closes;
        if (opens || closes || hn_code_directive(line, end, "el") != NULL)
            holds = depth == 1 && asked != NULL && find_macro(text, asked, &macro);
        if (undefined == NULL || depth > holds || !find_macro(text, undefined, &macro) ||
            (hn_text_find_word(end, undefined, hn_word_length(undefined)) == NULL &&
             hn_text_find_word(end, "include", strlen("include")) == NULL))
            continue;
        snprintf(place, sizeof place, "%.500s(%d)", name, number);
        return describe(place, strlen(place), "undefined", undefined, &macro);
    }
    return NULL;
}

/* What the program is to blame for is data; the rest is a failure of NVRTC. */
static void judge_failure(const struct hn_nvrtc *nvrtc, nvrtcResult result, struct hn_image *image,
                          struct hn_error *err)
{
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION ||
        result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID || result == NVRTC_ERROR_INVALID_INPUT) {
        image->outcome = HN_OUTCOME_COMPILE_ERROR;
        image->message = describe_nvrtc_error(nvrtc, image->log);
    } else if (result == NVRTC_ERROR_INTERNAL_ERROR) {
        image->outcome = HN_OUTCOME_COMPILE_CRASH;
        image->message = strdup("internal error of the compiler");
    } else {
        check(nvrtc, "nvrtcCompileProgram", result, err);
    }
}

static void compile_by_nvrtc(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                             const char *architecture, struct hn_image *image, struct hn_error *err)
{
    size_t log_size = 0;
    nvrtcProgram program = create_program(nvrtc, source, err);
    nvrtcResult result =
        hn_failed(err) ? NVRTC_SUCCESS : run(nvrtc, source, architecture, program, image, err);
    CALL(nvrtcGetProgramLogSize, (program, &log_size));
    image->log = hn_allocate(log_size + 1, 1, err);
    CALL(nvrtcGetProgramLog, (program, image->log));
    if (image->log != NULL)
        hn_compile_log_strip(image->log);
    if (result == NVRTC_SUCCESS)
        read_code(nvrtc, source, program, image, err);
    else if (!hn_failed(err))
        judge_failure(nvrtc, result, image, err);
    if (program != NULL)
        nvrtc->p_nvrtcDestroyProgram(&program);
}

/* So long a list of kernels in a message is. */
enum { LISTED_BYTES = 2000 };

/* What a mangled name of the Itanium C++ ABI begins with. */
struct kernel {
    const char *mangled;
    char scope[256]; /* "app::detail::", or "" */
    char name[256];  /* "" where it is extern "C", or not understood */
    bool is_template;
};

struct choice {
    const struct hn_source *source;
    struct kernel *kernels;
    size_t count;
};

/* "1kPf" and "N3app1kILi3EE…": words with their lengths, the last of which is the kernel's. */
static void read_kernel(const char *mangled, struct kernel *kernel)
{
    *kernel = (struct kernel){.mangled = mangled};
    bool nested = strncmp(mangled, "_ZN", 3) == 0;
    const char *at = strncmp(mangled, "_Z", 2) == 0 ? mangled + 2 + nested : "";
    size_t scope = 0;
    do {
        at += *at == 'L'; /* it is of this file alone */
        char *word = NULL;
        size_t length = hn_is_digit(*at) ? strtoul(at, &word, 10) : 0;
        size_t around = strlen(kernel->name);
        if (length == 0 || length >= sizeof kernel->name || strnlen(word, length) < length ||
            scope + around + 3 > sizeof kernel->scope) {
            kernel->name[0] = '\0';
            return;
        }
        if (around > 0 && strncmp(kernel->name, "_GLOBAL__N_", 11) != 0) {
            memcpy(kernel->scope + scope, kernel->name, around);
            memcpy(kernel->scope + scope + around, "::", 3);
            scope += around + 2;
        }
        memcpy(kernel->name, word, length);
        kernel->name[length] = '\0';
        at = word + length;
    } while (nested && (hn_is_digit(*at) || *at == 'L'));
    kernel->is_template = *at == 'I';
}

/* As `entry` names it: one of a template, or of several of a name, by its mangled name. */
static void append_kernel(const struct choice *choice, const struct kernel *own,
                          struct hn_text *list)
{
    bool alone = *own->name != '\0' && !own->is_template;
    if (list->length > LISTED_BYTES)
        return;
    for (size_t i = 0; i < choice->count && alone; i++) {
        const struct kernel *other = &choice->kernels[i];
        alone = other == own || strcmp(own->name, other->name) != 0 ||
                strcmp(own->scope, other->scope) != 0;
    }
    hn_text_append(list, list->length > 0 ? ", " : "");
    if (alone)
        hn_text_printf(list, "\"&%s%s\"", own->scope, own->name);
    else
        hn_text_append(list, own->mangled);
}

/* As a compile error. The list is finished. */
static void refuse(struct hn_image *image, const char *format, const char *name,
                   struct hn_text *list, struct hn_error *err)
{
    if (list->failed || asprintf(&image->message, format, name, list->data) < 0) {
        image->message = NULL;
        hn_fail_memory(err);
    }
    image->outcome = HN_OUTCOME_COMPILE_ERROR;
    hn_text_finish(list);
}

static void refuse_missing(const struct choice *choice, const char *name, struct hn_image *image,
                           struct hn_error *err)
{
    const struct hn_source *source = choice->source;
    struct hn_text list = {0};
    const char *format =
        "kernel '%s' is a template: as entry, expected a name expression with values or "
        "types in place of the parameters of %s";
    size_t templates = hn_kernel_templates_append(source->text, name, &list);
    for (size_t i = 1; i < source->template->file_count; i++)
        templates += hn_kernel_templates_append(source->template->files[i].text, name, &list);
    if (templates == 0) {
        format = "no kernel '%s' in the program; there is %s";
        for (size_t i = 0; i < choice->count; i++)
            append_kernel(choice, &choice->kernels[i], &list);
        if (choice->count == 0)
            hn_text_append(&list, "none at all");
    }
    refuse(image, format, name, &list, err);
}

static void choose(const struct choice *choice, char **entry, struct hn_image *image,
                   struct hn_error *err)
{
    const struct kernel *found = NULL;
    size_t count = 0;
    bool exact = false;
    struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < choice->count && !exact; i++) {
        const struct kernel *kernel = &choice->kernels[i];
        exact = strcmp(kernel->mangled, *entry) == 0;
        if (!exact && strcmp(kernel->name, *entry) != 0)
            continue;
        append_kernel(choice, kernel, &list);
        found = kernel;
        count = exact ? 1 : count + 1;
    }
    if (count == 0) {
        refuse_missing(choice, *entry, image, err);
    } else if (count > 1) {
        refuse(image, "several kernels are called '%s'; as entry, expected one of %s", *entry,
               &list, err);
    } else {
        free(*entry);
        *entry = hn_copy_string(found->mangled, err);
    }
}

/* Which kernel of the machine code an entry means that is a plain name: the one that is extern "C",
 * else the only one of that name in whatever namespace. Puts mangled names into the image's
 * entries. Where there is none, or several, the image's message says so and lists the entries that
 * there are, and it is a compile error. */
static void choose_kernels(const struct hn_source *source, struct hn_image *image,
                           struct hn_error *err)
{
    struct choice choice = {.source = source};
    const char **names HN_FREED = hn_cubin_kernels(image->cubin, image->size, &choice.count, err);
    choice.kernels = hn_allocate(choice.count, sizeof *choice.kernels, err);
    for (size_t i = 0; !hn_failed(err) && i < choice.count; i++)
        read_kernel(names[i], &choice.kernels[i]);
    for (size_t i = 0; i < source->entry_count; i++)
        if (!hn_failed(err) && image->message == NULL && hn_text_is_word(source->entries[i]))
            choose(&choice, &image->entries[i], image, err);
    free(choice.kernels);
}

/* What becomes of what a compiler made, or of the reason why it made nothing. */
static void judge(const struct hn_source *source, struct hn_image *image, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    /* Whether a template takes away what the prelude in front of it defines, so that the values of
     * a parameter have no effect: by a second #define, which the compiler's log tells, or by an
     * #undef outside of all conditions. */
    char *without_effect = image->log == NULL ? NULL : find_second_define(source->text, image->log);
    if (without_effect == NULL)
        without_effect = find_undef(source->template->files->name, source->text);
    if (without_effect != NULL) {
        free(image->message);
        image->message = without_effect;
        image->outcome = HN_OUTCOME_COMPILE_ERROR;
    }
    if (image->message == NULL)
        choose_kernels(source, image, err);
    if (hn_failed(err) || image->message != NULL) {
        free(image->cubin);
        image->cubin = NULL;
        image->size = 0;
        return;
    }
    const char *const *entries = (const char *const *)image->entries;
    struct hn_error reason = {.message = ""};
    if (hn_cubin_inspect(image->cubin, image->size, entries, image->entry_count, &image->resources,
                         image->code_hash, &reason) != HN_OK) {
        hn_fail(err, HN_ERUN, "%.1000s", reason.message);
        return;
    }
    hn_cubin_read_log(image->log, entries, image->entry_count, &image->resources);
    image->outcome = HN_OUTCOME_OK;
}

enum hn_status hn_compile(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                          const char *architecture, struct hn_image *image, struct hn_error *err)
{
    char name[HN_ARCHITECTURE_SIZE];
    bool nvcc = source->compiler == HN_COMPILER_NVCC;
    hn_error_init(err);
    hn_architecture_name(architecture, source->arch_specific, name);
    *image = HN_NO_IMAGE;
    if (!nvcc)
        check_architecture(nvrtc, name, err);
    check_options(source, name, err);
    if (nvcc)
        hn_nvcc_compile(source, name, image, err);
    else
        compile_by_nvrtc(nvrtc, source, name, image, err);
    judge(source, image, err);
    if (hn_failed(err))
        hn_image_finish(image);
    return err->status;
}

void hn_image_finish(struct hn_image *image)
{
    if (image == NULL)
        return;
    HN_FREE_EACH(entry, image->entries, image->entry_count, free(*entry));
    free(image->cubin);
    free(image->log);
    free(image->message);
    *image = HN_NO_IMAGE;
}

enum hn_status hn_image_copy(struct hn_image *to, const struct hn_image *from, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *to = *from;
    to->message = from->message != NULL ? hn_copy_string(from->message, err) : NULL;
    to->log = from->log != NULL ? hn_copy_string(from->log, err) : NULL;
    to->cubin = from->cubin != NULL ? hn_allocate(from->size, 1, err) : NULL;
    if (to->cubin != NULL)
        memcpy(to->cubin, from->cubin, from->size);
    to->entries = hn_allocate(from->entry_count, sizeof *to->entries, err);
    to->entry_count = to->entries != NULL ? from->entry_count : 0;
    for (size_t i = 0; i < to->entry_count; i++)
        to->entries[i] = hn_copy_string(from->entries[i], err);
    return err->status;
}

enum hn_status hn_image_set_entries(struct hn_image *image, const char *lines, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    for (bool more = true;
         more && hn_make_room(&image->entries, image->entry_count, sizeof *image->entries, err);) {
        size_t length = strcspn(lines, "\n");
        image->entries[image->entry_count++] = hn_made(strndup(lines, length), err);
        more = lines[length] == '\n';
        lines += length + more;
    }
    return err->status;
}

char *hn_image_entry_lines(const struct hn_image *image)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < image->entry_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? "\n" : "", image->entries[i]);
    return hn_text_take(&text);
}

static const struct hn_toolkit_library nvrtc_library = {
    .variable = "HONE_NVRTC",
    .file = "libnvrtc.so",
    .wheel = "nvidia/{cu13,cuda_nvrtc}/lib",
};

/* The toolkit has lib64 or lib beside include, Debian /usr/lib/<triplet>, the wheels of CUDA 12 a
 * folder a package. CCCL's lie with them up to CUDA 12, later in a folder of theirs. */
static void find_headers(const void *function, const char *header, char found[1024])
{
    static const char *const places[] = {
        "/../include",      "/../../include",      "/../../cuda_runtime/include",
        "/../include/cccl", "/../../include/cccl", "/../../cuda_cccl/include"};
    char path[1200], real[PATH_MAX];
    for (size_t i = 0; i < sizeof places / sizeof *places && *found == '\0'; i++) {
        if (!hn_library_path(function, path, 900))
            return;
        char *end = strrchr(path, '/');
        snprintf(end, 300, "%s/%s", places[i], header);
        bool is_there = access(path, R_OK) == 0;
        snprintf(end, 300, "%s", places[i]);
        if (is_there && realpath(path, real) != NULL && strlen(real) < 1024)
            memcpy(found, real, strlen(real) + 1);
    }
}

enum hn_status hn_nvrtc_open(struct hn_nvrtc *nvrtc, struct hn_error *err)
{
    *nvrtc = (struct hn_nvrtc){0};
    const struct hn_symbol symbols[] = {
#define X(name) {#name, &nvrtc->p_##name, false},
        HN_NVRTC_FUNCTIONS(X)
#undef X
            {"nvrtcInstallBundledHeaders", &nvrtc->p_nvrtcInstallBundledHeaders, true},
    };
    struct hn_error reason = {.message = ""};
    enum hn_status status = hn_toolkit_open(
        &nvrtc_library, symbols, sizeof symbols / sizeof *symbols, &nvrtc->library, &reason);
    if (status != HN_OK)
        return hn_fail(
            err, HN_ERUN,
            status == HN_ERUN
                ? "NVRTC could not be loaded from $HONE_NVRTC: %.1500s"
                : "NVRTC (libnvrtc.so.13 or .12) was not found in the loader's path, $CUDA_HOME, "
                  "/usr/local/cuda or a Python environment; install the CUDA toolkit, or "
                  "'pip install nvidia-cuda-nvrtc nvidia-cuda-runtime', or set HONE_NVRTC to the "
                  "file (%.1500s)",
            reason.message);
    if (nvrtc->p_nvrtcVersion(&nvrtc->major, &nvrtc->minor) != NVRTC_SUCCESS) {
        hn_nvrtc_close(nvrtc);
        return hn_fail(err, HN_ERUN, "NVRTC was loaded but does not tell its version");
    }
    void *function = NULL;
    memcpy(&function, &nvrtc->p_nvrtcVersion, sizeof function);
    /* The wheels' NVRTC does not look for its builtins beside itself; once they are loaded, it
     * finds them by their soname. */
    char builtins[64];
    snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", nvrtc->major, nvrtc->minor);
    hn_toolkit_load_beside(function, builtins);
    find_headers(function, "cuda_fp16.h", nvrtc->include_dir);
    find_headers(function, "cuda/std/cstdint", nvrtc->cccl_dir);
    return HN_OK;
}

void hn_nvrtc_close(struct hn_nvrtc *nvrtc)
{
    hn_library_close(nvrtc->library);
    *nvrtc = (struct hn_nvrtc){0};
}

size_t hn_nvrtc_architectures(const struct hn_nvrtc *nvrtc,
                              int architectures[HN_NVRTC_ARCHITECTURES])
{
    int count = 0;
    if (nvrtc->p_nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count < 0 ||
        count > HN_NVRTC_ARCHITECTURES ||
        nvrtc->p_nvrtcGetSupportedArchs(architectures) != NVRTC_SUCCESS)
        return 0;
    return (size_t)count;
}
