/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch.h"

#include "bindings_fixture.h"
#include "plan_fixture.h"

static struct hn_plan *plan;
static struct hn_device device;

static int set_up(void **state)
{
    plan = load_plan("tiled.json");
    assert_ok(hn_device_for_architecture("sm_90", &device, NULL));
    return 0;
}

ALL_TESTS(set_up, NULL)

static enum hn_status make(const char *problem, const char *point, struct hn_launch *launch)
{
    return hn_launch_make(plan, parsed(problem), parsed(point), launch, &said);
}

TEST(evaluates_every_step)
{
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    assert_ok(make("K=4,LAYOUT=row,M=64,N=100", "PAD=1,TILE=16", &launch));
    assert_int_equal(launch.step_count, 2);
    const int64_t grid[] = {7, 4, 1};
    const int64_t block[] = {16, 16, 1};
    assert_memory_equal(launch.steps[0].grid, grid, sizeof grid);
    assert_memory_equal(launch.steps[0].block, block, sizeof block);
    assert_int_equal(launch.steps[0].shared_bytes, 16 * 17 * 4);
    assert_ptr_equal(launch.steps[0].step, &plan->steps[0]);
    const int64_t finish_grid[] = {2, 1, 1};
    assert_memory_equal(launch.steps[1].grid, finish_grid, sizeof finish_grid);
    assert_int_equal(launch.steps[1].shared_bytes, 0);
    assert_int_equal(launch.steps[0].carveout, HN_NO_CARVEOUT);
    assert_int_equal(launch.steps[1].carveout, 50);
    assert_false(launch.steps[1].cooperative);
    assert_false(hn_launch_step_has_clusters(&launch.steps[1]));
}

TEST(evaluates_the_reference_without_a_whole_point)
{
    struct hn_launch_step step;
    assert_ok(hn_launch_make_step(plan, &plan->reference.step, parsed("K=4,LAYOUT=row,M=64,N=100"),
                                  parsed("VARIANT=simple"), &step, &said));
    const int64_t grid[] = {7, 1, 1};
    assert_memory_equal(step.grid, grid, sizeof grid);
}

TEST(leaves_out_what_does_not_apply)
{
    struct hn_launch launch;
    assert_ok(make("K=4,LAYOUT=row,M=1024,N=100", "PAD=1,TILE=16", &launch));
    assert_int_equal(launch.step_count, 3);
    assert_ptr_equal(launch.steps[2].step, &plan->steps[2]);
    hn_launch_finish(&launch);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    assert_false(hn_launch_check(&launch, &device, &record));
    assert_string_equal(record.message, "no step is launched: no 'if' holds");
}

TEST(demands_integers_and_values)
{
    struct hn_launch launch;
    assert_mentions(make("K=4,LAYOUT=row,M=65,N=100", "TILE=16", &launch), HN_EVALUE, "M / 32");
    assert_null(launch.steps);
    assert_error(make("K=4,LAYOUT=row,M=64", "TILE=16", &launch), HN_ECONFIG, "'N' has no value");
}

static void check(const char *problem, const char *point, const char *message)
{
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    assert_ok(make(problem, point, &launch));
    assert_int_equal(hn_launch_check(&launch, &device, &record), message == NULL);
    if (message != NULL) {
        assert_int_equal(record.outcome, HN_OUTCOME_INVALID_LAUNCH);
        assert_string_equal(record.message, message);
    }
}

TEST(checks_the_devices_limits)
{
    const char problem[] = "K=4,LAYOUT=row,M=64,N=64";
    check(problem, "TILE=32", NULL);
    check(problem, "TILE=33", "block 33x33 has 1089 threads; sm_90 takes 1024");
    check(problem, "TILE=1025", "block 1025x1025 has 1025 in x; sm_90 takes 1 to 1024");
    check(problem, "TILE=16,PAD=3616", NULL);
    check(problem, "TILE=16,PAD=3617",
          "232512 bytes of dynamic shared memory; sm_90 takes 0 to 232448");
    check(problem, "TILE=16,PAD=-17",
          "-64 bytes of dynamic shared memory; sm_90 takes 0 to 232448");
    check("K=4,LAYOUT=row,M=1048576,N=64", "TILE=16",
          "grid 4x65536 has 65536 in y; sm_90 takes 1 to 65535");
    check("K=4,LAYOUT=row,M=64,N=0", "TILE=16", "grid 0x4 has 0 in x; sm_90 takes 1 to 2147483647");
}

TEST(checks_clusters)
{
    const char problem[] = "K=4,LAYOUT=row,M=96,N=64";
    check(problem, "TILE=16,FAST=true",
          "a grid of 3 blocks in x is no multiple of its clusters' 2");
    check("K=4,LAYOUT=row,M=64,N=64", "TILE=16,FAST=true", NULL);
    device.cluster_launch = false;
    check("K=4,LAYOUT=row,M=64,N=64", "TILE=16,FAST=true",
          "a launch in clusters; sm_90 has none (compute capability 9.0, from 9.0 on)");
    device.cluster_launch = true;
}

TEST(checks_windows)
{
    check("K=4,LAYOUT=row,M=9216,N=3640", "FAST=true,TILE=16", NULL);
    check("K=4,LAYOUT=row,M=9216,N=3648", "FAST=true,TILE=16",
          "an L2 window of 134479872 bytes; sm_90 takes 0 to 134217728");
    assert_int_equal(device.max_persisting_l2_bytes, 37 << 20);
}

TEST(checks_every_step)
{
    check("K=4,LAYOUT=row,M=0,N=64", "TILE=16", "grid 4x0 has 0 in y; sm_90 takes 1 to 65535");
    plan->steps++;
    plan->step_count--;
    check("K=4,LAYOUT=row,M=0,N=64", "TILE=16", "grid 0 has 0 in x; sm_90 takes 1 to 2147483647");
    plan->steps--;
    plan->step_count++;
}

TEST(notes_the_most_dynamic_shared_memory)
{
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    struct hn_resources resources = {.known = true, .shared_bytes = 100};
    assert_ok(make("K=4,LAYOUT=row,M=64,N=100", "PAD=1,TILE=16", &launch));
    hn_launch_note_shared(&launch, &resources);
    assert_int_equal(resources.dynamic_shared_bytes, 16 * 17 * 4);
    assert_int_equal(resources.shared_bytes + resources.dynamic_shared_bytes, 100 + 16 * 17 * 4);
    launch.steps[1].shared_bytes = 5000;
    hn_launch_note_shared(&launch, &resources);
    assert_int_equal(resources.dynamic_shared_bytes, 5000);
    launch.steps[0].shared_bytes = INT64_MAX;
    hn_launch_note_shared(&launch, &resources);
    assert_int_equal(resources.dynamic_shared_bytes, INT32_MAX);
    launch.steps[0].shared_bytes = -1;
    launch.steps[1].shared_bytes = -1;
    hn_launch_note_shared(&launch, &resources);
    assert_int_equal(resources.dynamic_shared_bytes, 0);
}

TEST(recalls_the_dynamic_shared_memory_of_older_records)
{
    struct hn_bindings problem;
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    parse_bindings("K=4,LAYOUT=row,M=64,N=100", &problem);
    parse_bindings("PAD=1,TILE=16", &record.point);
    hn_launch_recall_shared(plan, &problem, &record);
    assert_int_equal(record.resources.dynamic_shared_bytes, 0); /* nothing was compiled */
    record.resources.known = true;
    hn_launch_recall_shared(plan, &problem, &record);
    assert_int_equal(record.resources.dynamic_shared_bytes, 16 * 17 * 4);
    record.resources.dynamic_shared_bytes = 7;
    hn_launch_recall_shared(plan, &problem, &record);
    assert_int_equal(record.resources.dynamic_shared_bytes, 7); /* it says so itself */
    record.resources.dynamic_shared_bytes = 0;
    hn_bindings_finish(&problem);
    hn_launch_recall_shared(plan, &problem, &record);
    assert_int_equal(record.resources.dynamic_shared_bytes, 0); /* cannot be evaluated */
}
