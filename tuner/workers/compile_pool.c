/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/workers/process.h"

struct job {
    uint64_t id;
    struct hn_message request;
    struct hn_image image;
    int attempts;
    double timeout_ms;
    struct job *next;
};

struct queue {
    struct job *first;
    struct job **last;
};

struct worker {
    struct hn_process process;
    struct job *job;
    bool ready; /* said its NVRTC version */
    int compiled;
    double started_ms;
};

struct hn_compile_pool {
    int jobs;
    double timeout_ms;
    struct worker *workers;
    struct queue waiting;
    struct queue finished;
    size_t pending;
    int start_failures; /* workers in a row that ended before they were ready */
    size_t unfinished;
    char nvrtc[16];
    struct hn_meter meter;
    double cpu_ms;
};

/* A worker may be killed from outside while it starts; one that ends each time has a reason. */
static const int start_failures_most = 3;
/* Of what the whole run depends on. */
static const double first_timeout_ms = 60e3;

/* NVRTC 13.0 keeps some KiB of every program: 4 for a kernel of one line. A worker is replaced
 * after so many, which takes less than 1% of even their time. */
static const int compiled_most = 1000;

static void push(struct queue *queue, struct job *job)
{
    job->next = NULL;
    *queue->last = job;
    queue->last = &job->next;
}

static void push_front(struct queue *queue, struct job *job)
{
    job->next = queue->first;
    queue->first = job;
    if (job->next == NULL)
        queue->last = &job->next;
}

static struct job *pop(struct queue *queue)
{
    struct job *job = queue->first;
    if (job == NULL)
        return NULL;
    queue->first = job->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return job;
}

static void destroy_job(struct job *job)
{
    if (job == NULL)
        return;
    hn_message_finish(&job->request);
    hn_image_finish(&job->image);
    free(job);
}

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
    pool->waiting.last = &pool->waiting.first;
    pool->finished.last = &pool->finished.first;
    for (int i = 0; i < jobs; i++)
        hn_process_init(&pool->workers[i].process);
    *out = pool;
    return HN_OK;
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    for (int i = 0; i < pool->jobs; i++) {
        hn_process_kill(&pool->workers[i].process);
        destroy_job(pool->workers[i].job);
    }
    struct job *job;
    while ((job = pop(&pool->waiting)) != NULL)
        destroy_job(job);
    while ((job = pop(&pool->finished)) != NULL)
        destroy_job(job);
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

double hn_compile_pool_cpu_ms(const struct hn_compile_pool *pool)
{
    return pool->cpu_ms;
}

static json_t *strings(char *const *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(items[i]));
    return array;
}

json_t *hn_compile_pool_request(const struct hn_source *source, const char *architecture)
{
    json_t *includes = json_array();
    const struct hn_template *template = source->template;
    for (size_t i = 0; i < template->include_count; i++)
        json_array_append_new(
            includes, json_pack("[ss]", template->includes[i].name, template->includes[i].text));
    return json_pack("{ss ss ss so so so ss}", "type", "compile", "name", template->path, "text",
                     source->text, "includes", includes, "entries",
                     strings(source->entries, source->entry_count), "options",
                     strings(source->options, source->option_count), "architecture", architecture);
}

static enum hn_status make_request(const struct hn_source *source, const char *architecture,
                                   struct hn_message *request, struct hn_error *err)
{
    *request = (struct hn_message){.json = hn_compile_pool_request(source, architecture)};
    if (request->json == NULL)
        return hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", source->template->path);
    return HN_OK;
}

static enum hn_status make_job(uint64_t id, const struct hn_source *source,
                               const char *architecture, struct job **out, struct hn_error *err)
{
    *out = NULL;
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return hn_fail_memory(err);
    job->id = id;
    hn_image_init(&job->image);
    enum hn_status status = make_request(source, architecture, &job->request, err);
    if (status != HN_OK) {
        destroy_job(job);
        return status;
    }
    *out = job;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      struct hn_error *err)
{
    struct job *job = NULL;
    enum hn_status status = make_job(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    push(&pool->waiting, job);
    job->timeout_ms = pool->timeout_ms;
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit_first(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, struct hn_error *err)
{
    struct job *job = NULL;
    enum hn_status status = make_job(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    push_front(&pool->waiting, job);
    job->timeout_ms = fmax(pool->timeout_ms, first_timeout_ms);
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

static void finish_job(struct hn_compile_pool *pool, struct worker *worker)
{
    struct job *job = worker->job;
    double now = hn_now_ms();
    worker->job = NULL;
    job->image.compile_ms = now - worker->started_ms;
    hn_meter_end(&pool->meter, now);
    pool->unfinished--;
    push(&pool->finished, job);
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
    push_front(&pool->waiting, worker->job);
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
    worker->job = pop(&pool->waiting);
    worker->job->attempts++;
    worker->started_ms = hn_now_ms();
    hn_meter_begin(&pool->meter, worker->started_ms);
    /* A worker that does not take it has closed its channel, which the next process() sees. */
    hn_channel_send(&worker->process.channel, &worker->job->request, NULL);
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
    for (struct job *job = pool->waiting.first; job != NULL; job = job->next)
        waiting++;
    return hn_compile_pool_start(pool, waiting, err);
}

bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image)
{
    struct job *job = pop(&pool->finished);
    if (job == NULL)
        return false;
    *id = job->id;
    *image = job->image;
    hn_image_init(&job->image);
    destroy_job(job);
    pool->pending--;
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

bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image)
{
    bool found = false;
    struct queue others = {0};
    others.last = &others.first;
    struct job *job;
    while ((job = pop(&pool->finished)) != NULL) {
        if (job->id != id || found) {
            push(&others, job);
            continue;
        }
        found = true;
        *image = job->image;
        hn_image_init(&job->image);
        destroy_job(job);
        pool->pending--;
    }
    while ((job = pop(&others)) != NULL)
        push(&pool->finished, job);
    return found;
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
