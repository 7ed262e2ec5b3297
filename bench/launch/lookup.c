/* SPDX-License-Identifier: MIT */
/* How long the library takes to find the record for a problem among many, or to choose by the rule
 * of a family where there is none. Needs no GPU.
 *
 *   bench_lookup [PROBLEMS] [RECORDS]
 *
 * Makes a cache of so many tuned problems of one kernel (10,000) with so many records each (1),
 * reads it as hone_get does, and looks up problems that are in it and problems that are not. The
 * rule has 16 configurations and 63 nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "cache/store/store.h"
#include "runtime/libhone/library.h"

enum { ROUNDS = 20000 };

static const struct hn_device_identity device = {"NVIDIA H200", 90, 132, ""};
static uint64_t state = 1;

static uint64_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static void stop(const char *what, const char *message)
{
    fprintf(stderr, "%s: %s\n", what, message);
    exit(1);
}

/* The i-th of many sizes of a matrix product. */
static void make_problem(uint64_t i, struct hn_bindings *problem)
{
    struct hn_value values[] = {hn_integer((int64_t)(16 + i % 97 * 41)),
                                hn_integer((int64_t)(16 + i / 97 * 67)),
                                hn_integer((int64_t)(32 + i % 13 * 128)), hn_word("row")};
    static const char *const names[] = {"M", "N", "K", "B_LAYOUT"};
    struct hn_error err;
    *problem = (struct hn_bindings){0};
    for (int v = 0; v < 4; v++)
        if (hn_bindings_set(problem, names[v], &values[v], &err) != HN_OK)
            stop("problem", err.message);
}

static void add_records(struct hn_store *store, int64_t session, long count)
{
    struct hn_error err;
    for (long i = 0; i < count; i++) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        struct hn_value block = hn_integer(32 + i);
        record.outcome = HN_OUTCOME_OK;
        record.verdict.kind = HN_VERIFIED;
        record.timing.median_us = record.objective = 10 + (double)i;
        if (hn_bindings_set(&record.point, "BLOCK", &block, &err) != HN_OK ||
            hn_store_put(store, session, &record, &err) != HN_OK)
            stop("record", err.message);
    }
}

/* A tree of five decisions on every way, over features as a learner takes them. */
static void make_rule(struct hn_rule *rule)
{
    static const char *const features[] = {"M", "N", "M * N", "ceil_div(M, 128) * ceil_div(N, 128)",
                                           "K"};
    static const int64_t thresholds[] = {1500, 2500, 4000000, 300, 800};
    static const char *const names[] = {"B_LAYOUT", "K", "M", "N"};
    enum { VALUES = 4, FEATURES = 5, NODES = 63, INNER = 31, CONFIGURATIONS = 16 };
    struct hn_error err;
    *rule = (struct hn_rule){.values = calloc(VALUES, sizeof *rule->values),
                             .value_count = VALUES,
                             .features = calloc(FEATURES, sizeof *rule->features),
                             .feature_count = FEATURES,
                             .nodes = calloc(NODES, sizeof *rule->nodes),
                             .node_count = NODES,
                             .configurations = calloc(CONFIGURATIONS, sizeof *rule->configurations),
                             .configuration_count = CONFIGURATIONS};
    for (int i = 0; i < VALUES; i++)
        rule->values[i] = (struct hn_rule_value){.name = strdup(names[i]), .low = 1, .high = 16384};
    rule->values[0].words = calloc(1, sizeof *rule->values[0].words);
    rule->values[0].words[0] = hn_word(strdup("row"));
    rule->values[0].word_count = 1;
    for (int i = 0; i < FEATURES; i++)
        rule->features[i].text = strdup(features[i]);
    for (int i = 0, depth = 0; i < NODES; i++) {
        depth += (i & (i + 1)) == 0 && i > 0;
        if (i < INNER)
            rule->nodes[i] = (struct hn_rule_node){.feature = depth % FEATURES,
                                                   .threshold = thresholds[depth % FEATURES],
                                                   .left = 2 * i + 1,
                                                   .right = 2 * i + 2};
        else
            rule->nodes[i] = (struct hn_rule_node){
                .feature = -1, .configuration = i % CONFIGURATIONS, .sure = true};
    }
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct hn_value block = hn_integer(32 + i);
        if (hn_bindings_set(&rule->configurations[i], "BLOCK", &block, &err) != HN_OK)
            stop("rule", err.message);
    }
    if (hn_rule_complete(rule, &err) != HN_OK)
        stop("rule", err.message);
}

static void add_rule(struct hn_store *store, struct hn_store_session *session)
{
    struct hn_identity identity = *session->identity;
    struct hn_rule rule HN_ENDED_BY(hn_rule_finish) = {0};
    struct hn_error err;
    int64_t id;
    identity.problem = (struct hn_bindings){0};
    session->identity = &identity;
    make_rule(&rule);
    if (hn_store_begin(store, session, NULL, &id, &err) != HN_OK ||
        hn_store_put_rule(store, id, &rule, &err) != HN_OK)
        stop("rule", err.message);
}

static void make_cache(const char *path, long problems, long records)
{
    struct hn_store *store;
    struct hn_error err;
    struct hn_version version = {.protocol = HN_MEASURING_PROTOCOL};
    if (hn_store_open(path, HN_STORE_WRITE, &store, &err) != HN_OK)
        stop(path, err.message);
    for (long i = 0; i < problems; i++) {
        int64_t session;
        struct hn_identity identity = {.kernel = "sgemm",
                                       .signature = "A:float32:input",
                                       .regime = "cold",
                                       .objective = "time",
                                       .device = device};
        make_problem((uint64_t)i, &identity.problem);
        struct hn_store_session begun = {.identity = &identity, .version = &version, .command = ""};
        if (hn_store_begin(store, &begun, NULL, &session, &err) != HN_OK)
            stop("session", err.message);
        add_records(store, session, records);
        hn_bindings_finish(&identity.problem);
        if (i == problems - 1)
            add_rule(store, &begun);
    }
    if (hn_store_commit(store, &err) != HN_OK)
        stop("commit", err.message);
    hn_store_close(store);
}

static void print_quantiles(const char *what, double *us, long count)
{
    hn_sort(us, (size_t)count);
    printf("%-28s median %8.2f us, 99%% %8.2f us\n", what, us[count / 2], us[count * 99 / 100]);
}

/* outside: problems that were not tuned. */
static void measure(const char *what, struct hn_lib_known *index, bool outside, long rounds)
{
    double *us HN_FREED = hn_need((size_t)rounds, sizeof *us);
    for (long r = 0; r < rounds; r++) {
        struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
        struct hn_lookup_rank rank;
        make_problem(draw() % index->list.count, &problem);
        if (outside)
            problem.values[2].integer += 1 + (int64_t)(draw() % 20);
        const struct hn_lookup_query query = {.device_name = device.name,
                                              .capability = device.capability,
                                              .sm_count = device.sm_count,
                                              .problem = &problem};
        double before = hn_now_ms();
        const struct hn_tuned *found = hn_lookup_index_find(&index->lookup, &query, &rank);
        us[r] = 1000 * (hn_now_ms() - before);
        if (found == NULL || (rank.grade == HN_GRADE_EXACT) == outside)
            stop(what, "found something else");
    }
    print_quantiles(what, us, rounds);
}

/* What stands before the making of a handle where a rule chooses: that nothing was tuned for the
 * problem, and the walk. */
static void measure_rule(struct hone_cache *cache)
{
    static double known_us[ROUNDS], rule_us[ROUNDS];
    struct hn_error reason;
    hn_error_init(&reason);
    double before = hn_now_ms();
    const struct hn_lib_known *family = hn_lib_known_rules(cache, "sgemm", &reason);
    if (family == NULL || family->stored.count != 1)
        stop("rule", "found something else");
    printf("reading the rule took %.2f ms, once a program\n", hn_now_ms() - before);
    const struct hn_tuned *stored = &family->stored.items[0];
    struct hn_known_problems known HN_ENDED_BY(hn_known_problems_finish) = {0};
    double start_ms = hn_now_ms();
    if (hn_known_problems_read(cache->store, "sgemm", &known, &reason) != HN_OK)
        stop("rule", reason.message);
    printf("reading which problems there are took %.2f ms, once a program\n",
           hn_now_ms() - start_ms);
    for (int r = 0; r < ROUNDS; r++) {
        struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
        bool sure;
        make_problem(draw() % 10000, &problem);
        problem.values[1].integer += 1 + (int64_t)(draw() % 20);
        double start = hn_now_ms();
        bool may_be = hn_known_problems_may_have(&known, &problem);
        double asked = hn_now_ms();
        int found = hn_rule_choose(stored->rule, &problem, NULL, NULL, &sure);
        rule_us[r] = 1000 * (hn_now_ms() - asked);
        known_us[r] = 1000 * (asked - start);
        if (may_be || found < 0)
            stop("rule", "found something else");
    }
    print_quantiles("that nothing was tuned", known_us, ROUNDS);
    print_quantiles("choosing by the rule", rule_us, ROUNDS);
}

/* What the first hone_get for a problem reads. */
static void measure_first(struct hone_cache *cache)
{
    struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    struct hn_error err;
    make_problem(0, &problem);
    double before = hn_now_ms();
    if (hn_store_list(cache->store, HN_STORE_UNCOUNTED, "sgemm", &problem, &list, &err) != HN_OK ||
        list.count != 1)
        stop("first look-up", "found something else");
    printf("the first look-up of a problem took %.2f ms\n", hn_now_ms() - before);
}

int main(int argc, char **argv)
{
    long problems = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    long records = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    char folder[] = "/tmp/hone-lookup-XXXXXX";
    char path[64];
    struct hone_cache *cache;
    struct hone_error err;
    struct hn_error reason;
    if (problems < 1 || records < 1 || mkdtemp(folder) == NULL)
        stop("bench_lookup", "usage: bench_lookup [PROBLEMS] [RECORDS]");
    snprintf(path, sizeof path, "%s/hone.db", folder);
    make_cache(path, problems, records);
    double start = hn_now_ms();
    if (hone_open(path, &cache, &err) != HONE_OK)
        stop(path, err.message);
    double opened = hn_now_ms();
    measure_rule(cache);
    measure_first(cache);
    double started = hn_now_ms();
    hn_error_init(&reason);
    struct hn_lib_known *index = hn_lib_known_results(cache, "sgemm", &reason);
    if (index == NULL)
        stop(path, reason.message);
    double read = hn_now_ms();
    printf("%ld problems, %ld records: opened in %.2f ms, read in %.2f ms, once a program\n",
           problems, problems * records, opened - start, read - started);
    measure("a problem that was tuned", index, false, ROUNDS);
    measure("the nearest of another", index, true, ROUNDS / 20);
    hone_close(cache);
    remove(path);
    rmdir(folder);
    return 0;
}
