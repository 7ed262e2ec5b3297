/* SPDX-License-Identifier: MIT */
#include "runtime/device/health.h"

#include "tests/unit/unit.h"

static int capability_with(const char *devices, const char *selector)
{
    setenv("HONE_DOUBLE_NVML", devices, 1);
    return hn_health_capability(selector);
}

TEST(what_all_devices_have_is_guessed)
{
    assert_int_equal(capability_with("90", NULL), 90);
    assert_int_equal(capability_with("90", "0"), 90);
    assert_int_equal(capability_with("120,120,120", "2"), 120);
}

TEST(devices_that_differ_are_left_open)
{
    assert_int_equal(capability_with("90,80", NULL), 0);
    assert_int_equal(capability_with("90,80", "1"), 0);
    assert_int_equal(capability_with("", NULL), 0);
}

TEST(a_uuid_chooses)
{
    assert_int_equal(capability_with("90,80", "GPU-00000001"), 80);
    assert_int_equal(capability_with("90,80", "GPU-00000000-0000-0000-0000-000000000000"), 90);
    assert_int_equal(capability_with("90,80", "GPU-0000000"), 0);
    assert_int_equal(capability_with("90,80", "GPU-7"), 0);
}
