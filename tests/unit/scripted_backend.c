/* SPDX-License-Identifier: MIT */
#include "scripted_backend.h"

#include <math.h>
#include <poll.h>
#include <signal.h>

#include "base/run.h"
#include "tests/unit/unit.h"
#include "tuner/session/session_internal.h"

static struct scripted *scripted_of(const struct hn_backend *backend)
{
    return (struct scripted *)(uintptr_t)backend;
}

static void close_scripted(struct hn_backend *backend)
{
    struct scripted *scripted = scripted_of(backend);
    for (size_t i = 0; i < scripted->queue_count; i++)
        hn_backend_event_finish(&scripted->queue[i].event);
    free(scripted->queue);
    scripted->queue = NULL;
    scripted->queue_count = 0;
}

static void push(struct scripted *scripted, const struct hn_backend_event *event, int point,
                 int delay)
{
    struct scripted_job *queue =
        realloc(scripted->queue, (scripted->queue_count + 1) * sizeof *queue);
    scripted->queue = queue;
    queue[scripted->queue_count++] =
        (struct scripted_job){*event, point, scripted->clock + 1 + delay, 0};
}

static void compile(struct scripted *scripted, const struct hn_start *start, struct hn_error *err)
{
    struct hn_backend_event event = {.kind = HN_EVENT_COMPILED, .ticket = start->ticket};
    uint64_t ticket = start->ticket;
    double patience_ms = start->patience_ms;
    int number = point_number(start->point);
    const struct fate *fate = &scripted->fates[number];
    if (scripted->fail_seeded && scripted->reseeds > 0) {
        hn_fail(err, HN_ERUN, "no more compilers");
        return;
    }
    assert_true(scripted->compiled_count < LOG_LIMIT);
    scripted->compiled[scripted->compiled_count++] = number;
    event.image = HN_NO_IMAGE;
    event.image.outcome = fate->compiled;
    event.image.resources.registers = number;
    event.image.resources.known = true;
    event.image.compile_ms = fate->compile_ms > 0 ? fate->compile_ms : 10;
    if (event.image.compile_ms > patience_ms) {
        event.image.outcome = HN_OUTCOME_COMPILE_STOPPED;
        event.image.resources = (struct hn_resources){.known = false};
        event.image.message = strdup("it takes too long");
        event.image.compile_ms = patience_ms;
    } else if (fate->compiled == HN_OUTCOME_OK) {
        event.image.cubin = strdup("cubin");
        event.image.size = 5;
    } else {
        event.image.message = strdup("it does not compile");
    }
    if (ticket < LOG_LIMIT)
        scripted->ages_ms[ticket] = fate->age_ms;
    if (fate->stuck)
        hn_backend_event_finish(&event);
    else
        push(scripted, &event, number, fate->delay);
}

static void complete(struct hn_backend *backend, const struct hn_bindings *point,
                     struct hn_image *image, char key[33], struct hn_error *err)
{
    int number = point_number(point);
    int code = scripted_of(backend)->fates[number].code;
    (void)err;
    key[0] = '\0';
    if (image->outcome != HN_OUTCOME_OK)
        return;
    image->resources.occupancy = 0.5;
    snprintf(key, 33, "%032x", code != 0 ? GRID_POINTS + (unsigned)code : (unsigned)number);
}

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    const struct scripted *scripted = scripted_of(backend);
    size_t limit = (size_t)scripted->jobs * 2;
    *state = (struct hn_backend_state){
        .room = scripted->queue_count < limit ? limit - scripted->queue_count : 0,
        .idle = !scripted->evaluating,
        .quiet = !scripted->evaluating,
        .age_ms = ticket < LOG_LIMIT ? scripted->ages_ms[ticket] : 0,
    };
}

static void measure(const struct fate *fate, const struct hn_bench_request *request,
                    struct hn_record *record)
{
    bool stopped = !request->full && request->censor_us > 0 && fate->us > 1.2 * request->censor_us;
    if (stopped)
        record->outcome = HN_OUTCOME_SLOWER;
    double half = request->target > 0 ? request->target : 0.002;
    record->timing = (struct hn_timing){.median_us = fate->us,
                                        .low_us = fate->us * (1 - half),
                                        .high_us = fate->us * (1 + half),
                                        .resolution_us = 0.01,
                                        .batch = 1};
    record->costs.measure_ms = stopped ? 1 : 10;
}

static void evaluate(struct scripted *scripted, const struct hn_start *start, struct hn_error *err)
{
    struct hn_backend_event event = {.kind = HN_EVENT_EVALUATED, .ticket = start->ticket};
    const struct hn_bench_request *request = start->request;
    int number = point_number(start->point);
    const struct fate *fate = &scripted->fates[number];
    assert_false(scripted->evaluating);
    assert_non_null(start->image->cubin);
    assert_true(scripted->evaluated_count < LOG_LIMIT);
    scripted->evaluated[scripted->evaluated_count++] =
        (struct scripted_evaluation){start->ticket, number, *request};
    if (scripted->evaluated_count == scripted->fail_at) {
        hn_fail(err, HN_ERUN, "the GPU is gone");
        return;
    }
    if (scripted->evaluated_count == scripted->interrupt_at) {
        raise(SIGINT);
        scripted->evaluating = true;
        return; /* it comes to no end before the session's */
    }
    event.record = (struct hn_record){0};
    assert_ok(hn_bindings_copy(&event.record.point, start->point, err));
    event.record.outcome = scripted->seed == scripted->first_seed ? fate->measured : fate->second;
    event.record.verdict = (struct hn_verdict){.kind = HN_VERIFIED, .seeds = 1};
    event.record.costs.verify_ms = 1;
    if (event.record.outcome != HN_OUTCOME_OK)
        hn_record_fail(&event.record, event.record.outcome, "it fails");
    else if (request->measure)
        measure(fate, request, &event.record);
    scripted->evaluating = true;
    push(scripted, &event, number, 0);
    if (fate->slow_ms > 0)
        scripted->queue[scripted->queue_count - 1].due_ms = hn_now_ms() + fate->slow_ms;
}

static void start(struct hn_backend *backend, const struct hn_start *start, struct hn_error *err)
{
    assert_false(hn_failed(err));
    if (start->request != NULL)
        evaluate(scripted_of(backend), start, err);
    else
        compile(scripted_of(backend), start, err);
}

/* The next job that is due; when none is, time goes on to the first that will be. */
static size_t choose(struct scripted *scripted)
{
    size_t first = 0;
    if (scripted->shuffle != 0) {
        scripted->shuffle = scripted->shuffle * 1664525u + 1013904223u;
        return (scripted->shuffle >> 8) % scripted->queue_count;
    }
    for (size_t i = 0; i < scripted->queue_count; i++) {
        if (scripted->queue[i].due <= scripted->clock)
            return i;
        if (scripted->queue[i].due < scripted->queue[first].due)
            first = i;
    }
    return first;
}

static void next(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                 struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    assert_false(hn_failed(err));
    scripted->clock++;
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    if (scripted->queue_count == 0) {
        scripted->waits_in_vain++;
        poll(NULL, 0, timeout_ms);
        return;
    }
    size_t chosen = choose(scripted);
    struct scripted_job *job = &scripted->queue[chosen];
    if (job->due_ms > hn_now_ms()) {
        poll(NULL, 0, 1);
        return;
    }
    *event = job->event;
    if (event->kind == HN_EVENT_EVALUATED)
        scripted->evaluating = false;
    memmove(job, job + 1, (--scripted->queue_count - chosen) * sizeof *job);
}

static void race(struct scripted *scripted, const struct hn_run *run)
{
    enum { ROUNDS = 15 };
    assert_int_not_equal(scripted->seed, scripted->first_seed);
    scripted->races++;
    for (size_t i = 0; !scripted->race_hangs && i < run->racer_count; i++) {
        const struct hn_racer *racer = &run->racers[i];
        struct hn_timing *timing = &run->racers[i].record.timing;
        const struct fate *fate = &scripted->fates[point_number(racer->point)];
        double us = fate->raced_us > 0 ? fate->raced_us : fate->us;
        assert_non_null(racer->image->cubin);
        if (fate->raced != HN_OUTCOME_OK) {
            hn_record_fail(&run->racers[i].record, fate->raced, "it fails");
            continue;
        }
        timing->samples_us = calloc(ROUNDS, sizeof *timing->samples_us);
        timing->sample_count = ROUNDS;
        for (int r = 0; r < ROUNDS; r++)
            timing->samples_us[r] = us * scripted->race_factor * (1 + 1e-5 * (r % 3));
    }
}

/* Each process takes 1% longer than the one before. */
static void measure_anew(struct scripted *scripted, struct hn_racer *variant)
{
    struct hn_record *record = &variant->record;
    const struct fate *fate = &scripted->fates[point_number(variant->point)];
    assert_non_null(variant->image->cubin);
    record->timing.median_us = fate->us * (1 + 0.01 * scripted->processes++);
    record->timing.copy_gb_per_s = 2000;
    if (fate->anew != HN_OUTCOME_OK)
        hn_record_fail(record, fate->anew, "it fails");
}

static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    if (hn_failed(err))
        return;
    switch (run->kind) {
    case HN_RUN_PREPARE:
        scripted->prepared++;
        run->noise = 0.001;
        break;
    case HN_RUN_RESEED:
        scripted->seed = run->seed;
        scripted->reseeds++;
        break;
    case HN_RUN_RACE:
        race(scripted, run);
        break;
    case HN_RUN_MEASURE:
        assert_true(run->anew);
        measure_anew(scripted, run->racers);
        break;
    case HN_RUN_COPY:
    case HN_RUN_ROOFS:
        break;
    }
}

static void stop(struct hn_backend *backend)
{
    scripted_of(backend)->halts++;
}

static const struct hn_backend_kind scripted_kind = {
    .close = close_scripted,
    .start = start,
    .next = next,
    .run = run,
    .stop = stop,
    .complete = complete,
    .look = look,
};

static void finish_grid(struct grid *grid)
{
    hn_backend_destroy(&grid->backend.base);
    hn_task_finish(&grid->task);
    hn_config_destroy(grid->config);
}

struct grid *make_grid(const char *restriction)
{
    struct grid *grid = keep_new(struct grid, finish_grid);
    struct scripted *backend = &grid->backend;
    assert_ok(
        hn_config_load(HONE_TEST_DATA "/session/grid.yaml", NULL, &grid->config, &said) != HN_OK ||
        (restriction != NULL && hn_config_restrict(grid->config, restriction, &said) != HN_OK) ||
        hn_task_make(grid->config, 0, HN_COLD, HN_TASK_MEASURES, &grid->task, &said));
    backend->base = (struct hn_backend){.kind = &scripted_kind, .task = &grid->task};
    assert_ok(hn_device_for_architecture("sm_90", &backend->base.device, &said));
    hn_task_set_device(&grid->task, &backend->base.device.identity, "580.1", "13.0");
    backend->jobs = 4;
    backend->race_factor = 1;
    for (int i = 0; i < GRID_POINTS; i++)
        backend->fates[i].us = 100 + (7 * i + GRID_BEST) % GRID_POINTS;
    return grid;
}

int point_number(const struct hn_bindings *point)
{
    const struct hn_value *a = hn_bindings_get(point, "A");
    const struct hn_value *b = hn_bindings_get(point, "B");
    assert_non_null(a);
    assert_non_null(b);
    return (int)(a->integer * GRID_SIDE + b->integer);
}

const char *point_text(int number, char text[32])
{
    snprintf(text, 32, "A=%d,B=%d", number / GRID_SIDE, number % GRID_SIDE);
    return text;
}

const struct hn_record *keep_record(const struct hn_session *session, size_t ticket)
{
    struct hn_record *record = keep_new(struct hn_record, hn_record_finish);
    assert_ok(hn_session_record(session, ticket, record, &said));
    return record;
}

const struct hn_record *record_of(const struct hn_session *session, int point)
{
    const struct hn_record *found = NULL;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        struct hn_bindings bindings;
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed)
            continue;
        hn_session_point(session, ticket->point, &bindings);
        bool same = point_number(&bindings) == point;
        hn_bindings_finish(&bindings);
        if (!same)
            continue;
        assert_null(found);
        found = keep_record(session, i);
    }
    return found;
}

int measured_count(const struct scripted *backend, int point)
{
    int count = 0;
    for (int i = 0; i < backend->evaluated_count; i++)
        count += backend->evaluated[i].point == point && backend->evaluated[i].request.measure;
    return count;
}

struct hn_session_options exhaustive(void)
{
    return (struct hn_session_options){
        .strategy = hn_strategy_find("exhaustive"), .seed = 1, .command = "hone tune"};
}

struct hn_session *run_session(struct grid *grid, struct hn_store *store,
                               const struct hn_session_options *options)
{
    const struct hn_session_options usual = exhaustive();
    struct hn_session *session;
    options = options == NULL ? &usual : options;
    grid->backend.seed = grid->backend.first_seed = options->seed;
    assert_ok(hn_session_create(&grid->backend.base, store, options, &session, &said));
    keep(session, hn_session_destroy);
    assert_ok(hn_session_run(session, NULL, NULL, &said));
    return session;
}

void assert_near(double value, double expected, double margin)
{
    if (!(fabs(value - expected) <= margin))
        fail_msg("%.17g, not %.17g within %g", value, expected, margin);
}

uint64_t sum_of_counts(const struct hn_session_state *state)
{
    uint64_t sum = 0;
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        sum += state->counts[i];
    return sum;
}
