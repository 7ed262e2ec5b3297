/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "tuner/session/backend.h"

void hn_backend_destroy(struct hn_backend *backend)
{
    if (backend != NULL)
        backend->kind->close(backend);
}

void hn_backend_event_finish(struct hn_backend_event *event)
{
    if (event->kind == HN_EVENT_COMPILED)
        hn_image_finish(&event->image);
    if (event->kind == HN_EVENT_EVALUATED)
        hn_record_finish(&event->record);
    event->kind = HN_EVENT_NONE;
}

/* Kernel Tuner's sizes have no names: one that no value of the problem is tells that the file is of
 * another problem. Its number; SIZE_MAX: there is none. */
static size_t find_other_size(const struct hn_task *task, const struct hn_recording *recording)
{
    const struct hn_bindings *was = &recording->identity.problem, *is = task->problem;
    for (size_t i = 0; i < was->count && !recording->from_hone; i++) {
        size_t k = 0;
        while (k < is->count && !hn_value_equal(&was->values[i], &is->values[k]))
            k++;
        if (k == is->count && was->values[i].integer > 1)
            return i;
    }
    return SIZE_MAX;
}

struct search {
    const struct hn_task *task;
    struct hn_recording *recording; /* that, or the last of the others */
    struct hn_origin *origin;
    bool folder; /* where a file of the problem may be beside */
    bool found;
};

static void try_recording(const char *path, void *context, struct hn_error *err)
{
    struct search *search = context;
    if (search->found ||
        (search->folder && hn_recording_is_of_another(path, search->task->identity.kernel)))
        return;
    hn_recording_finish(search->recording);
    hn_origin_of_file(path, search->origin);
    const struct hn_identity *is = &search->recording->identity;
    search->found =
        hn_recording_load(path, search->recording, err) == HN_OK &&
        strcmp(is->kernel, search->task->identity.kernel) == 0 &&
        (!search->recording->from_hone ||
         (hn_bindings_equal(&is->problem, search->task->problem) &&
          (strcmp(is->regime, hn_regime_names[search->task->regime]) == 0 ||
           strcmp(is->regime, HN_REGIME_UNKNOWN) == 0))) &&
        (!search->folder || find_other_size(search->task, search->recording) == SIZE_MAX);
}

enum hn_status hn_find_recording(const struct hn_task *task, const char *path,
                                 struct hn_recording *recording, struct hn_origin *origin,
                                 struct hn_error *err)
{
    struct search search = {task, recording, origin, hn_is_folder(path), false};
    *recording = (struct hn_recording){.from_hone = false};
    hn_error_init(err);
    hn_files_visit(path, hn_recording_ends, try_recording, &search, err);
    if (hn_failed(err) || search.found)
        return err->status;
    const char *kernel = task->identity.kernel, *regime = task->identity.regime;
    const struct hn_identity *found = &recording->identity;
    char *is HN_FREED = hn_needed(hn_bindings_text(task->problem));
    char *was HN_FREED = hn_needed(hn_bindings_text(&found->problem));
    if (search.folder)
        hn_fail(err, HN_ERUN, "%s holds no recording of %s for %s (%s)", path, kernel,
                *is != '\0' ? is : "this problem", regime);
    else
        hn_fail(err, HN_ECONFIG, "%s records %s (%s, %s); asked for is %s (%s, %s)", path,
                found->kernel, *was != '\0' ? was : "no problem", found->regime, kernel,
                *is != '\0' ? is : "no problem", regime);
    hn_recording_finish(recording);
    return err->status;
}

struct job {
    uint64_t ticket;
    const struct hn_record *record; /* NULL: there is none */
    bool evaluates;
};

/* Measurements from a recording: every compile and evaluate ends at once with what was recorded. */
struct simulated {
    struct hn_backend base;
    struct hn_recording recording;
    struct hn_keys points;     /* those recorded */
    uint32_t *record_of_point; /* by their number */
    struct job *jobs;          /* what was started, in this order */
    size_t job_count;
    size_t job_next;
};

/* A space counts as recorded when at least this part of it is. */
static const double coverage_limit = 0.95;

static void close_simulated(struct hn_backend *backend)
{
    struct simulated *simulated = (struct simulated *)backend;
    free(simulated->jobs);
    hn_recording_finish(&simulated->recording);
    hn_keys_finish(&simulated->points);
    free(simulated->record_of_point);
    free(simulated);
}

static void compile(const struct hn_record *record, struct hn_image *image)
{
    *image = HN_NO_IMAGE;
    image->outcome = HN_OUTCOME_OK;
    if (record == NULL) {
        image->outcome = HN_OUTCOME_SKIPPED;
        image->message = hn_need_copy("not in the recording");
        return;
    }
    image->resources = record->resources;
    image->compile_ms = record->costs.compile_ms;
    snprintf(image->code_hash, sizeof image->code_hash, "%s", record->code_hash);
    if (record->outcome == HN_OUTCOME_COMPILE_ERROR ||
        record->outcome == HN_OUTCOME_COMPILE_TIMEOUT ||
        record->outcome == HN_OUTCOME_COMPILE_CRASH) {
        image->outcome = record->outcome;
        image->message = hn_need_copy(record->message);
    }
}

static void evaluate(const struct hn_record *recorded, struct hn_record *record,
                     struct hn_error *err)
{
    *record = (struct hn_record){0};
    if (hn_record_copy(record, recorded, err) != HN_OK || record->outcome != HN_OUTCOME_DUPLICATE)
        return;
    /* Its original was not proposed here: the time of the same machine code is its own. */
    record->outcome = HN_OUTCOME_OK;
    free(record->message);
    free(record->original);
    record->message = record->original = NULL;
}

static void start(struct hn_backend *backend, const struct hn_start *start, struct hn_error *err)
{
    struct simulated *simulated = (struct simulated *)backend;
    uint16_t choice[hn_space_parameter_count(backend->task->space) + 1];
    uint32_t number = HN_NO_KEY;
    if (hn_failed(err))
        return;
    if (hn_space_choice(backend->task->space, start->point, choice, NULL) == HN_OK)
        number = hn_keys_find(&simulated->points, choice);
    struct job *job = HN_NEXT(simulated->jobs, simulated->job_count);
    *job = (struct job){.ticket = start->ticket, .evaluates = start->request != NULL};
    if (number != HN_NO_KEY)
        job->record = &simulated->recording.records.items[simulated->record_of_point[number]];
}

static void next(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                 struct hn_error *err)
{
    struct simulated *simulated = (struct simulated *)backend;
    (void)timeout_ms;
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    if (simulated->job_next == simulated->job_count)
        simulated->job_next = simulated->job_count = 0;
    if (hn_failed(err) || simulated->job_count == 0)
        return;
    const struct job *job = &simulated->jobs[simulated->job_next++];
    event->ticket = job->ticket;
    event->kind = job->evaluates ? HN_EVENT_EVALUATED : HN_EVENT_COMPILED;
    if (job->evaluates)
        evaluate(job->record, &event->record, err);
    else
        compile(job->record, &event->image);
}

/* There is nothing to be prepared, and nothing more to be measured. */
static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    (void)backend;
    (void)run;
    (void)err;
}

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    (void)backend;
    (void)ticket;
    *state = (struct hn_backend_state){.room = 1, .idle = true, .quiet = true};
}

static const struct hn_backend_kind simulated_kind = {
    .close = close_simulated,
    .start = start,
    .next = next,
    .run = run,
    .look = look,
};

static void index_points(struct simulated *simulated, const char *path, struct hn_error *err)
{
    const struct hn_space *space = simulated->base.task->space;
    const struct hn_records *records = &simulated->recording.records;
    uint64_t size = hn_space_size(space);
    uint16_t choice[hn_space_parameter_count(space) + 1];
    struct hn_error unfit = {.status = HN_OK};
    simulated->points.stride = hn_space_parameter_count(space) * sizeof(uint16_t);
    simulated->record_of_point = hn_need(records->count, sizeof *simulated->record_of_point);
    for (size_t i = 0; i < records->count; i++)
        if (hn_space_choice(space, &records->items[i].point, choice,
                            hn_failed(&unfit) ? NULL : &unfit) == HN_OK &&
            hn_space_contains(space, choice))
            simulated->record_of_point[hn_keys_add(&simulated->points, choice)] = (uint32_t)i;
    uint64_t covered = simulated->points.count;
    if ((double)covered < coverage_limit * (double)size)
        hn_fail(err, HN_ECONFIG,
                "%s records %llu of the %llu valid points%s%s%s; at least %g%% are needed for a "
                "simulation (restrict the space with -s; `hone explain --simulate` and "
                "`hone report` show a part of one)",
                path, (unsigned long long)covered, (unsigned long long)size,
                hn_failed(&unfit) ? ", and others (" : "", unfit.message,
                hn_failed(&unfit) ? ")" : "", coverage_limit * 100);
}

/* The times are those of the kernel as it was recorded, which may no longer be the kernel of the
 * config. A recording that does not say which template it is of is taken for the config's. */
static void set_version(struct simulated *simulated)
{
    struct hn_task *task = simulated->base.task;
    const struct hn_version *recorded = &simulated->recording.version;
    const struct hn_version own = task->version;
    const struct hn_bindings *was = &simulated->recording.identity.problem;
    size_t other = find_other_size(task, &simulated->recording);
    if (other != SIZE_MAX)
        snprintf(simulated->base.note, sizeof simulated->base.note,
                 "measured at %s=%lld, which is no value of this problem: the times are that one's",
                 was->names[other], (long long)was->values[other].integer);
    /* Not said of files of Kernel Tuner. */
    task->stale = hn_version_knows_template(recorded) && !hn_version_same_source(recorded, &own);
    task->version = *recorded;
    if (task->stale)
        snprintf(simulated->base.note, sizeof simulated->base.note,
                 "the recording is stale: template, options or plan have changed since");
    if (hn_version_knows_template(recorded))
        return;
    memcpy(task->version.template_hash, own.template_hash, sizeof own.template_hash);
    memcpy(task->version.options_hash, own.options_hash, sizeof own.options_hash);
    memcpy(task->version.plan_hash, own.plan_hash, sizeof own.plan_hash);
}

struct hn_backend *hn_backend_simulated(struct hn_task *task, const char *path,
                                        struct hn_error *err)
{
    struct simulated *simulated = hn_need(1, sizeof *simulated);
    char architecture[16];
    hn_error_init(err);
    simulated->base = (struct hn_backend){.kind = &simulated_kind, .task = task, .simulated = true};
    if (hn_find_recording(task, path, &simulated->recording, &simulated->base.origin, err) == HN_OK)
        index_points(simulated, path, err);
    /* The limits of the recorded device, as far as its architecture tells. */
    struct hn_device *device = &simulated->base.device;
    const struct hn_device_identity *identity = &simulated->recording.identity.device;
    snprintf(architecture, sizeof architecture, "sm_%d", identity->capability);
    if (hn_device_for_architecture(architecture, device, NULL) != HN_OK && !hn_failed(err))
        hn_device_for_architecture("sm_90", device, err);
    device->identity = *identity;
    if (hn_failed(err)) {
        close_simulated(&simulated->base);
        return NULL;
    }
    hn_task_set_measured(task, &simulated->recording.identity);
    set_version(simulated);
    return &simulated->base;
}
