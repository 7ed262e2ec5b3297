/* SPDX-License-Identifier: MIT */
#include "tuner/report/render.c"

#include "tests/unit/unit.h"

typedef void format_with(double number, char text[HN_FORMAT_SIZE]);

struct expected {
    double number;
    const char *text;
};

static void check(format_with *format, const struct expected *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[HN_FORMAT_SIZE];
        format(cases[i].number, text);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(times_have_four_digits)
{
    static const struct expected cases[] = {
        {0, "0.000 us"},      {1.2341, "1.234 us"},   {12.344, "12.34 us"}, {123.44, "123.4 us"},
        {999.94, "999.9 us"}, {999.96, "1.000 ms"},   {9.9996, "10.00 us"}, {99.996, "100.0 us"},
        {1000, "1.000 ms"},   {2674.123, "2.674 ms"}, {1e6, "1.000 s"},     {2.5e8, "250.0 s"},
        {999960, "1.000 s"},  {123456789, "123.5 s"},
    };
    check(format_time, cases, sizeof cases / sizeof cases[0]);
}

TEST(durations_are_for_people)
{
    static const struct expected cases[] = {
        {0, "0.0 s"},
        {9.94, "9.9 s"},
        {9.96, "10 s"},
        {42.4, "42 s"},
        {59.6, "1 min 00 s"},
        {200, "3 min 20 s"},
        {3599.4, "59 min 59 s"},
        {3599.6, "1 h 00 min"},
        {3900, "1 h 05 min"},
        {360000, "100 h 00 min"},
    };
    check(format_duration, cases, sizeof cases / sizeof cases[0]);
}

TEST(bytes_are_binary)
{
    static const struct expected cases[] = {
        {0, "0 B"},          {1023, "1023 B"},       {1024, "1.0 KiB"}, {49152, "48.0 KiB"},
        {102400, "100 KiB"}, {62914560, "60.0 MiB"}, {1e12, "931 GiB"}, {0x1p50, "1024 TiB"},
    };
    check(format_bytes, cases, sizeof cases / sizeof cases[0]);
}

TEST(spread_is_half_the_interval)
{
    static const struct {
        double low_us, median_us, high_us;
        const char *text;
    } cases[] = {
        {99.7, 100, 100.3, "0.30%"}, {99.7, 100, 104.7, "2.5%"}, {0, 0, 0, "?"}, {5, 5, 5, "?"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        json_t *json = json_pack("{sf sf sf}", "low_us", cases[i].low_us, "median_us",
                                 cases[i].median_us, "high_us", cases[i].high_us);
        append_spread(&text, json, false);
        assert_string_equal(text.data, cases[i].text);
        json_decref(json);
    }
}

TEST(a_small_metric_has_three_digits)
{
    char text[HN_FORMAT_SIZE];
    static const struct {
        double number;
        const char *text;
    } cases[] = {{1234.5, "1234"}, {12.345, "12.35"}, {0.5, "0.50"},
                 {0, "0.00"},      {0.004, "0.004"},  {-1.5e-7, "-1.5e-07"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        format_number(cases[i].number, "merit", text);
        assert_string_equal(text, cases[i].text);
    }
}

static void assert_merit(const struct hn_plan *plan, const struct hn_record *record,
                         const char *text)
{
    json_auto_t *merit = hn_merit_to_json(plan, record);
    assert_string_equal(json_string_value(merit), text);
}

TEST(merit_is_the_objective_or_the_last_metric)
{
    struct hn_metric metrics[] = {{.name = (char *)"flops"}, {.name = (char *)"gflops"}};
    struct hn_plan plan = {.metrics = metrics, .metric_count = 2, .objective = (char *)"time"};
    struct hn_value flops = hn_real(12.345);
    struct hn_value gflops = hn_real(51234.4);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    assert_merit(&plan, &record, "");
    assert_ok(hn_bindings_set(&record.metrics, "flops", &flops, NULL));
    assert_ok(hn_bindings_set(&record.metrics, "gflops", &gflops, NULL));
    assert_merit(&plan, &record, "gflops 51234");
    plan.objective = (char *)"flops";
    assert_merit(&plan, &record, "flops 12.35");
    plan = (struct hn_plan){.objective = (char *)"time"};
    assert_null(hn_format_merit_name(&plan));
    assert_merit(&plan, &record, "");
    assert_true(isnan(hn_format_merit_value(&plan, &record)));
}
