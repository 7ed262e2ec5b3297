/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    uint64_t *seen; /* hashes of the points that were evaluated, open addressing; 0: free */
    size_t slots;   /* a power of two */
    size_t evaluated;
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

/* Whether the point is new. */
static bool note(struct run *run, uint64_t hash)
{
    size_t slot = (hash ^ hash >> 32) & (run->slots - 1);
    while (run->seen[slot] != 0 && run->seen[slot] != hash)
        slot = (slot + 1) & (run->slots - 1);
    bool is_new = run->seen[slot] == 0;
    run->seen[slot] = hash;
    return is_new;
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
        double cost = time_of(bench, choice);
        run->costs[run->tickets++] = cost;
        if (!note(run, hash_of(bench->space, choice)))
            continue;
        run->evaluated++;
        run->best = fmin(run->best, cost);
        if (run->evaluated < bench->counts[next])
            continue;
        printf("%s%zu points: %.4f", next > 0 ? "; " : "", run->evaluated,
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
    struct run run = {.best = INFINITY, .slots = 1};
    while (run.slots < 2 * tickets_most)
        run.slots *= 2;
    run.costs = calloc(tickets_most, sizeof *run.costs);
    run.seen = calloc(run.slots, sizeof *run.seen);
    struct hn_strategy *strategy = NULL;
    if (run.costs == NULL || run.seen == NULL)
        hn_fail_memory(err);
    else
        strategy = kind->create(&given, err);
    if (strategy != NULL) {
        printf("run %" PRIu64 ": ", seed);
        search(bench, kind, strategy, &run, tickets_most);
        kind->destroy(strategy);
    }
    free(run.costs);
    free(run.seen);
    return strategy != NULL ? HN_OK : err->status;
}

static char *read_text(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "r");
    char *text = calloc(MOST, 1);
    size_t length = file != NULL && text != NULL ? fread(text, 1, MOST - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    if (length > 0)
        return text;
    free(text);
    return NULL;
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
    char *text = read_text(argv[2]);
    if (status == HN_OK && text == NULL)
        status = hn_fail(&err, HN_EUSAGE, "%s: no expression there", argv[2]);
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
    free(text);
    return status == HN_OK ? 0 : 1;
}
