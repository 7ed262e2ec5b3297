/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"
#include "tests/unit/select_fixture.h"

/* One answer: the header's lookup, compiled, and the library's, which reads the cache, are asked
 * the same questions. */

EACH_TEST(set_up, tear_down)

enum { QUESTIONS = 10000 };

static bool is_of(const struct judge *judge, const struct hn_tuned *tuned, const char *name)
{
    return hn_value_equal(hn_bindings_get(&tuned->identity.problem, name),
                          hn_bindings_get(judge->problem, name));
}

/* As it was compiled, a point computes no other layout, and one that freezes K no other K. */
static bool is_usable(const struct hn_tuned *tuned, void *context)
{
    const struct judge *judge = context;
    if (judge->as_compiled &&
        (!is_of(judge, tuned, "LAYOUT") ||
         (!is_of(judge, tuned, "K") && hn_plan_freezes(judge->plan, &tuned->best.point))))
        return false;
    return accepts(judge, &tuned->best.point);
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
    struct hn_lib_known *index;
    struct hn_text text;
};

/* The configuration of the result that the library finds; -2: of none that the header has. */
static void answer(struct answers *answers, const struct hn_lookup_query *query)
{
    struct hn_lookup_rank rank;
    const struct hn_export *export = answers->export;
    const struct hn_tuned *found = hn_lookup_index_find(&answers->index->lookup, query, &rank);
    int config = found == NULL ? -1 : -2;
    for (size_t i = 0; found != NULL && i < export->result_count; i++)
        if (hn_lookup_same_task(&export->results[i]->identity, &found->identity) &&
            hn_bindings_equal(&export->results[i]->best.point, &found->best.point))
            config = (int)export->config_of[i];
    hn_text_printf(&answers->text, "%d %d %a\n", config, (int)rank.grade, rank.distance);
}

static void ask(struct answers *answers, struct judge *judge, struct hn_text *questions)
{
    const struct hn_device_identity *device = &devices[draw(DEVICES)];
    bool named = draw(5) != 0, counted = draw(5) != 0, as_compiled = draw(2) == 0;
    struct hn_text problem ENDED_BY(hn_text_finish) = {0};
    struct hn_bindings values ENDED_BY(hn_bindings_finish);
    const struct hn_export *export = answers->export;
    /* every other question is one of a problem that was tuned */
    if (draw(3) == 0)
        hn_bindings_append(&problem,
                           &export->results[draw(export->result_count)]->identity.problem);
    else
        draw_problem(&problem);
    parse_bindings(problem.data, &values);
    judge->problem = &values;
    judge->as_compiled = as_compiled;
    judge_on(judge, device);
    const struct hn_lookup_query query = {.device_name = named ? device->name : NULL,
                                          .capability = device->capability,
                                          .sm_count = counted ? device->sm_count : 0,
                                          .problem = &values,
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
}

/* How often each grade was given, so that the test is known to ask for all of them. */
static void count_grades(const char *answers, int *grades)
{
    int config, grade;
    for (const char *line = answers; sscanf(line, "%d %d", &config, &grade) == 2;
         line = strchr(line, '\n') + 1)
        grades[grade]++;
}

TEST(test_one_answer)
{
    struct hn_config *config = load(HONE_TEST_DATA "/select/select.yaml");
    struct judge judge = {.plan = config->plan};
    fill(cache.path, &judge);

    struct hn_bindings any = {0};
    struct hn_export export ENDED_BY(hn_export_finish);
    struct hn_text header ENDED_BY(hn_text_finish) = {0}, questions = {0};
    struct answers answers = {.export = &export};
    const struct hn_export_request request = {
        .kernel = "choose", .device_name = "H200", .problem = &any};
    struct hn_store *store = open_store(cache.path, HN_STORE_READ);
    assert_ok(hn_export_open(store, &request, &export, &said));
    assert_ok(hn_export_formats[HN_EXPORT_HEADER]->write(&export, &header, &said));
    struct hone_cache opened = {.path = (char *)"", .store = store};
    struct hn_lib_known *index = hn_lib_known_results(&opened, "choose", &said);
    assert_non_null(index);
    drop(store);
    answers.index = index;
    assert_true(export.count < export.result_count);
    for (int i = 0; i < QUESTIONS; i++)
        ask(&answers, &judge, &questions);
    hn_lib_known_free(&opened);
    hn_blocks_finish(&opened.memory);

    const struct hn_text source = {.data = (char *)program, .length = strlen(program)};
    write_file("choose.h", &header);
    write_file("questions", &questions);
    write_file("expected", &answers.text);
    write_file("program.c", &source);
    shell(HONE_C_COMPILER " -std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror "
                          "program.c -o program && ./program < questions > found");
    shell("paste -d'|' expected found | awk -F'|' '$1 != $2 { print NR \": \" $0; bad++ } "
          "END { exit bad > 0 }'");
    int grades[5] = {0};
    count_grades(answers.text.data, grades);
    for (int grade = 0; grade < 5; grade++)
        assert_true(grades[grade] > QUESTIONS / 100);
    hn_text_finish(&questions);
    hn_text_finish(&answers.text);
}
