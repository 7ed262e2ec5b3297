/* SPDX-License-Identifier: MIT */
#include "tuner/report/render.h"

#include "tests/unit/unit.h"

static const char document[] =
    "{\"kernel\": \"copy\", \"problem\": {\"N\": 4, \"T\": \"half\"}, \"none\": {}, \"empty\": "
    "\"\", \"nothing\": null,"
    " \"zero\": 0, \"one\": 1, \"no\": false, \"us\": 1500.0, \"share\": 0.1234, \"not\": "
    "{\"real\": \"nan\"}, \"four\": 4,"
    " \"bytes\": 2048, \"outcomes\": {\"ok\": 3, \"skipped\": 1}, \"names\": [\"A\", \"B\"],"
    " \"timing\": {\"median_us\": 10.0, \"low_us\": 9.9, \"high_us\": 10.1}, \"parameters\": "
    "[\"A\", \"B\"],"
    " \"rows\": [{\"point\": {\"A\": 1, \"B\": true}, \"time\": 2.5}, {\"point\": {\"A\": 2}, "
    "\"time\": 5.0}]}";

static void expect(const char *line, const char *expected)
{
    json_auto_t *json = json_loads(document, 0, NULL);
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    assert_non_null(json);
    bool whole = hn_render_line(&text, json, line);
    assert_int_equal(whole, expected != NULL);
    assert_string_equal(text.data != NULL ? text.data : "", expected != NULL ? expected : "");
}

TEST(values)
{
    expect("{kernel} of {problem}: {names}", "copy of N=4,T=half: A, B");
    expect("{problem.N} {no} {zero}", "4 false 0");
    expect("{us:time} {us/1e3:.1f} {share:.1%} {share:percent} {bytes:bytes}",
           "1.500 ms 1.5 12.3% 12% 2.0 KiB");
    expect("{four+one:.0f} {four-one:.0f} {four+missing:.0f} {names+0:.0f}", "5 3 4 2");
    expect("{one} point{one:s}, {four} point{four:s}", "1 point, 4 points");
    expect("{timing:timing}; {timing:spread}", "10.00 us ±1.00%; 1.00%");
    expect("{outcomes:counts}", "3 ok, 1 skipped");
    expect("{kernel:<6}.", "copy  .");
}

TEST(what_is_left_out)
{
    expect("{kernel}[ {none}][ {empty}][ {nothing}][ {missing}]", "copy");
    expect("{kernel} {missing}", NULL);
    expect("[{not:.1f}|unknown]", "unknown");
    expect("[{missing}|{nothing}|{kernel}|{four}]", "copy");
    expect("a[ b[ {missing}] c]", "a b c");
    expect("[{?zero}zero][{?no}no][{?one}one][{?problem}problem][{?!missing}!]", "oneproblem!");
    expect("{kernel}{?kernel=move}", NULL);
    expect("{kernel}{?kernel=move,copy}", "copy");
    expect("[{?four=problem.N}same][{?four>one}more][{?share<0.1}less][{?!one=1}other]",
           "samemore");
}

static void expect_rendered(const struct hn_view *views, const char *expected)
{
    json_auto_t *json = json_loads(document, 0, NULL);
    char *text FREED = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    hn_render(json, views, file);
    fclose(file);
    assert_string_equal(text, expected);
}

TEST(items)
{
    const struct hn_view views[] = {
        {.at = "rows", .line = "{#}. {point} of {/kernel}, {time//us:.3f}", .most = 1},
        {.at = "timing", .line = "{median_us:time}"},
        {.at = "outcomes.*", .line = "{@}: {:.0f}"},
        {.at = "missing", .line = "nothing"},
        {NULL},
    };
    expect_rendered(views, "1. A=1,B=true of copy, 0.002\n10.00 us\nok: 3\nskipped: 1\n");
}

TEST(table)
{
    const struct hn_column columns[] = {{">#", "{#}"},
                                        {">{kernel}", "{time:time}"},
                                        {"?missing", "{missing}"},
                                        {"=*", "[{point.*}|-]"},
                                        {NULL, NULL}};
    const struct hn_view views[] = {{.at = "rows", .columns = columns, .indent = 1},
                                    {.at = "missing", .columns = columns},
                                    {NULL}};
    expect_rendered(views, " #      copy  A  B\n 1  2.500 us  1  true\n 2  5.000 us  2  -\n");
}
