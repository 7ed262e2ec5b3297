/* SPDX-License-Identifier: MIT */
#include "tuner/report/bounds.h"

#include "tests/unit/unit.h"

/* Name and number, up to a NULL. */
struct counted {
    const char *name;
    double value;
};

static void add(struct hn_record *record, const struct counted *counted)
{
    for (; counted->name != NULL; counted++) {
        char name[64];
        struct hn_value value = hn_real(counted->value);
        snprintf(name, sizeof name, "counters.%s", counted->name);
        assert_ok(hn_bindings_set(&record->observed, name, &value, NULL));
    }
}

/* A copy of 64 MiB that nothing is wrong with, as an H200 counts it, but for its DRAM, which is not
 * busy. */
static const struct counted good[] = {
    {"cycles", 80000},
    {"active_cycles", 59000},
    {"longest_cycles", 60000},
    {"dram_read_bytes", 67108864},
    {"dram_written_bytes", 67108864},
    {"dram_percent", 22.5},
    {"l2_percent", 15},
    {"l2_sm_sectors", 4194304},
    {"load_requests", 524288},
    {"load_sectors", 2097152},
    {"load_bytes", 67108864},
    {"store_requests", 524288},
    {"store_sectors", 2097152},
    {"store_bytes", 67108864},
    {"threads_per_instruction", 32},
    {"issue_percent", 10},
    {"occupancy_percent", 80},
    {"warps_per_issue", 100},
    {"stall_selected", 1},
    {NULL, 0},
};

static void make(struct hn_record *record, const struct counted *changes)
{
    *record = (struct hn_record){0};
    add(record, good);
    add(record, changes);
}

static const json_t *findings_of(const struct hn_record *record, const struct hn_roofs *roofs,
                                 double clock_mhz)
{
    return keep(hn_findings(record, roofs, clock_mhz), json_decref);
}

static double number(const json_t *findings, const char *key)
{
    return json_number_value(json_object_get(findings, key));
}

static size_t count_of(const json_t *findings)
{
    return json_array_size(json_object_get(findings, "findings"));
}

static const json_t *item(const json_t *findings, size_t i)
{
    return json_array_get(json_object_get(findings, "findings"), i);
}

static const char *word(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/* What is named first, of the good copy but for these counters; "" for nothing. */
static const char *first(const struct counted *changes)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    make(&record, changes);
    const json_t *findings = findings_of(&record, NULL, 0);
    for (size_t i = 1; i < count_of(findings); i++)
        assert_true(number(item(findings, i - 1), "share") >= number(item(findings, i), "share"));
    for (size_t i = 0; i < count_of(findings); i++)
        assert_true(word(item(findings, i), "counted")[0] != '\0' &&
                    word(item(findings, i), "remedy") != NULL);
    return count_of(findings) > 0 ? word(item(findings, 0), "kind") : "";
}

#define CHANGED(...) ((const struct counted[]){__VA_ARGS__, {NULL, 0}})

TEST(nothing_is_found_where_nothing_is_wrong)
{
    assert_string_equal(first(CHANGED({"stall_selected", 1})), "");
}

/* 128 MiB in 32 us are 4194 GB/s. */
TEST(nothing_costs_more_than_memory_leaves)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    const struct hn_roofs roofs = {.copy_gb_per_s = 4660};
    struct hn_value bytes = hn_real(134217728);
    make(&record, CHANGED({"load_sectors", 16777216}, {"stall_long_scoreboard", 90}));
    record.timing.median_us = 32;
    for (int needed = 0; needed < 3; needed++) {
        const json_t *findings = findings_of(&record, &roofs, 0);
        assert_true(count_of(findings) > 0);
        assert_string_equal(word(item(findings, 0), "kind"), "uncoalesced");
        /* Not known, all of what was moved, half of it. */
        const double most[] = {0.71, 0.101, 0.551}, least[] = {0.69, 0.099, 0.549};
        assert_true(number(item(findings, 0), "share") < most[needed]);
        assert_true(number(item(findings, 0), "share") > least[needed]);
        assert_ok(hn_bindings_set(&record.metrics, "bytes", &bytes, NULL));
        bytes = hn_real(67108864);
    }
}

TEST(each_fault_is_told_by_its_counters)
{
    const struct {
        const char *kind;
        const struct counted *changes;
    } cases[] = {
        {"uncoalesced", CHANGED({"load_sectors", 16777216}, {"stall_long_scoreboard", 90})},
        /* Widths that are not known excuse half of them. */
        {"uncoalesced",
         CHANGED({"store_sectors", 16777216}, {"store_bytes", 0}, {"stall_lg_throttle", 90})},
        {"conflicts", CHANGED({"shared_load_wavefronts", 64e6}, {"shared_load_conflicts", 62e6},
                              {"stall_mio_throttle", 80})},
        {"occupancy", CHANGED({"occupancy_percent", 5}, {"stall_long_scoreboard", 90})},
        {"loads", CHANGED({"stall_long_scoreboard", 90})},
        {"local", CHANGED({"local_load_sectors", 2e7}, {"local_store_sectors", 1e7},
                          {"stall_long_scoreboard", 90})},
        {"atomics", CHANGED({"reduction_requests", 524288}, {"l2_atomic_percent", 80},
                            {"stall_long_scoreboard", 40})},
        /* Who waits for an atomic's result waits as for a load: compact, an atomic an element. */
        {"atomics", CHANGED({"atomic_requests", 2097152}, {"store_requests", 2097152},
                            {"l2_atomic_percent", 55}, {"dram_percent", 3}, {"l2_percent", 4},
                            {"occupancy_percent", 98}, {"stall_long_scoreboard", 98})},
        {"loads", CHANGED({"atomic_requests", 131072}, {"l2_atomic_percent", 5},
                          {"stall_long_scoreboard", 90})},
        {"idle", CHANGED({"active_cycles", 6000}, {"stall_wait", 50})},
        /* A block for every other SM: who is there alone waits, but half of the SMs are idle. */
        {"idle",
         CHANGED({"active_cycles", 28800}, {"occupancy_percent", 12}, {"stall_long_scoreboard", 55},
                 {"stall_short_scoreboard", 13}, {"dram_percent", 3}, {"l2_percent", 4})},
        {"divergence", CHANGED({"threads_per_instruction", 2}, {"issue_percent", 80})},
        {"barrier", CHANGED({"stall_barrier", 90})},
        {"dependency", CHANGED({"stall_wait", 75}, {"occupancy_percent", 6})},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kind = first(cases[i].changes);
        if (strcmp(kind, cases[i].kind) != 0)
            fail_msg("case %zu is '%s', expected '%s'", i, kind, cases[i].kind);
    }
}

/* A unit that is busy all the time leaves nothing to be gained by waiting less. */
TEST(waiting_costs_nothing_beside_a_busy_unit)
{
    assert_string_equal(first(CHANGED({"dram_percent", 75}, {"stall_long_scoreboard", 90})), "");
}

TEST(rates_are_by_the_measured_time_and_the_roof)
{
    const struct hn_roofs roofs = {.copy_gb_per_s = 4000};
    struct hn_record record ENDED_BY(hn_record_finish);
    struct hn_value bytes = hn_real(1e8);
    make(&record, CHANGED({"dram_read_bytes", 1.5e8}, {"dram_written_bytes", 0.5e8}));
    assert_ok(hn_bindings_set(&record.metrics, "bytes", &bytes, NULL));
    record.timing.median_us = 62.5;
    const json_t *findings = findings_of(&record, &roofs, 0);
    assert_true(fabs(number(findings, "dram_gb_per_s") - 3200) < 1e-6);
    assert_true(fabs(number(findings, "effective_gb_per_s") - 1600) < 1e-6);
    assert_true(fabs(number(findings, "dram_share") - 0.8) < 1e-9);
    assert_string_equal(word(findings, "bound"), "DRAM, 80% of what a copy gives");
    assert_string_equal(word(item(findings, 0), "kind"), "traffic");
    /* Without a roof: of what the memory can do, over the time that an SM was active. */
    findings = findings_of(&record, NULL, 0);
    assert_true(fabs(number(findings, "dram_share") - 0.225 * 80000 / 60000) < 1e-9);
    assert_string_equal(word(findings, "bound"), "latency, no unit is busier than 30% (DRAM)");
}

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
        double value = chained ? laps[i].chained : laps[i].copied;
        bool waits = strcmp(laps[i].name, "cycles") == 0;
        add(&record, CHANGED({laps[i].name, waits ? late * value : value}));
    }
    const json_t *findings = findings_of(&record, NULL, clock_mhz);
    assert_true(fabs(number(findings, "dram_share") - dram_share) < 0.01);
    assert_true(count_of(findings) > 0);
    assert_string_equal(word(item(findings, 0), "kind"), "loads");
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

/* Where half of the SMs have nothing and memory is nearly all that is busy, they could add little.
 */
TEST(idle_multiprocessors_add_what_the_busiest_unit_leaves)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    make(&record, CHANGED({"active_cycles", 30000}, {"dram_percent", 67.5}));
    const json_t *findings = findings_of(&record, NULL, 0);
    assert_string_equal(word(item(findings, 0), "kind"), "idle");
    assert_true(fabs(number(item(findings, 0), "share") - 0.1) < 1e-9);
}

TEST(what_was_not_counted_says_nothing)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    assert_null(hn_findings(&record, NULL, 0));
}
