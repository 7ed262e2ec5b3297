/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_queue.h"

#include <math.h>
#include <stdlib.h>

void hn_compile_queue_init(struct hn_compile_queue *queue)
{
    *queue = (struct hn_compile_queue){.first = NULL};
    queue->last = &queue->first;
}

void hn_compile_queue_push(struct hn_compile_queue *queue, struct hn_compile_job *job)
{
    job->next = NULL;
    *queue->last = job;
    queue->last = &job->next;
}

void hn_compile_queue_push_front(struct hn_compile_queue *queue, struct hn_compile_job *job)
{
    job->next = queue->first;
    queue->first = job;
    if (job->next == NULL)
        queue->last = &job->next;
}

struct hn_compile_job *hn_compile_queue_unlink(struct hn_compile_queue *queue,
                                               struct hn_compile_job **link)
{
    struct hn_compile_job *job = *link;
    *link = job->next;
    if (queue->last == &job->next)
        queue->last = link;
    return job;
}

/* Where the first that is not held is; at the end: nowhere. */
static struct hn_compile_job **find_free(struct hn_compile_queue *queue)
{
    struct hn_compile_job **link = &queue->first;
    while (*link != NULL && (*link)->held)
        link = &(*link)->next;
    return link;
}

struct hn_compile_job *hn_compile_queue_pop(struct hn_compile_queue *queue)
{
    struct hn_compile_job **first = find_free(queue);
    return *first != NULL ? hn_compile_queue_unlink(queue, first) : NULL;
}

struct hn_compile_job *hn_compile_queue_pop_heaviest(struct hn_compile_queue *queue, int limit)
{
    struct hn_compile_job **first = find_free(queue);
    struct hn_compile_job **heaviest = first;
    if (*first == NULL)
        return NULL;
    for (struct hn_compile_job **link = first; *link != NULL; link = &(*link)->next)
        if (!(*link)->held && (*link)->weight > (*heaviest)->weight)
            heaviest = link;
    bool passes_over = heaviest != first && queue->passed_over < limit;
    queue->passed_over = passes_over ? queue->passed_over + 1 : 0;
    return hn_compile_queue_unlink(queue, passes_over ? heaviest : first);
}

void hn_compile_job_destroy(struct hn_compile_job *job)
{
    if (job == NULL)
        return;
    hn_message_finish(&job->request);
    hn_image_finish(&job->image);
    free(job);
}

double hn_compile_job_limit_ms(const struct hn_compile_job *job)
{
    return fmin(job->timeout_ms, job->patience_ms);
}

void hn_compile_queue_drain(struct hn_compile_queue *queue)
{
    while (queue->first != NULL)
        hn_compile_job_destroy(hn_compile_queue_unlink(queue, &queue->first));
}

struct hn_compile_job *hn_compile_queue_find(const struct hn_compile_queue *queue, uint64_t id)
{
    struct hn_compile_job *job = queue->first;
    while (job != NULL && job->id != id)
        job = job->next;
    return job;
}

static enum hn_status make_request(const struct hn_source *source, const char *architecture,
                                   struct hn_message *request, struct hn_error *err)
{
    *request = (struct hn_message){.json = hn_message_of_source(source, architecture)};
    if (request->json == NULL)
        return hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", source->template->path);
    return HN_OK;
}

enum hn_status hn_compile_job_make(uint64_t id, const struct hn_source *source,
                                   const char *architecture, struct hn_compile_job **out,
                                   struct hn_error *err)
{
    *out = NULL;
    struct hn_compile_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return hn_fail_memory(err);
    job->id = id;
    job->patience_ms = INFINITY;
    hn_image_init(&job->image);
    enum hn_status status = make_request(source, architecture, &job->request, err);
    if (status == HN_OK)
        status = hn_source_key(source, architecture, true, &job->key, err);
    if (status != HN_OK) {
        hn_compile_job_destroy(job);
        return status;
    }
    *out = job;
    return HN_OK;
}
