/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_images.h"
#include "tuner/export/export_parts.h"

/* The header with machine code: a program that includes it needs the driver and nothing else. */

static void append_use(const struct hn_export *export, const struct hn_export_images *images,
                       struct hn_text *text)
{
    hn_text_printf(text,
                   "/* SPDX-License-Identifier: CC0-1.0 */\n"
                   "/* The kernel %s as machine code for",
                   export->kernel);
    for (size_t i = 0; i < images->count && images->items[i].config == 0; i++)
        hn_text_printf(text, "%s %s", i > 0 ? "," : "", images->items[i].architecture);
    hn_text_printf(text,
                   ", with all that its header has. Include it\n"
                   " * in one C or C++ file of a program, and link that with the driver "
                   "(-lcuda). In a current context:\n *\n"
                   " *     struct %s_kernel kernel;\n"
                   " *     int config = %s_select(device_name, compute_capability, sm_count",
                   export->lower, export->lower);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, ", %s", export->plan->problem[i]);
    hn_text_printf(text,
                   ");\n *     %s_load(config, &kernel);\n *     %s_launch(kernel.functions, "
                   "config, stream, …);\n *\n"
                   " * The words of the images are those of a little-endian machine. */\n"
                   "#include <cuda.h>\n#include <stddef.h>\n#include <stdint.h>\n\n",
                   export->lower, export->lower);
}

/* Words of 8 bytes, six a line: shorter than bytes, and quicker to compile. */
static void append_words(const struct hn_image *image, struct hn_text *text)
{
    const unsigned char *bytes = image->cubin;
    for (size_t at = 0; at < image->size; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8 && at + i < image->size; i++)
            word |= (uint64_t)bytes[at + i] << (8 * i);
        hn_text_printf(text, "%s0x%llxu,", at % 48 == 0 ? "\n    " : " ", (unsigned long long)word);
    }
}

static void append_images(const struct hn_export *export, const struct hn_export_images *images,
                          struct hn_text *text)
{
    for (size_t i = 0; i < images->count; i++) {
        hn_text_printf(text, "static const uint64_t %s_image_%zu[] = { /* configuration %zu, %s */",
                       export->lower, i, images->items[i].config, images->items[i].architecture);
        append_words(&images->items[i].image, text);
        hn_text_append(text, "\n};\n");
    }
}

static enum hn_status append_row(const struct hn_export *export,
                                 const struct hn_export_images *images, size_t number,
                                 struct hn_text *text, struct hn_error *err)
{
    const struct hn_export_image *item = &images->items[number];
    const char **entries = calloc(export->plan->step_count + 1, sizeof *entries);
    if (entries == NULL)
        return hn_fail_memory(err);
    enum hn_status status =
        hn_export_find_entries(export, item->config, item->image.entries, entries, err);
    bool exact = strpbrk(item->architecture + 3, "af") != NULL;
    hn_text_printf(text, "    {%zu, %d, %d, %s_image_%zu, {", item->config, item->capability, exact,
                   export->lower, number);
    for (size_t i = 0; i < export->plan->step_count; i++) {
        hn_text_append(text, i > 0 ? ", " : "");
        if (entries[i] != NULL)
            hn_export_append_literal(text, entries[i]);
        else
            hn_text_append(text, "NULL");
    }
    hn_text_append(text, "}},\n");
    free(entries);
    return status;
}

static enum hn_status append_table(const struct hn_export *export,
                                   const struct hn_export_images *images, struct hn_text *text,
                                   struct hn_error *err)
{
    enum hn_status status = HN_OK;
    hn_text_printf(text,
                   "\nstatic const struct %s_image {\n"
                   "    int config, capability;\n"
                   "    int exact; /* for this compute capability alone; else also for higher "
                   "ones of the same major number */\n"
                   "    const uint64_t *image;\n"
                   "    const char *entries[%s_STEP_COUNT]; /* NULL: no such step */\n"
                   "} %s_images[] = {\n",
                   export->lower, export->upper, export->lower);
    for (size_t i = 0; i < images->count && status == HN_OK; i++)
        status = append_row(export, images, i, text, err);
    hn_text_append(text, "};\n\n");
    return status;
}

static const char find_body[] =
    "(int config, int capability)\n"
    "{\n"
    "    const struct %s_image *best = NULL;\n"
    "    for (size_t i = 0; i < sizeof %s_images / sizeof %s_images[0]; i++) {\n"
    "        const struct %s_image *image = &%s_images[i];\n"
    "        if (image->config != config || image->capability > capability ||\n"
    "            image->capability / 10 != capability / 10 ||\n"
    "            (image->exact && image->capability != capability))\n"
    "            continue;\n"
    "        if (best == NULL || image->capability >= best->capability)\n"
    "            best = image;\n"
    "    }\n"
    "    return best;\n"
    "}\n\n";

static const char load_body[] =
    "(int config, struct %s_kernel *kernel)\n"
    "{\n"
    "    CUdevice device = 0;\n"
    "    int major = 0, minor = 0;\n"
    "    kernel->module = NULL;\n"
    "    kernel->config = config;\n"
    "    CUresult result = cuCtxGetDevice(&device);\n"
    "    if (result == CUDA_SUCCESS)\n"
    "        result = cuDeviceGetAttribute(&major, "
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);\n"
    "    if (result == CUDA_SUCCESS)\n"
    "        result = cuDeviceGetAttribute(&minor, "
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);\n"
    "    if (result != CUDA_SUCCESS)\n"
    "        return result;\n"
    "    const struct %s_image *image = %s_find_image(config, 10 * major + minor);\n"
    "    if (image == NULL)\n"
    "        return CUDA_ERROR_NO_BINARY_FOR_GPU;\n"
    "    result = cuModuleLoadDataEx(&kernel->module, image->image, 0, NULL, NULL);\n"
    "    if (result == CUDA_SUCCESS)\n"
    "        result = %s_functions(kernel->module, image->entries, kernel->functions);\n"
    "    return result;\n"
    "}\n\n";

static void append_functions(const struct hn_export *export, struct hn_text *text)
{
    const char *lower = export->lower;
    hn_text_printf(text,
                   "/* The image of a configuration that runs on a compute capability (90 for "
                   "9.0); NULL: there is none. */\n"
                   "static inline const struct %s_image *%s_find_image",
                   lower, lower);
    hn_text_printf(text, find_body, lower, lower, lower, lower, lower);
    hn_text_printf(text,
                   "struct %s_kernel {\n    CUmodule module;\n    int config;\n"
                   "    CUfunction functions[%s_STEP_COUNT];\n};\n\n"
                   "/* Loads a configuration into the current context; unload it in any case. "
                   "CUDA_ERROR_NO_BINARY_FOR_GPU:\n"
                   " * there is no such configuration, or no image for this device. */\n"
                   "static inline CUresult %s_load",
                   lower, export->upper, lower);
    hn_text_printf(text, load_body, lower, lower, lower, lower);
    hn_text_printf(text,
                   "static inline CUresult %s_unload(struct %s_kernel *kernel)\n{\n"
                   "    CUmodule module = kernel->module;\n    kernel->module = NULL;\n"
                   "    return module == NULL ? CUDA_SUCCESS : cuModuleUnload(module);\n}\n\n",
                   lower, lower);
}

enum hn_status hn_export_embedded(const struct hn_export *export,
                                  const struct hn_export_images *images, struct hn_text *text,
                                  struct hn_error *err)
{
    if (export->plan != NULL && export->plan->pipeline != NULL)
        return hn_fail(
            err, HN_ECONFIG,
            "the pipeline of '%s' spans host and device, which a header does not launch; "
            "export the header alone, source or cubin",
            export->kernel);
    append_use(export, images, text);
    enum hn_status status = hn_export_header(export, text, err);
    if (status != HN_OK)
        return status;
    hn_text_printf(text, "\n#ifndef %s_EMBEDDED_H\n#define %s_EMBEDDED_H\n\n", export->upper,
                   export->upper);
    append_images(export, images, text);
    status = append_table(export, images, text, err);
    append_functions(export, text);
    hn_text_printf(text, "#endif /* %s_EMBEDDED_H */\n", export->upper);
    return status == HN_OK && text->failed ? hn_fail_memory(err) : status;
}
