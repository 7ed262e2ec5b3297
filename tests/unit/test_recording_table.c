/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench/search/simulate/recording_table.h"

#include "bench/search/simulate/recorded.h"
#include "file_fixture.h"

ALL_TESTS(make_file, remove_file)

static void load_table(const char *text, struct hn_recording_table *table)
{
    write_text(text);
    assert_ok(hn_recording_table_load(path, table, &said));
}

TEST(a_table_takes_values_of_any_kind)
{
    struct hn_recording_table table ENDED_BY(hn_recording_table_finish);
    load_table(
        "{\"kernel_name\": \"k\", \"device_name\": \"d\", \"tune_params\": {"
        "\"A\": [1, 2], \"B\": [\"float2 *\", \"-O3, -x\"], \"C\": [true, false], "
        "\"D\": [0.5], \"E\": [null, [1, 2]]}, \"cache\": {"
        "\"a\": {\"A\": 2.0, \"B\": \"-O3, -x\", \"C\": false, \"D\": 0.5, \"E\": [1, 2], "
        "\"time\": 1.5, \"times\": [1, 2, 3]},"
        "\"b\": {\"A\": 3, \"B\": \"new\", \"C\": 1, \"D\": 0.5, \"E\": null, \"time\": 2}}}",
        &table);
    const uint16_t choices[] = {1, 1, 1, 0, 1, 2, 2, 0, 0, 0};
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.parameter_count, 5);
    assert_memory_equal(table.choices, choices, sizeof choices);
    assert_string_equal(table.parameters[4].values[1].word, "[1,2]");
}

TEST(a_table_knows_failures_and_costs)
{
    struct hn_recording_table table ENDED_BY(hn_recording_table_finish);
    load_table(
        "{\"tune_params_keys\": [\"X\"], \"cache\": {"
        "\"0\": {\"X\": 0, \"time\": 0.25, \"compile_time\": 1, \"benchmark_time\": 2, "
        "\"verification_time\": 4, \"framework_time\": 8, \"strategy_time\": 16, \"GB/s\": NaN},"
        "\"1\": {\"X\": 1, \"time\": \"CompilationFailedConfig\", \"compile_time\": 3},"
        "\"2\": {\"X\": 2, \"time\": \"RuntimeFailedConfig\"},"
        "\"3\": {\"X\": 3, \"time\": \"InvalidConfig\", \"benchmark_time\": null},"
        "\"4\": {\"X\": 4, \"time\": 1e20},"
        "\"5\": {\"X\": 5, \"time\": -Infinity},"
        "\"6\": {\"X\": 6, \"time\": NaN},"
        "\"7\": {\"X\": 7},"
        "\"8\": {\"X\": 8, \"__error__\": \"InvalidConfig\"}}}",
        &table);
    static const enum hn_outcome outcomes[] = {
        HN_OUTCOME_OK,
        HN_OUTCOME_COMPILE_ERROR,
        HN_OUTCOME_LAUNCH_ERROR,
        HN_OUTCOME_INVALID_LAUNCH,
        HN_OUTCOME_LAUNCH_ERROR,
        HN_OUTCOME_LAUNCH_ERROR,
        HN_OUTCOME_LAUNCH_ERROR,
        HN_OUTCOME_LAUNCH_ERROR,
        HN_OUTCOME_INVALID_LAUNCH,
    };
    assert_int_equal(table.row_count, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(table.rows[i].outcome, outcomes[i]);
        assert_int_equal(isfinite(table.rows[i].time_ms) != 0, i == 0);
        assert_false(table.rows[i].resources.known);
    }
    assert_true(table.rows[0].cost_ms == 15 && table.rows[1].cost_ms == 3);
    assert_true(table.rows[3].cost_ms == 0);
}

TEST(a_table_of_an_unfinished_file_ends_with_its_last_row)
{
    struct hn_recording_table table ENDED_BY(hn_recording_table_finish);
    load_table("{\n\"tune_params_keys\": [\"X\"], \"tune_params\": {\"X\": [1, 2]},\n\"cache\": {\n"
               "\"1\": {\"X\": 1, \"time\": 1, \"times\": [1, 2]},\n"
               "\"2\": {\"X\": 2, \"time\": 1, \"times\": [1, 2",
               &table);
    assert_int_equal(table.row_count, 1);
}

static void fails(const char *text, const char *message)
{
    struct hn_recorded recorded;
    char expected[512];
    write_text(text);
    snprintf(expected, sizeof expected, "'%s': %s", path, message);
    assert_int_not_equal(hn_recorded_load(path, &recorded, &said), HN_OK);
    assert_string_equal(said.message, expected);
}

TEST(what_is_no_recording_is_refused)
{
    fails("{}", "it is neither a recording of Hone nor a cache file of Kernel Tuner: there is no "
                "'cache' in it");
    fails("{\"cache\": {}}", "neither 'tune_params_keys' nor 'tune_params' names a parameter");
    fails("{\"tune_params_keys\": [\"X\"], \"cache\": {}}",
          "'cache' is empty, expected an object with a row for each point");
    fails("{\"tune_params_keys\": [\"X\"], \"cache\": []}",
          "'cache' is an array, expected an object with a row for each point");
    fails("{\"tune_params_keys\": [7], \"cache\": {}}",
          "'tune_params_keys' holds an integer, expected a string");
    fails("{\"tune_params_keys\": [\"X\"], \"cache\": {\"a\": {}}}",
          "row 'a': parameter 'X' is missing");
    fails("{\"tune_params_keys\": [\"X\"], \"cache\": {\"a\": 1}}",
          "row 'a': it is an integer, expected an object");
    fails("{\"tune_params_keys\": [\"X\"], \"cache\": {\"a\": {\"X\": 1}, \"b\": {\"X\": 1.0}}}",
          "a point is given twice");
    fails("{\"times\": [1,\n2], \"cache\": x}",
          "it is no JSON: line 2, column 14: invalid token near 'x'");
}
