/* SPDX-License-Identifier: MIT */
#include "cache/store/store.h"

#include "tests/unit/rule_fixture.h"
#include "tests/unit/store_fixture.h"

EACH_TEST(set_up, tear_down)

/* A session of the family, with a rule that has `sizes` as the number of sizes it was measured at.
 */
static int64_t learn(struct hn_store *store, const struct hn_version *version, size_t sizes,
                     bool simulated, double started)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    int64_t id = 0;
    struct hn_identity *identity = identity_of(0);
    hn_bindings_finish(&identity->problem);
    identity->problem = (struct hn_bindings){0};
    struct hn_store_session session = {.identity = identity,
                                       .version = version,
                                       .command = "hone tune",
                                       .simulated = simulated,
                                       .started = started};
    read_rule(rule_text, &rule);
    rule.measured.sizes = sizes;
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    assert_ok(hn_store_put_image(store, id, &rule.configurations[0], "cubin", 5, "matmul", &said));
    assert_ok(hn_store_put_rule(store, id, &rule, &said));
    return id;
}

static struct hn_tuned_list rules_of(struct hn_store *store, const char *kernel)
{
    struct hn_tuned_list rules;
    assert_ok(hn_store_list(store, HN_STORE_RULES, kernel, NULL, &rules, &said));
    return rules;
}

static size_t count_rules(struct hn_store *store)
{
    struct hn_tuned_list rules ENDED_BY(hn_tuned_list_free) = rules_of(store, NULL);
    return rules.count;
}

/* The one rule that counts. */
static void assert_counts(struct hn_store *store, size_t sizes, bool simulated)
{
    struct hn_tuned_list rules ENDED_BY(hn_tuned_list_free) = rules_of(store, "matmul");
    assert_int_equal(rules.count, 1);
    assert_int_equal(rules.items[0].rule->measured.sizes, sizes);
    assert_int_equal(rules.items[0].simulated, simulated);
    assert_int_equal(rules.items[0].identity.problem.count, 0);
    assert_string_equal(rules.items[0].identity.device.name, "NVIDIA H200");
}

TEST(the_newest_rule_counts)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_int_equal(count_rules(store), 0);
    learn(store, &version_1, 1, true, 9000);
    assert_counts(store, 1, true);
    learn(store, &version_1, 2, false, 2000);
    assert_counts(store, 2, false);
    learn(store, &version_1, 3, false, 1000);
    assert_counts(store, 2, false);
    learn(store, &version_2, 4, false, 3000);
    drop(store);
    store = open_store(cache.path, HN_STORE_READ);
    assert_counts(store, 4, false);
    struct hn_tuned_list others ENDED_BY(hn_tuned_list_free) = rules_of(store, "transpose");
    assert_int_equal(others.count, 0);
}

TEST(a_family_is_no_tuned_problem)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    learn(store, &version_1, 1, false, 1000);
    put(store, begin(store), 16, 20);
    commit(store);
    const struct hn_tuned *list = list_of(store, NULL, 1);
    assert_int_equal(list->identity.problem.count, 1);
}

TEST(a_rule_is_a_line)
{
    struct hn_store_head head ENDED_BY(hn_store_head_finish);
    const char *path = in_folder("other.db");
    struct hn_store *from = open_store(cache.path, HN_STORE_WRITE);
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    int64_t session = learn(from, &version_1, 5, false, 1000);
    assert_ok(hn_store_get_head(from, session, &head, &said));
    free(head.origin);
    head.origin = strdup("there");
    assert_ok(hn_store_add(store, &head, &said));
    hn_error_init(&said);
    json_auto_t *lines = hn_store_get_lines(from, session, -1, 1, &said);
    assert_int_equal(json_array_size(lines), 1);
    const char *line = json_string_value(json_array_get(lines, 0));
    assert_ok(hn_store_extend(store, "there", -1, &line, 1, &said));
    assert_counts(store, 5, false);
}

TEST(a_merge_takes_rules)
{
    struct hn_store_merged merged;
    const char *path = in_folder("other.db");
    struct hn_store *from = open_store(cache.path, HN_STORE_WRITE);
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    learn(from, &version_1, 5, false, 1000);
    assert_ok(hn_store_merge(store, from, true, &merged, &said));
    assert_int_equal(merged.rules, 1);
    assert_int_equal(merged.images, 1);
    assert_counts(store, 5, false);
    assert_ok(hn_store_merge(store, from, true, &merged, &said));
    assert_int_equal(merged.rules, 0);
    learn(store, &version_1, 6, false, 500);
    assert_counts(store, 6, false); /* learnt here, though it is older */
}

TEST(a_merge_takes_what_was_learnt_of_a_session_since)
{
    struct hn_store_merged merged;
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    struct hn_store *from = open_store(cache.path, HN_STORE_WRITE);
    struct hn_store *store = open_store(in_folder("other.db"), HN_STORE_WRITE);
    struct hn_store *old = open_store(in_folder("old.db"), HN_STORE_WRITE);
    int64_t id = learn(from, &version_1, 0, false, 1000);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    assert_ok(hn_store_merge(old, from, false, &merged, &said));
    assert_counts(store, 0, false);
    read_rule(rule_text, &rule);
    assert_ok(hn_store_put_rule(from, id, &rule, &said));
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    assert_counts(store, rule.measured.sizes, false);
    assert_ok(hn_store_merge(store, old, false, &merged, &said));
    assert_counts(store, 40, false);
}

TEST(pruning_keeps_the_rule_that_counts)
{
    struct hn_pruned pruned;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    learn(store, &version_1, 1, false, 1000);
    learn(store, &version_2, 2, false, 2000);
    learn(store, &version_2, 3, false, 3000);
    assert_ok(hn_store_prune(store, &(struct hn_prune){.stale = true}, &pruned, &said));
    assert_int_equal(pruned.sessions, 1);
    assert_int_equal(pruned.images, 1);
    assert_ok(hn_store_prune(store, &(struct hn_prune){.before = 9000}, &pruned, &said));
    assert_int_equal(pruned.sessions, 1);
    assert_int_equal(pruned.images, 0); /* of version 2, which the rule has as well */
    assert_counts(store, 3, false);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM session WHERE rule IS NOT NULL"), 1);
    assert_int_equal(query(cache.path, "SELECT count(DISTINCT version) FROM session"), 1);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM image"), 1);
}

/* The session of a way to choose the words of a problem. */
static void put_image_of_words(struct hn_store *store, const struct hn_version *version)
{
    put_image(store, begin_at(store, version, 1, false, 1000), 16, "matmul");
}

TEST(pruning_keeps_the_images_of_a_rule)
{
    struct hn_pruned pruned;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put_image_of_words(store, &version_1);
    put_image_of_words(store, &version_2);
    learn(store, &version_2, 3, false, 3000);
    assert_ok(hn_store_prune(store, &(struct hn_prune){.before = 9000}, &pruned, &said));
    assert_int_equal(pruned.sessions, 1);
    assert_int_equal(pruned.images, 1); /* of version 1, which no rule has */
}

static void assert_found(const char *path, const char *finding)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_tuned_list rules ENDED_BY(hn_tuned_list_free) = {.items = NULL};
    struct hn_store *store = open_store(path, HN_STORE_READ);
    assert_ok(hn_store_list(store, HN_STORE_RULES, NULL, NULL, &rules, &said));
    assert_int_equal(rules.count, 0);
    assert_int_equal(hn_store_check(store, &report, &said), HN_EFORMAT);
    if (report.data == NULL || strstr(report.data, finding) == NULL)
        fail_msg("'%s' does not say '%s'", report.data, finding);
}

TEST(what_is_no_rule_is_found)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    learn(store, &version_1, 1, false, 1000);
    drop(store);
    run_sql(cache.path, "UPDATE session SET rule = replace(rule, '\"right\":2', '\"right\":0')");
    assert_found(cache.path, "session 1 is not what was written");
    run_sql(cache.path, "UPDATE session SET " SUM_OF_SESSION);
    assert_found(cache.path, "node 0 has child 0");
}

TEST(which_problems_have_sessions_is_known)
{
    enum { PROBLEMS = 100 };
    struct hn_known_problems known ENDED_BY(hn_known_problems_finish);
    struct hn_known_problems none ENDED_BY(hn_known_problems_finish);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int m = 1; m <= PROBLEMS; m++)
        begin_at(store, &version_1, 2 * m, false, 0);
    assert_ok(hn_known_problems_read(store, "matmul", &known, &said));
    for (int m = 2; m < 2 * PROBLEMS + 2; m++)
        assert_int_equal(hn_known_problems_may_have(&known, &identity_of(m)->problem), m % 2 == 0);
    assert_ok(hn_known_problems_read(store, "transpose", &none, &said));
    assert_false(hn_known_problems_may_have(&none, &identity_of(2)->problem));
}

TEST(a_known_problem_is_found_by_values_of_all_types)
{
    static const struct {
        const char *problem;
        bool is_known;
    } asked[] = {
        {"A=0.1,B=-9007199254740993,F=true,W=row", true},
        {"A=0.1,B=-9007199254740993,F=true,W=col", false},
        {"A=0.1,B=-9007199254740993,F=false,W=row", false},
        {"A=0.1,B=9007199254740993,F=true,W=row", false},
        {"A=1e+300,B=-9007199254740993,F=true,W=row", false},
        {"A=0.1,B=-9007199254740993,F=true", false},
    };
    struct hn_known_problems known ENDED_BY(hn_known_problems_finish);
    int64_t id;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_identity *identity = identity_of(2);
    hn_bindings_finish(&identity->problem);
    assert_ok(hn_bindings_parse(asked[0].problem, &identity->problem, &said));
    const struct hn_store_session session = {
        .identity = identity, .version = &version_1, .command = "hone tune"};
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    begin_at(store, &version_1, 4, false, 0);
    drop(store);
    run_sql(cache.path, "UPDATE session SET problem = 'no problem' WHERE problem = 'M=4'");
    store = open_store(cache.path, HN_STORE_WRITE);
    assert_ok(hn_known_problems_read(store, "matmul", &known, &said));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish);
        assert_ok(hn_bindings_parse(asked[i].problem, &problem, &said));
        assert_int_equal(hn_known_problems_may_have(&known, &problem), asked[i].is_known);
    }
}
