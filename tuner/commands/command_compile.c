/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record_json.h"
#include "runtime/device/driver.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/report/render.h"
#include "tuner/session/task.h"
#include "tuner/workers/compile_pool.h"

struct compile {
    const struct hn_options *options;
    struct hn_device device;
    char architecture[HN_ARCHITECTURE_SIZE];
    struct hn_config *config;
    struct hn_compile_pool *pool;
    json_t *results;
    uint64_t good;
    uint64_t done;
};

/* One problem's points; point i has number i in the queue. */
struct batch {
    struct compile *compile;
    struct hn_task task;
    struct hn_bindings *points;
    struct hn_image *images;
    uint64_t count;
    uint64_t submitted;
    uint64_t finished;
    double started_ms;
};

/* --arch, else the architecture of the GPU that is there. */
static enum hn_status find_device(struct compile *compile, struct hn_error *err)
{
    struct hn_driver driver;
    const char *architecture = compile->options->architecture;
    if (architecture != NULL) {
        snprintf(compile->architecture, sizeof compile->architecture, "%s%s",
                 strncmp(architecture, "sm_", 3) == 0 ? "" : "sm_", architecture);
        return hn_device_for_architecture(architecture, &compile->device, err);
    }
    if (hn_driver_open(&driver, NULL) != HN_OK)
        return hn_fail(err, HN_EUSAGE,
                       "there is no GPU to compile for; name an architecture, as in --arch sm_90");
    enum hn_status status =
        hn_driver_select(&driver, compile->options->device, &compile->device, err);
    hn_driver_close(&driver);
    snprintf(compile->architecture, sizeof compile->architecture, "sm_%d",
             compile->device.identity.capability);
    return status;
}

static enum hn_status choose_points(struct batch *batch, struct hn_error *err)
{
    const struct hn_space *space = batch->task.space;
    struct compile *compile = batch->compile;
    char count[HN_SPACE_COUNT_TEXT];
    if (compile->options->all && !hn_space_enumerated(space))
        return hn_fail(
            err, HN_ECONFIG,
            "%s points are valid, too many to compile --all: restrict parameters with -s",
            hn_space_count_text(space, count));
    batch->count = compile->options->all ? hn_space_size(space) : 1;
    batch->points = hn_need(batch->count, sizeof *batch->points);
    batch->images = hn_need(batch->count, sizeof *batch->images);
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    enum hn_status status = HN_OK;
    for (uint64_t i = 0; status == HN_OK && i < batch->count; i++) {
        hn_bindings_init(&batch->points[i]);
        hn_image_init(&batch->images[i]);
        if (!compile->options->all) {
            status = hn_single_point(compile->options, &batch->task, &batch->points[i], err);
            continue;
        }
        hn_space_point(space, i, choice);
        status = hn_space_bindings(space, choice, &batch->points[i], err);
    }
    free(choice);
    return status;
}

static void finish_batch(struct batch *batch)
{
    for (uint64_t i = 0; i < batch->count && batch->points != NULL; i++) {
        hn_bindings_finish(&batch->points[i]);
        hn_image_finish(&batch->images[i]);
    }
    free(batch->points);
    free(batch->images);
    hn_task_finish(&batch->task);
}

static enum hn_status submit_some(struct batch *batch, struct hn_error *err)
{
    struct hn_compile_pool *pool = batch->compile->pool;
    size_t limit = (size_t)hn_compile_pool_jobs(pool) * 2;
    while (batch->submitted < batch->count && hn_compile_pool_pending(pool) < limit) {
        struct hn_source source;
        uint64_t i = batch->submitted++;
        enum hn_status status = hn_task_source(&batch->task, &batch->points[i], &source, err);
        if (status == HN_EVALUE) {
            batch->images[i].outcome = HN_OUTCOME_INVALID_LAUNCH;
            batch->images[i].message = strdup(err->message);
            batch->compile->done++;
            batch->finished++;
            continue;
        }
        if (status != HN_OK)
            return status;
        status = hn_compile_pool_submit(pool, i, &source, batch->compile->architecture, err);
        hn_source_finish(&source);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static enum hn_status take_one(struct batch *batch, uint64_t i, struct hn_error *err)
{
    struct hn_image *image = &batch->images[i];
    char key[33];
    enum hn_status status = HN_OK;
    batch->compile->done++;
    if (image->outcome == HN_OUTCOME_OK)
        status = hn_task_complete_image(&batch->task, &batch->compile->device, &batch->points[i],
                                        image, key, err);
    batch->compile->good += status == HN_OK && image->outcome == HN_OUTCOME_OK;
    /* Only what it says of the point is wanted: thousands of cubins would fill the memory. */
    free(image->cubin);
    image->cubin = NULL;
    return status;
}

static void show_progress(const struct batch *batch)
{
    if (!batch->compile->options->quiet && isatty(STDERR_FILENO))
        dprintf(STDERR_FILENO, "\r\033[K%llu/%llu compiled, %.1f/s",
                (unsigned long long)batch->finished, (unsigned long long)batch->count,
                (double)batch->finished * 1e3 / (hn_now_ms() - batch->started_ms + 1));
}

static enum hn_status compile_batch(struct batch *batch, struct hn_error *err)
{
    struct hn_compile_pool *pool = batch->compile->pool;
    enum hn_status status = HN_OK;
    while (status == HN_OK && batch->finished < batch->count) {
        uint64_t i;
        struct hn_image image;
        status = submit_some(batch, err);
        if (status == HN_OK)
            status = hn_compile_pool_process(pool, err);
        while (status == HN_OK && hn_compile_pool_take(pool, &i, &image)) {
            batch->images[i] = image;
            status = take_one(batch, i, err);
            batch->finished++;
            show_progress(batch);
        }
        if (status == HN_OK && batch->finished < batch->count)
            status = hn_compile_pool_sleep(pool, err);
    }
    if (!batch->compile->options->quiet && isatty(STDERR_FILENO))
        dprintf(STDERR_FILENO, "\r\033[K");
    return status;
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
static json_t *point_to_json(const struct batch *batch, uint64_t i)
{
    const struct hn_image *image = &batch->images[i];
    json_t *row = json_pack(
        "{ss so so ss ss so* sf}", "kernel", batch->task.plan->kernel, "problem",
        hn_bindings_to_json(batch->task.problem), "point", hn_bindings_to_json(&batch->points[i]),
        "architecture", batch->compile->architecture, "outcome", hn_outcome_name(image->outcome),
        "message", image->message != NULL ? hn_string_to_json(image->message) : NULL, "compile_ms",
        image->compile_ms);
    if (image->resources.known) {
        json_t *resources = hn_fields_to_json(&hn_resources_structure, &image->resources);
        json_object_set_new(resources, "dynamic_shared_bytes",
                            json_integer(image->resources.dynamic_shared_bytes));
        json_object_set_new(row, "resources", resources);
    }
    if (batch->compile->options->log && image->log != NULL)
        json_object_set_new(row, "log", hn_string_to_json(image->log));
    return hn_needed(row);
}

/* --json has the points of all problems in one list. */
static void report(const struct batch *batch)
{
    const struct hn_options *options = batch->compile->options;
    const struct hn_plan *plan = batch->task.plan;
    json_t *points = json_array(), *outcomes = json_object(), *failure = NULL;
    for (uint64_t i = 0; i < batch->count; i++) {
        json_t *point = point_to_json(batch, i);
        const char *outcome = hn_outcome_name(batch->images[i].outcome);
        json_int_t count = json_integer_value(json_object_get(outcomes, outcome));
        json_object_set_new(outcomes, outcome, json_integer(count + 1));
        failure = failure != NULL ? failure : json_object_get(point, "message");
        json_array_append_new(points, point);
    }
    json_array_extend(batch->compile->results, points);
    json_t *document = json_pack(
        "{ss so ss so sb sO? sb so so}", "kernel", plan->kernel, "problem",
        hn_bindings_to_json(batch->task.problem), "architecture", batch->compile->architecture,
        "parameters", hn_render_names(plan->parameters, plan->parameter_count), "all", options->all,
        "failure", failure, "logs", options->log, "outcomes", outcomes, "points", points);
    if (!options->json)
        hn_render(hn_needed(document), views, stdout);
    json_decref(document);
}

static enum hn_status write_source(const struct batch *batch, uint64_t i, struct hn_error *err)
{
    struct compile *compile = batch->compile;
    struct hn_source source;
    char path[PATH_MAX];
    enum hn_status status = hn_task_source(&batch->task, &batch->points[i], &source, err);
    if (status != HN_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s-%06llu.json", compile->options->sources,
             batch->task.plan->kernel, (unsigned long long)compile->good);
    json_t *request = hn_message_of_source(&source, compile->architecture);
    if (request == NULL)
        status = hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", source.template->path);
    else if (json_dump_file(request, path, JSON_INDENT(1)) != 0)
        status = hn_fail(err, HN_ERUN, "%s can not be written: %s", path, strerror(errno));
    json_decref(request);
    hn_source_finish(&source);
    compile->good++;
    return status;
}

static enum hn_status write_sources(const struct batch *batch, struct hn_error *err)
{
    const char *folder = batch->compile->options->sources;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return hn_fail(err, HN_ERUN, "%s can not be made: %s", folder, strerror(errno));
    enum hn_status status = HN_OK;
    for (uint64_t i = 0; status == HN_OK && i < batch->count; i++)
        status = write_source(batch, i, err);
    return status;
}

static enum hn_status compile_points(struct batch *batch, struct hn_error *err)
{
    enum hn_status status = compile_batch(batch, err);
    if (status == HN_OK)
        report(batch);
    return status;
}

static enum hn_status compile_problem(struct compile *compile, size_t problem, struct hn_error *err)
{
    struct batch batch = {.compile = compile, .started_ms = hn_now_ms()};
    enum hn_status status = hn_task_make_sources(compile->config, problem, &batch.task, err);
    if (status != HN_OK)
        return status;
    status = choose_points(&batch, err);
    if (status == HN_OK)
        status = compile->options->sources != NULL ? write_sources(&batch, err)
                                                   : compile_points(&batch, err);
    finish_batch(&batch);
    return status;
}

/* As messages and results call it: with the suffix that the config asks for. */
static void name_architecture(struct compile *compile)
{
    char given[HN_ARCHITECTURE_SIZE];
    memcpy(given, compile->architecture, sizeof given);
    hn_architecture_name(given, compile->config->plan->arch_specific, compile->architecture);
}

static enum hn_status execute(struct compile *compile, struct hn_error *err)
{
    int jobs = compile->options->jobs > 0 ? (int)compile->options->jobs : hn_machine_jobs();
    enum hn_status status = find_device(compile, err);
    if (status == HN_OK && compile->options->all)
        status = hn_options_config(compile->options, compile->options->arguments.items[0],
                                   &compile->config, err);
    else if (status == HN_OK)
        status = hn_single_point_config(compile->options, compile->options->arguments.items[0],
                                        &compile->config, err);
    if (status == HN_OK)
        name_architecture(compile);
    if (status != HN_OK)
        return status;
    compile->pool = hn_compile_pool_create(jobs, compile->options->compile_timeout_s);
    hn_interrupt_install();
    compile->results = json_array();
    for (size_t i = 0; status == HN_OK && i < compile->config->problem_count; i++)
        status = compile_problem(compile, i, err);
    if (status == HN_OK && compile->options->json && compile->options->sources == NULL)
        status = hn_output_json(compile->results, err);
    if (status == HN_OK && compile->good == 0)
        return compile->done == 1
                   ? hn_fail(err, HN_ENOTFOUND, "the point can not be compiled and launched")
                   : hn_fail(err, HN_ENOTFOUND,
                             "none of the %llu points can be compiled and launched",
                             (unsigned long long)compile->done);
    if (status == HN_OK && compile->options->strict && compile->good < compile->done)
        return hn_fail(err, HN_ERUN, "%llu of %llu points can not be compiled and launched",
                       (unsigned long long)(compile->done - compile->good),
                       (unsigned long long)compile->done);
    return status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct compile compile = {.options = options};
    enum hn_status status = execute(&compile, err);
    json_decref(compile.results);
    hn_compile_pool_destroy(compile.pool);
    hn_config_destroy(compile.config);
    return status;
}

const struct hn_command hn_command_compile = {
    .name = "compile",
    .of = HN_COMPILE,
    .arguments = "CONFIG",
    .summary = "compile points: registers, spills, occupancy; needs no GPU",
    .help = "Compiles points of CONFIG and prints registers, shared memory, spills and theoretical "
            "occupancy; needs no GPU.",
    .examples = "hone compile scale.yaml --all --arch sm_90",
    .least = 1,
    .most = 1,
    .missing = "expected the path of a config",
    .extra = "found a second config '%s'",
    .run = run,
};
