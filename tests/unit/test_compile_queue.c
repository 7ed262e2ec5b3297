/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.c"

#include "tests/unit/unit.h"

struct fixture {
    struct hn_compile_queue queue;
    struct hn_compile_pool client, other;
};

static void finish(struct fixture *fixture)
{
    compile_queue_remove_client(&fixture->client);
    compile_queue_remove_client(&fixture->other);
    compile_queue_finish(&fixture->queue);
}

static struct fixture *make(void)
{
    struct fixture *fixture = keep_new(struct fixture, finish);
    TAILQ_INIT(&fixture->queue.waiting);
    TAILQ_INIT(&fixture->queue.clients);
    fixture->client.wakeup = fixture->other.wakeup = -1;
    fixture->client.prefers_heavy = true;
    compile_queue_add_client(&fixture->queue, &fixture->client);
    compile_queue_add_client(&fixture->queue, &fixture->other);
    return fixture;
}

static struct hn_hash key_of(uint64_t program)
{
    return hn_hash_bytes(&program, sizeof program);
}

static void ask(struct fixture *fixture, struct hn_compile_pool *client, uint64_t id,
                uint64_t program, enum hn_rank rank, double weight)
{
    const struct hn_want want = {client, id, rank, weight, INFINITY, {.message = NULL}, {0}};
    const struct hn_hash key = key_of(program);
    struct hn_message request = {.json = NULL};
    compile_queue_ask(&want, &key, &request, 60e3, false);
}

/* A program of its own, with a weight. */
static void push(struct fixture *fixture, uint64_t id, double weight)
{
    ask(fixture, &fixture->client, id, id, HN_RANK_ASKED, weight);
}

/* The number of the first want of what is begun next. */
static uint64_t begin_next(struct fixture *fixture, int limit)
{
    return TAILQ_FIRST(&compile_queue_next(&fixture->queue, limit)->wants)->id;
}

static void end(struct fixture *fixture, struct hn_job *job, enum hn_outcome outcome)
{
    job->image.outcome = outcome;
    job->image.compile_ms = 5;
    if (outcome == HN_OUTCOME_OK) {
        job->image.cubin = strdup("cubin");
        job->image.size = 5;
    }
    compile_queue_end(&fixture->queue, job);
}

/* The outcome of the image of that number, -1 where there is none yet; `first`: that of whoever had
 * it compiled. */
static int take(struct hn_compile_pool *client, uint64_t id, bool first)
{
    struct hn_image image ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    if (!hn_compile_pool_take(client, &id, &id, &image))
        return -1;
    int outcome = (int)image.outcome;
    assert_true(first ? image.compile_ms > 0 : image.compile_ms == 0);
    if (image.outcome == HN_OUTCOME_OK)
        assert_memory_equal(image.cubin, "cubin", image.size);
    return outcome;
}

TEST(equal_ones_keep_their_order)
{
    struct fixture *fixture = make();
    for (uint64_t i = 0; i < 5; i++)
        push(fixture, i, 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(begin_next(fixture, 16), i);
    assert_null(compile_queue_next(&fixture->queue, 16));
}

TEST(heavier_ones_come_first)
{
    static const double weights[] = {1, 5, 3, 5, INFINITY, 2};
    static const uint64_t expected[] = {4, 1, 3, 2, 5, 0};
    struct fixture *fixture = make();
    for (uint64_t i = 0; i < 6; i++)
        push(fixture, i, weights[i]);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(begin_next(fixture, 16), expected[i]);
    assert_true(TAILQ_EMPTY(&fixture->queue.waiting));
    /* The end of the queue is right after taking its last. */
    push(fixture, 7, 0);
    assert_int_equal(begin_next(fixture, 16), 7);
}

TEST(the_oldest_is_passed_over_only_so_often)
{
    struct fixture *fixture = make();
    push(fixture, 100, 0);
    push(fixture, 101, 0);
    for (uint64_t i = 0; i < 12; i++)
        push(fixture, i, 1);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(begin_next(fixture, 3), i);
    assert_int_equal(begin_next(fixture, 3), 100);
    for (uint64_t i = 3; i < 6; i++)
        assert_int_equal(begin_next(fixture, 3), i);
    assert_int_equal(begin_next(fixture, 3), 101);
}

TEST(ranks_come_first_then_whose_turn_it_is)
{
    struct fixture *fixture = make();
    ask(fixture, &fixture->client, 1, 1, HN_RANK_GUESSED, 0);
    ask(fixture, &fixture->client, 2, 2, HN_RANK_ASKED, 0);
    ask(fixture, &fixture->client, 3, 3, HN_RANK_ASKED, 0);
    ask(fixture, &fixture->other, 4, 4, HN_RANK_ASKED, 0);
    ask(fixture, &fixture->other, 5, 5, HN_RANK_SETUP, 0);
    static const uint64_t expected[] = {5, 2, 4, 3, 1};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(begin_next(fixture, 16), expected[i]);
}

TEST(a_program_is_one_job_for_all_that_want_it)
{
    struct fixture *fixture = make();
    ask(fixture, &fixture->client, 1, 7, HN_RANK_GUESSED, 0);
    assert_int_equal(fixture->client.pending, 0);
    struct hn_job *job = compile_queue_next(&fixture->queue, 1);
    ask(fixture, &fixture->client, 2, 7, HN_RANK_ASKED, 0);
    ask(fixture, &fixture->other, 2, 7, HN_RANK_ASKED, 0);
    assert_null(compile_queue_next(&fixture->queue, 1));
    assert_int_equal(take(&fixture->client, 2, true), -1);
    end(fixture, job, HN_OUTCOME_OK);
    assert_int_equal(take(&fixture->client, 1, true), -1);
    assert_int_equal(take(&fixture->client, 2, true), HN_OUTCOME_OK);
    assert_int_equal(take(&fixture->other, 2, false), HN_OUTCOME_OK);
    assert_int_equal(fixture->client.pending + fixture->other.pending, 0);
    /* It is held for as long as it is guessed to be asked for. */
    ask(fixture, &fixture->other, 3, 7, HN_RANK_ASKED, 0);
    assert_int_equal(fixture->other.unfinished, 0);
    assert_int_equal(take(&fixture->other, 3, false), HN_OUTCOME_OK);
    hn_compile_pool_forget(&fixture->client, HN_RANK_GUESSED, NULL);
    ask(fixture, &fixture->other, 4, 7, HN_RANK_ASKED, 0);
    assert_int_equal(fixture->other.unfinished, 1);
    assert_int_equal(begin_next(fixture, 1), 4);
}

TEST(a_failure_by_chance_is_that_of_one)
{
    struct fixture *fixture = make();
    ask(fixture, &fixture->client, 1, 7, HN_RANK_ASKED, 0);
    ask(fixture, &fixture->client, 2, 7, HN_RANK_ASKED, 0);
    end(fixture, compile_queue_next(&fixture->queue, 1), HN_OUTCOME_COMPILE_CRASH);
    assert_int_equal(take(&fixture->client, 1, true), HN_OUTCOME_COMPILE_CRASH);
    assert_int_equal(take(&fixture->client, 2, true), -1);
    end(fixture, compile_queue_next(&fixture->queue, 1), HN_OUTCOME_OK);
    assert_int_equal(take(&fixture->client, 2, true), HN_OUTCOME_OK);
}

TEST(what_nobody_wants_any_more_is_gone)
{
    struct fixture *fixture = make();
    for (uint64_t i = 0; i < 3; i++)
        push(fixture, i, 0);
    struct hn_job *begun = compile_queue_next(&fixture->queue, 1);
    hn_compile_pool_forget(&fixture->client, HN_RANK_SETUP, &(uint64_t){2});
    assert_int_equal(fixture->client.pending, 2);
    hn_compile_pool_forget(&fixture->client, HN_RANK_SETUP, NULL);
    assert_int_equal(fixture->client.pending, 0);
    assert_int_equal(fixture->client.unfinished, 0);
    assert_true(TAILQ_EMPTY(&fixture->queue.waiting));
    assert_null(job_want(begun, &fixture->client, NULL));
    end(fixture, begun, HN_OUTCOME_OK);
    assert_int_equal(take(&fixture->client, 0, true), -1);
}

/* Many programs: each is found by its own key. */
TEST(each_program_has_a_job_of_its_own)
{
    enum { PROGRAMS = 1500 };
    struct fixture *fixture = make();
    for (int twice = 0; twice < 2; twice++)
        for (uint64_t i = 0; i < PROGRAMS; i++)
            push(fixture, i, 0);
    fixture->client.prefers_heavy = false;
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        const struct hn_job *job = compile_queue_next(&fixture->queue, 1);
        const struct hn_hash key = key_of(i);
        assert_string_equal(job->key.hex, key.hex);
        const struct hn_want *first = TAILQ_FIRST(&job->wants), *second = TAILQ_NEXT(first, next);
        assert_int_equal(first->id, i);
        assert_int_equal(second->id, i);
        assert_null(TAILQ_NEXT(second, next));
    }
    assert_null(compile_queue_next(&fixture->queue, 1));
}
