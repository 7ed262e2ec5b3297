/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "tests/unit/export_fixture.h"

EACH_TEST(set_up, tear_down)

TEST(test_json)
{
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, matmuls, MATMULS);
    char *text FREED = export_as(fixture->path, "matmul", "H100", "", hn_export_json);
    json_t *json = keep(json_loads(text, 0, NULL), json_decref);
    assert_non_null(json);
    const char *device, *load, *verification;
    json_int_t m;
    double median;
    int simulated;
    assert_int_equal(json_array_size(json_object_get(json, "configurations")), 4);
    const json_t *first = json_array_get(json_object_get(json, "configurations"), 0);
    assert_int_equal(json_unpack((json_t *)first, "{s:{s:s}, s:{s:I}, s:{s:s}, s:{s:f}, s:s, s:b}",
                                 "device", "name", &device, "problem", "M", &m, "parameters",
                                 "LOAD", &load, "time_us", "median", &median, "verification",
                                 &verification, "simulated", &simulated),
                     0);
    assert_string_equal(device, "NVIDIA H100");
    assert_string_equal(load, "restrict");
    assert_string_equal(verification, "verified");
    assert_int_equal(m, 1024);
    assert_true(median == 70.5);
    assert_false(simulated);
}

static void assert_fails(const char *path, const char *kernel, const char *device,
                         const char *problem, enum hn_status expected, const char *message)
{
    struct hn_export export ENDED_BY(hn_export_finish);
    assert_int_equal(open_export(path, kernel, device, problem, &export, &said), expected);
    assert_string_equal(said.message, message);
}

TEST(test_errors)
{
    const struct fixture *fixture = *state;
    drop(open_store(fixture->path, HN_STORE_WRITE));
    assert_fails(
        fixture->path, "matmul", NULL, "", HN_ENOTFOUND,
        "nothing tuned is cached for 'matmul': the cache is empty; run 'hone tune CONFIG' first");
    fill_cache(fixture->path, matmuls, MATMULS);
    assert_fails(fixture->path, "matmull", NULL, "", HN_ENOTFOUND,
                 "nothing tuned is cached for 'matmull'; the cache holds matmul");
    assert_fails(fixture->path, "matmul", NULL, "K=4096", HN_EUSAGE,
                 "'matmul' was tuned on 3 devices: NVIDIA H100, NVIDIA H200, ODD \"GPU\"?\?/ */ "
                 "\\; choose one with "
                 "--device-name");
    assert_fails(
        fixture->path, "matmul", "A100", "K=32", HN_ENOTFOUND,
        "'matmul' was not tuned on 'A100', or that names several; cached are: NVIDIA H200");
    struct hn_export export ENDED_BY(hn_export_finish);
    assert_mentions(open_export(fixture->path, "matmul", NULL, "K=7", &export, &said), HN_ENOTFOUND,
                    "'matmul' was not tuned for that problem; cached are: B_LAYOUT=row,K=4096,");
}
