/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/workers/compile_queue.h"
#include "tuner/workers/process.h"

struct worker {
    struct hn_process process;
    struct hn_compile_job *job;
    bool ready; /* said its NVRTC version */
    int compiled;
    double started_ms;
};

struct hn_compile_pool {
    int jobs;
    double timeout_ms;
    struct worker *workers;
    struct hn_compile_queue waiting;
    struct hn_compile_queue finished;
    size_t pending;
    int passed_over;    /* how often in a row the oldest job had to wait for a heavier one */
    int start_failures; /* workers in a row that ended before they were ready */
    size_t unfinished;
    char nvrtc[16];
    struct hn_meter meter;
    double cpu_ms;
    struct hn_timeline *timeline; /* may be NULL */
    bool prefers_heavy;
};

/* A worker may be killed from outside while it starts; one that ends each time has a reason. */
static const int start_failures_most = 3;
/* Of what the whole run depends on. */
static const double first_timeout_ms = 60e3;

/* NVRTC 13.0 keeps some KiB of every program: 4 for a kernel of one line. A worker is replaced
 * after so many, which takes less than 1% of even their time. */
static const int compiled_most = 1000;

enum hn_status hn_compile_pool_create(int jobs, double timeout_s, struct hn_compile_pool **out,
                                      struct hn_error *err)
{
    struct hn_compile_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return hn_fail_memory(err);
    pool->workers = calloc((size_t)jobs, sizeof *pool->workers);
    if (pool->workers == NULL) {
        free(pool);
        return hn_fail_memory(err);
    }
    pool->jobs = jobs;
    pool->timeout_ms = timeout_s * 1e3;
    hn_compile_queue_init(&pool->waiting);
    hn_compile_queue_init(&pool->finished);
    for (int i = 0; i < jobs; i++)
        hn_process_init(&pool->workers[i].process);
    *out = pool;
    return HN_OK;
}

void hn_compile_pool_end(const struct hn_compile_pool *pool)
{
    for (int i = 0; i < pool->jobs; i++)
        hn_process_end(&pool->workers[i].process);
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    hn_compile_pool_end(pool);
    for (int i = 0; i < pool->jobs; i++) {
        hn_process_kill(&pool->workers[i].process);
        hn_compile_job_destroy(pool->workers[i].job);
    }
    hn_compile_queue_drain(&pool->waiting);
    hn_compile_queue_drain(&pool->finished);
    free(pool->workers);
    free(pool);
}

int hn_compile_pool_jobs(const struct hn_compile_pool *pool)
{
    return pool->jobs;
}

size_t hn_compile_pool_pending(const struct hn_compile_pool *pool)
{
    return pool->pending;
}

size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool)
{
    return pool->unfinished;
}

struct hn_meter *hn_compile_pool_meter(struct hn_compile_pool *pool)
{
    return &pool->meter;
}

void hn_compile_pool_prefer_heavy(struct hn_compile_pool *pool, bool prefers)
{
    pool->prefers_heavy = prefers;
}

void hn_compile_pool_set_timeline(struct hn_compile_pool *pool, struct hn_timeline *timeline)
{
    pool->timeline = timeline;
}

double hn_compile_pool_cpu_ms(const struct hn_compile_pool *pool)
{
    return pool->cpu_ms;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      double weight, struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    hn_compile_queue_push(&pool->waiting, job);
    job->timeout_ms = pool->timeout_ms;
    job->weight = weight;
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit_first(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    hn_compile_queue_push_front(&pool->waiting, job);
    job->timeout_ms = fmax(pool->timeout_ms, first_timeout_ms);
    job->weight = INFINITY;
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit_ahead(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, double weight,
                                            struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    hn_compile_queue_push(&pool->waiting, job);
    job->timeout_ms = pool->timeout_ms;
    job->weight = weight;
    job->ahead = true;
    return HN_OK;
}

bool hn_compile_pool_claim(struct hn_compile_pool *pool, uint64_t ahead, uint64_t id)
{
    struct hn_compile_job *finished = hn_compile_queue_find(&pool->finished, ahead);
    struct hn_compile_job *job =
        finished != NULL ? finished : hn_compile_queue_find(&pool->waiting, ahead);
    for (int i = 0; i < pool->jobs && job == NULL; i++)
        if (pool->workers[i].job != NULL && pool->workers[i].job->id == ahead)
            job = pool->workers[i].job;
    if (job == NULL || !job->ahead || job->cancelled)
        return false;
    job->id = id;
    job->ahead = false;
    pool->pending++;
    pool->unfinished += finished == NULL;
    return true;
}

static void cancel_in(struct hn_compile_pool *pool, struct hn_compile_queue *queue, bool ahead_only)
{
    struct hn_compile_job **link = &queue->first;
    while (*link != NULL) {
        if (ahead_only && !(*link)->ahead) {
            link = &(*link)->next;
            continue;
        }
        struct hn_compile_job *job = hn_compile_queue_unlink(queue, link);
        pool->pending -= !job->ahead;
        pool->unfinished -= !job->ahead && queue == &pool->waiting;
        hn_compile_job_destroy(job);
    }
}

void hn_compile_pool_cancel(struct hn_compile_pool *pool, bool ahead_only)
{
    cancel_in(pool, &pool->waiting, ahead_only);
    cancel_in(pool, &pool->finished, ahead_only);
    for (int i = 0; i < pool->jobs; i++) {
        struct hn_compile_job *job = pool->workers[i].job;
        if (job == NULL || job->cancelled || (ahead_only && !job->ahead))
            continue;
        pool->pending -= !job->ahead;
        pool->unfinished -= !job->ahead;
        job->cancelled = true;
    }
}

static void finish_job(struct hn_compile_pool *pool, struct worker *worker)
{
    struct hn_compile_job *job = worker->job;
    double now = hn_now_ms();
    worker->job = NULL;
    job->image.compile_ms = now - worker->started_ms;
    hn_meter_end(&pool->meter, now);
    if (pool->timeline != NULL)
        hn_timeline_add(pool->timeline, "compile", worker->started_ms, now);
    if (job->cancelled) {
        hn_compile_job_destroy(job);
        return;
    }
    pool->unfinished -= !job->ahead;
    hn_compile_queue_push(&pool->finished, job);
}

static void fail_job(struct hn_compile_pool *pool, struct worker *worker, enum hn_outcome outcome,
                     const char *message)
{
    hn_image_finish(&worker->job->image);
    hn_image_init(&worker->job->image);
    worker->job->image.outcome = outcome;
    worker->job->image.message = strdup(message);
    finish_job(pool, worker);
}

/* The worker is gone: its job is tried once more, then it is the compiler's crash. */
static enum hn_status replace_worker(struct hn_compile_pool *pool, struct worker *worker,
                                     struct hn_error *err)
{
    char end[512];
    bool was_ready = worker->ready;
    hn_process_describe_end(&worker->process, hn_process_kill(&worker->process), end, sizeof end);
    worker->ready = false;
    if (!was_ready && ++pool->start_failures >= start_failures_most)
        return hn_fail(err, HN_ERUN, "compile workers do not start: %s", end);
    if (worker->job == NULL)
        return HN_OK;
    if (worker->job->attempts >= 2) {
        char message[600];
        snprintf(message, sizeof message, "the compiler crashed twice: %s", end);
        fail_job(pool, worker, HN_OUTCOME_COMPILE_CRASH, message);
        return HN_OK;
    }
    hn_meter_end(&pool->meter, hn_now_ms());
    if (worker->job->cancelled)
        hn_compile_job_destroy(worker->job);
    else
        hn_compile_queue_push_front(&pool->waiting, worker->job);
    worker->job = NULL;
    return HN_OK;
}

static enum hn_status take_ready(struct hn_compile_pool *pool, struct worker *worker,
                                 const struct hn_message *message, struct hn_error *err)
{
    const char *version = json_string_value(json_object_get(message->json, "nvrtc"));
    if (version == NULL)
        return hn_fail(err, HN_EFORMAT, "a compile worker did not say its version of NVRTC");
    snprintf(pool->nvrtc, sizeof pool->nvrtc, "%s", version);
    worker->ready = true;
    worker->compiled = 0;
    pool->start_failures = 0;
    worker->started_ms = hn_now_ms();
    return HN_OK;
}

static enum hn_status take_message(struct hn_compile_pool *pool, struct worker *worker,
                                   const struct hn_message *message, struct hn_error *err)
{
    const char *type = hn_message_type(message);
    if (!worker->process.greeted)
        return hn_process_greet(&worker->process, message, err);
    if (strcmp(type, "failed") == 0)
        return hn_fail(err, HN_ERUN, "%s",
                       json_string_value(json_object_get(message->json, "message")));
    if (strcmp(type, "ready") == 0)
        return take_ready(pool, worker, message, err);
    if (worker->job == NULL)
        return HN_OK;
    pool->cpu_ms += json_number_value(json_object_get(message->json, "cpu_ms"));
    const json_t *json = json_object_get(message->json, "image");
    enum hn_status status = hn_message_get_image(message, json, &worker->job->image, err);
    if (status == HN_OK)
        finish_job(pool, worker);
    worker->compiled++;
    return status;
}

static enum hn_status listen_to(struct hn_compile_pool *pool, struct worker *worker,
                                struct hn_error *err)
{
    struct hn_message message;
    struct hn_error lost;
    hn_process_drain(&worker->process);
    for (;;) {
        switch (hn_channel_receive(&worker->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return HN_OK;
        case HN_RECEIVED_CLOSED:
            return replace_worker(pool, worker, err);
        case HN_RECEIVED_MESSAGE:
            break;
        }
        enum hn_status status = take_message(pool, worker, &message, err);
        hn_message_finish(&message);
        if (status != HN_OK)
            return status;
    }
}

static void enforce_limit(struct hn_compile_pool *pool, struct worker *worker)
{
    if (worker->job == NULL || !worker->ready ||
        hn_now_ms() - worker->started_ms < worker->job->timeout_ms)
        return;
    char message[128];
    snprintf(message, sizeof message, "the compiler was stopped after %g s (--compile-timeout)",
             worker->job->timeout_ms / 1e3);
    hn_process_kill(&worker->process);
    worker->ready = false;
    fail_job(pool, worker, HN_OUTCOME_COMPILE_TIMEOUT, message);
}

static void retire(struct worker *worker)
{
    if (worker->job != NULL || worker->compiled < compiled_most)
        return;
    hn_process_kill(&worker->process);
    worker->ready = false;
    worker->compiled = 0;
}

static void give_job(struct hn_compile_pool *pool, struct worker *worker)
{
    if (!worker->ready || worker->job != NULL || pool->waiting.first == NULL)
        return;
    worker->job = pool->prefers_heavy ? hn_compile_queue_pop_heaviest(&pool->waiting, pool->jobs)
                                      : hn_compile_queue_pop(&pool->waiting);
    worker->job->attempts++;
    worker->started_ms = hn_now_ms();
    hn_meter_begin(&pool->meter, worker->started_ms);
    /* A worker that does not take it has closed its channel, which the next process() sees; but
     * what is too long for a message never gets there. */
    struct hn_error reason;
    if (hn_channel_send(&worker->process.channel, &worker->job->request, &reason) == HN_EFORMAT)
        fail_job(pool, worker, HN_OUTCOME_COMPILE_ERROR, reason.message);
}

enum hn_status hn_compile_pool_start(struct hn_compile_pool *pool, uint64_t wanted,
                                     struct hn_error *err)
{
    for (int i = 0; i < pool->jobs; i++)
        if (pool->workers[i].process.pid != 0 && pool->workers[i].job == NULL && wanted > 0)
            wanted--;
    for (int i = 0; i < pool->jobs && wanted > 0; i++) {
        if (pool->workers[i].process.pid != 0)
            continue;
        enum hn_status status = hn_process_start(&pool->workers[i].process, "compile", err);
        if (status != HN_OK)
            return status;
        wanted--;
    }
    return HN_OK;
}

enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err)
{
    for (int i = 0; i < pool->jobs; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->process.pid == 0)
            continue;
        enum hn_status status = listen_to(pool, worker, err);
        if (status != HN_OK)
            return status;
        enforce_limit(pool, worker);
        retire(worker);
        give_job(pool, worker);
    }
    uint64_t waiting = 0;
    for (struct hn_compile_job *job = pool->waiting.first; job != NULL; job = job->next)
        waiting++;
    return hn_compile_pool_start(pool, waiting, err);
}

static void hand_over(struct hn_compile_pool *pool, struct hn_compile_job **link,
                      struct hn_image *image)
{
    struct hn_compile_job *job = hn_compile_queue_unlink(&pool->finished, link);
    *image = job->image;
    hn_image_init(&job->image);
    hn_compile_job_destroy(job);
    pool->pending--;
}

bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image)
{
    struct hn_compile_job **link = &pool->finished.first;
    while (*link != NULL && (*link)->ahead)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    *id = (*link)->id;
    hand_over(pool, link, image);
    return true;
}

bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image)
{
    struct hn_compile_job **link = &pool->finished.first;
    while (*link != NULL && ((*link)->ahead || (*link)->id != id))
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    hand_over(pool, link, image);
    return true;
}

size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds)
{
    size_t count = 0;
    for (int i = 0; i < pool->jobs; i++)
        if (pool->workers[i].process.pid != 0)
            count += hn_process_poll(&pool->workers[i].process, fds + count);
    return count;
}

int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool)
{
    double least = -1;
    for (int i = 0; i < pool->jobs; i++) {
        const struct worker *worker = &pool->workers[i];
        if (worker->job == NULL)
            continue;
        double left = worker->started_ms + worker->job->timeout_ms - hn_now_ms();
        if (least < 0 || left < least)
            least = left > 0 ? left : 0;
    }
    return least < 0 ? -1 : (int)least + 1;
}

static void sleep_on(struct hn_compile_pool *pool)
{
    struct pollfd *fds = calloc((size_t)pool->jobs * 2, sizeof *fds);
    if (fds != NULL)
        poll(fds, hn_compile_pool_poll(pool, fds), 1000);
    free(fds);
}

enum hn_status hn_compile_pool_nvrtc(struct hn_compile_pool *pool, char version[16],
                                     struct hn_error *err)
{
    while (pool->nvrtc[0] == '\0') {
        enum hn_status status = HN_OK;
        if (pool->workers[0].process.pid == 0)
            status = hn_process_start(&pool->workers[0].process, "compile", err);
        if (status == HN_OK)
            status = hn_compile_pool_process(pool, err);
        if (status != HN_OK)
            return status;
        if (pool->nvrtc[0] == '\0')
            sleep_on(pool);
    }
    memcpy(version, pool->nvrtc, 16);
    return HN_OK;
}
