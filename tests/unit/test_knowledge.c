/* SPDX-License-Identifier: MIT */
#include "store_fixture.h"

#include "tuner/session/search.c"

EACH_TEST(set_up, tear_down)

enum { POINTS = 20, WIDTH = 2 };

/* 5 x 4 points; the tunings below also know a BLOCK=512 that this space lacks. */
static struct hn_space *make_space(void)
{
    struct hn_space *space = hn_space_create();
    struct hn_value values[5];
    for (int64_t i = 0; i < 5; i++)
        values[i] = hn_integer(16 << i);
    hn_space_add_parameter(space, "BLOCK", values, 5);
    for (int64_t i = 0; i < 4; i++)
        values[i] = hn_integer(i);
    hn_space_add_parameter(space, "PAD", values, 4);
    assert_ok(hn_space_build(space, &said));
    return keep(space, hn_space_destroy);
}

static struct hn_task make_task(void)
{
    return (struct hn_task){
        .space = make_space(), .identity = *identity_of(1024), .version = version_1};
}

/* A tuning of `count` points from the first on, with the times base + 1, base + 2, …, measured at
 * the second `time`. */
static void add_tuning(struct hn_store *store, const struct hn_identity *identity,
                       const struct hn_version *version, int count, double base, double time)
{
    int64_t session;
    const struct hn_store_session made = {
        .identity = identity, .version = version, .command = "test"};
    assert_ok(hn_store_begin(store, &made, NULL, &session, &said));
    for (int i = 0; i < count; i++) {
        struct hn_record record ENDED_BY(hn_record_finish) = {0};
        struct hn_value block = hn_integer(16 << (i / 4));
        struct hn_value pad = hn_integer(i % 4);
        assert_ok(hn_bindings_set(&record.point, "BLOCK", &block, NULL));
        assert_ok(hn_bindings_set(&record.point, "PAD", &pad, NULL));
        record.outcome = i == 3 ? HN_OUTCOME_WRONG_RESULT : HN_OUTCOME_OK;
        record.verdict.kind = HN_VERIFIED;
        record.timing.median_us = record.objective = base + i + 1;
        record.time = time;
        assert_ok(hn_store_put(store, session, &record, &said));
    }
    assert_ok(hn_store_commit(store, &said));
}

/* A tuning of the problem M=m on the same device. */
static void add_problem(struct hn_store *store, int m, int count, double base, double time)
{
    struct hn_identity identity ENDED_BY(hn_identity_finish);
    make_identity(&identity, m);
    add_tuning(store, &identity, &version_1, count, base, time);
}

/* The best cost of a source tells which tuning it is. */
static double best_of(const struct hn_knowledge *knowledge, unsigned source)
{
    double best = INFINITY;
    for (size_t i = 0; i < knowledge->count; i++) {
        if (knowledge->priors[i].source == source && !isnan(knowledge->priors[i].observation.cost))
            best = fmin(best, knowledge->priors[i].observation.cost);
    }
    return best;
}

static void collect(struct hn_store *store, const struct hn_task *task, bool simulated,
                    double before, struct hn_knowledge *knowledge)
{
    knowledge_finish(knowledge);
    *knowledge = (struct hn_knowledge){0};
    knowledge_collect(store, task, simulated, before, knowledge, hn_error_begin(&said, &said));
    assert_ok(said.status);
}

TEST(nearest_tuning_first)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_task task = make_task();
    struct hn_knowledge knowledge ENDED_BY(knowledge_finish) = {0};
    struct hn_identity other ENDED_BY(hn_identity_finish);
    add_problem(store, 4096, POINTS, 100, 50);
    add_problem(store, 2048, POINTS + 4, 200, 50);
    make_identity(&other, 1024);
    strcpy(other.device.name, "NVIDIA A100");
    other.device.capability = 80;
    add_tuning(store, &other, &task.version, POINTS, 300, 50);
    /* what this very tuning found is no prior */
    add_tuning(store, &task.identity, &task.version, POINTS, 400, 60);

    collect(store, &task, false, INFINITY, &knowledge);
    assert_int_equal(knowledge.sources, 3);
    assert_int_equal(knowledge.count, 3 * POINTS);
    assert_true(best_of(&knowledge, 0) == 201);
    assert_true(best_of(&knowledge, 1) == 101);
    assert_true(best_of(&knowledge, 2) == 301);
    for (size_t i = 0; i < knowledge.count; i++) {
        assert_true(hn_space_contains(task.space, knowledge.priors[i].choice));
        bool failed = isnan(knowledge.priors[i].observation.cost);
        assert_int_equal(failed,
                         knowledge.priors[i].choice[0] == 0 && knowledge.priors[i].choice[1] == 3);
    }
}

TEST(another_version_is_nearest)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_task task = make_task();
    struct hn_knowledge knowledge ENDED_BY(knowledge_finish) = {0};
    add_problem(store, 2048, POINTS, 100, 50);
    struct hn_version older = task.version;
    strcpy(older.driver, "1.2.3");
    add_tuning(store, &task.identity, &older, POINTS, 200, 50);
    collect(store, &task, false, INFINITY, &knowledge);
    assert_int_equal(knowledge.sources, 2);
    assert_true(best_of(&knowledge, 0) == 201);
}

TEST(what_came_later_or_is_too_little_does_not_count)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_task task = make_task();
    struct hn_knowledge knowledge ENDED_BY(knowledge_finish) = {0};
    add_problem(store, 2048, POINTS, 100, 70);
    add_problem(store, 512, 8, 200, 50);
    collect(store, &task, false, 60, &knowledge);
    assert_int_equal(knowledge.sources, 0);
    assert_int_equal(knowledge.count, 0);
    collect(store, &task, true, INFINITY, &knowledge);
    assert_int_equal(knowledge.sources, 0);
    collect(store, &task, false, INFINITY, &knowledge);
    assert_int_equal(knowledge.sources, 1);
}
