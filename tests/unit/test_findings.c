/* SPDX-License-Identifier: MIT */
#include "tuner/report/bounds.h"

#include "tests/unit/unit.h"

/* What the command does not show; the rest stands in tests/cli/test_explain.py. */

/* As an H100 counts the default copy of 64 Mi numbers and the planted chain of loads, without a
 * measured time; its SMs run at 1980 MHz. */
static const struct {
    const char *name;
    double copied, chained;
} laps[] = {
    {"time_ns", 276960, 81248},
    {"cycles", 465868, 99519},
    {"active_cycles", 426875, 43951},
    {"longest_cycles", 427715, 46414},
    {"dram_read_bytes", 268457728, 51917824},
    {"dram_written_bytes", 253512704, 3677440},
    {"dram_percent", 56.23, 20.42},
    {"l2_percent", 22.28, 7.74},
    {"l1_percent", 12.19, 7.45},
    {"issue_percent", 20.48, 14.71},
    {"occupancy_percent", 71.87, 95.58},
    {"warps_per_issue", 55.27, 107.58},
    {"stall_long_scoreboard", 47.95, 96.9},
    {"stall_selected", 1, 1},
    {"threads_per_instruction", 32, 32},
};

static void expect_loads(bool chained, double late, double clock_mhz, double median_us,
                         double dram_share)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    record.timing.median_us = median_us;
    for (size_t i = 0; i < sizeof laps / sizeof *laps; i++) {
        char name[64];
        bool waits = strcmp(laps[i].name, "cycles") == 0;
        struct hn_value value =
            hn_real((chained ? laps[i].chained : laps[i].copied) * (waits ? late : 1));
        snprintf(name, sizeof name, "counters.%s", laps[i].name);
        assert_ok(hn_bindings_set(&record.observed, name, &value, NULL));
    }
    json_auto_t *found = hn_findings(&record, NULL, clock_mhz);
    const json_t *first = json_array_get(json_object_get(found, "findings"), 0);
    assert_float_equal(json_number_value(json_object_get(found, "dram_share")), dram_share, 0.01);
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "loads");
}

/* The lap that counts cycles may wait for other programs, and says nothing of the laps that count
 * the rest. */
TEST(a_lap_that_waited_changes_nothing)
{
    for (double late = 1; late < 5; late *= 2) {
        expect_loads(false, late, 1980, 0, 0.721);
        expect_loads(false, late, 0, 219, 0.711);
        expect_loads(true, late, 1980, 0, 0.708);
    }
}

TEST(what_was_not_counted_says_nothing)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    assert_null(hn_findings(&record, NULL, 0));
}
