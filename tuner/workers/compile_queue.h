/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_QUEUE_H
#define HONE_TUNER_WORKERS_COMPILE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/compile/image.h"
#include "runtime/compile/source_key.h"
#include "runtime/process/message.h"

/* The inside of the compile pool: compilations, and lists of them. */

struct hn_compile_job {
    uint64_t id;
    struct hn_compile_pool *pool; /* whose it is; NULL: it is gone */
    struct hn_message request;
    struct hn_source_key key; /* of the program */
    struct hn_image image;
    int attempts;
    double timeout_ms;
    double patience_ms; /* that it is worth */
    double weight;  /* heavier ones first */
    bool ahead;     /* nobody has asked for it yet */
    bool cancelled; /* nobody will */
    bool held;      /* it waits for another job of its program, which is under way */
    bool remembered; /* its image is, for who asks for the same later */
    struct hn_compile_job *next;
};

struct hn_compile_queue {
    struct hn_compile_job *first;
    struct hn_compile_job **last;
    int passed_over; /* how often in a row the first had to wait for a heavier one */
};

enum hn_status hn_compile_job_make(uint64_t id, const struct hn_source *source, const char *architecture,
                                   struct hn_compile_job **job, struct hn_error *err);
void hn_compile_job_destroy(struct hn_compile_job *job); /* NULL is fine */
/* How long it may take. */
double hn_compile_job_limit_ms(const struct hn_compile_job *job);

void hn_compile_queue_init(struct hn_compile_queue *queue);
void hn_compile_queue_drain(struct hn_compile_queue *queue);
void hn_compile_queue_push(struct hn_compile_queue *queue, struct hn_compile_job *job);
void hn_compile_queue_push_front(struct hn_compile_queue *queue, struct hn_compile_job *job);
/* The first that is not held; NULL when there is none. */
struct hn_compile_job *hn_compile_queue_pop(struct hn_compile_queue *queue);
/* The heaviest of those that are not held, of equal ones the oldest, so that what takes long does not come last; but the
 * oldest of all is passed over `limit` times in a row at most, since those behind it may wait for it. NULL: there is none. */
struct hn_compile_job *hn_compile_queue_pop_heaviest(struct hn_compile_queue *queue, int limit);
/* Takes out the job that *link points to. */
struct hn_compile_job *hn_compile_queue_unlink(struct hn_compile_queue *queue, struct hn_compile_job **link);
struct hn_compile_job *hn_compile_queue_find(const struct hn_compile_queue *queue, uint64_t id);

#endif
