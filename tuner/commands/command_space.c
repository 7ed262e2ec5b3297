/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record_json.h"
#include "runtime/compile/compile.h"
#include "runtime/plan/launch.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/report/render.h"
#include "tuner/session/task.h"

enum mode { SUMMARY, COUNT, LIST, SAMPLE };

/* What is asked for. */
struct arguments {
    enum mode mode;
    uint64_t points; /* to list or sample */
    uint64_t seed;
    bool quiet;
};

/* One problem's space, built. */
struct view {
    const struct hn_config *config;
    size_t problem;
    struct hn_task task; /* without a template only its space, plan and problem */
    double build_ms;
    struct hn_device device;
    uint64_t tried; /* points whose launches were looked at: all, or some that were drawn */
    uint64_t refused;
    char *example; /* the first of those, and why */
};

enum { TRIED_MOST = 20000 };
/* Whose limits are the widest. */
static const char architecture[] = "sm_90";

typedef enum hn_status visit_point(const struct hn_bindings *point, void *context,
                                   struct hn_error *err);

static enum hn_status visit(const struct view *view, const uint16_t *choice, visit_point *visitor,
                            void *context, struct hn_error *err)
{
    struct hn_bindings point;
    hn_space_bindings(view->task.space, choice, &point);
    enum hn_status status = visitor(&point, context, err);
    hn_bindings_finish(&point);
    return status;
}

static enum hn_status fail_list(const struct hn_space *space, struct hn_error *err)
{
    char count[HN_SPACE_COUNT_TEXT];
    return hn_fail(err, HN_ECONFIG,
                   "%s points are valid, too many to be listed: restrict parameters with -s, or "
                   "draw some with --sample N",
                   hn_space_count_text(space, count));
}

static enum hn_status visit_points(const struct view *view, const struct arguments *arguments,
                                   visit_point *visitor, void *context, struct hn_error *err)
{
    const struct hn_space *space = view->task.space;
    struct hn_random random = hn_random_seeded(arguments->seed);
    struct hn_permutation order;
    uint64_t size = hn_space_size(space);
    uint64_t wanted = arguments->points < size ? arguments->points : size;
    bool samples = arguments->mode == SAMPLE;
    if (!samples && !hn_space_enumerated(space))
        return fail_list(space, err);
    hn_permutation_init(&order, size, arguments->seed);
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    enum hn_status status = HN_OK;
    for (uint64_t i = 0; i < wanted && status == HN_OK; i++) {
        if (hn_space_enumerated(space))
            hn_space_point(space, samples ? hn_permutation_at(&order, i) : i, choice);
        else
            hn_space_sample(space, &random, choice);
        status = visit(view, choice, visitor, context, err);
    }
    free(choice);
    return status;
}

static enum hn_status print_point(const struct hn_bindings *point, void *context,
                                  struct hn_error *err)
{
    struct hn_text text = {0};
    (void)err;
    hn_bindings_append(&text, point);
    fprintf(context, "%s\n", text.data == NULL ? "" : text.data);
    hn_text_finish(&text);
    return HN_OK;
}

static enum hn_status try_launch(const struct hn_bindings *point, void *context,
                                 struct hn_error *err)
{
    struct view *view = context;
    struct hn_launch launch;
    struct hn_record record;
    hn_record_init(&record);
    enum hn_status status = hn_launch_make_checked(
        view->task.plan, &view->device, view->task.problem, point, &launch, &record, err);
    view->tried++;
    if (record.outcome != HN_OUTCOME_OK && view->refused++ == 0) {
        struct hn_text text;
        hn_text_init(&text);
        hn_bindings_append(&text, point);
        hn_text_printf(&text, ": %s", record.message != NULL ? record.message : "no message");
        view->example = hn_text_take(&text);
    }
    hn_launch_finish(&launch);
    hn_record_finish(&record);
    return status;
}

/* That the default point's kernels take what the config passes, where they can be compiled here. */
static enum hn_status check_signature(struct view *view, struct hn_error *err)
{
    struct hn_nvrtc nvrtc;
    struct hn_source source = {.template = NULL};
    struct hn_image image;
    struct hn_bindings point;
    struct hn_error ignored;
    hn_image_init(&image);
    hn_config_default_point(view->config, view->task.space, &point);
    enum hn_status status = HN_OK;
    bool opened = hn_nvrtc_open(&nvrtc, &ignored) == HN_OK;
    if (opened && hn_task_source(&view->task, &point, &source, &ignored) == HN_OK &&
        hn_compile_source(&nvrtc, &source, architecture, &image, &ignored) == HN_OK &&
        image.outcome == HN_OUTCOME_OK)
        status = hn_task_check_default(&view->task, &point, &image, err);
    if (opened)
        hn_nvrtc_close(&nvrtc);
    hn_source_finish(&source);
    hn_image_finish(&image);
    hn_bindings_finish(&point);
    return status;
}

static enum hn_status check_points(struct view *view, struct hn_error *err)
{
    bool all =
        hn_space_enumerated(view->task.space) && hn_space_size(view->task.space) <= TRIED_MOST;
    const struct arguments drawn = {.mode = all ? LIST : SAMPLE, .points = TRIED_MOST, .seed = 1};
    enum hn_status status = hn_device_for_architecture(architecture, &view->device, err);
    if (status == HN_OK)
        status = visit_points(view, &drawn, try_launch, view, err);
    return status == HN_OK && view->problem == 0 ? check_signature(view, err) : status;
}

static const struct hn_column columns[] = {{"parameter", "{name}"},
                                           {">count", "{values+0:.0f}"},
                                           {"~values", "{values:few}"},
                                           {NULL, NULL}};
static const struct hn_view summary_views[] = {
    {.line = "{kernel}: {parameters+0:.0f} parameter{parameters:s}, {constraints} "
             "constraint{constraints:s}{?first}"},
    {.at = "parameters", .columns = columns, .indent = 2},
    {.line = "[{problem}: ]{valid_text} valid point{valid:s} of "
             "[{?infinite}more than 1e+308|{?cartesian<1e15}{cartesian:.0f}|{cartesian:.4g}]"
             "[{?!infinite} ({valid*100/cartesian:.3g}%)], "
             "[{?numbered}built|too many to be numbered; counted] in {build_ms:.1f} ms"},
    {.line = "no launch: {launches.refused} of {launches.tried} points"
             "[{?launches.tried<valid} that were drawn], as {launches.example}{?launches.refused}"},
    {NULL},
};
static const struct hn_view count_views[] = {
    {.line = "{valid_text}[{?several}\t{problem}]"},
    {NULL},
};

static enum hn_status add_point(const struct hn_bindings *point, void *context,
                                struct hn_error *err)
{
    (void)err;
    json_array_append_new(context, hn_needed(hn_bindings_to_json(point)));
    return HN_OK;
}

static json_t *parameters_to_json(const struct hn_config *config)
{
    json_t *parameters = json_array();
    for (size_t i = 0; i < config->parameter_count; i++) {
        const struct hn_config_parameter *parameter = &config->parameters[i];
        json_t *values = json_array();
        for (size_t v = 0; v < parameter->count; v++)
            json_array_append_new(values, hn_value_to_json(&parameter->values[v]));
        json_array_append_new(parameters,
                              json_pack("{s:s, s:o}", "name", parameter->name, "values", values));
    }
    return parameters;
}

/* Beyond 2^53 doubles are no counts any more. */
static json_t *count_to_json(double count)
{
    return count < 0x1p53 ? json_integer((json_int_t)count) : json_real(fmin(count, DBL_MAX));
}

static json_t *view_to_json(const struct view *view)
{
    const struct hn_space *space = view->task.space;
    bool exact;
    double valid = hn_space_valid(space, &exact);
    json_t *json = json_pack("{so so sb sb so sf}", "problem",
                             hn_bindings_to_json(&view->config->problems[view->problem]), "valid",
                             count_to_json(valid), "numbered", hn_space_enumerated(space),
                             "estimated", !exact, "cartesian",
                             count_to_json(hn_space_cartesian(space)), "build_ms", view->build_ms);
    if (view->tried > 0)
        json_object_set_new(hn_needed(json), "launches",
                            json_pack("{sI sI ss*}", "tried", (json_int_t)view->tried, "refused",
                                      (json_int_t)view->refused, "example", view->example));
    return hn_needed(json);
}

/* Points are printed as they come: there may be more than memory holds. The parameters stand in
 * front of the first problem. */
static enum hn_status print_view(const struct view *view, const struct arguments *arguments,
                                 struct hn_error *err)
{
    const struct hn_config *config = view->config;
    const bool several = config->problem_count > 1;
    char text[HN_SPACE_COUNT_TEXT];
    if (arguments->mode == LIST || arguments->mode == SAMPLE) {
        char *problem = hn_needed(hn_bindings_text(&config->problems[view->problem]));
        if (several)
            printf("# %s\n", problem);
        free(problem);
        return visit_points(view, arguments, print_point, stdout, err);
    }
    json_t *json = view_to_json(view);
    json_object_update_new(
        json, json_pack("{ss ss sb sb sb si so}", "valid_text",
                        hn_space_count_text(view->task.space, text), "kernel", config->plan->kernel,
                        "several", several, "first", view->problem == 0, "infinite",
                        isfinite(hn_space_cartesian(view->task.space)) == 0, "constraints",
                        (int)config->constraint_count, "parameters",
                        view->problem == 0 ? parameters_to_json(config) : json_null()));
    hn_render(json, arguments->mode == COUNT ? count_views : summary_views, stdout);
    json_decref(json);
    return HN_OK;
}

static enum hn_status add_view(const struct view *view, const struct arguments *arguments,
                               json_t *problems, struct hn_error *err)
{
    json_t *object = view_to_json(view);
    json_array_append_new(problems, object);
    if (arguments->mode != LIST && arguments->mode != SAMPLE)
        return HN_OK;
    json_t *points = json_array();
    json_object_set_new(object, "points", points);
    return visit_points(view, arguments, add_point, points, err);
}

/* Which problem is counted; of none the line goes. Some take a second. */
static void show_progress(const struct arguments *arguments, size_t problem, size_t count)
{
    if (arguments->quiet || !isatty(STDERR_FILENO))
        return;
    if (count == 0)
        dprintf(STDERR_FILENO, "\r\033[K");
    else
        dprintf(STDERR_FILENO, "\rfinding the valid points of problem %zu of %zu", problem + 1,
                count);
}

static enum hn_status show_problems(const struct hn_config *config,
                                    const struct arguments *arguments, json_t *problems,
                                    struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < config->problem_count && status == HN_OK; i++) {
        struct view view = {.config = config, .problem = i};
        bool has_kernel = config->plan->template_path != NULL;
        double start = hn_now_ms();
        show_progress(arguments, i, config->problem_count);
        status = has_kernel ? hn_task_make_sources(config, i, &view.task, err)
                            : hn_config_space(config, i, &view.task.space, err);
        show_progress(arguments, 0, 0);
        if (status != HN_OK)
            break;
        view.build_ms = hn_now_ms() - start;
        if (has_kernel && arguments->mode == SUMMARY)
            status = check_points(&view, err);
        if (status == HN_OK)
            status = problems != NULL ? add_view(&view, arguments, problems, err)
                                      : print_view(&view, arguments, err);
        hn_task_finish(&view.task);
        free(view.example);
        fflush(stdout);
    }
    return status;
}

static enum hn_status show_json(const struct hn_config *config, const struct arguments *arguments,
                                struct hn_error *err)
{
    json_t *problems = json_array();
    json_t *root =
        json_pack("{s:s, s:s, s:o, s:o}", "config", config->path, "kernel", config->plan->kernel,
                  "parameters", parameters_to_json(config), "problems", problems);
    hn_needed(root);
    enum hn_status status = show_problems(config, arguments, problems, err);
    if (status == HN_OK)
        status = hn_output_json(root, err);
    json_decref(root);
    return status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct hn_config *config = NULL;
    const bool lists = hn_options_given(options, "list");
    const bool samples = hn_options_given(options, "sample");
    const struct arguments arguments = {
        .mode = options->count ? COUNT
                : lists        ? LIST
                : samples      ? SAMPLE
                               : SUMMARY,
        .points = lists ? options->list : options->sample,
        .seed = options->seed,
        .quiet = options->quiet,
    };
    enum hn_status status = hn_options_config(options, options->arguments.items[0], &config, err);
    if (status == HN_OK)
        status = hn_config_check_sources(config, err);
    if (status == HN_OK)
        status = options->json ? show_json(config, &arguments, err)
                               : show_problems(config, &arguments, NULL, err);
    hn_config_destroy(config);
    return status;
}

const struct hn_command hn_command_space = {
    .name = "space",
    .of = HN_SPACE,
    .arguments = "CONFIG",
    .summary = "count, list or sample the valid points; needs no GPU",
    .help = "Counts, lists or samples the valid points of a config; needs no GPU.",
    .details =
        "Without an option: the parameters and the size of the space of each problem. A config "
        "with nothing but kernel, parameters and constraints is enough; where it names a "
        "template, that, its includes, the entries and data files have to be there.",
    .examples = "hone space scale.yaml --sample 5",
    .least = 1,
    .most = 1,
    .missing = "no CONFIG given",
    .extra = "found '%s' after '%s', expected one CONFIG",
    .run = run,
};
