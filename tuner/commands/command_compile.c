/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/run.h"
#include "cache/record/record.h"
#include "tuner/commands/command.h"
#include "tuner/session/task.h"
#include "tuner/workers/workers.h"

/* One problem's points after those of another; point i has number i in the queue. */
struct compile {
    struct hn_given *given;
    struct hn_device device;
    char architecture[HN_ARCHITECTURE_SIZE];
    struct hn_compile_pool *pool;
    uint64_t good, done;
    struct hn_task task;
    struct variant {
        struct hn_bindings point;
        struct hn_image image;
    } * variants;
    uint64_t count, submitted, finished;
};

/* --arch, else the architecture of the GPU that is there, as messages and results call it: with the
 * suffix that the config asks for. */
static void find_device(struct compile *compile, struct hn_error *err)
{
    const char *wanted = compile->given->options->architecture;
    char given[HN_ARCHITECTURE_SIZE];
    if (wanted != NULL)
        hn_device_for_architecture(wanted, &compile->device, err);
    else if (hn_find_gpu(NULL, &compile->device, err) != HN_OK)
        hn_fail(err, HN_EUSAGE,
                "there is no GPU to compile for; name an architecture, as in --arch sm_90");
    if (hn_failed(err))
        return;
    snprintf(given, sizeof given, "%d", compile->device.identity.capability);
    hn_architecture_name(wanted != NULL ? wanted : given,
                         compile->given->config->plan->arch_specific, compile->architecture);
}

static void choose_points(struct compile *compile, struct hn_error *err)
{
    const struct hn_space *space = compile->task.space;
    const struct hn_options *options = compile->given->options;
    char count[HN_SPACE_COUNT_TEXT];
    if (options->all && !hn_space_enumerated(space))
        hn_fail(err, HN_ECONFIG,
                "%s points are valid, too many to compile --all: restrict parameters with -s",
                hn_space_count_text(space, count));
    if (hn_failed(err))
        return;
    compile->count = options->all ? hn_space_size(space) : 1;
    compile->variants = hn_need(compile->count, sizeof *compile->variants);
    uint16_t choice[hn_space_parameter_count(space) + 1];
    for (uint64_t i = 0; !hn_failed(err) && i < compile->count; i++) {
        compile->variants[i].image = HN_NO_IMAGE;
        if (options->all) {
            hn_space_point(space, i, choice);
            hn_space_bindings(space, choice, &compile->variants[i].point);
        } else {
            hn_single_point(options, &compile->task, &compile->variants[i].point, err);
        }
    }
}

static void submit_some(struct compile *compile, struct hn_error *err)
{
    struct hn_compile_pool *pool = compile->pool;
    size_t limit = (size_t)hn_compile_pool_load(pool, NULL).jobs * 2;
    while (!hn_failed(err) && compile->submitted < compile->count && pool->pending < limit) {
        struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
        uint64_t i = compile->submitted++;
        if (hn_task_source(&compile->task, &compile->variants[i].point, &source, err) == HN_OK) {
            hn_compile_pool_submit(pool, i, &source, compile->architecture, err);
        } else if (err->status == HN_EVALUE) {
            compile->variants[i].image.outcome = HN_OUTCOME_INVALID_LAUNCH;
            compile->variants[i].image.message = hn_need_copy(err->message);
            compile->finished++;
            hn_error_init(err);
        }
    }
}

/* Off a terminal a line so often, as of a tune. */
enum { LOG_MS = 5000 };

static void compile_points(struct compile *compile, struct hn_error *err)
{
    const bool in_place = isatty(STDERR_FILENO), shows = !compile->given->options->quiet;
    double started_ms = hn_now_ms(), shown_ms = started_ms;
    while (!hn_failed(err) && compile->finished < compile->count) {
        uint64_t i;
        struct hn_image image;
        char key[33];
        submit_some(compile, err);
        if (!hn_compile_pool_wait(compile->pool, NULL, &i, &image, err))
            continue;
        compile->finished++;
        hn_task_complete_image(&compile->task, &compile->device, &compile->variants[i].point,
                               &image, key, err);
        compile->good += !hn_failed(err) && image.outcome == HN_OUTCOME_OK;
        /* Only what it says of the point is wanted: thousands of cubins would fill the memory. */
        free(image.cubin);
        image.cubin = NULL;
        compile->variants[i].image = image;
        if (!shows || (!in_place && hn_now_ms() < shown_ms + LOG_MS))
            continue;
        shown_ms = hn_now_ms();
        dprintf(STDERR_FILENO, "%s%llu/%llu compiled, %.1f/s%s", in_place ? "\r\033[K" : "",
                (unsigned long long)compile->finished, (unsigned long long)compile->count,
                (double)compile->finished * 1e3 / (shown_ms - started_ms + 1),
                in_place ? "" : "\n");
    }
    if (shows && in_place)
        dprintf(STDERR_FILENO, "\r\033[K");
}

static const struct hn_column columns[] = {
    {">#", "{#}"},
    {">regs", "[{resources.registers}|-]"},
    {">shared B", "[{resources.shared_bytes+resources.dynamic_shared_bytes:.0f}|-]"},
    {">spills B", "[{resources.spill_store_bytes}+{resources.spill_load_bytes}|-]"},
    {">stack B", "[{resources.stack_bytes}|-]"},
    {">occup.", "[{resources.occupancy:percent}|-]"},
    {">compile ms", "{compile_ms:.0f}"},
    {"?warnings", "{resources.warnings}"},
    {"outcome", "{outcome}"},
    {"=*", "[{point.*}|-]"},
    {NULL, NULL},
};
static const struct hn_view views[] = {
    {.line = "{kernel} [{problem}] for {architecture}"},
    {.at = "points", .columns = columns, .indent = 2},
    {.line = "  {points+0:.0f} point{points:s}: {outcomes:counts}{?all}"},
    {.line = "  {outcomes:meanings}; see docs/outcomes.md", .wraps = true},
    {.line = "  first failure: {failure}"},
    {.at = "points", .line = "\nlog of {#}, [{point}]:[\n{log}| empty]{?/logs}"},
    {NULL},
};

/* Resources are as records have them, and with the dynamic part of shared memory always. */
static json_t *point_to_json(const struct compile *compile, uint64_t i)
{
    const struct hn_image *image = &compile->variants[i].image;
    json_t *row =
        json_pack("{ss so so ss ss so* sf}", "kernel", compile->task.plan->kernel, "problem",
                  hn_bindings_to_json(compile->task.problem), "point",
                  hn_bindings_to_json(&compile->variants[i].point), "architecture",
                  compile->architecture, "outcome", hn_outcome_names[image->outcome], "message",
                  image->message != NULL ? hn_string_to_json(image->message) : NULL, "compile_ms",
                  image->compile_ms);
    if (image->resources.known) {
        json_t *resources = hn_fields_to_json(&hn_resources_structure, &image->resources);
        json_object_set_new(resources, "dynamic_shared_bytes",
                            json_integer(image->resources.dynamic_shared_bytes));
        json_object_set_new(row, "resources", resources);
    }
    if (compile->given->options->log && image->log != NULL)
        json_object_set_new(row, "log", hn_string_to_json(image->log));
    return hn_needed(row);
}

/* --json has the points of all problems in one list. */
static void report(const struct compile *compile)
{
    const struct hn_options *options = compile->given->options;
    const struct hn_plan *plan = compile->task.plan;
    json_t *points = json_array(), *failure = NULL;
    uint64_t counts[HN_OUTCOME_COUNT] = {0};
    for (uint64_t i = 0; i < compile->count; i++) {
        json_t *point = point_to_json(compile, i);
        counts[compile->variants[i].image.outcome]++;
        failure = failure != NULL ? failure : json_object_get(point, "message");
        json_array_append_new(points, point);
    }
    json_array_extend(compile->given->results, points);
    json_auto_t *document =
        json_pack("{ss so ss so sb sO? sb so so}", "kernel", plan->kernel, "problem",
                  hn_bindings_to_json(compile->task.problem), "architecture", compile->architecture,
                  "parameters", hn_render_names(plan->parameters, plan->parameter_count), "all",
                  options->all, "failure", failure, "logs", options->log, "outcomes",
                  hn_counts_to_json(counts), "points", points);
    if (!options->json)
        hn_render(hn_needed(document), views, stdout);
}

static void write_source(struct compile *compile, uint64_t i, struct hn_error *err)
{
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    char path[PATH_MAX];
    if (hn_task_source(&compile->task, &compile->variants[i].point, &source, err) != HN_OK)
        return;
    snprintf(path, sizeof path, "%s/%s-%06llu.json", compile->given->options->sources,
             compile->task.plan->kernel, (unsigned long long)compile->good++);
    json_auto_t *request = hn_message_of_source(&source, compile->architecture, err);
    if (request != NULL && json_dump_file(request, path, JSON_INDENT(1)) != 0)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", path, strerror(errno));
}

static void compile_problem(struct compile *compile, size_t problem, struct hn_error *err)
{
    const char *folder = compile->given->options->sources;
    if (hn_task_make(compile->given->config, problem, HN_COLD, HN_TASK_COMPILES, &compile->task,
                     err) != HN_OK)
        return;
    compile->count = compile->submitted = compile->finished = 0;
    choose_points(compile, err);
    if (!hn_failed(err) && folder != NULL && mkdir(folder, 0777) != 0 && errno != EEXIST)
        hn_fail(err, HN_ERUN, "%s cannot be made: %s", folder, strerror(errno));
    for (uint64_t i = 0; !hn_failed(err) && folder != NULL && i < compile->count; i++)
        write_source(compile, i, err);
    if (!hn_failed(err) && folder == NULL)
        compile_points(compile, err);
    if (!hn_failed(err) && folder == NULL)
        report(compile);
    for (uint64_t i = 0; i < compile->count; i++) {
        hn_bindings_finish(&compile->variants[i].point);
        hn_image_finish(&compile->variants[i].image);
    }
    compile->done += compile->finished;
    free(compile->variants);
    compile->variants = NULL;
    hn_task_finish(&compile->task);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct compile compile = {.given = given};
    find_device(&compile, err);
    if (hn_failed(err))
        return;
    compile.pool = hn_compile_pool_create(hn_workers_of(options, 0).jobs,
                                          options->compile_timeout_s, HN_COMPILE_START_S);
    hn_interrupt_install();
    for (size_t i = 0; !hn_failed(err) && i < given->config->problem_count; i++)
        compile_problem(&compile, i, err);
    if (options->sources == NULL)
        hn_show_results(given, err);
    unsigned long long good = compile.good, done = compile.done;
    if (!hn_failed(err) && good == 0 && done == 1)
        hn_fail(err, HN_ENOTFOUND, "the point cannot be compiled and launched");
    else if (!hn_failed(err) && good == 0)
        hn_fail(err, HN_ENOTFOUND, "none of the %llu points can be compiled and launched", done);
    else if (!hn_failed(err) && options->strict && good < done)
        hn_fail(err, HN_ERUN, "%llu of %llu points cannot be compiled and launched", done - good,
                done);
    hn_compile_pool_destroy(compile.pool);
}

const struct hn_command hn_command_compile = {
    .name = "compile",
    .of = HN_COMPILE,
    .arguments = "CONFIG",
    .summary = "compile points: registers, spills, occupancy; needs no GPU",
    .examples = "hone compile scale.yaml --all --arch sm_90",
    HN_ONE_ARGUMENT("expected the path of a config", "found a second config '%s'"),
    .config = HN_POINT_CONFIG,
    .run = run,
};
