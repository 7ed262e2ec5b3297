/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "cache/store/lookup.h"
#include "runtime/libhone/index.h"
#include "runtime/plan/launch.h"
#include "tests/unit/plan_fixture.h"
#include "tests/unit/store_fixture.h"
#include "tuner/config/config.h"
#include "tuner/export/export.h"

/* One answer: the header's lookup, compiled, and the library's, which reads the cache, are asked
 * the same questions. */

enum { QUESTIONS = 10000, RESULTS = 60 };

static const struct hn_device_identity devices[] = {
    {"NVIDIA H200", 90, 132, ""},  {"NVIDIA H100 PCIe", 90, 114, ""}, {"NVIDIA A100", 80, 108, ""},
    {"NVIDIA A100", 80, 98, ""},   {"NVIDIA L4", 89, 58, ""},         {"NVIDIA T4", 75, 40, ""},
    {"NVIDIA B200", 100, 148, ""},
};
enum { TUNED_DEVICES = 5, DEVICES = sizeof devices / sizeof *devices };

static uint64_t random_state = 20261121;

/* xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static size_t draw(size_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (size_t)((random_state * 2685821657736338717u) >> 33) % below;
}

static int64_t draw_size(void)
{
    static const int64_t sizes[] = {1,    2,    7,    64,      100,     101,        512,       1000,
                                    1024, 2047, 4096, 1 << 20, 2097121, 2147483647, 3000000000};
    return draw(4) == 0 ? (int64_t)(1 + draw(5000)) : sizes[draw(sizeof sizes / sizeof *sizes)];
}

static void draw_problem(struct hn_text *text)
{
    static const char *const ks[] = {"64", "64", "128", "130", "1024", "16"};
    static const char *const offsets[] = {"0", "-5", "5", "-2000", "0"};
    static const char *const skews[] = {"0.0", "0.5", "1.5", "-0.25"};
    hn_text_printf(text, "K=%s,LAYOUT=%s,M=%lld,N=%lld,OFFSET=%s,SKEW=%s", ks[draw(6)],
                   draw(3) == 0 ? "column" : "row", (long long)draw_size(), (long long)draw_size(),
                   offsets[draw(5)], skews[draw(4)]);
}

static void draw_point(struct hn_text *text)
{
    hn_text_printf(text, "CLUSTER=%zu,MODE=%s,SPLIT=%d,STAGES=%zu,TILE=%d", 1 + draw(2),
                   draw(2) == 0 ? "plain" : "wide", (const int[]){1, 2, 8}[draw(3)], 1 + draw(4),
                   8 << draw(4));
}

/* Whether the plan and the architecture take the point: what a library asks. */
struct judge {
    const struct hn_plan *plan;
    const struct hn_bindings *problem;
    struct hn_device device;
};

static bool accepts(const struct judge *judge, const struct hn_bindings *point)
{
    bool allows = false;
    struct hn_launch launch;
    struct hn_record record;
    if (hn_plan_allows(judge->plan, judge->problem, point, &allows, NULL) != HN_OK || !allows ||
        hn_launch_make(judge->plan, judge->problem, point, &launch, NULL) != HN_OK)
        return false;
    hn_record_init(&record);
    bool fits = hn_launch_check(&launch, &judge->device, &record);
    hn_record_finish(&record);
    hn_launch_finish(&launch);
    return fits;
}

static bool is_usable(const struct hn_tuned *tuned, void *context)
{
    return accepts(context, &tuned->best.point);
}

static void judge_on(struct judge *judge, const struct hn_device_identity *device)
{
    char name[16];
    snprintf(name, sizeof name, "sm_%d", device->capability);
    assert_int_equal(hn_device_for_architecture(name, &judge->device, NULL), HN_OK);
}

static int64_t begin_result(struct hn_store *store, const struct hn_device_identity *device,
                            const struct hn_bindings *problem, const char *plan_text)
{
    const struct hn_store_file file = {"select.cu", "// nothing\n"};
    const struct hn_store_plan plan = {plan_text, &file, 1};
    const struct hn_identity identity = {.kernel = (char *)"choose",
                                         .signature = (char *)"A:float32:inout",
                                         .problem = *problem,
                                         .regime = (char *)(draw(4) == 0 ? "warm" : "cold"),
                                         .objective = (char *)"time",
                                         .device = *device};
    const struct hn_store_session session = {.identity = &identity,
                                             .version = &version_1,
                                             .plan = &plan,
                                             .simulated = draw(4) == 0,
                                             .started = 1770000000};
    int64_t id = 0;
    assert_int_equal(hn_store_begin(store, &session, &id, NULL), HN_OK);
    return id;
}

static void put_result(struct hn_store *store, int64_t session, struct hn_bindings *point,
                       double time_us)
{
    struct hn_record record;
    hn_record_init(&record);
    hn_bindings_finish(&record.point);
    record.point = *point;
    record.timing.median_us = record.timing.low_us = record.timing.high_us = time_us;
    record.objective = time_us;
    record.verdict = (struct hn_verdict){HN_VERIFIED, 1e-6, 1e-5, 1, 2, 0, 0, 0};
    record.time = 1770000000 + time_us;
    assert_int_equal(hn_store_put(store, session, &record, NULL), HN_OK);
    hn_record_finish(&record);
}

/* Puts a drawn point for that problem where it can be used; false where it can not. */
static bool put_point(struct hn_store *store, struct judge *judge,
                      const struct hn_device_identity *device, const char *problem,
                      const char *plan, int number)
{
    struct hn_text point = {0};
    struct hn_bindings problem_values, point_values;
    draw_point(&point);
    parse_bindings(problem, &problem_values);
    parse_bindings(point.data, &point_values);
    judge->problem = &problem_values;
    judge_on(judge, device);
    bool accepted = accepts(judge, &point_values);
    if (accepted)
        put_result(store, begin_result(store, device, &problem_values, plan), &point_values,
                   1 + number);
    else
        hn_bindings_finish(&point_values);
    hn_bindings_finish(&problem_values);
    hn_text_finish(&point);
    return accepted;
}

/* Some problems are there several times: measured and simulated, cold and warm, on two devices. */
static void fill(const char *path, struct judge *judge)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    json_t *json = hn_plan_to_json(judge->plan);
    char *plan = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    for (int i = 0; i < RESULTS;) {
        struct hn_text problem = {0};
        const struct hn_device_identity *device = &devices[draw(TUNED_DEVICES)];
        draw_problem(&problem);
        for (size_t times = 1 + draw(3); times > 0; times--) {
            i += put_point(store, judge, device, problem.data, plan, i);
            device = draw(2) == 0 ? device : &devices[draw(TUNED_DEVICES)];
        }
        hn_text_finish(&problem);
    }
    free(plan);
    commit(store);
    hn_store_close(store);
}

static void write_file(const struct fixture *fixture, const char *name, const struct hn_text *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    assert_int_equal(hn_text_write_file(path, text->data, text->length, NULL), HN_OK);
}

static const char program[] =
    "#include <stdio.h>\n"
    "#include \"choose.h\"\n"
    "int main(void)\n{\n"
    "    char name[64];\n"
    "    int capability, sms, as_compiled;\n"
    "    long long k, layout, m, n, offset;\n"
    "    double skew;\n"
    "    while (scanf(\" %63[^;];%d %d %d %lld %lld %lld %lld %lld %lf\", name, &capability, "
    "&sms,\n"
    "                 &as_compiled, &k, &layout, &m, &n, &offset, &skew) == 10) {\n"
    "        const char *device = name[0] == '?' ? NULL : name;\n"
    "        struct hone_choose_problem problem = {m, n, k, offset, layout, skew};\n"
    "        struct hone_match match =\n"
    "            hone_choose_lookup(device, capability, sms, as_compiled, problem);\n"
    "        int config = as_compiled ? hone_choose_select(device, capability, sms, problem)\n"
    "                                 : hone_choose_nearest(device, capability, sms, problem);\n"
    "        if (config != match.config ||\n"
    "            (as_compiled && config >= 0 && !hone_choose_fits(config, problem)))\n"
    "            return 1;\n"
    "        printf(\"%d %d %a\\n\", match.config, match.grade, match.distance);\n"
    "    }\n"
    "    return 0;\n}\n";

/* Whom the header is compared with. */
struct answers {
    const struct hn_export *export;
    const struct hn_lib_index *index;
    struct hn_text text;
};

/* The configuration of the result that the library finds; -2: of none that the header has. */
static void answer(struct answers *answers, const struct hn_lookup_query *query)
{
    struct hn_lookup_rank rank;
    const struct hn_export *export = answers->export;
    const struct hn_tuned *found = hn_lib_index_find(answers->index, query, &rank);
    int config = found == NULL ? -1 : -2;
    for (size_t i = 0; found != NULL && i < export->result_count; i++)
        if (hn_lookup_same_task(&export->results[i]->identity, &found->identity) &&
            hn_bindings_equal(&export->results[i]->best.point, &found->best.point))
            config = (int)export->config_of[i];
    hn_text_printf(&answers->text, "%d %d %a\n", config, (int)rank.grade, rank.distance);
}

static void ask(struct answers *answers, struct judge *judge, struct hn_text *questions)
{
    static const char *const frozen[] = {"K", "LAYOUT"};
    const struct hn_device_identity *device = &devices[draw(DEVICES)];
    bool named = draw(5) != 0, counted = draw(5) != 0, as_compiled = draw(2) == 0;
    struct hn_text problem = {0};
    struct hn_bindings values;
    const struct hn_export *export = answers->export;
    /* every other question is one of a problem that was tuned */
    if (draw(3) == 0)
        hn_bindings_append(&problem,
                           &export->results[draw(export->result_count)]->identity.problem);
    else
        draw_problem(&problem);
    parse_bindings(problem.data, &values);
    judge->problem = &values;
    judge_on(judge, device);
    const struct hn_lookup_query query = {.device_name = named ? device->name : NULL,
                                          .capability = device->capability,
                                          .sm_count = counted ? device->sm_count : 0,
                                          .problem = &values,
                                          .frozen = frozen,
                                          .frozen_count = as_compiled ? 2 : 0,
                                          .usable = is_usable,
                                          .context = judge};
    answer(answers, &query);
    bool row = strcmp(hn_bindings_get(&values, "LAYOUT")->word, "row") == 0;
    hn_text_printf(questions, "%s;%d %d %d %lld %d %lld %lld %lld %.17g\n",
                   named ? device->name : "?", device->capability, query.sm_count, as_compiled,
                   (long long)hn_bindings_get(&values, "K")->integer, row ? 1 : 2,
                   (long long)hn_bindings_get(&values, "M")->integer,
                   (long long)hn_bindings_get(&values, "N")->integer,
                   (long long)hn_bindings_get(&values, "OFFSET")->integer,
                   hn_bindings_get(&values, "SKEW")->real);
    hn_bindings_finish(&values);
    hn_text_finish(&problem);
}

static void shell(const struct fixture *fixture, const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "cd %s && %s", fixture->folder, command);
    if (system(line) != 0)
        fail_msg("failed: %s", command);
}

/* How often each grade was given, so that the test is known to ask for all of them. */
static void count_grades(const char *answers, int *grades)
{
    int config, grade;
    for (const char *line = answers; sscanf(line, "%d %d", &config, &grade) == 2;
         line = strchr(line, '\n') + 1)
        grades[grade]++;
}

static void test_one_answer(void **state)
{
    const struct fixture *fixture = *state;
    struct hn_config *config;
    struct hn_error err = {""};
    if (hn_config_load(HONE_TEST_DATA "/select/select.yaml", &config, &err) != HN_OK)
        fail_msg("%s", err.message);
    struct judge judge = {.plan = config->plan};
    fill(fixture->path, &judge);

    struct hn_bindings any;
    struct hn_export export;
    struct hn_text header = {0}, questions = {0};
    struct answers answers = {.export = &export};
    hn_bindings_init(&any);
    const struct hn_export_request request = {
        .kernel = "choose", .device_name = "H200", .problem = &any};
    struct hn_store *store = open_store(fixture->path, HN_STORE_READ);
    if (hn_export_open(store, &request, &export, &err) != HN_OK ||
        hn_export_header(&export, &header, &err) != HN_OK)
        fail_msg("%s", err.message);
    struct hone_cache cache = {.path = (char *)"", .store = store};
    struct hn_lib_index *index;
    assert_int_equal(hn_lib_index_get(&cache, "choose", &index, NULL), HONE_OK);
    hn_store_close(store);
    answers.index = index;
    assert_true(export.count < export.result_count);
    for (int i = 0; i < QUESTIONS; i++)
        ask(&answers, &judge, &questions);
    hn_lib_index_finish(index);

    const struct hn_text source = {.data = (char *)program, .length = strlen(program)};
    write_file(fixture, "choose.h", &header);
    write_file(fixture, "questions", &questions);
    write_file(fixture, "expected", &answers.text);
    write_file(fixture, "program.c", &source);
    shell(fixture, HONE_C_COMPILER " -std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror "
                                   "program.c -o program && ./program < questions > found");
    shell(fixture, "paste -d'|' expected found | awk -F'|' '$1 != $2 { print NR \": \" $0; bad++ } "
                   "END { exit bad > 0 }'");
    int grades[5] = {0};
    count_grades(answers.text.data, grades);
    for (int grade = 0; grade < 5; grade++)
        assert_true(grades[grade] > QUESTIONS / 100);
    hn_text_finish(&header);
    hn_text_finish(&questions);
    hn_text_finish(&answers.text);
    hn_export_finish(&export);
    hn_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_answer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
