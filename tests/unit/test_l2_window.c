/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture windows;

static int load(void **state)
{
    return bench_fixture_use(&windows, "double/windows.yaml");
}

ALL_TESTS(load, NULL)

static void expect(const char *point, enum hn_outcome outcome, const char *message)
{
    bench_fixture_expect(&windows, point, &verify_only, outcome, message);
}

static double time_us(const char *point)
{
    bench_fixture_set_reference(&windows, point);
    return bench_fixture_record(&windows, point, &measured, HN_OUTCOME_OK, NULL)->timing.median_us;
}

#define NONE "HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=0,WINDOW_BYTES=0"
#define WHOLE "HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=65536,WINDOW_BYTES=16384"

TEST(windows_beyond_the_limits_are_invalid)
{
    bench_fixture_start(&windows, HN_COLD);
    expect("HIT=persisting,HIT_PERCENT=101,MISS=streaming,SET_ASIDE=0,WINDOW_BYTES=4096",
           HN_OUTCOME_INVALID_LAUNCH, "a hit ratio of 1.01 of an L2 window; expected 0 to 1");
    expect("HIT=persisting,HIT_PERCENT=100,MISS=persisting,SET_ASIDE=0,WINDOW_BYTES=4096",
           HN_OUTCOME_INVALID_LAUNCH,
           "misses of an L2 window are persisting; expected normal or streaming");
    expect("HIT=persisting,HIT_PERCENT=100,MISS=normal,SET_ASIDE=1073741824,WINDOW_BYTES=4096",
           HN_OUTCOME_INVALID_LAUNCH,
           "a set-aside of 1073741824 bytes of L2 cache; Hone Double takes 0 to 65536");
    expect("HIT=persisting,HIT_PERCENT=100,MISS=normal,SET_ASIDE=0,WINDOW_BYTES=16777216",
           HN_OUTCOME_INVALID_LAUNCH,
           "an L2 window of 16777216 bytes; Hone Double takes 0 to 131072");
}

TEST(some_devices_have_none)
{
    bench_fixture_start(&windows, HN_COLD);
    struct hn_device whole = windows.device;
    strcpy(windows.device.identity.mig_profile, "1g.18gb");
    expect(WHOLE, HN_OUTCOME_INVALID_LAUNCH,
           "a set-aside of 65536 bytes of L2 cache; Hone Double MIG 1g.18gb takes none: MIG mode "
           "does not allow it");
    windows.device.max_access_window_bytes = 0;
    windows.device.identity.capability = 75;
    expect(WHOLE, HN_OUTCOME_INVALID_LAUNCH,
           "an L2 window; Hone Double has none (compute capability 7.5, from 8.0 on)");
    expect(NONE, HN_OUTCOME_OK, NULL);
    windows.device = whole;
}

TEST(a_driver_that_sets_nothing_aside_is_a_refusal)
{
    bench_fixture_start(&windows, HN_COLD);
    setenv("HONE_DOUBLE_NO_L2", "1", 1);
    expect(WHOLE, HN_OUTCOME_INVALID_LAUNCH,
           "a set-aside of 65536 bytes of L2 cache, which the driver refuses: setting L2 cache "
           "aside: CUDA_ERROR_UNSUPPORTED_LIMIT: a limit that the device does not support");
    unsetenv("HONE_DOUBLE_NO_L2");
    expect(WHOLE, HN_OUTCOME_OK, NULL);
}

/* What one launch made persist saves the next a third of its time, where it is left in the cache.
 */
TEST(cold_samples_find_nothing_persisting)
{
    bench_fixture_start(&windows, HN_COLD);
    assert_true(time_us(WHOLE) > 55.0);
    bench_fixture_close(&windows);
    bench_fixture_start(&windows, HN_WARM);
    assert_true(time_us(WHOLE) < 45.0);
    assert_true(time_us(NONE) > 55.0);
}

TEST(every_failing_call_ends_cleanly)
{
    assert_true(bench_fixture_fail_calls(&windows, HN_COLD, WHOLE, &verify_only, 1, 30) > 100);
}

TEST(keys_tell_windows_apart)
{
    const struct hn_l2_window some = {.bytes = 4096,
                                      .hit_ratio = 0.5,
                                      .hit = HN_ACCESS_PERSISTING,
                                      .miss = HN_ACCESS_NORMAL,
                                      .set_aside = 65536};
    struct hn_l2_window none = some;
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    none.bytes = none.set_aside = 0;
    hn_l2_window_append(&text, &none);
    assert_int_equal(text.length, 0);
    hn_l2_window_append(&text, &some);
    assert_string_equal(text.data, " window 4096 0.5 persisting normal set-aside 65536");
}
