/* SPDX-License-Identifier: MIT */
#include "cache/store/store.h"
#include "tests/unit/select_fixture.h"
#include "tuner/export/export_parts.h"

/* One choice: the header's rule, compiled, and hn_rule_choose, by whether the plan takes the point.
 */

EACH_TEST(set_up, tear_down)

enum { RULES = 6, SIZES_OF_A_RULE = 10000 };

/* What both draw, here and in the program that includes the header. */
#define STRING_OF(...) #__VA_ARGS__
#define STRING(...) STRING_OF(__VA_ARGS__)
#define DRAWING                                                                                    \
    struct size {                                                                                  \
        int64_t m, n, k, offset;                                                                   \
        int row;                                                                                   \
        double skew;                                                                               \
    };                                                                                             \
    static uint64_t size_state;                                                                    \
    static uint64_t next_size(void)                                                                \
    {                                                                                              \
        size_state ^= size_state >> 12;                                                            \
        size_state ^= size_state << 25;                                                            \
        size_state ^= size_state >> 27;                                                            \
        return (size_state * 2685821657736338717u) >> 20;                                          \
    }                                                                                              \
    static int64_t draw_log(void)                                                                  \
    {                                                                                              \
        const uint64_t bits = next_size() % 18;                                                    \
        return (int64_t)(next_size() % ((uint64_t)2 << bits));                                     \
    }                                                                                              \
    static struct size draw_any_size(void)                                                         \
    {                                                                                              \
        static const int64_t ks[] = {16, 64, 64, 64, 100, 128, 1024};                              \
        struct size size;                                                                          \
        size.m = draw_log();                                                                       \
        size.n = draw_log();                                                                       \
        size.k = ks[next_size() % 7];                                                              \
        size.offset = (int64_t)(next_size() % 300) - 100;                                          \
        size.row = next_size() % 3 != 0;                                                           \
        size.skew = (double)(next_size() % 16) / 8 - 0.25;                                         \
        return size;                                                                               \
    }
DRAWING

static const char choosing[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include \"choose.h\"\n" STRING(
        DRAWING) "\n"
                 "int main(int count, char **words)\n{\n"
                 "    long sizes = count > 2 ? atol(words[1]) : 0;\n"
                 "    size_state = count > 2 ? (uint64_t)atol(words[2]) : 0;\n"
                 "    for (long i = 0; i < sizes; i++) {\n"
                 "        struct size s = draw_any_size();\n"
                 "        struct hone_choose_problem problem = {s.m, s.n, s.k, s.offset, s.row ? 1 "
                 ": 2, s.skew};\n"
                 "        int sure = 2, known = 2;\n"
                 "        int near = hone_choose_rule(90, 0, problem, &sure);\n"
                 "        int own = hone_choose_choose(problem, &known);\n"
                 "        int again_known = 2, again = hone_choose_choose(problem, &again_known);\n"
                 "        if ((own >= 0 && !hone_choose_fits(own, problem)) || again != own || "
                 "again_known != known)\n"
                 "            return 1;\n"
                 "        putchar(near + 1), putchar(sure), putchar(own + 1), putchar(known);\n"
                 "    }\n"
                 "    return 0;\n}\n";

/* Code that has one of two K alone, where its point freezes it. */
struct compiled {
    const struct judge *judge;
    const struct hn_rule *rule;
    bool as_compiled;
    bool alike; /* of one K and one LAYOUT */
};
enum { LOW_K = 16, HIGH_K = 1024, ONE_K = 64 };

static bool can_be_used(int configuration, void *context)
{
    const struct compiled *compiled = context;
    const struct hn_bindings *point = &compiled->rule->configurations[configuration];
    int64_t k = hn_bindings_get(compiled->judge->problem, "K")->integer;
    const char *layout = hn_bindings_get(compiled->judge->problem, "LAYOUT")->word;
    bool has_k = compiled->alike ? k == ONE_K : k == LOW_K || k == HIGH_K;
    if (compiled->as_compiled && !has_k && hn_plan_freezes(compiled->judge->plan, point))
        return false;
    if (compiled->as_compiled && compiled->alike && strcmp(layout, "row") != 0)
        return false;
    return accepts(compiled->judge, point);
}

static void set_problem(struct hn_bindings *problem, const struct size *size)
{
    const struct hn_value values[] = {
        hn_integer(size->k),      hn_word(size->row ? "row" : "column"),
        hn_integer(size->m),      hn_integer(size->n),
        hn_integer(size->offset), hn_real(size->skew)};
    static const char *const names[] = {"K", "LAYOUT", "M", "N", "OFFSET", "SKEW"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_ok(hn_bindings_set(problem, names[i], &values[i], NULL));
}

/* Of each size two choices, each with whether it is sure, as the program writes them. */
static void expect(const struct hn_export *export, struct judge *judge, uint64_t seed,
                   struct hn_text *expected, size_t *sure_count)
{
    const struct hn_export_family *family = export->family;
    struct compiled compiled = {judge, family->stored->rule, false, family->variants == 1};
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = {0};
    judge->problem = &problem;
    size_state = seed;
    for (int i = 0; i < SIZES_OF_A_RULE; i++) {
        const struct size size = draw_any_size();
        set_problem(&problem, &size);
        for (int as_compiled = 0; as_compiled < 2; as_compiled++) {
            bool sure = false;
            compiled.as_compiled = as_compiled != 0;
            int found = hn_rule_choose(compiled.rule, &problem, can_be_used, &compiled, &sure);
            size_t variant =
                as_compiled == 0 || compiled.alike ? 0 : (size.k == HIGH_K) + (size.row ? 0U : 2U);
            size_t row = (size_t)(found < 0 ? 0 : found) * family->variants + variant;
            const char answer[] = {(char)(found < 0 ? 0 : family->config_of[row] + 1), sure};
            hn_text_append_bytes(expected, answer, sizeof answer);
            *sure_count += sure;
        }
    }
}

static const char values_of_rule[] =
    "{'goal': 'mean',"
    " 'values': [{'name': 'K', 'low': 16, 'high': 1024}, {'name': 'LAYOUT', 'words': ['row',"
    " 'column']}, {'name': 'M', 'low': 2, 'high': 65536}, {'name': 'N', 'low': 0, 'high': 65536},"
    " {'name': 'OFFSET', 'low': -100, 'high': 150}, {'name': 'SKEW', 'low': 0, 'high': 1.5}],";

/* Of integers alone: leaves know what can be used. */
static const char alike_values[] =
    "{'goal': 'mean',"
    " 'values': [{'name': 'K', 'low': 64, 'high': 64}, {'name': 'LAYOUT', 'words': ['row']},"
    " {'name': 'M', 'low': 2, 'high': 65536}, {'name': 'N', 'low': 1, 'high': 65536},"
    " {'name': 'OFFSET', 'low': -100, 'high': 150}, {'name': 'SKEW', 'low': 0.5, 'high': 0.5}],";

static const char head_of_rule[] =
    " 'features': ['M', 'N', 'M * N * K', 'N % 4', 'ceil_div(M, 128) * ceil_div(N, 64)',"
    " 'LAYOUT == row', 'OFFSET', 'SKEW > 0.4', 'M // K', 'min(M, N) - OFFSET'],"
    " 'predicted': {'mean': 0.019, 'worst': 0.07, 'sizes': 24},"
    " 'measured': {'mean': 0.021, 'worst': 0.09, 'sizes': 40},";

static const char nodes_by_hand[] =
    " 'configurations': [{'CLUSTER': 1, 'MODE': 'plain', 'SPLIT': 1, 'STAGES': 1, 'TILE': 16},"
    " {'CLUSTER': 2, 'MODE': 'wide', 'SPLIT': 8, 'STAGES': 2, 'TILE': 64},"
    " {'CLUSTER': 1, 'MODE': 'wide', 'SPLIT': 1, 'STAGES': 4, 'TILE': 32}],"
    " 'nodes': [{'feature': 2, 'threshold': 100000, 'left': 1, 'right': 2},"
    " {'configuration': 0, 'sure': true}, {'feature': 3, 'threshold': 0, 'left': 3, 'right': 4},"
    " {'configuration': 1, 'sure': true}, {'configuration': 2, 'sure': false}]}";

/* A subtree of random splits, each at what the feature is for some size, so that both sides are
 * taken. Returns its root. */
static size_t grow(struct hn_rule *rule, int depth)
{
    size_t place = rule->node_count++;
    if (depth == 0 || draw(5) == 0) {
        rule->nodes[place] =
            (struct hn_rule_node){.feature = -1,
                                  .configuration = (int32_t)draw(rule->configuration_count),
                                  .sure = draw(3) != 0};
        return place;
    }
    int64_t features[HN_RULE_FEATURES_MOST];
    bool inside;
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = {0};
    const struct size size = draw_any_size();
    set_problem(&problem, &size);
    assert_true(hn_rule_evaluate(rule, &problem, features, &inside));
    int feature = (int)draw(rule->feature_count);
    rule->nodes[place] = (struct hn_rule_node){.feature = feature, .threshold = features[feature]};
    int32_t left = (int32_t)grow(rule, depth - 1);
    int32_t right = (int32_t)grow(rule, depth - 1);
    rule->nodes[place].left = left;
    rule->nodes[place].right = right;
    return place;
}

/* One that many problems can use. */
static void draw_usable(struct judge *judge, struct hn_bindings *point)
{
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    parse_bindings("K=64,LAYOUT=row,M=1000,N=1000,OFFSET=0,SKEW=0.25", &problem);
    judge->problem = &problem;
    for (bool found = false; !found;) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        draw_point(&text);
        parse_bindings(text.data, point);
        found = accepts(judge, point);
        if (!found)
            hn_bindings_finish(point);
    }
}

static void make_random_rule(struct judge *judge, struct hn_rule *rule)
{
    enum { CONFIGURATIONS = 12, DEPTH = 9 };
    free(rule->nodes);
    for (size_t i = 0; i < rule->configuration_count; i++)
        hn_bindings_finish(&rule->configurations[i]);
    free(rule->configurations);
    rule->configurations = calloc(CONFIGURATIONS, sizeof *rule->configurations);
    rule->nodes = calloc((size_t)2 << DEPTH, sizeof *rule->nodes);
    rule->configuration_count = CONFIGURATIONS;
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        draw_usable(judge, &rule->configurations[i]);
    rule->node_count = 0;
    grow(rule, DEPTH);
}

/* With words, reals, and what is below 0 at some sizes; leaves name every other configuration, from
 * one on, or none. */
static void add_costs(struct hn_rule *rule)
{
    for (size_t n = 0; n < rule->node_count; n++)
        for (size_t c = draw(2 * rule->configuration_count);
             rule->nodes[n].feature < 0 && c < rule->configuration_count; c += 2) {
            struct hn_rule_node *leaf = &rule->nodes[n];
            leaf->among = realloc(leaf->among, (leaf->among_count + 1) * sizeof *leaf->among);
            leaf->among[leaf->among_count++] = (int)c;
        }
    assert_ok(hn_expression_parse(
        "ceil_div(M, TILE) * (N + 2.5 * SPLIT) / STAGES + (700 if MODE == wide else K // SPLIT) - "
        "(OFFSET if LAYOUT == row else 3 * SKEW) + M / max(N - TILE, 1)",
        &rule->cost, &said));
    rule->correction_count = rule->configuration_count * (rule->value_count + 1);
    rule->corrections = calloc(rule->correction_count, sizeof *rule->corrections);
    for (size_t i = 0; i < rule->correction_count; i++)
        rule->corrections[i] = ((double)draw(1000) - 500) / 5000;
}

/* At both regimes, since the chosen result may be of either. */
static void put_rule(const char *path, const struct hn_rule *rule, int number)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    for (int warm = 0; warm < 2; warm++) {
        int64_t id = 0;
        const struct hn_identity identity = {.kernel = (char *)"choose",
                                             .signature = (char *)"A:float32:inout",
                                             .regime = (char *)(warm ? "warm" : "cold"),
                                             .objective = (char *)"time",
                                             .device = devices[0]};
        const struct hn_store_session session = {
            .identity = &identity, .version = &version_1, .started = 1770000000 + number};
        assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
        assert_ok(hn_store_put_rule(store, id, rule, &said));
    }
    drop(store);
}

static void write_header(struct hn_export *export)
{
    struct hn_bindings any = {0};
    struct hn_text header ENDED_BY(hn_text_finish) = {0};
    const struct hn_export_request request = {
        .kernel = "choose", .device_name = "H200", .problem = &any};
    struct hn_store *store = open_store(cache.path, HN_STORE_READ);
    assert_ok(hn_export_open(store, &request, export, &said));
    assert_ok(hn_export_formats[HN_EXPORT_HEADER]->write(export, &header, &said));
    drop(store);
    write_file("choose.h", &header);
}

TEST(test_rules)
{
    struct hn_config *config = load(HONE_TEST_DATA "/select/select.yaml");
    struct judge judge = {.plan = config->plan};
    fill(cache.path, &judge);
    judge_on(&judge, &devices[0]);
    const struct hn_text source = {.data = (char *)choosing, .length = strlen(choosing)};
    write_file("program.c", &source);
    for (int number = 0; number < RULES; number++) {
        struct hn_rule rule ENDED_BY(hn_rule_finish);
        struct hn_export export ENDED_BY(hn_export_finish);
        struct hn_text expected ENDED_BY(hn_text_finish) = {0}, text = {0};
        char command[256];
        size_t sure_count = 0;
        const bool with_costs = number >= 4, alike = number == 2 || number == 3 || number == 5;
        hn_text_printf(&text, "%s%s%s", alike ? alike_values : values_of_rule, head_of_rule,
                       nodes_by_hand);
        read_rule(text.data, &rule);
        if (number > 0 && number < 5)
            make_random_rule(&judge, &rule);
        if (with_costs)
            add_costs(&rule);
        assert_ok(hn_rule_complete(&rule, &said));
        put_rule(cache.path, &rule, number);
        write_header(&export);
        assert_non_null(export.family);
        assert_int_equal(export.family->variants, alike ? 1 : 4);
        expect(&export, &judge, 7 + (uint64_t)number, &expected, &sure_count);
        assert_true(sure_count > SIZES_OF_A_RULE / (alike ? 500 : 50) &&
                    sure_count < 2 * SIZES_OF_A_RULE);
        write_file("expected", &expected);
        snprintf(command, sizeof command,
                 HONE_C_COMPILER " -std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror "
                                 "program.c -o program -lm && ./program %d %d > found && "
                                 "cmp found expected && " HONE_C_COMPILER
                                 " -x c++ -std=c++17 -Wall -Wextra "
                                 "-Wpedantic -Werror -fsyntax-only program.c",
                 SIZES_OF_A_RULE, 7 + number);
        shell(command);
        hn_text_finish(&text);
    }
}
