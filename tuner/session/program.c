/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "base/text.h"
#include "tuner/session/backend.h"
#include "tuner/session/program_child.h"
#include "tuner/workers/turn.h"

/* A program in place of a kernel: points are built side by side, each in a folder of its own, and
 * one is run at a time. Nobody gets here but a command that was told --allow-run, with a config
 * that the user named. */

/* A point is run until the interval of its median is so narrow, or so often; it is given up once it
 * is so much slower than the best. */
enum { RUNS_LEAST = 3, RUNS_MOST = 5 };
static const double narrow = 0.01;
static const double hopeless = 1.1;
/* Rounds of a race, which takes this part of the time so far. */
enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 15 };
static const double race_part = 0.1;
/* Builds leave the cores to the program that runs. */
static const int niceness = 5;
/* So often is looked what has ended. */
static const double look_ms = 5;

/* What is done with a point: it is built, or run and checked. */
struct job {
    struct job *next;
    uint64_t ticket;
    struct hn_bindings values; /* that commands are told */
    struct hn_child child;     /* the command under way */
    bool measures, begun, done;
    double since_ms;
    /* Of a build. */
    double limit_ms;
    size_t step;
    struct hn_image image;
    /* Of runs. */
    bool checks, checking;
    size_t most;
    double censor_us; /* 0: there is nothing to beat */
    struct hn_record record;
};

struct program {
    struct hn_backend base;
    struct hn_program_options options;
    const json_t *build, *command, *check, *time;
    char *source; /* the config's folder */
    int lock;
    bool races;       /* the turn lasts */
    struct job *jobs; /* in the order in which they were asked for */
    struct hn_meter working, building, running;
    double cpu_s; /* of builds */
    double started_ms;
};

static struct program *program_of(const struct hn_backend *backend)
{
    return (struct program *)(uintptr_t)backend;
}

/* By its place, or by its tag or name. */
static const json_t *find_item(const json_t *list, const char *name)
{
    size_t index;
    const json_t *item;
    if (hn_is_digit(*name))
        return json_array_get(list, strtoul(name, NULL, 10));
    json_array_foreach(list, index, item)
    {
        const char *tag = json_string_value(json_object_get(item, "tag"));
        const char *own = tag != NULL ? tag : json_string_value(json_object_get(item, "name"));
        if (own != NULL && strcmp(own, name) == 0)
            return item;
    }
    return NULL;
}

/* "results.0.time": names of members, and items of lists. */
static double find_json(const char *output, const char *path)
{
    json_t *root = json_loads(output, 0, NULL);
    const json_t *json = root;
    char *rest = NULL, *copy = hn_need_copy(path);
    for (char *name = strtok_r(copy, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
        json = json_is_array(json) ? find_item(json, name) : json_object_get(json, name);
    double found =
        json_is_string(json) ? hn_c_strtod(json_string_value(json), NULL) : json_number_value(json);
    json_decref(root);
    free(copy);
    return found;
}

static double find_regex(char *output, const char *expression)
{
    regex_t regex;
    regmatch_t found[2];
    double number = 0;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NEWLINE) != 0)
        return 0;
    if (regexec(&regex, output, 2, found, 0) == 0 && found[1].rm_so >= 0) {
        output[found[1].rm_eo] = '\0';
        number = hn_c_strtod(output + found[1].rm_so, NULL);
    }
    regfree(&regex);
    return number;
}

/* In microseconds; 0: there is none that can be one. */
static double find_time_us(const struct program *program, const struct hn_child *run)
{
    const char *path = json_string_value(json_object_get(program->time, "json"));
    const char *regex = json_string_value(json_object_get(program->time, "regex"));
    const char *unit = json_string_value(json_object_get(program->time, "unit"));
    char *output = hn_child_output(run);
    double found = path != NULL ? find_json(output, path) : find_regex(output, regex);
    found *= *unit == 's' ? 1e6 : *unit == 'm' ? 1e3 : *unit == 'n' ? 1e-3 : 1;
    free(output);
    return found >= 1e-3 && found <= 3e13 ? found : 0;
}

static void tell(struct job *job, const char *name, const char *text)
{
    const struct hn_value value = hn_word(text);
    struct hn_error err;
    if (hn_bindings_set(&job->values, name, &value, &err) != HN_OK)
        hn_needed(NULL);
}

static struct job *add_job(struct program *program, uint64_t ticket,
                           const struct hn_bindings *point, const struct hn_scratch *lane)
{
    struct job **place = &program->jobs, *job = hn_need(1, sizeof *job);
    while (*place != NULL)
        place = &(*place)->next;
    *place = job;
    job->ticket = ticket;
    hn_child_init(&job->child);
    hn_image_init(&job->image);
    job->record.point = hn_need_bindings(point, NULL);
    job->values = hn_need_bindings(program->base.task->problem, point);
    tell(job, "HONE_LANE", lane->path);
    tell(job, "HONE_SOURCE", program->source);
    /* A part of one is what the environment has chosen already. */
    if (program->options.device != NULL && program->options.device->identity.mig_profile[0] == '\0')
        tell(job, "CUDA_VISIBLE_DEVICES", program->options.device->uuid);
    return job;
}

static struct job *add_runs(struct program *program, uint64_t ticket,
                            const struct hn_bindings *point, const struct hn_image *image)
{
    struct job *job = add_job(program, ticket, point, image->folder);
    job->measures = true;
    job->most = 1;
    job->record.verdict.kind = program->check != NULL ? HN_VERIFIED : HN_UNVERIFIED;
    job->record.timing.samples_us = hn_need(RUNS_MOST, sizeof(double));
    job->record.timing.batch = 1;
    return job;
}

static void start(struct hn_backend *backend, const struct hn_start *start, struct hn_error *err)
{
    struct program *program = program_of(backend);
    const struct hn_bench_request *request = start->request;
    struct hn_scratch lane;
    if (!hn_failed(err) && request != NULL) {
        struct job *job = add_runs(program, start->ticket, start->point, start->image);
        job->checks = program->check != NULL;
        job->most = request->measure ? RUNS_MOST : 1;
        job->censor_us = request->full ? 0 : request->censor_us;
    } else if (!hn_failed(err) && hn_scratch_make(&lane, err) == HN_OK) {
        struct job *job = add_job(program, start->ticket, start->point, &lane);
        job->image.folder = hn_need(1, sizeof lane);
        *job->image.folder = lane;
        job->limit_ms = fmin(start->patience_ms, program->options.compile_timeout_s * 1e3);
    }
}

static struct hn_meter *meter_of(struct program *program, const struct job *job)
{
    return job->measures ? &program->running : &program->building;
}

static void destroy_job(struct program *program, struct job *job)
{
    struct job **place = &program->jobs;
    while (*place != job)
        place = &(*place)->next;
    *place = job->next;
    if (job->begun && !job->done)
        hn_meter_end(meter_of(program, job), hn_now_ms());
    hn_child_finish(&job->child);
    hn_bindings_finish(&job->values);
    hn_image_finish(&job->image);
    hn_record_finish(&job->record);
    free(job);
}

static void end_job(struct program *program, struct job *job, enum hn_outcome outcome,
                    const char *why)
{
    double now = hn_now_ms();
    if (outcome != HN_OUTCOME_OK) {
        hn_image_finish(&job->image);
        job->image.message = hn_need_copy(why);
        hn_record_fail(&job->record, outcome, "%s", why);
    }
    job->image.outcome = outcome;
    job->image.compile_ms = job->record.costs.measure_ms = now - job->since_ms;
    job->done = true;
    hn_meter_end(meter_of(program, job), now);
    if (job->measures && !program->races)
        hn_turn_end(program->lock);
}

/* A check reads what the program printed. */
static void start_command(struct program *program, struct job *job, const json_t *words,
                          struct hn_error *err)
{
    struct hn_child before = job->child;
    double limit_ms = job->measures ? program->options.run_timeout_s * 1e3
                                    : fmax(job->since_ms + job->limit_ms - hn_now_ms(), 0);
    hn_child_start(&job->child, words, &job->values,
                   hn_bindings_get(&job->values, "HONE_LANE")->word,
                   job->checking ? before.output : -1, limit_ms, err);
    hn_child_finish(&before);
    if (!job->measures && job->child.pid > 0)
        (void)setpriority(PRIO_PROCESS, (id_t)job->child.pid,
                          getpriority(PRIO_PROCESS, 0) + niceness);
}

static void build_next(struct program *program, struct job *job, struct hn_error *err)
{
    const json_t *words = json_array_get(program->build, job->step++);
    if (words != NULL)
        start_command(program, job, words, err);
    else
        end_job(program, job, HN_OUTCOME_OK, NULL);
}

static void begin(struct program *program, struct job *job, struct hn_error *err)
{
    job->begun = true;
    job->since_ms = hn_now_ms();
    hn_meter_begin(meter_of(program, job), job->since_ms);
    if (job->measures)
        start_command(program, job, program->command, err);
    else
        build_next(program, job, err);
}

/* Whether the runs so far are enough. */
static bool judge(struct job *job, enum hn_outcome *outcome)
{
    struct hn_timing *timing = &job->record.timing;
    size_t count = timing->sample_count;
    double sorted[RUNS_MOST];
    memcpy(sorted, timing->samples_us, count * sizeof *sorted);
    struct hn_interval interval = hn_interval_of(sorted, count, HN_OUTSIDE_USUAL);
    timing->median_us = interval.median;
    timing->low_us = interval.low;
    timing->high_us = interval.high;
    timing->unstable = hn_interval_half_width(&interval) > narrow;
    if (job->censor_us > 0 && interval.low > hopeless * job->censor_us)
        *outcome = HN_OUTCOME_SLOWER;
    return *outcome == HN_OUTCOME_SLOWER || count == job->most ||
           (count >= RUNS_LEAST && !timing->unstable);
}

/* The first run is checked before its time counts. */
static void run_next(struct program *program, struct job *job, struct hn_error *err)
{
    struct hn_timing *timing = &job->record.timing;
    enum hn_outcome outcome = HN_OUTCOME_OK;
    double time_us = job->checking ? 0 : find_time_us(program, &job->child);
    if (!job->checking && time_us == 0) {
        end_job(program, job, HN_OUTCOME_WORKER_CRASH,
                "it printed no time above 0 where the config's 'time' says");
        return;
    }
    if (!job->checking)
        timing->samples_us[timing->sample_count++] = time_us;
    job->checking = job->checks && !job->checking && timing->sample_count == 1;
    if (job->checking)
        start_command(program, job, program->check, err);
    else if (judge(job, &outcome))
        end_job(program, job, outcome, "its first runs took longer than the best");
    else
        start_command(program, job, program->command, err);
}

static void go_on(struct program *program, struct job *job, struct hn_error *err)
{
    const struct hn_child *child = &job->child;
    bool impatient = job->limit_ms < program->options.compile_timeout_s * 1e3;
    char why[800];
    program->cpu_s += job->measures ? 0 : child->cpu_s;
    hn_child_describe(child,
                      job->measures ? "--run-timeout"
                      : impatient   ? "it is not worth more"
                                    : "--compile-timeout",
                      why, sizeof why);
    if (!hn_child_succeeded(child) && job->measures)
        end_job(program, job,
                child->late     ? HN_OUTCOME_RUN_TIMEOUT
                : job->checking ? HN_OUTCOME_WRONG_RESULT
                                : HN_OUTCOME_WORKER_CRASH,
                why);
    else if (!hn_child_succeeded(child))
        end_job(program, job,
                !child->late ? HN_OUTCOME_COMPILE_ERROR
                : impatient  ? HN_OUTCOME_COMPILE_STOPPED
                             : HN_OUTCOME_COMPILE_TIMEOUT,
                why);
    else if (job->measures)
        run_next(program, job, err);
    else
        build_next(program, job, err);
}

/* How many are not done. */
static size_t count_jobs(const struct program *program, bool measures, bool begun)
{
    size_t count = 0;
    for (const struct job *job = program->jobs; job != NULL; job = job->next)
        count += job->measures == measures && !job->done && (job->begun || !begun);
    return count;
}

/* Where programs run on the cores that build, one waits for the other. */
static void begin_jobs(struct program *program, struct hn_error *err)
{
    bool here = program->options.device == NULL;
    for (struct job *job = program->jobs; job != NULL && !hn_failed(err); job = job->next) {
        size_t building = count_jobs(program, false, true);
        if (job->begun)
            continue;
        if (job->measures ? (!here || building == 0) && hn_turn_take(program->lock, false)
                          : (!here || count_jobs(program, true, false) == 0) &&
                                building < (size_t)program->options.lanes)
            begin(program, job, err);
    }
}

/* A job that is done (the one that is wanted, or NULL: the first); NULL: none is, after so long or
 * at a signal. */
static struct job *await(struct program *program, const struct job *wanted, double timeout_ms,
                         struct hn_error *err)
{
    double end_ms = hn_now_ms() + timeout_ms;
    while (!hn_failed(err)) {
        begin_jobs(program, err);
        for (struct job *job = program->jobs; job != NULL && !hn_failed(err); job = job->next) {
            if (!job->done && job->begun && hn_child_ended(&job->child))
                go_on(program, job, err);
            if (job->done && !hn_failed(err) && (wanted == NULL || job == wanted))
                return job;
        }
        double wait_ms = fmin(end_ms - hn_now_ms(), look_ms);
        if (wait_ms <= 0 || hn_interrupted() != 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = (long)(wait_ms * 1e6)}, NULL);
    }
    return NULL;
}

static void next(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                 struct hn_error *err)
{
    struct program *program = program_of(backend);
    struct job *job = await(program, NULL, timeout_ms, err);
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    if (job == NULL)
        return;
    event->ticket = job->ticket;
    event->kind = job->measures ? HN_EVENT_EVALUATED : HN_EVENT_COMPILED;
    if (job->measures) {
        event->record = job->record;
        job->record = (struct hn_record){0};
    } else {
        event->image = job->image;
        hn_image_init(&job->image);
    }
    destroy_job(program, job);
}

/* One run into an empty record, while the caller waits: there is nothing else to do. */
static void run_once(struct program *program, const struct hn_racer *racer,
                     struct hn_record *record, struct hn_error *err)
{
    struct job *job = add_runs(program, 0, racer->point, racer->image);
    while (!hn_failed(err) && await(program, job, 100, err) == NULL) {
        hn_interrupt_check(err);
        if (program->base.end_ms > 0 && hn_now_ms() > program->base.end_ms && !hn_failed(err))
            err->status = HN_EINTERRUPTED;
    }
    if (job->done) {
        *record = job->record;
        job->record = (struct hn_record){0};
    }
    destroy_job(program, job);
}

/* All in turn, round by round. Who falls has no samples, and nobody has where it came to no end. */
static void race(struct program *program, const struct hn_run *run, struct hn_error *err)
{
    double now = hn_now_ms(), end_ms = now + race_part * (now - program->started_ms);
    program->races = true;
    for (size_t i = 0; i < run->racer_count; i++)
        run->racers[i].record.timing.samples_us = hn_need(ROUNDS_MOST, sizeof(double));
    for (int round = 0; !hn_failed(err) && round < ROUNDS_MOST; round++) {
        if (round >= ROUNDS_LEAST && hn_now_ms() >= end_ms)
            break;
        for (size_t i = 0; i < run->racer_count && !hn_failed(err); i++) {
            struct hn_record *record = &run->racers[i].record, once = {0};
            if (record->outcome == HN_OUTCOME_OK)
                run_once(program, &run->racers[i], &once, err);
            if (once.outcome != HN_OUTCOME_OK)
                hn_record_fail(record, once.outcome, "%s", once.message);
            record->timing.samples_us[round] = once.timing.median_us;
            hn_record_finish(&once);
            record->timing.sample_count = record->outcome == HN_OUTCOME_OK ? (size_t)round + 1 : 0;
        }
    }
    for (size_t i = 0; hn_failed(err) && i < run->racer_count; i++)
        run->racers[i].record.timing.sample_count = 0;
    program->races = false;
}

/* Nothing has to be prepared, and nothing else can be measured. */
static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    struct program *program = program_of(backend);
    if (!hn_failed(err) && run->kind == HN_RUN_RACE)
        race(program, run, err);
    else if (!hn_failed(err) && run->kind == HN_RUN_MEASURE)
        run_once(program, run->racers, &run->racers->record, err);
    hn_turn_end(program->lock);
}

static void stop(struct hn_backend *backend)
{
    struct program *program = program_of(backend);
    for (struct job *job = program->jobs, *following; job != NULL; job = following) {
        following = job->next;
        if (!job->measures && !job->done)
            destroy_job(program, job);
    }
}

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    const struct program *program = program_of(backend);
    size_t unfinished = count_jobs(program, false, false);
    size_t wanted = 2 * (size_t)program->options.lanes;
    bool quiet = count_jobs(program, true, false) == 0;
    *state = (struct hn_backend_state){
        .room = unfinished < wanted ? wanted - unfinished : 0, .idle = quiet, .quiet = quiet};
    for (const struct job *job = program->jobs; job != NULL; job = job->next)
        if (job->ticket == ticket && job->begun && !job->measures)
            state->age_ms = hn_now_ms() - job->since_ms;
}

static void usage(const struct hn_backend *backend, struct hn_usage *usage)
{
    const struct program *program = program_of(backend);
    size_t building = count_jobs(program, false, true);
    double now = hn_now_ms();
    *usage = (struct hn_usage){
        .under_way = (int)building,
        .cores_busy = building == (size_t)program->options.lanes,
        .compile_cpu_s = program->cpu_s,
        .compile_wall_s = hn_meter_total_ms(&program->building, now) / 1e3,
        .gpu_busy_s = hn_meter_total_ms(&program->running, now) / 1e3,
        .working_s = hn_meter_total_ms(&program->working, now) / 1e3,
    };
}

static void close_program(struct hn_backend *backend)
{
    struct program *program = program_of(backend);
    while (program->jobs != NULL)
        destroy_job(program, program->jobs);
    if (program->lock >= 0)
        close(program->lock);
    free(program->source);
    free(program);
}

static const struct hn_backend_kind program_kind = {
    .close = close_program,
    .start = start,
    .next = next,
    .run = run,
    .stop = stop,
    .look = look,
    .usage = usage,
};

enum hn_status hn_backend_program(struct hn_task *task, const struct hn_program_options *options,
                                  struct hn_backend **backend, struct hn_error *err)
{
    const json_t *own = task->config->plan->program;
    char host[64] = "", warning[512];
    struct program *program = hn_need(1, sizeof *program);
    struct hn_device *device = &program->base.device;
    hn_error_init(err);
    *program = (struct program){
        .base = {.kind = &program_kind, .task = task},
        .options = *options,
        .build = json_object_get(own, "build"),
        .command = json_object_get(own, "command"),
        .check = json_object_get(own, "check"),
        .time = json_object_get(own, "time"),
        .source = hn_needed(hn_config_folder(task->config->path)),
        .started_ms = hn_now_ms(),
    };
    program->building.whole = program->running.whole = &program->working;
    if (options->device != NULL)
        *device = *options->device;
    (void)gethostname(host, sizeof host - 1);
    if (options->device == NULL)
        snprintf(device->identity.name, sizeof device->identity.name, "CPU of %s", host);
    program->lock = hn_turn_open(options->device != NULL ? device->uuid : "CPU", warning);
    if (warning[0] != '\0')
        fprintf(stderr, "hone: warning: %s\n", warning);
    hn_task_set_device(task, &device->identity, device->driver, "");
    *backend = &program->base;
    return HN_OK;
}
