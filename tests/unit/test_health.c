/* SPDX-License-Identifier: MIT */
#include "runtime/device/health.h"
#include "tests/unit/unit.h"

TEST(names_what_held_the_clocks_down)
{
    char text[128];
    hn_slowdowns_describe(0, text, sizeof text);
    assert_string_equal(text, "");
    hn_slowdowns_describe(0x04, text, sizeof text);
    assert_string_equal(text, "the power cap");
    hn_slowdowns_describe(0x04 | 0x20 | 0x40, text, sizeof text);
    assert_string_equal(text, "the power cap, the temperature");
    char small[8];
    hn_slowdowns_describe(0x04 | 0x08, small, sizeof small);
    assert_string_equal(small, "the pow");
}

TEST(adds_up)
{
    struct hn_health all = {.watching = true, .checks = 3, .other_processes = 1, .process = "a"};
    const struct hn_health more = {
        .watching = true, .checks = 2, .held_down = 1, .reasons = 4, .process = ""};
    hn_health_add(&all, &more);
    assert_int_equal(all.checks, 5);
    assert_int_equal(all.held_down, 1);
    assert_int_equal(all.reasons, 4);
    assert_string_equal(all.process, "a");
    const struct hn_health crowd = {.other_processes = 2, .process = "b"};
    hn_health_add(&all, &crowd);
    assert_int_equal(all.other_processes, 2);
    assert_string_equal(all.process, "b");
}

TEST(does_without_nvml)
{
    struct hn_health health = {0};
    hn_health_look(NULL, &health);
    assert_false(health.watching);
    hn_health_watch_destroy(NULL);
}
