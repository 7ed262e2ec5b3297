/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/run.h"
#include "cache/record/record.h"
#include "runtime/compile/compile.h"
#include "runtime/plan/launch.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/session/task.h"

/* The request, the same for each problem. */
struct arguments {
    enum mode { SUMMARY, COUNT, LIST, SAMPLE } mode;
    uint64_t points; /* to list or sample */
    uint64_t seed;
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

typedef void visit_point(const struct hn_bindings *point, void *context, struct hn_error *err);

static void visit_points(const struct view *view, const struct arguments *arguments,
                         visit_point *visitor, void *context, struct hn_error *err)
{
    const struct hn_space *space = view->task.space;
    struct hn_random random = hn_random_seeded(arguments->seed);
    struct hn_permutation order;
    uint64_t size = hn_space_size(space);
    uint64_t wanted = arguments->points < size ? arguments->points : size;
    bool samples = arguments->mode == SAMPLE;
    char count[HN_SPACE_COUNT_TEXT];
    if (!hn_failed(err) && !samples && !hn_space_enumerated(space))
        hn_fail(err, HN_ECONFIG,
                "%s points are valid, too many to be listed: restrict parameters with -s, or draw "
                "some with --sample N",
                hn_space_count_text(space, count));
    if (hn_failed(err))
        return;
    hn_permutation_init(&order, size, arguments->seed);
    uint16_t choice[hn_space_parameter_count(space) + 1];
    for (uint64_t i = 0; i < wanted && !hn_failed(err); i++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        if (hn_space_enumerated(space))
            hn_space_point(space, samples ? hn_permutation_at(&order, i) : i, choice);
        else
            hn_space_sample(space, &random, choice);
        hn_space_bindings(space, choice, &point);
        visitor(&point, context, err);
    }
}

/* Into an array, or where there is none printed at once: there may be more than memory holds. */
static void tell_point(const struct hn_bindings *point, void *array, struct hn_error *err)
{
    char *text HN_FREED = hn_needed(hn_bindings_text(point));
    (void)err;
    if (array != NULL)
        json_array_append_new(array, hn_needed(hn_bindings_to_json(point)));
    else
        printf("%s\n", text);
}

static void try_launch(const struct hn_bindings *point, void *context, struct hn_error *err)
{
    struct view *view = context;
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_launch_make_checked(view->task.plan, &view->device, view->task.problem, point, &launch,
                           &record, err);
    view->tried++;
    if (record.outcome != HN_OUTCOME_OK && view->refused++ == 0) {
        struct hn_text text = {0};
        hn_bindings_append(&text, point);
        hn_text_printf(&text, ": %s", record.message != NULL ? record.message : "no message");
        view->example = hn_text_take(&text);
    }
}

/* The default point has a source, and its kernels take what the config passes if compiled here. */
static void check_signature(struct view *view, struct hn_error *err)
{
    struct hn_nvrtc nvrtc;
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {.template = NULL};
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_error ignored;
    if (hn_failed(err))
        return;
    if (hn_task_source(&view->task, &view->task.start, &source, err) == HN_OK &&
        hn_nvrtc_open(&nvrtc, &ignored) == HN_OK) {
        if (hn_compile(&nvrtc, &source, architecture, &image, &ignored) == HN_OK &&
            image.outcome == HN_OUTCOME_OK)
            hn_task_check_default(&view->task, &view->task.start, &image, err);
        hn_nvrtc_close(&nvrtc);
    }
    hn_bindings_finish(&view->task.start);
}

static void check_points(struct view *view, struct hn_error *err)
{
    bool all =
        hn_space_enumerated(view->task.space) && hn_space_size(view->task.space) <= TRIED_MOST;
    const struct arguments drawn = {.mode = all ? LIST : SAMPLE, .points = TRIED_MOST, .seed = 1};
    hn_device_for_architecture(architecture, &view->device, err);
    visit_points(view, &drawn, try_launch, view, err);
    if (!hn_failed(err) && all && view->refused == view->tried)
        hn_fail(err, HN_ENOTFOUND, "no valid point can be launched, as %s", view->example);
    if (view->problem == 0)
        check_signature(view, err);
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

static json_t *parameters_to_json(const struct hn_config *config)
{
    json_t *parameters = json_array();
    HN_EACH_OF(parameter, config->parameters, config->parameter_count) {
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

/* Into the array of --json, or NULL: printed. The parameters stand before the first problem. */
static void tell_view(const struct view *view, const struct arguments *arguments, json_t *problems,
                      struct hn_error *err)
{
    const struct hn_config *config = view->config;
    const bool several = config->problem_count > 1;
    const bool lists = arguments->mode == LIST || arguments->mode == SAMPLE;
    char text[HN_SPACE_COUNT_TEXT];
    json_auto_t *json = view_to_json(view);
    json_auto_t *points = problems != NULL ? json_array() : NULL;
    if (problems == NULL && !lists) {
        json_object_update_new(
            json, json_pack("{ss ss sb sb sb si so}", "valid_text",
                            hn_space_count_text(view->task.space, text), "kernel",
                            config->plan->kernel, "several", several, "first", view->problem == 0,
                            "infinite", isfinite(hn_space_cartesian(view->task.space)) == 0,
                            "constraints", (int)config->constraint_count, "parameters",
                            view->problem == 0 ? parameters_to_json(config) : json_null()));
        hn_render(json, arguments->mode == COUNT ? count_views : summary_views, stdout);
    } else if (problems == NULL && several) {
        char *problem HN_FREED = hn_needed(hn_bindings_text(&config->problems[view->problem]));
        printf("# %s\n", problem);
    }
    if (lists)
        visit_points(view, arguments, tell_point, points, err);
    if (lists && points != NULL)
        json_object_set(json, "points", points);
    if (problems != NULL)
        json_array_append(problems, json);
}

static void show_problem(const struct hn_given *given, size_t problem,
                         const struct arguments *arguments, json_t *problems, struct hn_error *err)
{
    const struct hn_config *config = given->config;
    struct view view = {.config = config, .problem = problem};
    bool has_kernel = config->plan->template_path != NULL;
    /* Some take a second. */
    bool shows = !given->options->quiet && isatty(STDERR_FILENO);
    double start = hn_now_ms();
    if (shows)
        dprintf(STDERR_FILENO, "\rfinding the valid points of problem %zu of %zu", problem + 1,
                config->problem_count);
    if (has_kernel)
        hn_task_make(config, problem, HN_COLD, HN_TASK_COMPILES, &view.task, err);
    else
        hn_config_space(config, problem, false, &view.task.space, err);
    if (shows)
        dprintf(STDERR_FILENO, "\r\033[K");
    if (hn_failed(err))
        return;
    view.build_ms = hn_now_ms() - start;
    if (has_kernel && arguments->mode == SUMMARY)
        check_points(&view, err);
    if (!hn_failed(err))
        tell_view(&view, arguments, given->options->json ? problems : NULL, err);
    hn_task_finish(&view.task);
    free(view.example);
    fflush(stdout);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    const struct hn_config *config = given->config;
    const bool lists = hn_options_given(options, "list");
    const struct arguments arguments = {
        .mode = options->count                        ? COUNT
                : lists                               ? LIST
                : hn_options_given(options, "sample") ? SAMPLE
                                                      : SUMMARY,
        .points = lists ? options->list : options->sample,
        .seed = options->search.seed,
    };
    json_t *problems = json_array();
    json_t *root =
        hn_needed(json_pack("{ss ss so so}", "config", config->path, "kernel", config->plan->kernel,
                            "parameters", parameters_to_json(config), "problems", problems));
    hn_config_check_sources(config, err);
    for (size_t i = 0; i < config->problem_count && !hn_failed(err); i++)
        show_problem(given, i, &arguments, problems, err);
    hn_show_alone(given, root, NULL, err);
}

const struct hn_command hn_command_space = {
    .name = "space",
    .of = HN_SPACE,
    .arguments = "CONFIG",
    .summary = "count, list or sample the valid points; needs no GPU",
    .details =
        "Without an option: the parameters and the size of the space of each problem. A config "
        "with nothing but kernel, parameters and constraints is enough; where it names a "
        "template, that, its includes, the entries and data files have to be there.",
    .examples = "hone space scale.yaml --sample 5",
    HN_ONE_ARGUMENT("no CONFIG given", "found '%s' after '%s', expected one CONFIG"),
    .config = HN_CONFIG,
    .run = run,
};
