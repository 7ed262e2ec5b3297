/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/strategy.h"

#include "tests/unit/space_fixture.h"
#include "tuner/strategy/strategy_model.c"

enum { WIDTH = 4, MOST = 2000 };

/* 16 x 8 x 2 x 3 points; C picks one of two landscapes, the word D adds a constant. */
static struct hn_space *make_space(void)
{
    struct hn_space *space = hn_space_create();
    struct hn_value values[8];
    add_range(space, "A", 1, 16);
    for (int64_t i = 0; i < 8; i++)
        values[i] = hn_integer((int64_t)1 << i);
    hn_space_add_parameter(space, "B", values, 8);
    struct hn_value both[] = {hn_boolean(false), hn_boolean(true)};
    hn_space_add_parameter(space, "C", both, 2);
    struct hn_value words[] = {hn_word("red"), hn_word("green"), hn_word("blue")};
    hn_space_add_parameter(space, "D", words, 3);
    constrain(space, "A * B <= 512");
    return build(space);
}

/* A sanitizer takes six times as long, and sees the same code with few seeds. */
#ifdef __SANITIZE_ADDRESS__
enum { ONE_OF = 5 };
#else
enum { ONE_OF = 1 };
#endif

static double cost_of(const uint16_t *choice)
{
    double a = (choice[0] - 11) / 4.0;
    double b = choice[1] - (choice[2] ? 5.0 : 2.0);
    return 10 + a * a + b * b + (choice[2] ? 0 : 2) + (choice[3] == 1 ? 0 : 1.5);
}

/* Everything with B at 16 fails. */
static bool fails(const uint16_t *choice)
{
    return choice[1] == 4;
}

struct run {
    uint16_t proposals[MOST][WIDTH];
    size_t told[MOST]; /* tickets, before each */
    size_t count;      /* tickets */
    size_t distinct;   /* points */
    size_t to_best;    /* distinct points proposed when the best was, 0: never */
    size_t declined;
    size_t dear;    /* of the distinct points */
    size_t shared;  /* of these, with the A, B and C of one before */
    size_t stopped; /* proposals that were worth less than they take */
    double chance;  /* at the end */
};

struct plan {
    const char *strategy;
    uint64_t seed;
    unsigned look_ahead;
    size_t evaluations;
    const struct hn_prior *priors;
    size_t prior_count;
    bool resources;     /* slow points spill */
    double dear_ms;     /* what some points take to compile, others 400 ms at most; 0: not known */
    bool stops;         /* what is not worth it */
    const bool *unread; /* by parameter; what shares a program compiles in no time */
};

static double least_cost(const struct hn_space *space)
{
    uint16_t choice[WIDTH];
    double least = INFINITY;
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        if (!fails(choice))
            least = fmin(least, cost_of(choice));
    }
    return least;
}

/* The best is among them. */
static bool is_dear(const uint16_t *choice)
{
    return choice[1] >= 5;
}

static void tell(const struct hn_strategy_kind *kind, struct hn_strategy *strategy, uint64_t ticket,
                 const uint16_t *choice, bool declined, double dear_ms, double limit_ms)
{
    struct hn_observation observation = {.outcome = HN_OUTCOME_OK, .cost = cost_of(choice)};
    if (fails(choice) || declined)
        observation = (struct hn_observation){
            .outcome = declined ? HN_OUTCOME_SKIPPED : HN_OUTCOME_LAUNCH_ERROR, .cost = NAN};
    observation.compile_ms = is_dear(choice) ? dear_ms : fmin(dear_ms, 400);
    observation.evaluate_ms = dear_ms > 0 ? 10 : 0;
    if (observation.compile_ms > limit_ms)
        observation = (struct hn_observation){
            .outcome = HN_OUTCOME_COMPILE_STOPPED, .cost = NAN, .compile_ms = limit_ms};
    kind->finished(strategy, ticket, &observation);
}

static bool is_shared(const struct run *run, const uint16_t *choice)
{
    for (size_t i = 0; i < run->count; i++)
        if (memcmp(run->proposals[i], choice, 3 * sizeof *choice) == 0)
            return true;
    return false;
}

static void run(const struct hn_space *space, const struct plan *plan, struct run *run)
{
    const struct hn_strategy_kind *kind = hn_strategy_find(plan->strategy);
    const struct hn_search search = {.space = space,
                                     .seed = plan->seed,
                                     .look_ahead = plan->look_ahead,
                                     .unread = plan->unread,
                                     .priors = plan->priors,
                                     .prior_count = plan->prior_count};
    struct hn_strategy *strategy;
    bool *seen FREED = calloc(hn_space_size(space), sizeof *seen);
    bool *declined FREED = calloc(MOST, sizeof *declined);
    double *limits FREED = calloc(MOST, sizeof *limits);
    double *point_limits FREED = calloc(hn_space_size(space), sizeof *point_limits);
    double least = least_cost(space);
    memset(run, 0, sizeof *run);
    strategy = kind->create(&search, NULL);
    assert_non_null(strategy);
    size_t told = 0;
    while (run->distinct < plan->evaluations && run->count < MOST) {
        uint16_t *choice = run->proposals[run->count];
        for (; told + plan->look_ahead < run->count + 1 ||
               (told < run->count && kind->waits(strategy));
             told++)
            tell(kind, strategy, told, run->proposals[told], declined[told], plan->dear_ms,
                 limits[told]);
        run->told[run->count] = told;
        if (!kind->propose(strategy, run->count, choice))
            break;
        uint64_t point = number_of_point(space, choice);
        assert_true(point != UINT64_MAX);
        if (!seen[point]) {
            seen[point] = true;
            point_limits[point] = plan->stops ? kind->patience(strategy) : INFINITY;
            assert_true(point_limits[point] >= 2000);
            run->stopped += is_dear(choice) && plan->dear_ms > point_limits[point];
            run->distinct++;
            run->shared += is_shared(run, choice);
            run->dear += is_dear(choice);
            if (run->to_best == 0 && !fails(choice) && cost_of(choice) <= least)
                run->to_best = run->distinct;
        }
        limits[run->count] = point_limits[point];
        if (kind->compiled != NULL) {
            double cost = cost_of(choice);
            const struct hn_resources resources = {
                .known = plan->resources, .registers = 32, .spill_load_bytes = cost > 16 ? 400 : 0};
            const struct hn_observation compiled = {
                .outcome = HN_OUTCOME_OK, .cost = NAN, .resources = &resources};
            declined[run->count] = !kind->compiled(strategy, run->count, &compiled);
            run->declined += declined[run->count];
        }
        run->count++;
    }
    for (; told < run->count; told++)
        tell(kind, strategy, told, run->proposals[told], declined[told], plan->dear_ms,
             limits[told]);
    run->chance = kind->chance(strategy);
    kind->destroy(strategy);
}

TEST(finds_the_best_of_few)
{
    struct hn_space *space = make_space();
    static struct run found;
    static const char *const names[] = {"model", "auto"};
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t seed = 1; seed <= 5 / ONE_OF; seed++) {
            run(space, &(struct plan){names[i], seed, 1, 80, NULL, 0, false, 0, false, NULL},
                &found);
            /* random search needs half of the points to have it with even chances: over 250 */
            assert_in_range(found.to_best, 1, 60);
        }
    }
}

TEST(looks_ahead_without_harm)
{
    struct hn_space *space = make_space();
    static struct run found;
    for (uint64_t seed = 1; seed <= 5 / ONE_OF; seed++) {
        run(space, &(struct plan){"auto", seed, 32, 100, NULL, 0, false, 0, false, NULL}, &found);
        assert_in_range(found.to_best, 1, 90);
    }
}

/* Points of which a strategy had not been told, at most; of those behind the first six, as long as
 * it had been told of `told` or fewer. */
static size_t most_in_flight(const struct run *run, size_t told)
{
    size_t most = 0;
    for (size_t t = 6; t < run->count; t++)
        if (run->told[t] <= told && t + 1 - run->told[t] > most)
            most = t + 1 - run->told[t];
    return most;
}

/* It begins with six, however far it may look ahead, waits until it knows something of them, and
 * has more in flight the more it was told. */
TEST(has_more_in_flight_with_a_longer_look_ahead)
{
    struct hn_space *space = make_space();
    static struct run few, some, many;
    run(space, &(struct plan){"auto", 2, 128, 6, NULL, 0, false, 0, false, NULL}, &few);
    run(space, &(struct plan){"auto", 2, 32, 150, NULL, 0, false, 0, false, NULL}, &some);
    run(space, &(struct plan){"auto", 2, 128, 150, NULL, 0, false, 0, false, NULL}, &many);
    assert_int_equal(few.count, 6);
    assert_memory_equal(many.proposals, few.proposals, 6 * sizeof few.proposals[0]);
    assert_int_equal(some.told[6], 3);
    assert_int_equal(many.told[6], 3);
    assert_int_equal(most_in_flight(&some, 2), 0);
    assert_int_equal(most_in_flight(&some, 7), 5);
    assert_in_range(most_in_flight(&some, 15), 6, 7);
    assert_in_range(most_in_flight(&some, MOST), 12, 15);
    assert_in_range(most_in_flight(&many, MOST), 26, 43);
}

/* What compiles slowly has to promise more, and the best is found there all the same; where nothing
 * takes long, times of compiling are noise. */
TEST(looks_less_where_points_compile_slowly)
{
    struct hn_space *space = make_space();
    static struct run plain, quick, slow;
    size_t dear = 0;
    size_t priced = 0;
    for (uint64_t seed = 1; seed <= 15 / ONE_OF; seed++) {
        run(space, &(struct plan){"model", seed, 1, 30, NULL, 0, false, 0, false, NULL}, &plain);
        run(space, &(struct plan){"model", seed, 1, 30, NULL, 0, false, 290, false, NULL}, &quick);
        run(space, &(struct plan){"model", seed, 1, 30, NULL, 0, false, 8000, false, NULL}, &slow);
        assert_memory_equal(plain.proposals, quick.proposals, sizeof plain.proposals);
        dear += plain.dear;
        priced += slow.dear;
        run(space, &(struct plan){"model", seed, 1, 80, NULL, 0, false, 8000, false, NULL}, &slow);
        assert_in_range(slow.to_best, 1, 80);
    }
    assert_true(5 * priced < 4 * dear);
}

/* Where some points take longer than they are worth; they are no failures, and the best is found
 * among them. */
TEST(does_not_wait_for_what_is_not_worth_it)
{
    struct hn_space *space = make_space();
    static struct run patient, hurried, again;
    size_t stopped = 0;
    size_t found = 0;
    for (uint64_t seed = 1; seed <= 20 / ONE_OF; seed++) {
        const struct plan usual = {"model", seed, 1, 80, NULL, 0, false, 8000, true, NULL};
        run(space, &(struct plan){"model", seed, 1, 8, NULL, 0, false, 40e3, true, NULL}, &hurried);
        assert_int_equal(hurried.stopped, 0); /* nothing is known yet */
        run(space, &usual, &hurried);
        if (seed % 4 == 1) {
            run(space, &usual, &again);
            assert_memory_equal(&hurried, &again, sizeof hurried);
        }
        run(space, &(struct plan){"model", seed, 1, 80, NULL, 0, false, 8000, false, NULL},
            &patient);
        assert_true(hurried.stopped == 0 ||
                    memcmp(&patient.proposals, &hurried.proposals, sizeof hurried.proposals) != 0);
        stopped += hurried.stopped;
        found += hurried.to_best > 0;
    }
    assert_in_range(stopped, 1, 200);
    assert_in_range(found, 17 / ONE_OF, 20 / ONE_OF); /* one in twenty takes more than 80 points */
}

/* What is compiled with another point costs nothing, so that more of it is looked at. */
TEST(takes_what_is_compiled_anyway)
{
    static const bool none[WIDTH] = {false};
    static const bool last[WIDTH] = {false, false, false, true};
    struct hn_space *space = make_space();
    static struct run all, part, same;
    size_t shared[2] = {0};
    for (uint64_t seed = 1; seed <= 10 / ONE_OF; seed++) {
        struct plan plan = {"model", seed, 1, 60, NULL, 0, false, 8000, false, NULL};
        run(space, &plan, &all);
        plan.unread = none;
        run(space, &plan, &same);
        assert_memory_equal(all.proposals, same.proposals, sizeof all.proposals);
        plan.unread = last;
        run(space, &plan, &part);
        shared[0] += all.shared;
        shared[1] += part.shared;
    }
    assert_true(4 * shared[1] > 5 * shared[0]);
}

TEST(is_repeatable)
{
    struct hn_space *space = make_space();
    static struct run first, second, other;
    const struct plan plan = {"auto", 7, 32, 120, NULL, 0, true, 0, false, NULL};
    run(space, &plan, &first);
    run(space, &plan, &second);
    run(space, &(struct plan){"auto", 8, 32, 120, NULL, 0, true, 0, false, NULL}, &other);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(first.proposals, second.proposals, sizeof first.proposals);
    assert_memory_not_equal(first.proposals, other.proposals, sizeof first.proposals);
}

TEST(proposes_all_there_is_and_ends)
{
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    struct hn_value values[] = {hn_integer(1), hn_integer(2), hn_integer(4), hn_integer(8),
                                hn_integer(16)};
    hn_space_add_parameter(space, "A", values, 5);
    hn_space_add_parameter(space, "B", values, 3);
    add_range(space, "C", 3, 1);
    add_range(space, "D", 3, 1);
    assert_ok(hn_space_build(space, &said));
    static struct run found;
    const struct plan plan = {"auto", 1, 4, MOST, NULL, 0, false, 0, false, NULL};
    run(space, &plan, &found);
    assert_int_equal(found.distinct, 15);
    assert_true(found.count < MOST);
    assert_true(found.chance == 0);

    space = keep(hn_space_create(), hn_space_destroy);
    for (const char *name = "A"; *name != 'E'; name = &"ABCDE"[*name - 'A' + 1]) {
        const char text[2] = {*name, 0};
        add_range(space, text, 3, 1);
    }
    assert_ok(hn_space_build(space, &said));
    run(space, &plan, &found);
    assert_int_equal(found.distinct, 1);
}

/* The best points of a source come first, and the search is over sooner than without. */
TEST(priors_lead_to_the_best)
{
    struct hn_space *space = make_space();
    static uint16_t choices[200][WIDTH];
    static struct hn_prior priors[200];
    struct hn_random random = hn_random_seeded(5);
    for (size_t i = 0; i < 200; i++) {
        hn_space_sample(space, &random, choices[i]);
        priors[i] =
            (struct hn_prior){choices[i],
                              {.outcome = HN_OUTCOME_OK, .cost = 3 * cost_of(choices[i]) + 5},
                              i % 2 == 0 ? 4 : 9};
    }
    priors[3].observation.cost = NAN;
    priors[5].observation.cost = 0.1; /* of a less relevant source */
    static struct run with, without;
    size_t sum_with = 0, sum_without = 0;
    for (uint64_t seed = 1; seed <= 5 / ONE_OF; seed++) {
        run(space, &(struct plan){"auto", seed, 1, 80, priors, 200, false, 0, false, NULL}, &with);
        run(space, &(struct plan){"auto", seed, 1, 80, NULL, 0, false, 0, false, NULL}, &without);
        assert_true(with.to_best > 0 && without.to_best > 0);
        sum_with += with.to_best;
        sum_without += without.to_best;
        size_t best = 0;
        for (size_t i = 2; i < 200; i += 2) {
            if (priors[i].observation.cost < priors[best].observation.cost)
                best = i;
        }
        assert_memory_equal(with.proposals[0], choices[best], sizeof choices[best]);
    }
    assert_true(sum_with < sum_without);
}

TEST(declines_what_its_resources_condemn)
{
    struct hn_space *space = make_space();
    static struct run with, without;
    run(space, &(struct plan){"auto", 3, 1, 300, NULL, 0, true, 0, false, NULL}, &with);
    run(space, &(struct plan){"auto", 3, 1, 300, NULL, 0, false, 0, false, NULL}, &without);
    assert_int_equal(without.declined, 0);
    assert_true(with.declined > 50);
    assert_in_range(with.to_best, 1, 60);
}

/* Points that were declined count as slow as they were expected to be: fewer like them follow. */
TEST(learns_from_what_it_declines)
{
    struct hn_space *space = make_space();
    static struct run seen;
    size_t condemned = 0, all = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        run(space, &(struct plan){"auto", seed, 1, 120, NULL, 0, true, 0, false, NULL}, &seen);
        for (size_t i = 0; i < seen.count; i++)
            condemned += cost_of(seen.proposals[i]) > 16 ? 1 : 0;
        all += seen.count;
    }
    assert_true(100 * condemned < 61 * all); /* 66 where nothing is learnt of them */
}

TEST(doubt_falls)
{
    struct hn_space *space = make_space();
    static struct run early, late;
    run(space, &(struct plan){"auto", 2, 1, 12, NULL, 0, false, 0, false, NULL}, &early);
    run(space, &(struct plan){"auto", 2, 1, 150, NULL, 0, false, 0, false, NULL}, &late);
    assert_true(early.chance > 0.3 && early.chance < 1);
    assert_true(late.to_best > 0);
    assert_true(late.chance < 0.1);
    assert_true(doubt_chance(3, 0, 0) == 0);
}

static void estimate(struct hn_space *space, const char *text)
{
    struct hn_expression *expression;
    assert_ok(hn_expression_parse(text, &expression, NULL));
    assert_ok(hn_space_set_estimate(space, expression, NULL));
    hn_expression_destroy(expression);
}

/* What is estimated to be best comes first; an estimate that is far off delays the best, and hides
 * it not. */
TEST(begins_where_it_is_told_to)
{
    static const char *const good = "10 + (A - 12) ** 2 / 16 + (log2(B) - 5 * C) ** 2";
    struct hn_space *space = make_space();
    static struct run plain, guided, misled;
    size_t without = 0;
    size_t with = 0;
    for (uint64_t seed = 1; seed <= 5 / ONE_OF; seed++) {
        const struct plan plan = {"model", seed, 1, 80, NULL, 0, false, 0, false, NULL};
        struct hn_space *told = make_space();
        struct hn_space *wrong = make_space();
        estimate(told, good);
        estimate(wrong, "A + B");
        run(space, &plan, &plain);
        run(told, &plan, &guided);
        run(wrong, &plan, &misled);
        for (size_t i = 0; i < 4; i++)
            assert_in_range(guided.proposals[i][0], 8, 14);
        assert_int_equal(misled.proposals[0][0] + misled.proposals[0][1], 0);
        assert_in_range(misled.to_best, 1, 80);
        without += plain.to_best;
        with += guided.to_best;
    }
    assert_true(with < without);
}

/* Half of the new candidates are the best of some by the estimate. */
TEST(candidates_follow_an_estimate)
{
    enum { DRAWS = 200 };
    struct hn_space *space = make_space();
    estimate(space, "A");
    struct hn_trail trail ENDED_BY(hn_trail_finish);
    hn_trail_init(&trail, &(struct hn_search){.space = space, .seed = 1});
    size_t any = 0, hopeful = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint16_t choice[WIDTH];
        sample(&trail, 1, choice);
        any += choice[0];
        sample(&trail, HOPES, choice);
        hopeful += choice[0];
    }
    assert_in_range(any, 5 * DRAWS, 8 * DRAWS); /* of 0 to 15 */
    assert_in_range(hopeful, 0, DRAWS);
}

/* Where many points are near the best, the others do not look alike. */
TEST(what_is_far_from_the_best_differs)
{
    enum { POINTS = 40 };
    struct hn_space *space = make_space();
    const struct hn_search search = {.space = space, .seed = 1};
    uint16_t choice[WIDTH];
    bool began;
    for (int sign = 1; sign >= -1; sign -= 2) {
        struct hn_trail trail ENDED_BY(hn_trail_finish);
        struct hn_surrogate surrogate ENDED_BY(hn_surrogate_finish);
        hn_trail_init(&trail, &search);
        hn_surrogate_init(&surrogate, &search, &trail);
        for (uint64_t i = 0; i < POINTS; i++) {
            assert_true(hn_move_sample(&trail, choice));
            hn_trail_add(&trail, i, choice, 0);
            const double cost = i < POINTS / 2 ? 1 + 1e-4 * (double)i : i % 2 == 0 ? 1.1 : 1.4;
            const struct hn_observation told = {.cost = sign > 0 ? cost : -1 / cost};
            hn_trail_tell(&trail, i, &told);
        }
        assert_true(hn_surrogate_update(&surrogate, &began));
        double near = 0, far = 0;
        for (size_t i = 0; i < POINTS; i++)
            if (surrogate.members[i] >= POINTS / 2)
                *(surrogate.members[i] % 2 == 0 ? &near : &far) = surrogate.targets[i];
        assert_true(far > near + 0.5);
    }
}

/* Of a boolean only one byte is set. */
TEST(booleans_are_numbers)
{
    struct hn_value values[2];
    struct hn_surrogate surrogate ENDED_BY(hn_surrogate_finish);
    const struct hn_encoding *encoding = &surrogate.encoding;
    memset(values, 0xff, sizeof values);
    for (size_t i = 0; i < 2; i++) {
        values[i].type = HN_BOOLEAN;
        values[i].boolean = i == 1;
    }
    struct hn_space *space = hn_space_create();
    hn_space_add_parameter(space, "A", values, 2);
    build(space);
    hn_surrogate_init(&surrogate, &(struct hn_search){.space = space}, NULL);
    assert_true(encoding->values[0][0] == 0.0 && encoding->values[0][1] == 1.0);
}

/* Powers of two say it by their logarithm. */
TEST(numbers_have_their_twos)
{
    struct hn_surrogate surrogate ENDED_BY(hn_surrogate_finish);
    const struct hn_encoding *encoding = &surrogate.encoding;
    const int64_t blocks[] = {16, 48, 64, 96, 128};
    struct hn_value values[5];
    struct hn_space *space = hn_space_create();
    for (size_t i = 0; i < 5; i++)
        values[i] = hn_integer((int64_t)1 << i);
    hn_space_add_parameter(space, "POWERS", values, 5);
    for (size_t i = 0; i < 5; i++)
        values[i] = hn_integer(blocks[i]);
    hn_space_add_parameter(space, "BLOCK", values, 5);
    for (size_t i = 0; i < 5; i++)
        values[i] = hn_integer(2 * (int64_t)i + 1);
    hn_space_add_parameter(space, "ODD", values, 5);
    build(space);
    hn_surrogate_init(&surrogate, &(struct hn_search){.space = space}, NULL);

    assert_int_equal(encoding->plain, 3);
    assert_int_equal(encoding->count, 4);
    const uint16_t choice[] = {0, 3, 0};
    double features[4];
    hn_encoding_apply(encoding, choice, features);
    assert_true(features[0] == 0.0);
    assert_float_equal(features[1], log2(6) / 3, 1e-12);
    assert_true(features[3] == 1.0); /* 96 is a whole number of warps */
    assert_float_equal(encoding->values[3][0], 0.8, 1e-12);
    assert_true(encoding->values[3][0] == encoding->values[3][1]);
}

enum { TIES = 5, ENOUGH = 300 };

/* Five pairs of values of seven that go together, so that no point has a neighbour. */
static struct hn_space *make_tied(void)
{
    struct hn_space *space = hn_space_create();
    struct hn_value values[7];
    for (int64_t i = 0; i < 7; i++)
        values[i] = hn_integer((int64_t)1 << i);
    for (int pair = 0; pair < TIES; pair++) {
        char text[48];
        for (int side = 0; side < 2; side++) {
            snprintf(text, sizeof text, "%c%d", "AB"[side], pair);
            hn_space_add_parameter(space, text, values, 7);
        }
        snprintf(text, sizeof text, "A%d * B%d == 64", pair, pair);
        constrain(space, text);
    }
    return build(space);
}

static double cost_of_tied(const uint16_t *choice)
{
    double sum = 10;
    for (size_t pair = 0; pair < TIES; pair++)
        sum += abs(choice[2 * pair] - (pair % 2 == 0 ? 1 : 5));
    return sum;
}

/* How many proposals until the best, ENOUGH at most. */
static size_t find_tied(const struct hn_space *space, uint64_t seed)
{
    const struct hn_strategy_kind *kind = hn_strategy_find("auto");
    const struct hn_search search = {.space = space, .seed = seed, .look_ahead = 1};
    struct hn_strategy *strategy;
    uint16_t choice[2 * TIES];
    strategy = kind->create(&search, NULL);
    assert_non_null(strategy);
    size_t count = 0;
    double cost = INFINITY;
    while (cost > 10 && count < ENOUGH && kind->propose(strategy, count, choice)) {
        cost = cost_of_tied(choice);
        const struct hn_observation told = {.outcome = HN_OUTCOME_OK, .cost = cost};
        kind->finished(strategy, count++, &told);
    }
    kind->destroy(strategy);
    return count;
}

TEST(values_that_go_together_are_changed_together)
{
    struct hn_space *space = make_tied();
    size_t sum = 0;
    for (uint64_t seed = 1; seed <= 5 / ONE_OF; seed++)
        sum += find_tied(space, seed);
    /* of 16,807 points; where neighbours alone are looked at, none is found */
    assert_in_range(sum, 1, 5 * ENOUGH * 3 / 4);
}

/* As soon as no more are left than it may look ahead. */
TEST(does_not_wait_for_results_with_the_last_points)
{
    const struct hn_strategy_kind *kind = hn_strategy_find("auto");
    struct hn_space *space = hn_space_create();
    add_range(space, "A", 1, 40);
    const struct hn_search search = {.space = build(space), .seed = 1, .look_ahead = 32};
    const struct hn_observation fast = {.outcome = HN_OUTCOME_OK, .cost = 1};
    struct hn_strategy *strategy;
    uint64_t count = 0, told = 0;
    uint16_t choice[1];
    strategy = kind->create(&search, NULL);
    assert_non_null(strategy);
    for (; count < 9; count++) {
        for (; kind->waits(strategy); told++)
            kind->finished(strategy, told, &fast);
        assert_true(kind->propose(strategy, count, choice));
    }
    assert_in_range(told, 1, 8);
    for (; count < 40; count++) {
        assert_false(kind->waits(strategy));
        assert_true(kind->propose(strategy, count, choice));
    }
    kind->destroy(strategy);
}
