/* SPDX-License-Identifier: MIT */
#include "tuner/space/space.h"

#include "bench/search/simulate/number.h"
#include "random_space.h"
#include "tests/unit/unit.h"
#include "tuner/space/space_internal.h"

/* Random spaces against brute force: every combination, every constraint as written, by the
 * evaluator. */

/* 1 valid, 0 not, -1 when an error counts */
static int brute_force(struct random_space *made, const uint16_t *choice)
{
    for (size_t i = 0; i < made->parameter_count; i++)
        made->current[i] = made->values[i][choice[i]];
    for (size_t i = 0; i < made->constraint_count; i++) {
        struct hn_value result;
        if (hn_expression_evaluate(made->constraints[i], made->current, &result, NULL) != HN_OK)
            return -1;
        if (!hn_value_truth(&result))
            return 0;
    }
    return 1;
}

static bool next_choice(const struct random_space *made, uint16_t *choice)
{
    for (size_t i = made->parameter_count; i-- > 0;) {
        if (++choice[i] < made->counts[i])
            return true;
        choice[i] = 0;
    }
    return false;
}

static void fail_space(const struct random_space *made, const char *what)
{
    for (size_t i = 0; i < made->parameter_count; i++)
        print_message("  %s: [%s] (%zu)\n", random_space_name(i), made->kinds[i]->values,
                      made->counts[i]);
    for (size_t i = 0; i < made->constraint_count; i++)
        print_message("  - %s\n", hn_expression_text(made->constraints[i]));
    fail_msg("%s", what);
}

static void check_point(struct random_space *made, const uint16_t *choice, uint64_t number,
                        bool valid)
{
    uint16_t back[MOST_PARAMETERS];
    uint64_t found = number_of_point(made->space, choice);
    if (found != (valid ? number : UINT64_MAX) || hn_space_contains(made->space, choice) != valid)
        fail_space(
            made,
            "a point is found though not valid, or the other way round, or has another number");
    if (!valid)
        return;
    hn_space_point(made->space, number, back);
    if (memcmp(back, choice, made->parameter_count * sizeof *back) != 0)
        fail_space(made, "a point's number gives another point");
}

/* -1 when an error counts, else how many points are valid; built: the space agrees in every point.
 */
static int64_t check_points(struct random_space *made, bool built)
{
    uint16_t choice[MOST_PARAMETERS] = {0};
    int64_t count = 0;
    do {
        int valid = brute_force(made, choice);
        if (valid < 0)
            return -1;
        if (built)
            check_point(made, choice, (uint64_t)count, valid == 1);
        count += valid;
    } while (next_choice(made, choice));
    return count;
}

static void draw_choice(const struct random_space *made, uint16_t *choice)
{
    for (size_t i = 0; i < made->parameter_count; i++)
        choice[i] = (uint16_t)random_below(made->counts[i]);
}

/* The neighbours in one parameter, by trying all: values below its own come downwards for the
 * adjacent. */
static size_t try_values(struct random_space *made, uint16_t *trial, size_t parameter,
                         enum hn_neighbourhood kind, uint16_t *expected)
{
    size_t own = trial[parameter];
    size_t found = 0;
    size_t below_own = SIZE_MAX;
    size_t above_own = SIZE_MAX;
    size_t n = made->parameter_count;
    for (size_t value = 0; value < made->counts[parameter]; value++) {
        trial[parameter] = (uint16_t)value;
        if (value == own || brute_force(made, trial) != 1)
            continue;
        if (value < own)
            below_own = value;
        else if (above_own == SIZE_MAX)
            above_own = value;
        if (kind == HN_HAMMING)
            memcpy(expected + found++ * n, trial, n * sizeof *trial);
    }
    for (int i = 0; i < 2 && kind == HN_ADJACENT; i++) {
        size_t value = i == 0 ? below_own : above_own;
        trial[parameter] = (uint16_t)value;
        if (value != SIZE_MAX)
            memcpy(expected + found++ * n, trial, n * sizeof *trial);
    }
    trial[parameter] = (uint16_t)own;
    return found;
}

static void check_neighbours(struct random_space *made, const uint16_t *choice)
{
    for (int kind = HN_ADJACENT; kind <= HN_HAMMING; kind++) {
        size_t limit = hn_space_neighbour_limit(made->space) + 1;
        size_t n = made->parameter_count;
        uint16_t *found FREED = calloc(limit * n, sizeof *found);
        uint16_t *expected FREED = calloc(limit * n, sizeof *expected);
        uint16_t trial[MOST_PARAMETERS];
        memcpy(trial, choice, n * sizeof *choice);
        size_t expected_count = 0;
        for (size_t i = 0; i < n; i++)
            expected_count += try_values(made, trial, i, (enum hn_neighbourhood)kind,
                                         expected + expected_count * n);
        size_t count = hn_space_neighbours(made->space, choice, (enum hn_neighbourhood)kind, found);
        if (count != expected_count || memcmp(found, expected, count * n * sizeof *found) != 0)
            fail_space(made, "other neighbours");
    }
}

/* The first valid point with some values given, which may be none. */
static void check_first(struct random_space *made)
{
    int wanted[MOST_PARAMETERS];
    uint16_t choice[MOST_PARAMETERS] = {0};
    uint16_t found[MOST_PARAMETERS];
    for (size_t i = 0; i < made->parameter_count; i++)
        wanted[i] = random_below(3) == 0 ? (int)random_below(made->counts[i]) : -1;
    bool expected = false;
    do {
        expected = true;
        for (size_t i = 0; i < made->parameter_count && expected; i++)
            expected = wanted[i] < 0 || wanted[i] == choice[i];
        expected = expected && brute_force(made, choice) == 1;
    } while (!expected && next_choice(made, choice));
    if (hn_space_first(made->space, wanted, found) != expected ||
        (expected && memcmp(found, choice, made->parameter_count * sizeof *found) != 0))
        fail_space(made, "another first point");
}

static void check_vicinity(struct random_space *made)
{
    struct hn_random random = hn_random_seeded(random_below(1000));
    uint16_t choice[MOST_PARAMETERS];
    for (int i = 0; i < 2; i++) {
        draw_choice(made, choice);
        check_neighbours(made, choice);
        hn_space_sample(made->space, &random, choice);
        if (brute_force(made, choice) != 1)
            fail_space(made, "a point was drawn that is not valid");
        check_neighbours(made, choice);
        check_first(made);
    }
}

/* The same without numbers: groups of more than a few combinations are not kept. */
static void check_open(struct random_space *made, int64_t count)
{
    struct hn_space_limits limits = made->space->limits;
    uint16_t choice[MOST_PARAMETERS];
    bool exact;
    limits.points = 1 + random_below(20);
    limits.enough_points = 0;
    if (random_below(2) == 0)
        limits.few_steps = limits.many_steps = 0;
    struct hn_space *numbered = made->space;
    made->space = random_space_again(made);
    made->space->limits = limits;
    if (hn_space_build(made->space, &said) != HN_OK)
        fail_space(made, "not built when too large");
    if (hn_space_enumerated(made->space) != ((uint64_t)count <= limits.points))
        fail_space(made, "numbered though too large, or the other way round");
    double valid = hn_space_valid(made->space, &exact);
    if (exact && valid != (double)count)
        fail_space(made, "another count without numbers");
    for (int i = 0; i < 20; i++) {
        draw_choice(made, choice);
        if (hn_space_contains(made->space, choice) != (brute_force(made, choice) == 1))
            fail_space(made, "contains another point without numbers");
    }
    check_vicinity(made);
    hn_space_destroy(made->space);
    made->space = numbered;
}

static void compare(struct random_space *made, size_t *seen)
{
    enum hn_status status = hn_space_build(made->space, &said);
    int64_t count = check_points(made, status == HN_OK);
    enum hn_status expected = count < 0 ? HN_ECONFIG : count == 0 ? HN_ENOTFOUND : HN_OK;
    if (status != expected) {
        print_message("%s\n", said.message);
        fail_space(made, "another outcome than brute force");
    }
    if (hn_space_size(made->space) != (uint64_t)(count < 0 ? 0 : count))
        fail_space(made, "another number of points");
    if (count > 0) {
        check_vicinity(made);
        check_open(made, count);
    }
    seen[count < 0 ? 0 : count == 0 ? 1 : 2]++;
}

/* HONE_ROUNDS multiplies the number of spaces. */
static int rounds_of(int rounds)
{
    const char *factor = getenv("HONE_ROUNDS");
    return factor == NULL ? rounds : rounds * atoi(factor);
}

TEST(small_spaces_agree_with_brute_force)
{
    size_t seen[3] = {0};
    for (int round = 0; round < rounds_of(6000); round++) {
        struct random_space made ENDED_BY(random_space_finish);
        random_seed((uint64_t)round * 77 + 1);
        random_space_make(&made);
        compare(&made, seen);
    }
    assert_true(seen[0] > 50 && seen[1] > 50 && seen[2] > 50);
}

TEST(large_spaces_agree_with_brute_force)
{
    size_t seen[3] = {0};
    for (int round = 0; round < rounds_of(40); round++) {
        struct random_space made ENDED_BY(random_space_finish);
        random_seed((uint64_t)round * 131 + 5);
        random_space_make_large(&made);
        compare(&made, seen);
    }
    assert_true(seen[2] > 10);
}
