/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench/search/simulate/run.h"

#include "bench/search/simulate/machine_clock.h"
#include "bench/search/simulate/scale.h"
#include "file_fixture.h"

ALL_TESTS(make_file, remove_file)

/* Points 0 .. count-1 of one parameter; every fourth fails to compile; times fall, costs are 10. */
static void load_line(int count, struct hn_recorded *recorded)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    hn_text_append(&text, "{\"kernel_name\": \"k\", \"tune_params_keys\": [\"X\"], "
                          "\"tune_params\": {\"X\": [0]}, \"cache\": {\n");
    for (int i = 0; i < count; i++) {
        hn_text_printf(&text, "\"%d\": {\"X\": %d, \"compile_time\": 10, \"time\": ", i, i);
        if (i % 4 == 3)
            hn_text_append(&text, "\"CompilationFailedConfig\"}");
        else
            hn_text_printf(&text, "%d.5}", count - i);
        hn_text_append(&text, i + 1 < count ? ",\n" : "}}");
    }
    write_text(text.data);
    assert_ok(hn_recorded_load(path, recorded, &said));
}

static void load_recorded(const char *text, const char *name, struct hn_recorded *recorded)
{
    write_text(text);
    assert_ok(hn_recorded_load(path, recorded, &said));
    free(recorded->name);
    recorded->name = strdup(name);
}

TEST(priors_are_points_of_the_space)
{
    struct hn_recorded recorded, sources[5];
    struct hn_priors priors ENDED_BY(hn_priors_finish);
    load_recorded(
        "{\"tune_params\": {\"A\": [1, 2, 4], \"B\": [\"x\", \"y z\"], \"C\": [7]}, \"cache\": {"
        "\"0\": {\"A\": 1, \"B\": \"x\", \"C\": 7, \"time\": 1},"
        "\"1\": {\"A\": 4, \"B\": \"y z\", \"C\": 7, \"time\": 2}}}",
        "here", &recorded);
    sources[0] = recorded;
    /* Other order, values and points; a parameter of one value more, one less. */
    load_recorded(
        "{\"tune_params\": {\"D\": [0], \"B\": [\"y z\", \"x\"], \"A\": [8, 4, 1.0]}, \"cache\": {"
        "\"0\": {\"D\": 0, \"B\": \"y z\", \"A\": 8, \"time\": 1},"
        "\"1\": {\"D\": 0, \"B\": \"y z\", \"A\": 1.0, \"time\": 1},"
        "\"2\": {\"D\": 0, \"B\": \"x\", \"A\": 1.0, \"time\": 0.5},"
        "\"3\": {\"D\": 0, \"B\": \"y z\", \"A\": 4, \"time\": \"InvalidConfig\"}}}",
        "there", &sources[1]);
    load_recorded("{\"tune_params\": {\"A\": [1, 2], \"B\": [\"x\"], \"E\": [1, 2]}, \"cache\": {"
                  "\"0\": {\"A\": 1, \"B\": \"x\", \"E\": 1, \"time\": 1}}}",
                  "one parameter more", &sources[2]);
    load_recorded("{\"tune_params\": {\"A\": [1, 2]}, \"cache\": {\"0\": {\"A\": 1, \"time\": 1}}}",
                  "one less", &sources[3]);
    load_recorded("{\"tune_params\": {\"A\": [1], \"B\": [\"x\"], \"C\": [7]}, \"cache\": {"
                  "\"0\": {\"A\": 1, \"B\": \"x\", \"C\": 7, \"time\": 3}}}",
                  "elsewhere", &sources[4]);
    hn_priors_make(&recorded, sources, 5, &priors);
    static const uint16_t choices[] = {0, 0, 0, 2, 1, 0, 0, 0, 0};
    assert_int_equal(priors.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(priors.items[i].choice, choices + 3 * i, 6);
        assert_int_equal(priors.items[i].source, i < 2 ? 1 : 4);
    }
    assert_true(priors.items[0].observation.cost == 500);
    assert_int_equal(priors.items[1].observation.outcome, HN_OUTCOME_INVALID_LAUNCH);
    for (size_t i = 0; i < 5; i++)
        hn_recorded_finish(&sources[i]);
}

TEST(a_machine_has_cores_and_a_gpu)
{
    struct hn_machine machine ENDED_BY(hn_machine_finish);
    hn_machine_init(&machine, 2);
    assert_true(hn_machine_compile(&machine, 100) == 100);
    assert_true(hn_machine_compile(&machine, 30) == 30);
    assert_true(hn_machine_compile(&machine, 50) == 80); /* behind the second */
    machine.now_ms = 90;
    assert_true(hn_machine_compile(&machine, 20) == 110);
    assert_true(hn_machine_evaluate(&machine, 500) == 590);
    machine.now_ms = 100;
    assert_true(hn_machine_evaluate(&machine, 10) == 600);
}

/* A strategy that proposes what the script says and checks what it is told. */
static struct {
    const uint16_t *script;
    size_t length;
    unsigned look_ahead;
    const bool *declined; /* by value of X; may be NULL */
    uint64_t compiled, finished, skipped;
} play;

static struct hn_strategy *create(const struct hn_search *search, struct hn_error *err)
{
    (void)err;
    assert_int_equal(search->look_ahead, play.look_ahead);
    play.compiled = play.finished = play.skipped = 0;
    return malloc(1);
}

static void destroy(struct hn_strategy *strategy)
{
    free(strategy);
}

static uint64_t told_by(uint64_t t, uint64_t behind)
{
    uint64_t end = t + 1 > behind ? t + 1 - behind : 0;
    return end < t ? end : t;
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    (void)strategy;
    assert_int_equal(play.compiled, told_by(ticket, play.look_ahead / 2));
    assert_int_equal(play.finished, told_by(ticket, play.look_ahead));
    if (ticket < play.length)
        *choice = play.script[ticket];
    return ticket < play.length;
}

static bool compiled(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    uint16_t x = play.script[ticket];
    (void)strategy;
    assert_int_equal(ticket, play.compiled++);
    assert_int_equal(observation->outcome, x % 4 == 3 ? HN_OUTCOME_COMPILE_ERROR : HN_OUTCOME_OK);
    assert_true(isnan(observation->cost));
    assert_null(observation->resources);
    return play.declined == NULL || !play.declined[x];
}

static void finished(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    uint16_t x = play.script[ticket];
    (void)strategy;
    assert_int_equal(ticket, play.finished++);
    if (observation->outcome == HN_OUTCOME_SKIPPED) {
        play.skipped++;
        assert_true(isnan(observation->cost));
    } else if (x % 4 == 3) {
        assert_int_equal(observation->outcome, HN_OUTCOME_COMPILE_ERROR);
        assert_true(isnan(observation->cost));
    } else {
        assert_true(observation->cost == (16 - x + 0.5) * 1000);
    }
}

static const struct hn_strategy_kind scripted = {
    .name = "scripted",
    .summary = "what the test says",
    .needs_feedback = true,
    .create = create,
    .destroy = destroy,
    .propose = propose,
    .compiled = compiled,
    .finished = finished,
};

static void play_script(const struct hn_recorded *recorded, unsigned look_ahead,
                        uint64_t budget_count, double budget_ms, struct hn_run *run)
{
    const struct hn_run_options options = {.recorded = recorded,
                                           .strategy = &scripted,
                                           .look_ahead = look_ahead,
                                           .budget_count = budget_count,
                                           .budget_ms = budget_ms};
    play.look_ahead = look_ahead;
    assert_ok(hn_run_make(&options, run, &said));
}

static void check_rows(const struct hn_run *run, const uint32_t *rows, size_t count)
{
    assert_int_equal(run->count, count);
    assert_memory_equal(run->rows, rows, count * sizeof *rows);
}

/* A line of 16, over which the strategy plays its script. */
static void start_play(struct hn_recorded *recorded)
{
    static const uint16_t script[] = {5, 3, 5, 0, 5, 9, 3, 7, 1, 2};
    load_line(16, recorded);
    play.script = script;
    play.length = sizeof script / sizeof *script;
}

TEST(a_run_tells_what_the_look_ahead_allows)
{
    static const uint32_t rows[] = {5, 3, 0, 9, 7, 1, 2};
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    start_play(&recorded);
    for (unsigned look_ahead = 1; look_ahead < 24; look_ahead++) {
        struct hn_run run ENDED_BY(hn_run_finish);
        play_script(&recorded, look_ahead, 100, 0, &run);
        check_rows(&run, rows, 7);
        assert_int_equal(play.compiled, 10);
        assert_int_equal(play.finished, 10);
    }
}

TEST(a_run_ends_when_both_budgets_are_used)
{
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    static const struct {
        uint64_t count;
        double ms;
        size_t found;
    } cases[] = {{3, 0, 3}, {3, 45, 5}, {6, 45, 6}};
    start_play(&recorded);
    for (size_t i = 0; i < 3; i++) {
        struct hn_run run ENDED_BY(hn_run_finish);
        play_script(&recorded, 1, cases[i].count, cases[i].ms, &run);
        assert_int_equal(run.count, cases[i].found);
    }
}

TEST(declined_points_are_not_evaluated)
{
    static const uint32_t rows[] = {3, 0, 7, 1, 2};
    static const bool declined[16] = {[5] = true, [3] = true, [9] = true};
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    struct hn_run timed ENDED_BY(hn_run_finish);
    start_play(&recorded);
    play.declined = declined;
    for (unsigned look_ahead = 1; look_ahead < 24; look_ahead++) {
        struct hn_run run ENDED_BY(hn_run_finish);
        play_script(&recorded, look_ahead, 100, 0, &run);
        check_rows(&run, rows, 5);
        assert_int_equal(run.declined, 2);
        assert_int_equal(play.skipped, 4); /* three times 5, once 9 */
    }
    play_script(&recorded, 1, 5, 50, &timed); /* what was declined does not count */
    check_rows(&timed, rows, 5);
    play.declined = NULL;
}

TEST(an_exhausted_space_ends_a_run)
{
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    struct hn_run run ENDED_BY(hn_run_finish);
    load_line(16, &recorded);
    const struct hn_run_options options = {.recorded = &recorded,
                                           .strategy = hn_strategy_find("random"),
                                           .look_ahead = 32,
                                           .seed = 3,
                                           .budget_count = 1000,
                                           .budget_ms = 1e9};
    assert_ok(hn_run_make(&options, &run, &said));
    assert_int_equal(run.count, 16);
}

TEST(a_point_outside_ends_the_run)
{
    static const uint16_t outside[] = {77};
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    struct hn_run run;
    load_line(16, &recorded);
    play.script = outside;
    play.length = play.look_ahead = 1;
    const struct hn_run_options options = {
        .recorded = &recorded, .strategy = &scripted, .look_ahead = 1, .budget_count = 5};
    assert_mentions(hn_run_make(&options, &run, &said), HN_ERUN,
                    "strategy scripted proposed a point that is not in");
}

TEST(a_scale_ranks_and_bounds)
{
    struct hn_recorded recorded ENDED_BY(hn_recorded_finish);
    struct hn_scale scale ENDED_BY(hn_scale_finish);
    load_line(400, &recorded);
    assert_ok(hn_scale_make(&recorded.table, &scale, NULL));
    assert_int_equal(scale.count, 400);
    assert_int_equal(scale.valid, 300);
    assert_true(scale.optimum == 2.5 && scale.cost_ms == 10);
    assert_true(scale.ranks[0] == 0 && scale.ranks[398] == 299 && isnan(scale.ranks[3]));
    /* by score.py */
    assert_int_equal(scale.budget, 44);
    assert_true(scale.time_end_ms == 330);
    assert_true(fabs(hn_scale_random_draws(&scale, 0.5) - 401.0 / 3) < 1e-12);
    assert_true(scale.baseline[0] == 268.5 && scale.baseline[43] == 12.5);
    assert_true(fabs(scale.time_baseline[500] - 26.48369772) < 1e-8);
}
