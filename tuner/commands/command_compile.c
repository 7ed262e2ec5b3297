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
#include "tuner/commands/output.h"
#include "tuner/report/format.h"
#include "tuner/report/outcomes.h"
#include "tuner/report/table.h"
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

static void add_row(struct hn_table *table, const struct batch *batch, uint64_t i, bool warned)
{
    const struct hn_image *image = &batch->images[i];
    const struct hn_plan *plan = batch->task.plan;
    const struct hn_resources *resources = &image->resources;
    hn_table_cell(table, "%llu", (unsigned long long)i + 1);
    if (resources->known) {
        hn_table_cell(table, "%d", resources->registers);
        hn_table_cell(table, "%lld", (long long)hn_resources_shared_bytes(resources));
        hn_table_cell(table, "%d+%d", resources->spill_store_bytes, resources->spill_load_bytes);
        hn_table_cell(table, "%d", resources->stack_bytes);
        hn_table_cell(table, "%d%%", hn_format_percent(resources->occupancy));
    } else {
        for (int unknown = 0; unknown < 5; unknown++)
            hn_table_cell(table, "-");
    }
    hn_table_cell(table, "%.0f", image->compile_ms);
    if (warned)
        hn_table_warnings(table, resources->warnings);
    hn_table_cell(table, "%s", hn_outcome_name(image->outcome));
    hn_table_point(table, plan->parameters, plan->parameter_count, &batch->points[i]);
}

/* What the compiler said of a point, under its number and its values. */
static void print_log(const struct batch *batch, uint64_t i)
{
    const char *log = batch->images[i].log;
    struct hn_text point;
    hn_text_init(&point);
    hn_bindings_append(&point, &batch->points[i]);
    printf("\nlog of %llu, %s%s\n", (unsigned long long)i + 1, point.data != NULL ? point.data : "",
           log == NULL || log[0] == '\0' ? ": empty" : ":");
    if (log != NULL && log[0] != '\0')
        printf("%s%s", log, log[strlen(log) - 1] == '\n' ? "" : "\n");
    hn_text_finish(&point);
}

static bool are_warned(const struct batch *batch)
{
    for (uint64_t i = 0; i < batch->count; i++)
        if (batch->images[i].resources.warnings != 0)
            return true;
    return false;
}

static void print_batch(const struct batch *batch)
{
    static const char *const headings[] = {">#",       ">regs",   ">shared B",   ">spills B",
                                           ">stack B", ">occup.", ">compile ms", NULL};
    struct hn_table *table = hn_table_create(headings);
    bool warned = are_warned(batch);
    if (warned)
        hn_table_column(table, "", "warnings");
    hn_table_column(table, "", "outcome");
    hn_table_parameters(table, batch->task.plan->parameters, batch->task.plan->parameter_count);
    struct hn_text problem;
    hn_text_init(&problem);
    hn_bindings_append(&problem, batch->task.problem);
    printf("%s %s for %s\n", batch->task.plan->kernel, problem.data != NULL ? problem.data : "",
           batch->compile->architecture);
    hn_text_finish(&problem);
    for (uint64_t i = 0; i < batch->count; i++)
        add_row(table, batch, i, warned);
    hn_table_print(table, stdout, 2);
    hn_table_destroy(table);
    uint64_t counts[HN_OUTCOME_COUNT] = {0};
    for (uint64_t i = 0; i < batch->count; i++)
        counts[batch->images[i].outcome]++;
    if (batch->compile->options->all)
        hn_outcomes_count(counts, stdout);
    hn_outcomes_explain(counts, stdout);
    for (uint64_t i = 0; i < batch->count; i++) {
        if (batch->images[i].message != NULL) {
            printf("  first failure: %s\n", batch->images[i].message);
            break;
        }
    }
    for (uint64_t i = 0; batch->compile->options->log && i < batch->count; i++)
        print_log(batch, i);
}

/* As records have them, and with the dynamic part of shared memory always. */
static json_t *resources_to_json(const struct hn_resources *resources)
{
    json_t *json = hn_fields_to_json(&hn_resources_structure, resources);
    json_object_set_new(json, "dynamic_shared_bytes",
                        json_integer(resources->dynamic_shared_bytes));
    return json;
}

static void report_json(const struct batch *batch)
{
    for (uint64_t i = 0; i < batch->count; i++) {
        const struct hn_image *image = &batch->images[i];
        const struct hn_resources *r = &image->resources;
        json_t *row =
            json_pack("{ss so so ss ss ss* sf}", "kernel", batch->task.plan->kernel, "problem",
                      hn_bindings_to_json(batch->task.problem), "point",
                      hn_bindings_to_json(&batch->points[i]), "architecture",
                      batch->compile->architecture, "outcome", hn_outcome_name(image->outcome),
                      "message", image->message, "compile_ms", image->compile_ms);
        if (r->known)
            json_object_set_new(row, "resources", resources_to_json(r));
        if (batch->compile->options->log && image->log != NULL)
            json_object_set_new(row, "log", json_string(image->log));
        json_array_append_new(batch->compile->results, row);
    }
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
    if (status == HN_OK && batch->compile->options->json)
        report_json(batch);
    else if (status == HN_OK)
        print_batch(batch);
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
    .summary = "compile points for an architecture: registers, spills, occupancy",
    .help = "Compiles points of CONFIG and prints registers, shared memory, spills and theoretical "
            "occupancy; needs no GPU.",
    .examples = "hone compile scale.yaml --all --arch sm_90",
    .least = 1,
    .most = 1,
    .missing = "expected the path of a config",
    .extra = "found a second config '%s'",
    .run = run,
};
