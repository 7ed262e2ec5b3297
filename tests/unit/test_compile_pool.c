/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <sys/eventfd.h>

#include "runtime/process/process.h"
#include "tests/unit/unit.h"

static const char hangs[] = "HONE_TEST_WORKER_HANGS";

/* As whoever waits for a pool: its limits are held against the last look. */
static void look(const struct hn_compile_pool *pool)
{
    struct pollfd fds[16];
    assert_true(hn_compile_pool_poll(pool, NULL, false) <= 16);
    poll(fds, hn_compile_pool_poll(pool, fds, false), 1);
    hn_compile_pool_poll(pool, fds, true);
}

/* Workers are this very program, run again: see the process "worker" below. */
TEST(a_worker_that_hangs_while_it_starts_ends_the_run)
{
    setenv(hangs, "1", 1);
    struct hn_compile_pool *pool =
        keep(hn_compile_pool_create(1, 10, 0.1), hn_compile_pool_destroy);
    assert_int_equal(hn_compile_pool_timeout_ms(pool), -1);
    double start = hn_now_ms();
    assert_ok(hn_compile_pool_process(pool, &said));
    assert_in_range(hn_compile_pool_timeout_ms(pool), 0, 101);
    enum hn_status status = HN_OK;
    while (status == HN_OK && hn_now_ms() - start < 30e3) {
        look(pool);
        status = hn_compile_pool_process(pool, &said);
    }
    assert_int_equal(status, HN_ERUN);
    assert_string_equal(
        said.message,
        "a compile worker did not start within 0.1 s: NVRTC, which it loads, hangs or is very slow "
        "to read; see that $HONE_NVRTC, where it is set, names the library");
    assert_true(hn_now_ms() - start >= 99);
    unsetenv(hangs);
}

static struct hn_text_file file = {"doubled.cu", NULL};
static struct hn_template template = {.files = &file, .file_count = 1};

/* Submits `extern "C" __global__ void doubled(int *x)` with a factor, and a macro that it does not
 * read. */
static void submit_at(struct hn_compile_pool *pool, uint64_t id, const char *factor,
                      const char *streams, bool first, double patience_ms)
{
    static const char body[] =
        "extern \"C\" __global__ void doubled(int *x)\n{\n    x[threadIdx.x] *= FACTOR;\n}\n";
    char text[256];
    char *entry = "doubled";
    snprintf(text, sizeof text, "#define FACTOR %s\n%s#line 1\n%s", factor, streams, body);
    const struct hn_source source = {
        .template = &template, .text = text, .entries = &entry, .entry_count = 1};
    enum hn_rank rank = first ? HN_RANK_SETUP : HN_RANK_ASKED;
    const struct hn_want want = {
        .client = pool, .id = id, .rank = rank, .patience_ms = patience_ms};
    assert_ok(hn_compile_pool_ask(&want, &source, "sm_90", &said));
}

static void submit(struct hn_compile_pool *pool, uint64_t id, const char *factor, bool first)
{
    submit_at(pool, id, factor, "", first, INFINITY);
}

static struct hn_compile_pool *make_pool(int jobs, bool keeps_all)
{
    struct hn_compile_pool *pool = hn_compile_pool_create(jobs, 60, HN_COMPILE_START_S);
    pool->keeps_all = keeps_all;
    return keep(pool, hn_compile_pool_destroy);
}

static void process(struct hn_compile_pool *pool)
{
    assert_ok(hn_compile_pool_process(pool, NULL));
    look(pool);
}

/* The image of that number; NULL where it is not there yet. */
static struct hn_image *take_now(struct hn_compile_pool *pool, uint64_t id)
{
    struct hn_image *image = keep_new(struct hn_image, hn_image_finish);
    *image = HN_NO_IMAGE;
    if (hn_compile_pool_take(pool, &id, &id, image))
        return image;
    drop(image);
    return NULL;
}

/* What becomes of a job that is not done yet. */
static struct hn_image *wait_for(struct hn_compile_pool *pool, uint64_t id, enum hn_outcome outcome)
{
    struct hn_image *image = take_now(pool, id);
    assert_null(image);
    for (double start = hn_now_ms(); image == NULL; image = take_now(pool, id)) {
        process(pool);
        assert_true(hn_now_ms() - start < 60e3);
    }
    assert_int_equal(image->outcome, outcome);
    return image;
}

TEST(what_was_compiled_is_there_at_once)
{
    struct hn_compile_pool *pool = make_pool(1, true);
    submit(pool, 1, "2", false);
    const struct hn_image *image = wait_for(pool, 1, HN_OUTCOME_OK);
    assert_true(image->compile_ms > 0);

    for (uint64_t id = 2; id <= 3; id++) {
        submit(pool, id, "2", id == 3);
        assert_int_equal(pool->unfinished, 0);
        assert_int_equal(pool->pending, 1);
        struct hn_image *again = take_now(pool, id);
        assert_non_null(again);
        assert_int_equal(again->outcome, HN_OUTCOME_OK);
        assert_true(again->compile_ms == 0);
        assert_int_equal(again->size, image->size);
        assert_memory_equal(again->cubin, image->cubin, image->size);
        assert_int_equal(again->entry_count, 1);
        assert_string_equal(again->entries[0], "doubled");
        assert_int_equal(pool->pending, 0);
        drop(again); /* it is a copy */
    }

    submit(pool, 4, "3", false);
    assert_true(wait_for(pool, 4, HN_OUTCOME_OK)->compile_ms > 0);
    assert_true(pool->queue->kept_bytes > image->size);
}

TEST(what_does_not_compile_is_tried_again)
{
    struct hn_compile_pool *pool = make_pool(1, true);
    for (uint64_t id = 1; id <= 2; id++) {
        submit(pool, id, "+", false);
        wait_for(pool, id, HN_OUTCOME_COMPILE_ERROR);
    }
    assert_int_equal(pool->queue->kept_bytes, 0);
}

TEST(nothing_is_kept_unless_it_is_asked_for)
{
    struct hn_compile_pool *pool = make_pool(1, false);
    for (uint64_t id = 1; id <= 2; id++) {
        submit(pool, id, "2", false);
        wait_for(pool, id, HN_OUTCOME_OK);
    }
    assert_int_equal(pool->queue->kept_bytes, 0);
}

/* Two workers, and no second one is given what the first is at; nor is it compiled later. */
TEST(a_program_is_compiled_once)
{
    struct hn_compile_pool *pool = make_pool(2, false);
    submit_at(pool, 1, "2", "#define STREAMS 1\n", false, INFINITY);
    submit_at(pool, 2, "2", "#define STREAMS 2\n", false, INFINITY);
    submit_at(pool, 3, "2", "#define STREAMS 4\n", false, INFINITY);
    assert_true(wait_for(pool, 3, HN_OUTCOME_OK)->compile_ms == 0);
    const struct hn_image *image = take_now(pool, 1);
    assert_non_null(image);
    assert_true(image->compile_ms > 0);
    submit_at(pool, 4, "2", "#define STREAMS 8\n", false, INFINITY);
    assert_int_equal(pool->unfinished, 0);
    for (uint64_t id = 2; id <= 4; id += 2) {
        image = take_now(pool, id);
        assert_non_null(image);
        assert_string_equal(image->entries[0], "doubled");
        assert_true(image->compile_ms == 0);
    }
    assert_int_equal(pool->pending, 0);
    assert_int_equal(pool->queue->kept_bytes, image->size);
}

/* Whoever waits for a job that is stopped compiles it itself. */
TEST(a_program_whose_compilation_is_stopped_is_compiled_for_the_next)
{
    struct hn_compile_pool *pool = make_pool(1, false);
    submit(pool, 1, "2", false);
    struct hn_job *job = TAILQ_FIRST(&pool->queue->waiting);
    while (hn_compile_pool_load(pool, NULL).own == 0)
        assert_ok(hn_compile_pool_process(pool, NULL));
    submit(pool, 2, "2", false);
    job->timeout_ms = 0;
    wait_for(pool, 1, HN_OUTCOME_COMPILE_TIMEOUT);
    TAILQ_FIRST(&pool->queue->waiting)->timeout_ms = 60e3;
    assert_true(wait_for(pool, 2, HN_OUTCOME_OK)->compile_ms > 0);
}

/* It is not the compiler's failure, nor that of the next. */
TEST(what_is_not_worth_its_time_is_stopped)
{
    struct hn_compile_pool *pool = make_pool(1, false);
    /* Two million factors, which no machine compiles in a moment. */
    submit_at(pool, 1, "E(E(E(E(E(E(E(2)))))))", "#define E(x) x*x*x*x*x*x*x*x\n", false, 1);
    submit_at(pool, 2, "3", "", false, 50e3);
    const struct hn_image *image = wait_for(pool, 1, HN_OUTCOME_COMPILE_STOPPED);
    assert_string_equal(image->message,
                        "the compiler was stopped after 0.0 s, in which other points promise more");
    assert_in_range(image->compile_ms, 1, 30e3);
    wait_for(pool, 2, HN_OUTCOME_OK);
}

static uint64_t count_of(int event)
{
    uint64_t count = 0;
    return read(event, &count, sizeof count) == sizeof count ? count : 0;
}

/* One worker, two guests under the same numbers: whoever has jobs is served in turn. */
TEST(guests_are_served_in_turn)
{
    struct hn_compile_pool *owner = make_pool(1, false);
    struct hn_compile_pool *guests[2];
    int wakeups[2], wake = owner->wakeup = eventfd(0, EFD_NONBLOCK);
    for (int i = 0; i < 2; i++) {
        wakeups[i] = eventfd(0, EFD_NONBLOCK);
        guests[i] = hn_compile_pool_share(owner, wakeups[i]);
    }
    submit(guests[0], 1, "2", false);
    submit(guests[0], 2, "5", false);
    submit(guests[0], 3, "6", false);
    submit(guests[1], 1, "3", false);
    assert_int_equal(owner->pending, 0);
    assert_int_equal(count_of(wake), 4);
    while (take_now(guests[1], 1) == NULL) {
        process(owner);
        process(guests[1]);
    }
    assert_int_equal(count_of(wakeups[1]), 1);
    assert_in_range(guests[0]->unfinished, 1, 2);
    /* What is under way is for nobody then. */
    hn_compile_pool_destroy(guests[0]);
    submit(guests[1], 2, "4", false);
    while (take_now(guests[1], 2) == NULL)
        process(owner);
    hn_compile_pool_destroy(guests[1]);
    drop(owner);
    close(wakeups[0]);
    close(wakeups[1]);
    close(wake);
}

/* The process that the pool starts, which is this program with the argument "worker". */
PROCESS(worker)
{
    if (getenv(hangs) != NULL)
        return pause();
    return hn_worker_run(getppid(), hn_worker_compile) ? 0 : 1;
}
