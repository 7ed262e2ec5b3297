/* SPDX-License-Identifier: MIT */
#include "tuner/space/space.h"

#include <pthread.h>
#include <sched.h>

#include "tests/unit/space_fixture.h"
#include "tuner/space/space_internal.h"
#include "tuner/strategy/strategy.h"

/* Spaces that are searched by all cores, or too large to be numbered. */

enum { LINKS = 12, VALUES = 10 };

/* P0 to P<parameters - 1>, each from 1 to `last`. */
static void add_ranges(struct hn_space *space, int parameters, size_t last)
{
    for (int i = 0; i < parameters; i++) {
        char name[16];
        snprintf(name, sizeof name, "P%d", i);
        add_range(space, name, 1, last);
    }
}

static void constrain_pair(struct hn_space *space, const char *format, int a, int b)
{
    char text[128];
    snprintf(text, sizeof text, format, a, b, b, a);
    constrain(space, text);
}

/* Each of twelve parameters divides the next one or the other way round. */
static struct hn_space *chain_space(void)
{
    struct hn_space *space = hn_space_create();
    add_ranges(space, LINKS, VALUES);
    for (int i = 0; i + 1 < LINKS; i++)
        constrain_pair(space, "P%d %% P%d == 0 or P%d %% P%d == 0", i, i + 1);
    return keep(space, hn_space_destroy);
}

static bool linked(size_t a, size_t b)
{
    return (a + 1) % (b + 1) == 0 || (b + 1) % (a + 1) == 0;
}

/* The number of chains of `links` parameters that begin with each value. */
static void count_chains(int links, double counts[VALUES])
{
    for (size_t i = 0; i < VALUES; i++)
        counts[i] = 1;
    for (; links > 1; links--) {
        double longer[VALUES] = {0};
        for (size_t i = 0; i < VALUES; i++) {
            for (size_t j = 0; j < VALUES; j++)
                longer[i] += linked(i, j) ? counts[j] : 0;
        }
        memcpy(counts, longer, sizeof longer);
    }
}

static bool is_chain(const uint16_t *choice)
{
    for (size_t i = 0; i + 1 < LINKS; i++) {
        if (!linked(choice[i], choice[i + 1]))
            return false;
    }
    return true;
}

TEST(too_many_points_are_counted)
{
    struct hn_space *space = chain_space();
    double counts[VALUES];
    double total = 0;
    bool exact = false;
    char text[HN_SPACE_COUNT_TEXT];
    count_chains(LINKS, counts);
    for (size_t i = 0; i < VALUES; i++)
        total += counts[i];
    assert_ok(hn_space_build(space, &said));
    assert_false(hn_space_enumerated(space));
    assert_true(hn_space_size(space) == UINT64_MAX);
    assert_true(hn_space_valid(space, &exact) == total);
    assert_true(exact);
    assert_string_equal(hn_space_count_text(space, text), "662878300");
}

/* Draws from a space too large to be numbered are as likely as its counts say. */
TEST(draws_are_uniform)
{
    enum { DRAWS = 20000 };
    struct hn_space *space = chain_space();
    struct hn_random random = hn_random_seeded(5);
    double counts[VALUES];
    double total = 0;
    int seen[2][VALUES] = {{0}};
    count_chains(LINKS, counts);
    assert_ok(hn_space_build(space, &said));
    for (int i = 0; i < DRAWS; i++) {
        uint16_t choice[LINKS];
        hn_space_sample(space, &random, choice);
        assert_true(is_chain(choice));
        assert_true(hn_space_contains(space, choice));
        seen[0][choice[0]]++;
        seen[1][choice[LINKS - 1]]++;
        choice[3] =
            (uint16_t)(choice[3] == 6 ? 4 : 6); /* 7 after 5, or 5 after 7: mostly no chain */
        assert_int_equal(hn_space_contains(space, choice), is_chain(choice));
    }
    for (size_t i = 0; i < VALUES; i++)
        total += counts[i];
    for (size_t i = 0; i < VALUES; i++) {
        double expected = DRAWS * counts[i] / total;
        for (size_t end = 0; end < 2; end++) {
            double deviation = seen[end][i] - expected;
            assert_true(deviation * deviation < 16 * expected);
        }
    }
}

/* Without counts, weights make up for what random descents prefer: here values of A that leave few
 * values for B. */
TEST(draws_without_counts_are_nearly_uniform)
{
    enum { DRAWS = 40000 };
    struct hn_space *space = hn_space_create();
    struct hn_random random = hn_random_seeded(9);
    int seen[20][20] = {{0}};
    int points = 0;
    add_range(space, "A", 1, 20);
    add_range(space, "B", 1, 20);
    constrain(space, "A * B <= 60");
    space->limits.points = 10;
    space->limits.few_steps = space->limits.many_steps = 0;
    build(space);
    bool exact = true;
    double valid = hn_space_valid(space, &exact);
    assert_false(exact);
    for (int i = 0; i < DRAWS; i++) {
        uint16_t choice[2];
        hn_space_sample(space, &random, choice);
        seen[choice[0]][choice[1]]++;
    }
    for (int a = 1; a <= 20; a++) {
        for (int b = 1; b <= 20; b++)
            points += a * b <= 60;
    }
    assert_true(valid > 0.9 * points && valid < 1.1 * points);
    for (int a = 1; a <= 20; a++) {
        for (int b = 1; b <= 20; b++) {
            int often = seen[a - 1][b - 1];
            assert_true(a * b <= 60 ? often > DRAWS / points / 2 && often < 2 * DRAWS / points
                                    : often == 0);
        }
    }
}

TEST(first_point_has_what_is_wanted)
{
    struct hn_space *space = chain_space();
    uint16_t choice[LINKS];
    int wanted[LINKS];
    for (size_t i = 0; i < LINKS; i++)
        wanted[i] = -1;
    assert_ok(hn_space_build(space, &said));
    assert_true(hn_space_first(space, NULL, choice));
    for (size_t i = 0; i < LINKS; i++)
        assert_int_equal(choice[i], 0);
    wanted[2] = 6; /* 7 has 1 and itself beside it */
    wanted[4] = 4;
    assert_true(hn_space_first(space, wanted, choice));
    for (size_t i = 0; i < LINKS; i++)
        assert_int_equal(choice[i], i == 2 ? 6 : i == 4 ? 4 : 0);
    wanted[3] = 4; /* 5 beside 7 */
    assert_false(hn_space_first(space, wanted, choice));
}

/* What may be asked while the points are looked for, and that there are the same. */
TEST(a_thread_builds_the_same)
{
    struct hn_space *built = chain_space(), *begun = chain_space();
    uint16_t choice[LINKS];
    int wanted[LINKS] = {0};
    assert_ok(hn_space_build(built, &said));
    assert_ok(hn_space_begin(begun, &said));
    assert_true(hn_space_first(begun, wanted, choice));
    assert_true(hn_space_contains(begun, choice));
    choice[1] = 6, choice[2] = 4; /* 7 beside 5 */
    assert_false(hn_space_contains(begun, choice));
    assert_ok(hn_space_wait(begun, NULL));
    assert_true(hn_space_is_built(begun));
    assert_false(hn_space_contains(begun, choice));
    assert_true(hn_space_valid(begun, NULL) == hn_space_valid(built, NULL));
    struct hn_random one = hn_random_seeded(3), other = hn_random_seeded(3);
    for (int i = 0; i < 100; i++) {
        uint16_t same[LINKS];
        hn_space_sample(built, &one, choice);
        hn_space_sample(begun, &other, same);
        assert_memory_equal(choice, same, sizeof choice);
    }
}

/* Of more points than are looked for in a moment none is numbered, and all else works. */
TEST(haste_numbers_less)
{
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    uint16_t choice[5];
    bool exact = true;
    struct hn_random random = hn_random_seeded(5);
    for (int i = 0; i < 5; i++)
        add_range(space, (const char *[]){"A", "B", "C", "D", "E"}[i], 1, 40);
    constrain_pair(space, "(A + B + C + D + E) % 2 == 0 and A * B + C * D != E * 7 + %d", 1000, 0);
    assert_ok(hn_space_begin(space, &said));
    assert_ok(hn_space_wait(space, NULL));
    assert_false(hn_space_enumerated(space));
    assert_true(hn_space_valid(space, &exact) > 45e6 && hn_space_valid(space, &exact) < 57e6);
    for (int i = 0; i < 100; i++) {
        hn_space_sample(space, &random, choice);
        assert_true(hn_space_contains(space, choice));
    }
}

/* Whoever does not wait does not wait for it to end either. */
TEST(what_was_begun_can_be_let_go)
{
    for (int i = 0; i < 20; i++) {
        struct hn_space *space = chain_space();
        assert_ok(hn_space_begin(space, &said));
        usleep((unsigned)i * 2000);
    }
}

TEST(a_thread_says_that_there_is_no_point)
{
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    add_range(space, "A", 1, 20);
    add_range(space, "B", 1, 20);
    constrain(space, "A * B > 400");
    enum hn_status status = hn_space_begin(space, &said);
    assert_int_equal(status == HN_OK ? hn_space_wait(space, &said) : status, HN_ENOTFOUND);
    assert_non_null(strstr(said.message, "A * B > 400"));
}

/* Independent groups multiply, far beyond what could be looked at. */
TEST(groups_multiply)
{
    struct hn_space *space = hn_space_create();
    struct hn_random random = hn_random_seeded(1);
    uint16_t choice[24];
    bool exact = false;
    double expected = 1;
    add_ranges(space, 24, 30);
    for (int i = 0; i < 12; i++) {
        constrain_pair(space, "P%d * P%d <= 100", i, i + 12);
        expected *= 296; /* pairs of 1 to 30 whose product is at most 100 */
    }
    build(space);
    assert_false(hn_space_enumerated(space));
    assert_true(hn_space_valid(space, &exact) == expected && exact);
    for (int i = 0; i < 100; i++) {
        hn_space_sample(space, &random, choice);
        assert_true(hn_space_contains(space, choice));
        assert_true((choice[3] + 1) * (choice[15] + 1) <= 100);
    }
}

TEST(strategies_cope)
{
    struct hn_space *space = chain_space();
    assert_ok(hn_space_build(space, &said));
    const struct hn_search search = {.space = space, .seed = 3, .look_ahead = 1};
    const struct hn_strategy_kind *exhaustive = hn_strategy_find("exhaustive");
    assert_null(exhaustive->create(&search, &said));
    assert_error(said.status, HN_ECONFIG,
                 "662878300 points are valid, too many for strategy 'exhaustive': take "
                 "another, or restrict parameters with -s");
    const struct hn_strategy_kind *random = hn_strategy_find("random");
    struct hn_strategy *strategy = random->create(&search, &said);
    assert_non_null(strategy);
    for (uint64_t ticket = 0; ticket < 100; ticket++) {
        uint16_t choice[LINKS];
        assert_true(random->propose(strategy, ticket, choice));
        assert_true(is_chain(choice));
    }
    random->destroy(strategy);
}

/* Points enough to be searched by all cores. */
static struct hn_space *pairs_space(void)
{
    struct hn_space *space = hn_space_create();
    add_ranges(space, 6, 40);
    for (int i = 0; i < 3; i++)
        constrain_pair(space, "P%d * P%d <= 80", i, i + 3);
    constrain_pair(space, "P%d + P%d <= 12", 0, 1);
    constrain_pair(space, "P%d + P%d <= 40", 1, 2);
    constrain_pair(space, "P%d >= P%d", 3, 5);
    return keep(space, hn_space_destroy);
}

/* Long lists, of which few values divide each other; in both orders of binding. */
TEST(divisors_and_multiples_are_all_found)
{
    static const char *const constraints[] = {"A % B == 0", "B % A == 0", "0 == (A * 3 + 12) % B",
                                              "B % (A + C) == 0", "(A - 400) % B == 0"};
    for (size_t i = 0; i < sizeof constraints / sizeof constraints[0]; i++) {
        struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
        uint64_t valid = 0;
        add_range(space, "A", 5, 300);
        add_range(space, "B", 12, 280);
        add_range(space, "C", 1, 3);
        constrain(space, constraints[i]);
        assert_ok(hn_space_build(space, &said));
        for (uint16_t point = 0; point < 300 * 280 / 2; point++) {
            for (uint16_t rest = 0; rest < 6; rest++) {
                uint16_t choice[] = {point % 300, (uint16_t)(point / 300 * 2 + rest % 2), rest / 2};
                int a = choice[0] + 5;
                int b = choice[1] + 12;
                int c = choice[2] + 1;
                const bool holds[] = {a % b == 0, b % a == 0, (a * 3 + 12) % b == 0,
                                      b % (a + c) == 0, (a - 400) % b == 0};
                assert_int_equal(hn_space_contains(space, choice), holds[i]);
                valid += holds[i];
            }
        }
        assert_int_equal(hn_space_size(space), valid);
    }
}

static uint64_t hash_points(const struct hn_space *space)
{
    uint64_t hash = 0;
    uint16_t choice[6];
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        for (size_t j = 0; j < 6; j++)
            hash = (hash ^ choice[j]) * 0x9e3779b97f4a7c15;
    }
    return hash;
}

TEST(cores_make_no_difference)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    }
    struct hn_space *space = pairs_space();
    assert_ok(hn_space_build(space, &said));
    uint64_t size = hn_space_size(space);
    uint64_t hash = hash_points(space);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    space = pairs_space();
    assert_ok(hn_space_build(space, &said));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(hn_space_size(space), size);
    assert_true(hash_points(space) == hash);
}

struct reading {
    const struct hn_space *space;
    uint64_t seed;
    bool wrong;
};

static void *read_space(void *argument)
{
    struct reading *reading = argument;
    const struct hn_space *space = reading->space;
    struct hn_random random = hn_random_seeded(reading->seed);
    size_t count = hn_space_parameter_count(space);
    uint16_t choice[LINKS], back[LINKS];
    uint16_t *neighbours = calloc(hn_space_neighbour_limit(space) * count + 1, sizeof *neighbours);
    for (int i = 0; i < 300; i++) {
        hn_space_sample(space, &random, choice);
        size_t found = hn_space_neighbours(space, choice, HN_HAMMING, neighbours);
        for (size_t j = 0; j < found; j++)
            reading->wrong = reading->wrong || !hn_space_contains(space, neighbours + j * count);
        if (!hn_space_enumerated(space))
            continue;
        hn_space_point(space, number_of_point(space, choice), back);
        reading->wrong = reading->wrong || memcmp(back, choice, count * sizeof *back) != 0;
    }
    free(neighbours);
    return NULL;
}

/* What is made when it is first needed is made once. */
TEST(several_threads_may_read)
{
    enum { THREADS = 6 };
    for (int kind = 0; kind < 3; kind++) {
        struct hn_space *space = kind == 0 ? chain_space() : pairs_space();
        pthread_t threads[THREADS];
        struct reading readings[THREADS];
        if (kind == 2) /* alternates with another group: a block of two */
            add_range(space, "Q", 1, 3);
        assert_ok(hn_space_build(space, &said));
        for (uint64_t i = 0; i < THREADS; i++) {
            readings[i] = (struct reading){.space = space, .seed = i};
            assert_int_equal(pthread_create(&threads[i], NULL, read_space, &readings[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_false(readings[i].wrong);
        }
    }
}

static struct hn_space *hopeless_space(void)
{
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    add_ranges(space, 8, 30);
    constrain(space, "(P0 ^ P1 ^ P2 ^ P3 ^ P4 ^ P5 ^ P6 ^ P7) * 2 == 15");
    return space;
}

TEST(hopeless_searches_end)
{
    struct hn_space *space = hopeless_space();
    assert_int_equal(hn_space_build(space, &said), HN_ENOTFOUND); /* counting is fast here */
    space = hopeless_space();
    space->limits.steps = 100000;
    space->limits.few_steps = 0;
    assert_mentions(hn_space_build(space, &said), HN_ECONFIG,
                    "steps through the 6.56e+11 combinations of the "
                    "parameters found only 0 valid points");
}

/* Their product may overflow, so that the evaluator is asked for each of 1.3e19 combinations; below
 * most values nothing is found, and the end is looked for there too. What was done by then is the
 * same each time. */
TEST(products_that_may_overflow_end)
{
    unsigned long long steps[2];
    for (int i = 0; i < 2; i++) {
        struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
        add_ranges(space, 4, 60000);
        constrain(space, "P0 * P1 * P2 * P3 == 720720");
        space->limits.steps = 1000000;
        assert_mentions(hn_space_build(space, &said), HN_ECONFIG,
                        " steps through the 1.3e+19 combinations of the parameters found "
                        "only ");
        steps[i] = strtoull(said.message, NULL, 10);
        assert_true(steps[i] < 200000000);
    }
    assert_true(steps[0] == steps[1]);
}
