/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/compile/compile_log.h"
#include "runtime/compile/cubin.h"
#include "runtime/compile/host_headers.h"
#include "runtime/compile/kernel_choice.h"
#include "runtime/compile/nvcc.h"
#include "runtime/compile/prelude_check.h"
#include "runtime/plan/option_list.h"

enum { MAX_OWN_OPTIONS = 8 };

/* The command line of one compile: Hone's own options first, so that the config's come last and
 * win. */
struct options {
    char *own[MAX_OWN_OPTIONS];
    size_t own_count;
    const char **all;
    size_t count;
};

static bool add_own(struct options *options, const char *prefix, const char *value)
{
    if (asprintf(&options->own[options->own_count], "%s%s", prefix, value) < 0)
        return false;
    options->own_count++;
    return true;
}

/* The toolkit's headers, and those of CCCL (cuda/…, cooperative_groups) where they lie in a folder
 * of their own. */
static bool add_includes(struct options *options, const char *include_dir)
{
    char cccl[1100];
    if (*include_dir == '\0')
        return true;
    if (!add_own(options, "-I", include_dir))
        return false;
    snprintf(cccl, sizeof cccl, "%s/cccl", include_dir);
    return access(cccl, F_OK) != 0 || add_own(options, "-I", cccl);
}

static void finish_options(struct options *options)
{
    for (size_t i = 0; i < options->own_count; i++)
        free(options->own[i]);
    free(options->all);
}

static enum hn_status make_options(const struct hn_nvrtc *nvrtc,
                                   const struct hn_compile_request *request,
                                   struct options *options, struct hn_error *err)
{
    *options = (struct options){.own_count = 0};
    bool added = add_own(options, "--gpu-architecture=", request->architecture) &&
                 add_own(options, "-no-cache", "") && add_own(options, "--ptxas-options=-v", "") &&
                 add_own(options, "--modify-stack-limit=false", "") &&
                 add_own(options, "--std=c++17", "") && add_includes(options, nvrtc->include_dir);
    options->all = calloc(options->own_count + request->option_count + 1, sizeof *options->all);
    if (!added || options->all == NULL) {
        finish_options(options);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < options->own_count; i++)
        options->all[options->count++] = options->own[i];
    for (size_t i = 0; i < request->option_count; i++)
        options->all[options->count++] = request->options[i];
    return HN_OK;
}

static enum hn_status fail_nvrtc(const struct hn_nvrtc *nvrtc, const char *what, nvrtcResult result,
                                 struct hn_error *err)
{
    return hn_fail(err, HN_ERUN, "NVRTC %d.%d: %s: %s", nvrtc->major, nvrtc->minor, what,
                   nvrtc->p_nvrtcGetErrorString(result));
}

/* The compiler calls an unknown architecture an invalid option, as if it were the config's. */
static enum hn_status check_architecture(const struct hn_nvrtc *nvrtc, const char *architecture,
                                         struct hn_error *err)
{
    int known[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(nvrtc, known);
    if (count == 0)
        return HN_OK;
    int asked = strncmp(architecture, "sm_", 3) == 0 ? atoi(architecture + 3) : 0;
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < count; i++) {
        hn_text_printf(&list, " sm_%d", known[i]);
        if (known[i] == asked) {
            hn_text_finish(&list);
            return HN_OK;
        }
    }
    enum hn_status status =
        hn_fail(err, HN_EUSAGE, "NVRTC %d.%d does not compile for '%.40s'; it knows%s",
                nvrtc->major, nvrtc->minor, architecture, list.data != NULL ? list.data : "");
    hn_text_finish(&list);
    return status;
}

/* An option of the config would win over what was asked for. One that asks for the features of this
 * very architecture, as sm_90a of sm_90, may. */
static enum hn_status check_target(const char *option, const char *architecture,
                                   struct hn_error *err)
{
    const char *wanted = hn_option_architecture(option);
    size_t length = strcspn(architecture, "af");
    if (wanted == NULL || (strncmp(wanted, architecture, length) == 0 &&
                           wanted[length + strspn(wanted + length, "af")] == '\0'))
        return HN_OK;
    return hn_fail(err, HN_ECONFIG,
                   "option '%s' asks for %s, but %s is compiled for, as the GPU or --arch says; "
                   "take the option out (`hone compile --arch %s` compiles for another GPU)",
                   option, wanted, architecture, wanted);
}

static enum hn_status check_options(const struct hn_compile_request *request, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < request->option_count; i++) {
        const char *option = request->options[i];
        const char *folder = hn_option_folder(option);
        status = check_target(option, request->architecture, err);
        if (status == HN_OK && folder != NULL && *folder != '/')
            status = hn_fail(err, HN_ECONFIG,
                             "option '%s': the folder of the config, to which it is relative, is "
                             "not known here; give it a whole path",
                             option);
    }
    return status;
}

/* A plain name is looked for in the cubin; NVRTC has to be asked for the mangled name of anything
 * else. */
static bool is_name_expression(const char *entry)
{
    return !hn_text_is_word(entry);
}

/* What the compiler is given by name: the includes of the request, and headers of the host. */
struct named_headers {
    const char **names;
    const char **texts;
    size_t count;
};

static bool is_given(const struct hn_compile_request *request, const char *name)
{
    for (size_t i = 0; i < request->include_count; i++) {
        if (strcmp(request->include_names[i], name) == 0)
            return true;
    }
    for (size_t i = 0; i < request->option_count; i++) {
        const char *folder = hn_option_folder(request->options[i]);
        char path[4096];
        if (folder == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static enum hn_status name_headers(const struct hn_nvrtc *nvrtc,
                                   const struct hn_compile_request *request,
                                   struct named_headers *headers, struct hn_error *err)
{
    size_t most = request->include_count + HN_HOST_HEADER_COUNT;
    *headers = (struct named_headers){.names = calloc(2 * most, sizeof *headers->names)};
    if (headers->names == NULL)
        return hn_fail_memory(err);
    headers->texts = headers->names + most;
    for (; headers->count < request->include_count; headers->count++) {
        headers->names[headers->count] = request->include_names[headers->count];
        headers->texts[headers->count] = request->include_texts[headers->count];
    }
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++) {
        const struct hn_host_header *header = &hn_host_headers[i];
        bool better = header->fallback && *nvrtc->include_dir != '\0';
        if (better || is_given(request, header->name))
            continue;
        headers->names[headers->count] = header->name;
        headers->texts[headers->count++] = header->text;
    }
    return HN_OK;
}

static enum hn_status create_program(const struct hn_nvrtc *nvrtc,
                                     const struct hn_compile_request *request,
                                     nvrtcProgram *program, struct hn_error *err)
{
    struct named_headers headers;
    enum hn_status status = name_headers(nvrtc, request, &headers, err);
    if (status != HN_OK)
        return status;
    nvrtcResult result = nvrtc->p_nvrtcCreateProgram(
        program, request->text, request->name, (int)headers.count, headers.texts, headers.names);
    free(headers.names);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(nvrtc, "nvrtcCreateProgram", result, err);
    for (size_t i = 0; i < request->entry_count; i++) {
        if (!is_name_expression(request->entries[i]))
            continue;
        result = nvrtc->p_nvrtcAddNameExpression(*program, request->entries[i]);
        if (result != NVRTC_SUCCESS) {
            nvrtc->p_nvrtcDestroyProgram(program);
            return fail_nvrtc(nvrtc, "nvrtcAddNameExpression", result, err);
        }
    }
    return HN_OK;
}

static enum hn_status read_log(const struct hn_nvrtc *nvrtc, nvrtcProgram program,
                               struct hn_image *image, struct hn_error *err)
{
    size_t size = 0;
    nvrtcResult result = nvrtc->p_nvrtcGetProgramLogSize(program, &size);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(nvrtc, "nvrtcGetProgramLogSize", result, err);
    image->log = calloc(size + 1, 1);
    if (image->log == NULL)
        return hn_fail_memory(err);
    result = nvrtc->p_nvrtcGetProgramLog(program, image->log);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(nvrtc, "nvrtcGetProgramLog", result, err);
    hn_compile_log_strip(image->log);
    return HN_OK;
}

static enum hn_status read_cubin(const struct hn_nvrtc *nvrtc, nvrtcProgram program,
                                 struct hn_image *image, struct hn_error *err)
{
    nvrtcResult result = nvrtc->p_nvrtcGetCUBINSize(program, &image->size);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(nvrtc, "nvrtcGetCUBINSize", result, err);
    image->cubin = malloc(image->size > 0 ? image->size : 1);
    if (image->cubin == NULL)
        return hn_fail_memory(err);
    result = nvrtc->p_nvrtcGetCUBIN(program, image->cubin);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(nvrtc, "nvrtcGetCUBIN", result, err);
    return HN_OK;
}

static enum hn_status read_entries(const struct hn_nvrtc *nvrtc, nvrtcProgram program,
                                   const struct hn_compile_request *request, struct hn_image *image,
                                   struct hn_error *err)
{
    image->entries = calloc(request->entry_count + 1, sizeof *image->entries);
    if (image->entries == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < request->entry_count; i++) {
        const char *name = request->entries[i];
        if (is_name_expression(name)) {
            nvrtcResult result = nvrtc->p_nvrtcGetLoweredName(program, request->entries[i], &name);
            if (result != NVRTC_SUCCESS)
                return fail_nvrtc(nvrtc, "nvrtcGetLoweredName", result, err);
        }
        image->entries[i] = strdup(name);
        if (image->entries[i] == NULL)
            return hn_fail_memory(err);
        image->entry_count++;
    }
    return HN_OK;
}

static enum hn_status inspect(struct hn_image *image, struct hn_error *err)
{
    const char *const *entries = (const char *const *)image->entries;
    struct hn_error reason = {.message = ""};
    if (hn_cubin_inspect(image->cubin, image->size, entries, image->entry_count, &image->resources,
                         image->code_hash, &reason) != HN_OK)
        return hn_fail(err, HN_ERUN, "%.1000s", reason.message);
    hn_cubin_read_log(image->log, entries, image->entry_count, &image->resources);
    image->outcome = HN_OUTCOME_OK;
    return HN_OK;
}

/* What the program is to blame for is data; the rest is a failure of NVRTC. */
static enum hn_status judge_failure(const struct hn_nvrtc *nvrtc, nvrtcResult result,
                                    struct hn_image *image, struct hn_error *err)
{
    switch (result) {
    case NVRTC_ERROR_COMPILATION:
    case NVRTC_ERROR_INVALID_OPTION:
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
    case NVRTC_ERROR_INVALID_INPUT:
        image->outcome = HN_OUTCOME_COMPILE_ERROR;
        image->message = hn_compile_log_nvrtc_error(image->log);
        return HN_OK;
    case NVRTC_ERROR_INTERNAL_ERROR:
        image->outcome = HN_OUTCOME_COMPILE_CRASH;
        image->message = strdup("internal error of the compiler");
        return HN_OK;
    default:
        return fail_nvrtc(nvrtc, "nvrtcCompileProgram", result, err);
    }
}

static enum hn_status compile_program(const struct hn_nvrtc *nvrtc,
                                      const struct hn_compile_request *request,
                                      const struct options *options, nvrtcProgram program,
                                      struct hn_image *image, struct hn_error *err)
{
    double start = hn_now_ms();
    nvrtcResult result = nvrtc->p_nvrtcCompileProgram(program, (int)options->count, options->all);
    image->compile_ms = hn_now_ms() - start;
    enum hn_status status = read_log(nvrtc, program, image, err);
    if (status != HN_OK)
        return status;
    if (result != NVRTC_SUCCESS)
        return judge_failure(nvrtc, result, image, err);
    status = read_cubin(nvrtc, program, image, err);
    return status == HN_OK ? read_entries(nvrtc, program, request, image, err) : status;
}

/* What becomes of what a compiler made, or of the reason why it made nothing. */
static enum hn_status judge(const struct hn_compile_request *request, struct hn_image *image,
                            struct hn_error *err)
{
    enum hn_status status = HN_OK;
    char *without_effect = hn_prelude_check(request->name, request->text, image->log);
    if (without_effect != NULL) {
        free(image->message);
        image->message = without_effect;
        image->outcome = HN_OUTCOME_COMPILE_ERROR;
    }
    if (image->message == NULL)
        status = hn_kernel_choose(request, image, err);
    if (status == HN_OK && image->message == NULL)
        return inspect(image, err);
    free(image->cubin);
    image->cubin = NULL;
    image->size = 0;
    return status;
}

static enum hn_status compile_by_nvrtc(const struct hn_nvrtc *nvrtc,
                                       const struct hn_compile_request *request,
                                       struct hn_image *image, struct hn_error *err)
{
    struct options options;
    enum hn_status status = make_options(nvrtc, request, &options, err);
    if (status != HN_OK)
        return status;
    nvrtcProgram program = NULL;
    status = create_program(nvrtc, request, &program, err);
    if (status != HN_OK)
        goto finish_options;
    status = compile_program(nvrtc, request, &options, program, image, err);
    nvrtc->p_nvrtcDestroyProgram(&program);
finish_options:
    finish_options(&options);
    return status;
}

enum hn_status hn_compile(const struct hn_nvrtc *nvrtc, const struct hn_compile_request *request,
                          struct hn_image *image, struct hn_error *err)
{
    bool nvcc = request->compiler == HN_COMPILER_NVCC;
    hn_image_init(image);
    enum hn_status status = nvcc ? HN_OK : check_architecture(nvrtc, request->architecture, err);
    if (status == HN_OK)
        status = check_options(request, err);
    if (status == HN_OK)
        status = nvcc ? hn_nvcc_compile(request, image, err)
                      : compile_by_nvrtc(nvrtc, request, image, err);
    if (status == HN_OK)
        status = judge(request, image, err);
    if (status != HN_OK)
        hn_image_finish(image);
    return status;
}

enum hn_status hn_compiler_version(enum hn_compiler compiler, const struct hn_nvrtc *nvrtc,
                                   char version[16], struct hn_error *err)
{
    if (compiler == HN_COMPILER_NVCC)
        return hn_nvcc_version(version, err);
    snprintf(version, 16, "%d.%d", nvrtc->major, nvrtc->minor);
    return HN_OK;
}

enum hn_status hn_compile_source(const struct hn_nvrtc *nvrtc, const struct hn_source *source,
                                 const char *architecture, struct hn_image *image,
                                 struct hn_error *err)
{
    const struct hn_template *template = source->template;
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    const char **names = calloc(2 * template->include_count + 1, sizeof *names);
    if (names == NULL)
        return hn_fail_memory(err);
    const char **texts = names + template->include_count;
    for (size_t i = 0; i < template->include_count; i++) {
        names[i] = template->includes[i].name;
        texts[i] = template->includes[i].text;
    }
    const struct hn_compile_request request = {
        .compiler = source->compiler,
        .name = template->path,
        .text = source->text,
        .include_names = names,
        .include_texts = texts,
        .include_count = template->include_count,
        .entries = (const char *const *)source->entries,
        .entry_count = source->entry_count,
        .options = (const char *const *)source->options,
        .option_count = source->option_count,
        .architecture = name,
    };
    enum hn_status status = hn_compile(nvrtc, &request, image, err);
    free(names);
    return status;
}
