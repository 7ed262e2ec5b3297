/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "scripted_backend.h"

#include "tests/unit/unit.h"
#include "tuner/session/session_internal.h"

/* A strategy that writes down all that it is told, and whose next point depends on all of it. */
struct hn_strategy {
    const struct hn_space *space;
    struct hn_text *log;
    struct hn_hash told;
    uint64_t proposed, compiled, finished;
};

enum { POINT_LIMIT = 20000 };

/* What the probes are to do and what they wrote; strategies have no other way to the test. */
static struct {
    struct hn_text log;
    int points[POINT_LIMIT]; /* proposed, by ticket */
    uint64_t proposals;      /* after which they are done */
    bool always_the_same;    /* proposes one point again and again */
    int declined;            /* points of which every one so manieth is declined; 0: none */
    bool exact;          /* whether no more is to be told than the look-ahead asks for, in order */
    bool feeds;          /* whether it is to be kept to */
    bool waits;          /* for results, where it was told of fewer than half of the tickets */
    unsigned look_ahead; /* as the strategy was told */
    uint64_t told_compiled, told_finished;
} probe;

static void start_probe(uint64_t proposals)
{
    hn_text_finish(&probe.log);
    memset(&probe, 0, sizeof probe);
    probe.log = (struct hn_text){0};
    probe.proposals = proposals;
    probe.exact = true;
}

static struct hn_strategy *create(const struct hn_search *search, struct hn_error *err)
{
    (void)err;
    struct hn_strategy *strategy = calloc(1, sizeof *strategy);
    assert_non_null(strategy);
    strategy->space = search->space;
    probe.look_ahead = search->look_ahead;
    strategy->told = hn_hash_bytes(&search->seed, sizeof search->seed);
    return strategy;
}

static void destroy(struct hn_strategy *strategy)
{
    probe.told_compiled = strategy->compiled;
    probe.told_finished = strategy->finished;
    free(strategy);
}

static void remember(struct hn_strategy *strategy, const char *line)
{
    struct hn_hash hash = hn_hash_bytes(line, strlen(line));
    strategy->told = hn_hash_join(&strategy->told, &hash);
    hn_text_append(&probe.log, line);
}

static uint64_t told_by(uint64_t t, uint64_t behind)
{
    uint64_t told = t + 1 > behind ? t + 1 - behind : 0;
    return told < t ? told : t;
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    char line[64];
    assert_int_equal(ticket, strategy->proposed);
    if (probe.exact && probe.look_ahead <= 2 * HN_SCHEDULE_CORES) {
        assert_int_equal(strategy->compiled, told_by(ticket, probe.look_ahead / 2));
        assert_int_equal(strategy->finished, told_by(ticket, probe.look_ahead));
    }
    if (probe.feeds) {
        assert_true(strategy->compiled >= told_by(ticket, probe.look_ahead / 2));
        assert_true(strategy->finished >= told_by(ticket, probe.look_ahead));
    }
    if (strategy->proposed == probe.proposals)
        return false;
    uint64_t point = strtoull(strategy->told.hex + 20, NULL, 16) % hn_space_size(strategy->space);
    if (probe.always_the_same)
        point = 7;
    hn_space_point(strategy->space, point, choice);
    struct hn_bindings bindings ENDED_BY(hn_bindings_finish);
    hn_space_bindings(strategy->space, choice, &bindings);
    assert_true(strategy->proposed < POINT_LIMIT);
    probe.points[strategy->proposed++] = point_number(&bindings);
    snprintf(line, sizeof line, "propose %llu: %llu\n", (unsigned long long)ticket,
             (unsigned long long)point);
    remember(strategy, line);
    return true;
}

static bool compiled(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    char line[128];
    int point = probe.points[ticket];
    assert_true(isnan(observation->cost));
    assert_true(!probe.exact || ticket == strategy->compiled);
    strategy->compiled++;
    snprintf(line, sizeof line, "compiled %llu: %d %s %d\n", (unsigned long long)ticket, point,
             hn_outcome_names[observation->outcome], observation->resources->registers);
    remember(strategy, line);
    return probe.declined == 0 || point % probe.declined != 0;
}

static void finished(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    char line[128];
    assert_true(!probe.exact || ticket == strategy->finished);
    assert_true(strategy->finished < strategy->compiled);
    strategy->finished++;
    snprintf(line, sizeof line, "finished %llu: %d %s %.17g\n", (unsigned long long)ticket,
             probe.points[ticket], hn_outcome_names[observation->outcome], observation->cost);
    remember(strategy, line);
}

/* Now and then. */
static bool waits(const struct hn_strategy *strategy)
{
    assert_true(strategy->finished < strategy->proposed);
    return probe.waits && strategy->proposed % 7 == 6 &&
           strategy->finished + 2 < strategy->proposed;
}

/* Each fifth point is worth 100 ms. */
static double patience(const struct hn_strategy *strategy)
{
    return probe.points[strategy->proposed - 1] % 5 == 1 ? 100 : INFINITY;
}

static const struct hn_strategy_kind feedback = {
    .name = "feedback",
    .patience = patience,
    .needs_feedback = true,
    .waits = waits,
    .create = create,
    .destroy = destroy,
    .propose = propose,
    .compiled = compiled,
    .finished = finished,
};

/* Runs ahead, and is told of nothing. */
static const struct hn_strategy_kind ahead = {
    .name = "ahead",
    .create = create,
    .destroy = destroy,
    .propose = propose,
};

static struct grid *make_varied(int jobs, unsigned shuffle)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.jobs = jobs;
    grid->backend.shuffle = shuffle;
    for (int i = 0; i < GRID_POINTS; i++) {
        struct fate *fate = &grid->backend.fates[i];
        if (i % 19 == 3)
            fate->compiled = HN_OUTCOME_COMPILE_TIMEOUT;
        else if (i % 13 == 4)
            fate->measured = HN_OUTCOME_WRONG_RESULT;
        else if (i % 3 == 1)
            fate->code = 1 + i / 9;
        fate->delay = shuffle == 0 ? i * 37 % 50 : 0;
        fate->compile_ms = i % 4 == 1 ? 200 : 0;
    }
    return grid;
}

static struct hn_session_options options_of(const struct hn_strategy_kind *kind)
{
    return (struct hn_session_options){.strategy = kind, .seed = 1, .command = "hone tune"};
}

static struct hn_session *run_varied(struct grid *grid, const struct hn_strategy_kind *kind)
{
    struct hn_session_options options = options_of(kind);
    return run_session(grid, NULL, &options);
}

static void assert_same_log(const char *expected, const char *found)
{
    size_t line = 0;
    for (size_t i = 0; expected[i] != '\0' || found[i] != '\0'; i++) {
        if (expected[i] != found[i])
            fail_msg("%.*s, not %.*s", (int)strcspn(found + line, "\n"), found + line,
                     (int)strcspn(expected + line, "\n"), expected + line);
        if (expected[i] == '\n')
            line = i + 1;
    }
}

/* What a strategy of 300 points heard is kept, or is what the one before it heard. */
static void end_as(char **heard, bool keeps, struct hn_session *session)
{
    if (!keeps)
        assert_same_log(*heard, probe.log.data);
    free(keeps ? *heard : NULL);
    *heard = keeps ? hn_text_take(&probe.log) : *heard;
    drop(session);
    assert_int_equal(probe.told_compiled, 300);
    assert_int_equal(probe.told_finished, 300);
}

/* Whatever the number of compilers and the order in which things end, a strategy hears the same. */
TEST(measurements_alone_determine_the_sequence)
{
    char *first = NULL;
    for (unsigned i = 0; i < 8; i++) {
        static const int jobs[] = {1, 2, 16, 64};
        start_probe(300);
        probe.declined = i < 4 ? 0 : 5;
        struct hn_session *session = run_varied(make_varied(jobs[i % 4], i % 4), &feedback);
        assert_int_equal(probe.log.failed, false);
        end_as(&first, i % 4 == 0, session);
        assert_non_null(strstr(first, " slower "));
        assert_non_null(strstr(first, " duplicate "));
        assert_non_null(strstr(first, " compile_stopped "));
        assert_int_equal(strstr(first, " skipped ") != NULL, i >= 4);
    }
    free(first);
}

/* As they are compiled, of which some take long: whatever the number of compilers and the order in
 * which things end, a strategy hears the same, and not in the order of its proposals. */
TEST(times_of_compiling_determine_the_order)
{
    char *first = NULL;
    for (unsigned i = 0; i < 8; i++) {
        static const int jobs[] = {1, 2, 16, 64};
        struct hn_session_options options = options_of(&feedback);
        options.look_ahead = i < 4 ? 32 : 128;
        start_probe(300);
        probe.exact = false;
        probe.feeds = probe.waits = true;
        probe.declined = 5;
        struct grid *grid = make_varied(jobs[i % 4], i % 4);
        for (int p = 0; p < GRID_POINTS; p++) {
            grid->backend.fates[p].compile_ms = 400 + p * 7919 % 5000;
            grid->backend.fates[p].age_ms = p % 3 == 0 ? grid->backend.fates[p].compile_ms : 350;
        }
        struct hn_session *session = run_session(grid, NULL, &options);
        end_as(&first, i % 4 == 0, session);
        assert_ptr_not_equal(strstr(first, "compiled "), strstr(first, "compiled 0:"));
    }
    free(first);
}

/* What compiles for longer than others took holds up nobody, as long as there is another core. */
TEST(a_slow_compilation_holds_up_no_feedback)
{
    struct hn_session_options options = options_of(&feedback);
    start_probe(1);
    struct grid *grid = make_grid(NULL);
    run_session(grid, NULL, &options);
    int first = probe.points[0];
    start_probe(300);
    probe.exact = false;
    grid = make_grid(NULL);
    grid->backend.fates[first].stuck = true;
    grid->backend.fates[first].age_ms = 1e5;
    grid->backend.jobs = 64;
    options.budget_s = 2;
    struct hn_session *session = run_session(grid, NULL, &options);
    assert_int_equal(grid->backend.halts, 1);
    drop(session);
    assert_in_range(probe.told_finished, 290, 299); /* but that point */
}

/* At the end of a budget nobody asks for an order any more: what waited behind a compilation that
 * does not end is measured, though the strategy was not told of it. */
TEST(what_is_compiled_at_the_end_is_measured)
{
    struct hn_session_options options = options_of(&feedback);
    start_probe(1);
    struct grid *grid = make_grid(NULL);
    run_session(grid, NULL, &options);
    int first = probe.points[0];
    start_probe(300);
    grid = make_grid(NULL);
    grid->backend.fates[first].stuck = true;
    grid->backend.jobs = 64;
    options.budget_s = 1;
    struct hn_session *session = run_session(grid, NULL, &options);
    assert_int_equal(grid->backend.halts, 1);
    assert_int_equal(measured_count(&grid->backend, first), 0);
    for (int i = 1; i < 16; i++)
        assert_true(probe.points[i] == first ||
                    measured_count(&grid->backend, probe.points[i]) >= 1);
    assert_int_equal(hn_session_state(session)->finished, hn_session_state(session)->proposed - 1);
    drop(session);
    assert_int_equal(probe.told_compiled, 0);
}

/* The same for other look-aheads than the usual one; each has a sequence of its own. */
TEST(the_look_ahead_is_exact)
{
    static const unsigned look_aheads[] = {1, 2, 3, 7, 128, 4096};
    char *sequences[6] = {NULL};
    for (size_t i = 0; i < 6; i++) {
        for (unsigned machine = 0; machine < 2; machine++) {
            struct hn_session_options options = options_of(&feedback);
            options.look_ahead = look_aheads[i];
            start_probe(300);
            probe.declined = 5;
            struct grid *grid = make_varied(machine == 0 ? 1 : 64, machine);
            drop(run_session(grid, NULL, &options));
            assert_int_equal(probe.look_ahead, look_aheads[i]);
            assert_int_equal(probe.told_compiled, 300);
            assert_int_equal(probe.told_finished, 300);
            if (machine == 0)
                sequences[i] = hn_text_take(&probe.log);
            else
                assert_same_log(sequences[i], probe.log.data);
        }
        assert_true(i == 0 || strcmp(sequences[i], sequences[i - 1]) != 0);
    }
    for (size_t i = 0; i < 6; i++)
        free(sequences[i]);
}

/* What a session is not told is as the config says. */
TEST(the_config_has_a_look_ahead)
{
    for (unsigned given = 0; given < 3; given += 2) {
        struct hn_session_options options = options_of(&feedback);
        options.look_ahead = given;
        start_probe(20);
        struct grid *grid = make_varied(4, 1);
        grid->config->look_ahead = 5;
        run_session(grid, NULL, &options);
        assert_int_equal(probe.look_ahead, given > 0 ? given : 5);
    }
}

/* Never waits where there is nothing to wait for: what a compilation made known is told at once. */
TEST(nothing_is_waited_for_in_vain)
{
    for (unsigned look_ahead = 1; look_ahead <= 64; look_ahead *= 4) {
        struct hn_session_options options = options_of(&feedback);
        options.look_ahead = look_ahead;
        start_probe(200);
        struct grid *grid = make_varied(2, 1);
        run_session(grid, NULL, &options);
        assert_int_equal(grid->backend.waits_in_vain, 0);
    }
}

/* Points come up again: they are told again, and nothing is done twice. */
TEST(a_known_point_is_told_and_not_measured_again)
{
    start_probe(300);
    struct grid *grid = make_varied(4, 1);
    struct hn_session *session = run_varied(grid, &feedback);
    const struct hn_session_state *end = hn_session_state(session);
    assert_true(end->proposed < 300 && end->proposed > 150);
    assert_int_equal(end->finished, end->proposed);
    assert_int_equal(sum_of_counts(end), end->proposed);
    for (int i = 0; i < GRID_POINTS; i++)
        assert_true(measured_count(&grid->backend, i) <= 1);
    drop(session);
    assert_int_equal(probe.told_finished, 300);
}

TEST(a_strategy_that_repeats_itself_ends)
{
    static const struct hn_strategy_kind *const kinds[] = {&feedback, &ahead};
    for (int i = 0; i < 2; i++) {
        start_probe(UINT64_MAX);
        probe.always_the_same = true;
        probe.exact = i == 0;
        struct hn_session *session = run_varied(make_varied(4, 1), kinds[i]);
        assert_int_equal(hn_session_state(session)->proposed, GRID_LADDER + 1);
        assert_int_equal(hn_session_state(session)->finished, GRID_LADDER + 1);
    }
}

static void check_declined(struct hn_session *session, const struct grid *grid)
{
    uint64_t skipped = 0;
    for (int i = 0; i < GRID_POINTS; i++) {
        const struct hn_record *record = record_of(session, i);
        if (record == NULL || record->outcome != HN_OUTCOME_SKIPPED)
            continue;
        skipped++;
        assert_string_equal(record->message, "the strategy declined to measure it");
        assert_int_equal(measured_count(&grid->backend, i), 0);
    }
    for (int i = 0; i < GRID_POINTS; i += 4)
        if (i != 0 && i != 380) /* the ladder's are measured whatever it says */
            assert_int_equal(measured_count(&grid->backend, i), 0);
    assert_true(skipped > 20);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_SKIPPED], skipped);
}

TEST(what_is_declined_is_skipped)
{
    /* More than may wait for the GPU at a time. */
    start_probe(1000);
    probe.declined = 4;
    struct grid *grid = make_varied(4, 2);
    struct hn_session *session = run_varied(grid, &feedback);
    check_declined(session, grid);
    drop(session);
    assert_int_equal(probe.told_compiled, probe.told_finished);
}

/* The ladder and the incumbent are no tickets of the strategy; what it says of their points when it
 * comes to them is too late. */
TEST(given_points_are_not_declined)
{
    start_probe(100);
    probe.declined = 1;
    struct hn_session *session = run_varied(make_varied(4, 3), &feedback);
    assert_int_equal(record_of(session, 0)->outcome, HN_OUTCOME_OK);
    assert_int_equal(record_of(session, 380)->outcome, HN_OUTCOME_OK);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_OK], GRID_LADDER);
}

static int finish_probe(void **state)
{
    hn_text_finish(&probe.log);
    return 0;
}

ALL_TESTS(NULL, finish_probe)
