/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* The part of the header for programs that use the driver: it is there where cuda.h was included
 * before. */

/* The name of a step's functions: "hone_matmul_config_step2", or "hone_matmul_config". */
static void append_prefix(const struct hn_export *export, size_t step, struct hn_text *text)
{
    hn_text_printf(text, "%s_config", export->lower);
    if (export->plan->step_count > 1)
        hn_text_printf(text, "_step%zu", step + 1);
}

/* "hone_matmul_config_step2_grid(config, problem_M, …)" */
static void append_call(const struct hn_export *export, size_t step, const char *part,
                        struct hn_text *text)
{
    append_prefix(export, step, text);
    hn_text_printf(text, "_%s(config", part);
    hn_export_append_problem_arguments(export, ", ", text);
    hn_text_append(text, ")");
}

/* The C type of an argument that the caller gives. */
static void append_type(const struct hn_argument *argument, struct hn_text *text)
{
    char type[32];
    bool half = argument->element == HN_FLOAT16 || argument->element == HN_BFLOAT16;
    hn_type_format_c(argument->element, 1, type, sizeof type);
    if (argument->role == HN_ROLE_TEXTURE)
        hn_text_append(text, "CUtexObject ");
    else if (argument->count != NULL)
        hn_text_append(text, "CUdeviceptr ");
    else if (argument->value == NULL || argument->lanes > 1)
        hn_text_append(text, "const void *");
    else
        hn_text_printf(text, "%s ", half ? "uint16_t" : type);
}

static bool is_parameter(const struct hn_plan *plan, size_t argument)
{
    return hn_argument_is_passed(&plan->arguments[argument]) &&
           hn_export_is_taken(plan, argument) && hn_export_is_given(&plan->arguments[argument]);
}

static void append_parameters(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!is_parameter(plan, i))
            continue;
        hn_text_append(text, ", ");
        append_type(&plan->arguments[i], text);
        hn_text_printf(text, "argument_%s", plan->arguments[i].name);
    }
}

/* "    int32_t argument_M = hone_…_config_M_value(config, …);" of what follows from the problem. */
static void append_values(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char type[32];
        if (!hn_argument_is_passed(argument) || !hn_export_is_taken(plan, i) ||
            hn_export_is_given(argument))
            continue;
        hn_type_format_c(argument->element, 1, type, sizeof type);
        hn_text_printf(text, "    %s argument_%s = %s_config_%s_value(config", type, argument->name,
                       export->lower, argument->name);
        hn_export_append_problem_arguments(export, ", ", text);
        hn_text_append(text, ");\n");
    }
}

static void append_zeroing(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (argument->role != HN_ROLE_COUNTER || !hn_export_is_taken(plan, i))
            continue;
        hn_text_printf(text,
                       "    if (result == CUDA_SUCCESS && argument_%s != 0)\n"
                       "        result = cuMemsetD8Async(argument_%s, 0, %s_config_%s_size(config",
                       argument->name, argument->name, export->lower, argument->name);
        hn_export_append_problem_arguments(export, ", ", text);
        hn_text_append(text, "), stream);\n");
    }
}

/* The addresses of the step's arguments; contents passed by value are where the caller has them. */
static void append_addresses(const struct hn_export *export, const struct hn_step *step,
                             struct hn_text *text)
{
    hn_text_append(text, "        void *parameters[] = {");
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct hn_argument *argument = &export->plan->arguments[step->arguments[i]];
        bool by_value = argument->role != HN_ROLE_TEXTURE && argument->count == NULL &&
                        (argument->value == NULL || argument->lanes > 1);
        hn_text_printf(text, "%s%sargument_%s", i > 0 ? ", " : "",
                       by_value ? "(void *)(uintptr_t)" : "(void *)&", argument->name);
    }
    hn_text_append(text, step->argument_count > 0 ? "};\n" : "NULL};\n");
}

static void append_window(const struct hn_export *export, size_t step, struct hn_text *text)
{
    const struct hn_window_plan *window = &export->plan->steps[step].geometry.window;
    static const char *const members[] = {"hitRatio = (float)", "hitProp = (CUaccessProperty)",
                                          "missProp = (CUaccessProperty)"};
    static const char *const functions[] = {"window_hit_ratio", "window_hit", "window_miss"};
    if (window->parts[HN_WINDOW_BYTES] == NULL)
        return;
    hn_text_append(text, "        attribute->id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;\n"
                         "        attribute->value.accessPolicyWindow.num_bytes = ");
    append_call(export, step, "window_bytes", text);
    hn_text_printf(text,
                   ";\n        attribute->value.accessPolicyWindow.base_ptr = (void "
                   "*)(uintptr_t)argument_%s;\n",
                   export->plan->arguments[window->argument].name);
    for (size_t i = 0; i < 3; i++) {
        hn_text_printf(text, "        attribute->value.accessPolicyWindow.%s", members[i]);
        append_call(export, step, functions[i], text);
        hn_text_append(text, ";\n");
    }
    hn_text_append(text,
                   "        attribute += attribute->value.accessPolicyWindow.num_bytes > 0;\n");
}

static void append_attributes(const struct hn_export *export, size_t step, struct hn_text *text)
{
    const struct hn_geometry *geometry = &export->plan->steps[step].geometry;
    hn_text_append(text, "        CUlaunchAttribute attributes[3], *attribute = attributes;\n"
                         "        memset(attributes, 0, sizeof attributes);\n");
    if (geometry->cluster[0] != NULL) {
        hn_text_append(text, "        struct hone_dim3 cluster = ");
        append_call(export, step, "cluster", text);
        hn_text_append(text, ";\n        attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
                             "        attribute->value.clusterDim.x = cluster.x;\n"
                             "        attribute->value.clusterDim.y = cluster.y;\n"
                             "        attribute->value.clusterDim.z = cluster.z;\n"
                             "        attribute += cluster.x * cluster.y * cluster.z > 1;\n");
    }
    if (geometry->cooperative != NULL) {
        hn_text_append(text, "        attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;\n"
                             "        attribute->value.cooperative = ");
        append_call(export, step, "cooperative", text);
        hn_text_append(text, ";\n        attribute += attribute->value.cooperative != 0;\n");
    }
    append_window(export, step, text);
}

static void append_carveout(const struct hn_export *export, size_t step, struct hn_text *text)
{
    if (export->plan->steps[step].geometry.carveout == NULL)
        return;
    hn_text_append(text, "        if (result == CUDA_SUCCESS && runs)\n"
                         "            result = cuFuncSetAttribute(\n");
    hn_text_printf(text,
                   "                functions[%zu], "
                   "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,\n                ",
                   step);
    append_call(export, step, "carveout", text);
    hn_text_append(text, ");\n");
}

static void append_step(const struct hn_export *export, size_t step, struct hn_text *text)
{
    const struct hn_step *of = &export->plan->steps[step];
    hn_text_append(text, "    {\n        int runs = ");
    if (of->condition != NULL)
        append_call(export, step, "runs", text);
    else
        hn_text_append(text, "1");
    hn_text_append(text, ";\n        struct hone_dim3 grid = ");
    append_call(export, step, "grid", text);
    hn_text_append(text, ", block = ");
    append_call(export, step, "block", text);
    hn_text_append(text, ";\n        CUlaunchConfig launch;\n");
    append_addresses(export, of, text);
    append_attributes(export, step, text);
    hn_text_append(text, "        memset(&launch, 0, sizeof launch);\n"
                         "        launch.gridDimX = grid.x;\n        launch.gridDimY = grid.y;\n"
                         "        launch.gridDimZ = grid.z;\n        launch.blockDimX = block.x;\n"
                         "        launch.blockDimY = block.y;\n"
                         "        launch.blockDimZ = block.z;\n"
                         "        launch.sharedMemBytes = (unsigned int)");
    append_call(export, step, "shared_bytes", text);
    hn_text_append(text, ";\n        launch.hStream = stream;\n        launch.attrs = attributes;\n"
                         "        launch.numAttrs = (unsigned int)(attribute - attributes);\n");
    append_carveout(export, step, text);
    hn_text_printf(text,
                   "        if (result == CUDA_SUCCESS && runs)\n"
                   "            result = cuLaunchKernelEx(&launch, functions[%zu], parameters, "
                   "NULL);\n    }\n",
                   step);
}

static void append_launch(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(
        text,
        "/* Queues one launch of all steps of a configuration. What follows from the "
        "problem is not given;\n"
        " * counters are zeroed before; symbols and the set-aside of the L2 cache are the "
        "caller's to set.\n"
        " * hone_…_size says how large buffers have to be. */\n"
        "static inline CUresult %s_launch(const CUfunction functions[%s_STEP_COUNT], "
        "int config,\n    CUstream stream",
        export->lower, export->upper);
    hn_export_append_problem_parameters(export, ", ", text);
    append_parameters(export, text);
    hn_text_append(text, ")\n{\n    CUresult result = CUDA_SUCCESS;\n");
    append_values(export, text);
    append_zeroing(export, text);
    for (size_t i = 0; i < export->plan->step_count; i++)
        append_step(export, i, text);
    hn_text_append(text, "    return result;\n}\n\n");
}

static bool has_clusters(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].geometry.cluster[0] != NULL)
            return true;
    return false;
}

static bool has_dynamic(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].geometry.shared_bytes != NULL)
            return true;
    return false;
}

static const char dynamic_declarations[] =
    "    CUdevice device = 0;\n"
    "    int most = 0, fixed = 0;\n"
    "    CUresult result = cuCtxGetDevice(&device);\n"
    "    if (result == CUDA_SUCCESS)\n"
    "        result = cuDeviceGetAttribute(&most, "
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);\n";

static const char dynamic_statements[] =
    "        if (result == CUDA_SUCCESS && dynamic[i])\n"
    "            result = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, "
    "functions[i]);\n"
    "        if (result == CUDA_SUCCESS && dynamic[i])\n"
    "            result = cuFuncSetAttribute(functions[i], "
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - fixed);\n";

static void append_dynamic(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_plan *plan = export->plan;
    if (!has_dynamic(plan)) {
        hn_text_append(text, "    CUresult result = CUDA_SUCCESS;\n");
        return;
    }
    hn_text_printf(text, "    static const int dynamic[%s_STEP_COUNT] = {", export->upper);
    for (size_t i = 0; i < plan->step_count; i++)
        hn_text_printf(text, "%s%d", i > 0 ? ", " : "",
                       plan->steps[i].geometry.shared_bytes != NULL);
    hn_text_append(text, "}; /* takes dynamic shared memory */\n");
    hn_text_append(text, dynamic_declarations);
}

static void append_prepare(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(text,
                   "/* The functions of a module by the names of the steps' kernels (NULL: the "
                   "configuration has no such\n"
                   " * step), allowed as much dynamic shared memory as there is. */\n"
                   "static inline CUresult %s_functions(CUmodule module, const char *const "
                   "*entries,\n    CUfunction *functions)\n{\n",
                   export->lower);
    append_dynamic(export, text);
    hn_text_printf(text,
                   "    for (int i = 0; i < %s_STEP_COUNT && result == CUDA_SUCCESS; i++) {\n"
                   "        functions[i] = NULL;\n"
                   "        if (entries[i] == NULL)\n            continue;\n"
                   "        result = cuModuleGetFunction(&functions[i], module, entries[i]);\n",
                   export->upper);
    if (has_dynamic(export->plan))
        hn_text_append(text, dynamic_statements);
    if (has_clusters(export->plan))
        hn_text_append(text,
                       "        if (result == CUDA_SUCCESS) /* more than 8 blocks; refused where "
                       "there are no clusters */\n"
                       "            (void)cuFuncSetAttribute(functions[i], "
                       "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);\n");
    hn_text_append(text, "    }\n    return result;\n}\n\n");
}

enum hn_status hn_export_append_launch(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err)
{
    hn_text_append(text, "#ifdef CUDA_VERSION /* cuda.h was included before */\n\n"
                         "#include <stdio.h>\n\n");
    hn_text_printf(text, "#define %s_STEP_COUNT %zu\n\n", export->upper, export->plan->step_count);
    enum hn_status status = hn_export_append_prelude(export, text, err);
    if (status != HN_OK)
        return status;
    append_prepare(export, text);
    append_launch(export, text);
    hn_text_append(text, "#endif /* CUDA_VERSION */\n\n");
    return text->failed ? hn_fail_memory(err) : HN_OK;
}
