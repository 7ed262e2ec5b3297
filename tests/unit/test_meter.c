/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/workers/usage.h"

static void expect(const struct hn_meter *meter, double now_ms, double total_ms)
{
    assert_float_equal(hn_meter_total_ms(meter, now_ms), total_ms, 1e-9);
}

TEST(overlapping_work_counts_once)
{
    struct hn_meter meter = {0};
    expect(&meter, 5, 0);
    hn_meter_begin(&meter, 10);
    hn_meter_begin(&meter, 12);
    expect(&meter, 13, 3);
    hn_meter_end(&meter, 15);
    hn_meter_end(&meter, 18);
    expect(&meter, 30, 8);
    hn_meter_begin(&meter, 40);
    hn_meter_end(&meter, 41);
    expect(&meter, 50, 9);
}

TEST(a_whole_is_the_union_of_its_parts)
{
    struct hn_meter whole = {0};
    struct hn_meter compile = {.whole = &whole};
    struct hn_meter gpu = {.whole = &whole};
    hn_meter_begin(&compile, 0);
    hn_meter_begin(&gpu, 6);
    hn_meter_end(&compile, 10);
    hn_meter_end(&gpu, 14);
    hn_meter_begin(&gpu, 20);
    hn_meter_end(&gpu, 21);
    expect(&compile, 30, 10);
    expect(&gpu, 30, 9);
    expect(&whole, 30, 15);
}
