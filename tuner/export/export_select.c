/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/export/export.h"

/* How far two problem values are apart: 1 for equal ones, else the ratio of 1 + |value|; the
 * product over a problem is the sum of distances in log space, without libm. */
static const char ratio_body[] = "(double a, double b)\n"
                                 "{\n"
                                 "    a = 1 + (a < 0 ? -a : a);\n"
                                 "    b = 1 + (b < 0 ? -b : b);\n"
                                 "    return a > b ? a / b : b / a;\n"
                                 "}\n\n";

/* A word or frozen value is part of the compiled code: it agrees or it does not. */
static bool must_agree(const struct hn_export *export, size_t problem)
{
    const char *name = export->plan->problem[problem];
    return hn_plan_is_frozen(export->plan, name,
                             hn_bindings_get(&export->configs[0]->identity.problem, name));
}

/* The rows of HONE_…_CONFIGS without the parameters, as a table. */
static void append_table(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(
        text,
        "static const struct %s_tuned {\n    const char *device;\n    int capability, sm_count;\n",
        export->lower);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "    %s problem_%s;\n",
                       hn_export_problem_is_real(export, export->plan->problem[i]) ? "double"
                                                                                   : "int64_t",
                       export->plan->problem[i]);
    hn_text_printf(text, "} %s_configs[] = {\n#define %s_ROW(config", export->lower, export->upper);
    for (size_t i = 0; i < export->plan->parameter_count; i++)
        hn_text_printf(text, ", p%zu", i);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, ", v%zu", i);
    hn_text_append(text, ", device, capability, sms, time) {device, capability, sms");
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, ", v%zu", i);
    hn_text_printf(text, "},\n    %s_CONFIGS(%s_ROW)\n#undef %s_ROW\n};\n\n", export->upper,
                   export->upper, export->upper);
}

static void append_loop(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(text,
                   "    int best = 0, best_grade = 0;\n"
                   "    double best_distance = 0;\n"
                   "    for (int i = 0; i < %s_CONFIG_COUNT; i++) {\n"
                   "        const struct %s_tuned *config = &%s_configs[i];\n"
                   "        int near_device = config->capability == compute_capability;\n"
                   "        int same_device = near_device && (sm_count == 0 || config->sm_count == "
                   "sm_count) &&\n"
                   "                          (device_name == 0 || strcmp(config->device, "
                   "device_name) == 0);\n"
                   "        int grade = 1 + near_device + same_device;\n"
                   "        double distance = 1;\n",
                   export->upper, export->lower, export->lower);
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if (must_agree(export, i))
            hn_text_printf(text, "        grade += config->problem_%s == problem_%s ? 3 : 0;\n",
                           name, name);
        hn_text_printf(
            text, "        distance *= %s_ratio((double)config->problem_%s, (double)problem_%s);\n",
            export->lower, name, name);
    }
    hn_text_append(
        text,
        "        if (grade > best_grade || (grade == best_grade && distance < best_distance)) {\n"
        "            best = i;\n"
        "            best_grade = grade;\n"
        "            best_distance = distance;\n"
        "        }\n"
        "    }\n"
        "    return best;\n}\n\n");
}

static void append_fits(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(text,
                   "/* Whether code compiled for that configuration computes this problem: it was "
                   "compiled for fixed\n"
                   " * values of some of it. */\n"
                   "static inline int %s_fits(int config",
                   export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_append(text, ")\n{\n");
    hn_text_printf(text, "    int fits = config >= 0 && config < %s_CONFIG_COUNT;\n",
                   export->upper);
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if (must_agree(export, i))
            hn_text_printf(text,
                           "    fits = fits && %s_configs[config].problem_%s == problem_%s;\n",
                           export->lower, name, name);
        else
            hn_text_printf(text, "    (void)problem_%s;\n", name);
    }
    hn_text_append(text, "    return fits;\n}\n\n");
}

void hn_export_append_select(const struct hn_export *export, struct hn_text *text)
{
    append_table(export, text);
    hn_text_printf(text, "static inline double %s_ratio%s", export->lower, ratio_body);
    hn_text_printf(
        text,
        "/* The configuration (0 to %s_CONFIG_COUNT - 1) to use on a device: of the same device, "
        "else of\n"
        " * the same compute capability (90 for 9.0), else of any, the one tuned for the nearest "
        "problem in\n"
        " * log space. Values that the code is compiled for agree before all else. device_name may "
        "be NULL\n"
        " * and sm_count 0 where they are not known. */\n"
        "static inline int %s_select(const char *device_name, int compute_capability, int sm_count",
        export->upper, export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_append(text, ")\n{\n");
    append_loop(export, text);
    append_fits(export, text);
}
