/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/family/learn.h"

#include "base/hash.h"
#include "tests/unit/bindings_fixture.h"
#include "tuner/config/config.h"

static double value(const struct hn_bindings *bindings, const char *name)
{
    return hn_value_number(hn_bindings_get(bindings, name));
}

/* Tiles of a product of matrices on a made-up device: waves of blocks, each of which loads and
 * multiplies, beside what memory takes. */
static double model_us(const struct hn_bindings *problem, const struct hn_bindings *point)
{
    double m = value(problem, "M"), n = value(problem, "N"), k = value(problem, "K");
    double bm = value(point, "BM"), bn = value(point, "BN");
    double split = value(point, "SPLIT"), word = value(point, "WORD");
    double blocks = ceil(m / bm) * ceil(n / bn) * split;
    double waves = ceil(blocks / (132 * 2));
    double inner = bm * bn / (150 + bm * bn / 400) + (bm + bn) * (word > 1 ? 0.25 : 0.7);
    double compute = waves * (ceil(k / split) * inner / 8000 + 1.5);
    double memory = 4 * (m * k + k * n + (1 + 2 * (split > 1)) * m * n) / 3.5e6;
    return 3 + compute + 0.6 * memory + (split > 1 ? 2.5 + 0.1 * split : 0);
}

/* Rows of any length, each in passes of a block over its threads' words; the last pass does as much
 * as the others. */
static double rows_us(const struct hn_bindings *problem, const struct hn_bindings *point)
{
    double rows = value(problem, "ROWS"), columns = value(problem, "COLS");
    double threads = value(point, "THREADS"), word = value(point, "VEC");
    double each = value(point, "EACH");
    double waves = ceil(ceil(rows / each) / (132 * fmax(1, floor(512 / threads))));
    double pass = (threads / 256) * (0.15 + 0.1 * word) + 0.03 * log2(threads);
    double memory = 8 * rows * columns / 4e6;
    return 2.5 + waves * (0.8 + each * ceil(columns / (threads * word)) * pass) + 0.3 * memory;
}

/* What no tree guesses of a size, but the prior says. */
static double ways_us(const struct hn_bindings *problem, const struct hn_bindings *point)
{
    return 10 + fmod(value(problem, "N") * value(point, "WAY"), 23);
}

/* Each point is the best at some sizes, which nothing tells of. */
static double lucky_us(const struct hn_bindings *problem, const struct hn_bindings *point)
{
    double size = value(problem, "M") * 7 + value(problem, "N") * 13 + value(problem, "K");
    double tile = value(point, "BM") + value(point, "BN") / 16 + value(point, "SPLIT");
    return fmod(size, 9) == fmod(tile, 9) ? 8 : 10;
}

/* Small tiles for few rows. */
static double heights_us(const struct hn_bindings *problem, const struct hn_bindings *point)
{
    return (value(problem, "M") < 100) == (value(point, "BM") < 64) ? 8 : 10;
}

struct fixture {
    double (*model)(const struct hn_bindings *problem, const struct hn_bindings *point);
    struct hn_config *config;
    struct hn_device device;
    struct hn_family_kernel kernel;
    struct hn_matrix *matrix;
};

static int set_up_of(void **state, const char *path,
                     double (*model)(const struct hn_bindings *problem,
                                     const struct hn_bindings *point))
{
    static struct fixture fixture;
    fixture.model = model;
    if (hn_config_load(path, NULL, &fixture.config, &said) != HN_OK ||
        hn_device_for_architecture("sm_90", &fixture.device, &said) != HN_OK) {
        print_error("%s\n", said.message);
        return 1;
    }
    fixture.device.identity.sm_count = 132;
    fixture.kernel = (struct hn_family_kernel){fixture.config, &fixture.device};
    fixture.matrix = hn_matrix_create();
    *state = &fixture;
    return fixture.matrix == NULL;
}

static int set_up(void **state)
{
    return set_up_of(state, HONE_TEST_DATA "/family/tiles.yaml", model_us);
}

static int set_up_lucky(void **state)
{
    return set_up_of(state, HONE_TEST_DATA "/family/tiles.yaml", lucky_us);
}

static int set_up_rows(void **state)
{
    return set_up_of(state, HONE_TEST_DATA "/family/rows.yaml", rows_us);
}

static int set_up_ways(void **state)
{
    return set_up_of(state, HONE_TEST_DATA "/family/ways.yaml", ways_us);
}

/* M is one of a few sizes, in no order. */
static int set_up_list(void **state)
{
    static struct hn_value sizes[5];
    static const int64_t numbers[5] = {16384, 1, 64, 1024, 8};
    int failed = set_up_of(state, HONE_TEST_DATA "/family/tiles.yaml", heights_us);
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < 5; i++)
        sizes[i] = hn_integer(numbers[i]);
    fixture->config->family->values[0] =
        (struct hn_family_value){.name = "M", .kind = HN_FAMILY_LIST, .values = sizes, .count = 5};
    return failed;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    hn_matrix_destroy(fixture->matrix);
    hn_config_destroy(fixture->config);
    return 0;
}

static void add_point(struct fixture *fixture, const char *text)
{
    fixture->matrix->points[hn_matrix_add_point(fixture->matrix, parsed(text))].occupancy =
        0.25; /* two blocks of 256 threads */
}

static void add_points(struct fixture *fixture)
{
    char text[80];
    static const int tiles[][2] = {{16, 16},   {32, 32},   {64, 64}, {128, 64},
                                   {128, 128}, {128, 256}, {16, 256}};
    add_point(fixture, "BM=32,BN=32,SPLIT=1,WORD=1");
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (int split = 1; split <= 16; split *= 4)
            for (int word = 1; word <= 4; word += 3) {
                snprintf(text, sizeof text, "BM=%d,BN=%d,SPLIT=%d,WORD=%d", tiles[t][0],
                         tiles[t][1], split, word);
                add_point(fixture, text);
            }
}

static bool allows(const struct fixture *fixture, const struct hn_bindings *problem, size_t point)
{
    return hn_plan_allows(fixture->kernel.config->plan, problem,
                          &fixture->matrix->points[point].values, NULL);
}

/* Mean 0, deviation 1, by Box and Muller's transform. */
static double random_normal(struct hn_random *random)
{
    double radius = sqrt(-2 * log(1 - hn_random_unit(random)));
    return radius * cos(6.283185307179586 * hn_random_unit(random));
}

static void measure_at(struct fixture *fixture, size_t size)
{
    struct hn_random random = hn_random_seeded(size);
    const struct hn_bindings *problem = &fixture->matrix->sizes[size].problem;
    for (size_t p = 0; p < fixture->matrix->point_count; p++)
        if (allows(fixture, problem, p))
            fixture->matrix->times[p][size] =
                fixture->model(problem, &fixture->matrix->points[p].values) *
                exp(0.01 * random_normal(&random));
}

static struct hn_bindings next(const struct fixture *fixture, uint64_t seed, uint64_t *at)
{
    struct hn_error err = {0};
    struct hn_bindings none = {0};
    struct hn_bindings problem = hn_family_draw(fixture->config->family, &none, seed, at, &err);
    assert_ok(err.status);
    return problem;
}

/* A sanitizer takes nine times as long, and sees the same code in
 * a_rule_knows_how_full_the_last_pass_is. */
static void skip_with_sanitizers(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

static void release(struct hn_learnt *learnt)
{
    hn_learnt_finish(learnt);
    free(learnt);
}

static const struct hn_learnt *learn(const struct fixture *fixture, size_t samples)
{
    const struct hn_learn_options options = {
        .seed = 5, .samples = samples, .trees = 40, .wanted = 4};
    struct hn_learnt *learnt = calloc(1, sizeof *learnt);
    assert_ok(hn_learn(&fixture->kernel, fixture->matrix, &options, learnt, &said));
    return keep(learnt, release);
}

static void measure(struct fixture *fixture, size_t sizes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < sizes; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(fixture, 3, &at);
        size_t size = hn_matrix_add_size(fixture->matrix, &problem, true);
        measure_at(fixture, size);
    }
}

struct asked {
    const struct fixture *fixture;
    const struct hn_learnt *learnt;
    const struct hn_bindings *problem;
};

static bool usable(int configuration, void *context)
{
    const struct asked *asked = context;
    return allows(asked->fixture, asked->problem, asked->learnt->picked[configuration]);
}

/* By how much a search of its own finds something better than all points, in logarithms. */
static double no_gain(const struct hn_bindings *problem)
{
    (void)problem;
    return 0;
}

static double gain_of_search(const struct hn_bindings *problem)
{
    return value(problem, "M") > 8192 && value(problem, "N") > 8192 ? 0.7 : 0.05;
}

/* Over problems that the rule has not seen: what it chooses beside the best of all points, and what
 * a search would gain on that. */
static void compare(const struct fixture *fixture, const struct hn_learnt *learnt,
                    double (*gain)(const struct hn_bindings *problem), double *mean, double *worst,
                    double *right)
{
    int sure_ones = 0, wrong = 0;
    uint64_t at = 0;
    double sum = 0;
    enum { COUNT = 1000 };
    *worst = 0;
    for (int i = 0; i < COUNT; i++) {
        bool sure;
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(fixture, 99, &at);
        struct asked asked = {fixture, learnt, &problem};
        int chosen = hn_rule_choose(&learnt->rule, &problem, usable, &asked, &sure);
        assert_true(chosen >= 0);
        assert_true(usable(chosen, &asked));
        double best = INFINITY;
        for (size_t p = 0; p < fixture->matrix->point_count; p++)
            if (allows(fixture, &problem, p))
                best = fmin(best, fixture->model(&problem, &fixture->matrix->points[p].values));
        double loss =
            log(fixture->model(&problem, &fixture->matrix->points[learnt->picked[chosen]].values) /
                best);
        if (loss > 0.3) {
            char *a FREED = hn_bindings_text(&problem),
                    *b = hn_bindings_text(&fixture->matrix->points[learnt->picked[chosen]].values);
            print_message("%s %s loss %.2f sure %d\n", a, b, loss, sure);
            free(b);
        }
        sure_ones += sure;
        wrong += sure && loss + gain(&problem) > log(1.1);
        sum += loss + gain(&problem);
        *worst = fmax(*worst, loss);
    }
    *mean = expm1(sum / COUNT);
    *worst = expm1(*worst);
    *right = sure_ones > 0 ? 1 - (double)wrong / sure_ones : 1;
    print_message("sure at %.1f%%, predicted %.1f%%, of which %.1f%% are right\n",
                  100.0 * sure_ones / COUNT, 100 * learnt->sure, 100 * *right);
}

static bool asks(const struct hn_rule *rule, const char *question)
{
    for (size_t f = 0; f < rule->feature_count; f++)
        if (strcmp(rule->features[f].text, question) == 0)
            return true;
    return false;
}

TEST_WITH(a_rule_chooses_well_at_sizes_that_it_has_not_seen, set_up, tear_down)
{
    skip_with_sanitizers();
    struct fixture *fixture = *state;
    double mean, worst, right;
    add_points(fixture);
    measure(fixture, 80);
    const struct hn_learnt *learnt = learn(fixture, 2000);
    compare(fixture, learnt, no_gain, &mean, &worst, &right);
    print_message(
        "%zu configurations, %zu nodes: predicted %.2f%%, %.1f%% at worst; is %.2f%%, %.1f%%\n",
        learnt->rule.configuration_count, learnt->rule.node_count,
        100 * learnt->rule.predicted.mean, 100 * learnt->rule.predicted.worst, 100 * mean,
        100 * worst);
    assert_true(learnt->rule.configuration_count <= HN_FAMILY_CONFIGURATIONS);
    assert_true(mean < 0.045);
    assert_true(fabs(learnt->rule.predicted.mean - mean) < 0.03);
    assert_true(asks(&learnt->rule, "ceil_div(M, 128) * ceil_div(N, 128)"));
    assert_true(asks(&learnt->rule, "N % 4 + K % 4"));
    assert_int_equal(learnt->wanted_count, 4);
}

TEST_WITH(sizes_of_a_list_have_an_order, set_up_list, tear_down)
{
    struct fixture *fixture = *state;
    static const int heights[] = {1, 3, 30, 64, 500, 3000, 16384};
    add_points(fixture);
    measure(fixture, 40);
    const struct hn_learnt *learnt = learn(fixture, 500);
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        char text[40];
        bool sure;
        snprintf(text, sizeof text, "K=512,M=%d,N=512", heights[i]);
        int chosen = hn_rule_choose(&learnt->rule, parsed(text), NULL, NULL, &sure);
        assert_true((value(&learnt->rule.configurations[chosen], "BM") < 64) == (heights[i] < 100));
    }
}

/* The times of a size hang on how full the last pass is, which no grid tells. */
TEST_WITH(a_rule_knows_how_full_the_last_pass_is, set_up_rows, tear_down)
{
    struct fixture *fixture = *state;
    char text[80];
    double mean, worst, right;
    for (int threads = 128, i = 0; i < 6; threads = 32 << i++)
        for (int word = 1; word <= 4; word *= 2)
            for (int each = 1; each <= 8; each *= 2) {
                snprintf(text, sizeof text, "THREADS=%d,VEC=%d,EACH=%d", threads, word, each);
                add_point(fixture, text);
            }
    measure(fixture, 50);
    const struct hn_learnt *learnt = learn(fixture, 1500);
    compare(fixture, learnt, no_gain, &mean, &worst, &right);
    print_message("%zu configurations: predicted %.2f%%, %.1f%% at worst; is %.2f%%, %.1f%%\n",
                  learnt->rule.configuration_count, 100 * learnt->rule.predicted.mean,
                  100 * learnt->rule.predicted.worst, 100 * mean, 100 * worst);
    assert_true(mean < 0.04);
    assert_true(right > 0.9);
}

/* What was measured counts where the model sees no reason. */
TEST_WITH(a_rule_has_what_was_the_best_where_it_was_measured, set_up_lucky, tear_down)
{
    enum { SIZES = 40 };
    struct fixture *fixture = *state;
    int covered = 0;
    add_points(fixture);
    measure(fixture, SIZES);
    const struct hn_learnt *learnt = learn(fixture, 1000);
    for (size_t s = 0; s < SIZES; s++) {
        double least = INFINITY;
        for (size_t c = 0; c < learnt->rule.configuration_count; c++)
            least = fmin(least, fixture->matrix->times[learnt->picked[c]][s]);
        covered += least < 1.1 * hn_matrix_least(fixture->matrix, s);
    }
    print_message("%zu configurations, near to the best at %d of %d sizes\n",
                  learnt->rule.configuration_count, covered, SIZES);
    assert_int_equal(covered, SIZES);
}

static void search(struct fixture *fixture, size_t size)
{
    struct hn_matrix_size *own = &fixture->matrix->sizes[size];
    own->searched = true;
    own->tuned_us = hn_matrix_best(fixture->matrix, size) * exp(-gain_of_search(&own->problem));
}

/* Searches go where most is gained, which few sizes are like: what they found there is not what
 * they would find elsewhere. */
TEST_WITH(a_predicted_loss_is_that_of_any_size, set_up, tear_down)
{
    skip_with_sanitizers();
    enum { DRAWN = 60, SEARCHED = 8 };
    struct fixture *fixture = *state;
    struct hn_matrix *matrix = fixture->matrix;
    double mean, worst, right;
    add_points(fixture);
    measure(fixture, DRAWN);
    for (int i = 0; i < SEARCHED; i++) {
        char text[80];
        snprintf(text, sizeof text, "M=%d,N=%d,K=%d", 8200 + 16 * i, 9000 + 100 * i, 64 << i % 4);
        size_t place = hn_matrix_add_size(matrix, parsed(text), false);
        measure_at(fixture, place);
        search(fixture, place);
        search(fixture, (size_t)i);
    }
    const struct hn_learnt *learnt = learn(fixture, 2000);
    compare(fixture, learnt, gain_of_search, &mean, &worst, &right);
    print_message("predicted %.2f%%, is %.2f%%\n", 100 * learnt->rule.predicted.mean, 100 * mean);
    assert_true(fabs(learnt->rule.predicted.mean - mean) < 0.03);
}

/* A third of the points was never measured: the model knows what is good all the same. */
TEST_WITH(a_model_knows_points_that_nobody_measured, set_up, tear_down)
{
    enum { PROBLEMS = 200 };
    struct fixture *fixture = *state;
    struct hn_matrix *matrix = fixture->matrix;
    struct hn_bindings problems[PROBLEMS];
    uint64_t at = 0;
    double sum = 0, of_unmeasured = 0;
    add_points(fixture);
    measure(fixture, 60);
    for (size_t p = 1; p < matrix->point_count; p += 3)
        for (size_t s = 0; s < matrix->size_count; s++)
            matrix->times[p][s] = NAN;
    struct hn_model *model = hn_model_make(&fixture->kernel, matrix, 60, 1);
    for (size_t i = 0; i < PROBLEMS; i++)
        problems[i] = next(fixture, 99, &at);
    double *losses FREED = calloc(matrix->point_count * PROBLEMS, sizeof *losses);
    double *deviations FREED = calloc(matrix->point_count * PROBLEMS, sizeof *deviations);
    hn_model_ask(model, matrix->points, NULL, matrix->point_count, problems, PROBLEMS, false,
                 losses, deviations);
    for (size_t i = 0; i < PROBLEMS; i++) {
        size_t chosen = 0;
        double best = INFINITY;
        for (size_t p = 0; p < matrix->point_count; p++) {
            assert_true(isinf(losses[p * PROBLEMS + i]) == !allows(fixture, &problems[i], p));
            chosen = losses[p * PROBLEMS + i] < losses[chosen * PROBLEMS + i] ? p : chosen;
            if (allows(fixture, &problems[i], p))
                best = fmin(best, fixture->model(&problems[i], &matrix->points[p].values));
        }
        sum += log(fixture->model(&problems[i], &matrix->points[chosen].values) / best) / PROBLEMS;
        of_unmeasured += chosen % 3 == 1;
        hn_bindings_finish(&problems[i]);
    }
    hn_model_destroy(model);
    print_message("loses %.2f%%, takes such a point %.0f times of %d\n", 100 * expm1(sum),
                  of_unmeasured, PROBLEMS);
    assert_true(sum < 0.06);
    assert_true(of_unmeasured > PROBLEMS / 10);
}

enum { WAYS = 8 };

static void add_ways(struct fixture *fixture)
{
    for (int way = 0; way < WAYS; way++) {
        char text[16];
        snprintf(text, sizeof text, "WAY=%d", way + 1);
        add_point(fixture, text);
    }
}

/* After four sizes. */
TEST_WITH(a_model_learns_what_the_prior_misses, set_up_ways, tear_down)
{
    enum { PROBLEMS = 100 };
    struct fixture *fixture = *state;
    const struct hn_matrix_point *points = fixture->matrix->points;
    double losses[WAYS], deviations[WAYS], sum = 0;
    uint64_t at = 0;
    add_ways(fixture);
    measure(fixture, 4);
    struct hn_model *model = hn_model_make(&fixture->kernel, fixture->matrix, 60, 1);
    for (size_t i = 0; i < PROBLEMS; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(fixture, 99, &at);
        size_t chosen = 0, best = 0;
        hn_model_ask(model, points, NULL, WAYS, &problem, 1, false, losses, deviations);
        for (size_t way = 1; way < WAYS; way++) {
            chosen = losses[way] < losses[chosen] ? way : chosen;
            best = ways_us(&problem, &points[way].values) < ways_us(&problem, &points[best].values)
                       ? way
                       : best;
        }
        sum += log(ways_us(&problem, &points[chosen].values) /
                   ways_us(&problem, &points[best].values));
    }
    hn_model_destroy(model);
    print_message("loses %.2f%%\n", 100 * expm1(sum / PROBLEMS));
    assert_true(sum / PROBLEMS < 0.01);
}

/* By costs, of those that its leaf names: one alone where no other is the best. */
TEST_WITH(a_leaf_names_what_is_the_best_in_it, set_up_ways, tear_down)
{
    struct fixture *fixture = *state;
    double mean, worst, right;
    size_t fewest = WAYS;
    add_ways(fixture);
    measure(fixture, 20);
    const struct hn_learnt *learnt = learn(fixture, 4000);
    assert_non_null(learnt->rule.cost);
    for (size_t n = 0; n < learnt->rule.node_count; n++) {
        const struct hn_rule_node *node = &learnt->rule.nodes[n];
        assert_true(node->feature >= 0 ? node->among_count == 0
                                       : node->among_count >= 1 && node->among_count <= WAYS);
        if (node->feature < 0 && node->among_count < fewest)
            fewest = node->among_count;
    }
    assert_true(fewest < 3);
    compare(fixture, learnt, no_gain, &mean, &worst, &right);
    print_message("loses %.2f%%\n", 100 * mean);
    assert_true(mean < 0.02);
}

/* Two choices, of which one is right below 100. */
TEST(a_tree_finds_where_the_better_choice_changes)
{
    enum { COUNT = 200 };
    int64_t values[COUNT];
    double costs[2 * COUNT], weights[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = i + 1;
        costs[i] = values[i] <= 100 ? 0 : 1;
        costs[COUNT + i] = values[i] <= 100 ? 0.5 : 0;
        weights[i] = 1;
    }
    const struct hn_choice_tree_data data = {COUNT, 2, 1, values, costs, weights};
    size_t count;
    struct hn_rule_node *nodes FREED = hn_choice_tree_grow(&data, 16, 1, 1e-6, &count);
    assert_int_equal(count, 3);
    assert_int_equal(nodes[0].threshold, 100);
    assert_int_equal(nodes[nodes[0].left].configuration, 0);
    assert_int_equal(nodes[nodes[0].right].configuration, 1);
}

/* Of a family whose values are all fixed. */
TEST(a_tree_that_has_nothing_to_ask_is_the_best_choice)
{
    const double costs[] = {2, 2, /**/ 3, 0.5, /**/ 9, 9}, weights[] = {1, 1};
    const struct hn_choice_tree_data data = {2, 3, 0, NULL, costs, weights};
    size_t count;
    struct hn_rule_node *nodes FREED = hn_choice_tree_grow(&data, 16, 1, 1e-6, &count);
    assert_int_equal(count, 1);
    assert_int_equal(nodes[0].configuration, 1);
}

/* The second choice alone is the best one, but the third and fourth together are better. */
TEST(what_is_picked_serves_together)
{
    const double costs[] = {9, 9, 9, 9, /**/ 1, 1, 1, 1, /**/ 0, 0, 9, 9, /**/ INFINITY, 9, 0, 0};
    const double weights[] = {1, 1, 1, 1};
    const struct hn_choice_tree_data data = {
        .samples = 4, .choices = 4, .costs = costs, .weights = weights};
    size_t picked[8], used;
    const size_t own[] = {0, 1, 2, 3}; /* programs */
    assert_int_equal(hn_pick(&data, own, 3, 1e-6, picked, &used), 3);
    assert_int_equal(used, 3);
    assert_int_equal(picked[0], 0);
    assert_int_equal(picked[1] + picked[2], 5);
    /* The third has the program of the first, the fourth that of the second. */
    const size_t programs[] = {0, 1, 0, 1};
    assert_int_equal(hn_pick(&data, programs, 1, 1e-6, picked, &used), 2);
    assert_int_equal(used, 1);
    assert_int_equal(picked[1], 2);
    assert_int_equal(hn_pick(&data, programs, 2, 1e-6, picked, &used), 4);
    assert_int_equal(used, 2);
}
