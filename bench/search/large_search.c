/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "tuner/config/config.h"
#include "tuner/strategy/schedule.h"

/* Searches of a config's whole space, of millions of points, where an expression says what a point
 * takes: what a short search finds beside a long one. bench/search/large.py makes the expression of
 * what was recorded.
 *
 *   bench_large_search [-p NAME=VALUE]... CONFIG EXPRESSION.txt DEVIATION LOOK_AHEAD RUNS COUNT...
 *
 * A point's time is exp(expression) * exp(d), where d is drawn once for the point from a normal
 * distribution of the width DEVIATION, cut at twice that. Prints the least time of all points, and
 * for each run and each COUNT of evaluated points the best so far over it. */

enum { COUNTS_MOST = 16 };

struct bench {
    struct hn_space *space; /* that is searched */
    struct hn_space *model; /* the same with the expression as its estimate */
    double deviation;
    double least;
    unsigned look_ahead;
    size_t counts[COUNTS_MOST]; /* ascending */
    size_t count_count;
};

struct run {
    double *costs; /* by ticket */
    uint64_t tickets;
    uint64_t told;
    struct hn_keys evaluated; /* hashes of the points that were */
    double best;
};

static uint64_t hash_of(const struct hn_space *space, const uint16_t *choice)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < hn_space_parameter_count(space); i++)
        hash = (hash ^ choice[i]) * 0x100000001b3;
    return hash != 0 ? hash : 1;
}

/* Mean 0, deviation 1, by Box and Muller's transform. */
static double random_normal(struct hn_random *random)
{
    double radius = sqrt(-2 * log(1 - hn_random_unit(random)));
    return radius * cos(6.283185307179586 * hn_random_unit(random));
}

static double time_of(const struct bench *bench, const uint16_t *choice)
{
    struct hn_random random = hn_random_seeded(hash_of(bench->space, choice));
    double drawn = fmin(fmax(random_normal(&random), -2), 2);
    return exp(hn_space_estimate(bench->model, choice) + bench->deviation * drawn);
}

static void find_least(struct bench *bench)
{
    uint16_t choice[hn_space_parameter_count(bench->space) + 1];
    bench->least = INFINITY;
    for (uint64_t i = 0; i < hn_space_size(bench->space); i++) {
        hn_space_point(bench->space, i, choice);
        bench->least = fmin(bench->least, time_of(bench, choice));
    }
}

static void tell(const struct bench *bench, const struct hn_strategy_kind *kind,
                 struct hn_strategy *strategy, struct run *run)
{
    for (; run->told < run->tickets &&
           (run->tickets - run->told >= bench->look_ahead || kind->waits(strategy));
         run->told++) {
        struct hn_observation finished = {.outcome = HN_OUTCOME_OK, .cost = run->costs[run->told]};
        kind->finished(strategy, run->told, &finished);
    }
}

/* One search; prints what was best after each count. */
static void search(const struct bench *bench, const struct hn_strategy_kind *kind,
                   struct hn_strategy *strategy, struct run *run, uint64_t tickets_most)
{
    uint16_t choice[hn_space_parameter_count(bench->space) + 1];
    size_t next = 0;
    while (next < bench->count_count && run->tickets < tickets_most) {
        tell(bench, kind, strategy, run);
        if (!kind->propose(strategy, run->tickets, choice))
            break;
        const double cost = time_of(bench, choice);
        const uint64_t hash = hash_of(bench->space, choice);
        const uint32_t known = run->evaluated.count;
        *HN_NEXT(run->costs, run->tickets) = cost;
        if (hn_keys_add(&run->evaluated, &hash) < known)
            continue;
        run->best = fmin(run->best, cost);
        if (run->evaluated.count < bench->counts[next])
            continue;
        printf("%s%u points: %.4f", next > 0 ? "; " : "", run->evaluated.count,
               run->best / bench->least);
        fflush(stdout);
        next++;
    }
    printf("\n");
}

static enum hn_status search_seed(const struct bench *bench, uint64_t seed, struct hn_error *err)
{
    const struct hn_strategy_kind *kind = hn_strategy_find("auto");
    const struct hn_search given = {
        .space = bench->space, .seed = seed, .look_ahead = bench->look_ahead};
    /* a pending point may be proposed again while nothing else is worth it */
    uint64_t tickets_most = 4 * bench->counts[bench->count_count - 1] + HN_REPEATS_MOST;
    struct run run = {.best = INFINITY, .evaluated.stride = sizeof(uint64_t)};
    struct hn_strategy *strategy = kind->create(&given, err);
    if (strategy != NULL) {
        printf("run %" PRIu64 ": ", seed);
        search(bench, kind, strategy, &run, tickets_most);
        kind->destroy(strategy);
    }
    free(run.costs);
    hn_keys_finish(&run.evaluated);
    return strategy != NULL ? HN_OK : err->status;
}

static enum hn_status load(const char *config_path, const struct hn_bindings *problem,
                           const char *text, struct bench *bench, struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_expression *expression = NULL;
    enum hn_status status = hn_config_load(config_path, NULL, &config, err);
    if (status == HN_OK && problem->count > 0)
        status = hn_config_take_problem(config, problem, err);
    if (status == HN_OK)
        status = hn_config_space(config, 0, false, &bench->space, err);
    if (status == HN_OK)
        status = hn_config_space(config, 0, false, &bench->model, err);
    if (status == HN_OK)
        status = hn_expression_parse(text, &expression, err);
    if (status == HN_OK)
        status = hn_space_set_estimate(bench->model, expression, err);
    if (status == HN_OK && !hn_space_enumerated(bench->space))
        status = hn_fail(err, HN_ECONFIG, "%s: more points than can be looked at one by one",
                         config_path);
    hn_expression_destroy(expression);
    hn_config_destroy(config);
    return status;
}

int main(int argc, char **argv)
{
    struct hn_bindings problem = {0};
    struct hn_error err = {0};
    enum hn_status status = HN_OK;
    for (; argc > 2 && strcmp(argv[1], "-p") == 0 && status == HN_OK; argc -= 2, argv += 2)
        status = hn_bindings_add(&problem, argv[2], &err);
    if (argc < 7 || argc > 6 + COUNTS_MOST) {
        fprintf(stderr, "usage: bench_large_search [-p NAME=VALUE]... CONFIG EXPRESSION.txt "
                        "DEVIATION LOOK_AHEAD RUNS COUNT...\n");
        return 2;
    }
    struct bench bench = {.deviation = hn_c_strtod(argv[3], NULL),
                          .look_ahead = (unsigned)strtoul(argv[4], NULL, 10)};
    for (int i = 6; i < argc; i++)
        bench.counts[bench.count_count++] = strtoul(argv[i], NULL, 10);
    char *text HN_FREED = NULL;
    if (status == HN_OK)
        status = hn_file_read(argv[2], 1 << 20, &text, NULL, &err);
    if (status == HN_OK)
        status = load(argv[1], &problem, text, &bench, &err);
    if (status == HN_OK) {
        find_least(&bench);
        printf("%" PRIu64 " points, the least time %.6g\n", hn_space_size(bench.space),
               bench.least);
        fflush(stdout);
    }
    for (uint64_t seed = 1; seed <= strtoul(argv[5], NULL, 10) && status == HN_OK; seed++)
        status = search_seed(&bench, seed, &err);
    if (status != HN_OK)
        fprintf(stderr, "%s\n", err.message);
    hn_space_destroy(bench.space);
    hn_space_destroy(bench.model);
    return status == HN_OK ? 0 : 1;
}
