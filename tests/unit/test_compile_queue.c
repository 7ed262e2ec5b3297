/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_queue.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void push(struct hn_compile_queue *queue, uint64_t id, double weight)
{
    struct hn_compile_job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->id = id;
    job->weight = weight;
    hn_image_init(&job->image);
    hn_compile_queue_push(queue, job);
}

static uint64_t pop_heaviest(struct hn_compile_queue *queue, int limit)
{
    struct hn_compile_job *job = hn_compile_queue_pop_heaviest(queue, limit);
    uint64_t id = job->id;
    hn_compile_job_destroy(job);
    return id;
}

static void equal_ones_keep_their_order(void **state)
{
    struct hn_compile_queue queue;
    (void)state;
    hn_compile_queue_init(&queue);
    for (uint64_t i = 0; i < 5; i++)
        push(&queue, i, 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(pop_heaviest(&queue, 16), i);
    assert_null(hn_compile_queue_pop(&queue));
}

static void heavier_ones_come_first(void **state)
{
    static const double weights[] = {1, 5, 3, 5, INFINITY, 2};
    static const uint64_t expected[] = {4, 1, 3, 2, 5, 0};
    struct hn_compile_queue queue;
    (void)state;
    hn_compile_queue_init(&queue);
    for (uint64_t i = 0; i < 6; i++)
        push(&queue, i, weights[i]);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pop_heaviest(&queue, 16), expected[i]);
    assert_null(queue.first);
    /* The end of the queue is right after taking its last. */
    push(&queue, 7, 0);
    assert_int_equal(pop_heaviest(&queue, 16), 7);
}

static void the_oldest_is_passed_over_only_so_often(void **state)
{
    struct hn_compile_queue queue;
    (void)state;
    hn_compile_queue_init(&queue);
    push(&queue, 100, 0);
    push(&queue, 101, 0);
    for (uint64_t i = 0; i < 12; i++)
        push(&queue, i, 1);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(pop_heaviest(&queue, 3), i);
    assert_int_equal(pop_heaviest(&queue, 3), 100);
    for (uint64_t i = 3; i < 6; i++)
        assert_int_equal(pop_heaviest(&queue, 3), i);
    assert_int_equal(pop_heaviest(&queue, 3), 101);
    hn_compile_queue_drain(&queue);
    assert_null(queue.first);
}

static void a_job_is_found_and_taken_out(void **state)
{
    struct hn_compile_queue queue;
    (void)state;
    hn_compile_queue_init(&queue);
    for (uint64_t i = 0; i < 3; i++)
        push(&queue, i, 0);
    assert_int_equal(hn_compile_queue_find(&queue, 2)->id, 2);
    assert_null(hn_compile_queue_find(&queue, 3));
    struct hn_compile_job *last = hn_compile_queue_unlink(&queue, &queue.first->next->next);
    assert_int_equal(last->id, 2);
    hn_compile_job_destroy(last);
    push(&queue, 9, 0);
    assert_int_equal(queue.first->next->next->id, 9);
    hn_compile_queue_drain(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ones_keep_their_order),
        cmocka_unit_test(heavier_ones_come_first),
        cmocka_unit_test(the_oldest_is_passed_over_only_so_often),
        cmocka_unit_test(a_job_is_found_and_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
