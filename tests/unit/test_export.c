/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <unistd.h>

#include "tests/unit/export_fixture.h"

static void test_json(void **state)
{
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, matmuls, MATMULS);
    char *text = export_as(fixture->path, "matmul", "H100", "", hn_export_json);
    json_t *json = json_loads(text, 0, NULL);
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
    json_decref(json);
    free(text);
}

static void test_csv(void **state)
{
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, matmuls, MATMULS);
    char *text = export_as(fixture->path, "matmul", "ODD", "", hn_export_csv);
    const char *expected =
        "kernel,device,capability,sm_count,regime,objective,B_LAYOUT,K,M,N,ASYNC_BYTES,CORNER_TURN,"
        "LOAD,MAX_REGISTERS,"
        "PAD,SYNC,TILE_WIDTH,UNROLL,VARIANT,time_us,low_us,high_us,gflops,verification,simulated,"
        "stale,date,origin\n"
        "matmul,\"ODD \"\"GPU\"\"?\?/ */ "
        "\\\",80,108,cold,time,column,4096,64,64,0,0,ldg,0,0,warp,16,4,tile_a,5.5,";
    assert_memory_equal(text, expected, strlen(expected));
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 5);
    free(text);
}

/* A spreadsheet must not compute what a device calls itself. */
static void cells_of_csv_are_no_formulas(void **state)
{
    static const char *const names[] = {"=HYPERLINK(A1)", "+1", "-1+1", "@SUM(A1)"};
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char expected[64];
        struct hn_device_identity device = {.capability = 90, .sm_count = 132};
        snprintf(device.name, sizeof device.name, "%s", names[i]);
        struct result result = matmuls[0];
        result.device = &device;
        unlink(fixture->path);
        fill_cache(fixture->path, &result, 1);
        char *text = export_as(fixture->path, "matmul", NULL, "", hn_export_csv);
        snprintf(expected, sizeof expected, "\nmatmul,\"'%s\",90,132,cold,time,row,", names[i]);
        assert_non_null(strstr(text, expected));
        free(text);
    }
}

static void assert_fails(const char *path, const char *kernel, const char *device,
                         const char *problem, enum hn_status expected, const char *message)
{
    struct hn_export export;
    struct hn_error err = {""};
    assert_int_equal(open_export(path, kernel, device, problem, &export, &err), expected);
    hn_export_finish(&export);
    assert_string_equal(err.message, message);
}

static void test_errors(void **state)
{
    const struct fixture *fixture = *state;
    hn_store_close(open_store(fixture->path, HN_STORE_WRITE));
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
    struct hn_export export;
    struct hn_error err = {""};
    assert_int_equal(open_export(fixture->path, "matmul", NULL, "K=7", &export, &err),
                     HN_ENOTFOUND);
    hn_export_finish(&export);
    assert_non_null(strstr(
        err.message, "'matmul' was not tuned for that problem; cached are: B_LAYOUT=row,K=4096,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_json),
        TEST(test_csv),
        TEST(cells_of_csv_are_no_formulas),
        TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
