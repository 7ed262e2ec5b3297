/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture attributes;

static int load(void **state)
{
    return bench_fixture_use(&attributes, "double/attributes.yaml");
}

ALL_TESTS(load, NULL)

static void open_bench(const char *problem)
{
    bench_fixture_set_problem(&attributes, problem);
    bench_fixture_start(&attributes, HN_COLD);
}

static void expect(const char *point, enum hn_outcome outcome, const char *message)
{
    bench_fixture_expect(&attributes, point, &verify_only, outcome, message);
}

TEST(launches_beyond_the_limits_are_invalid)
{
    open_bench("n=4096,sm_count=16");
    expect("CARVEOUT=-1,CLUSTER=3,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH,
           "a grid of 16 blocks in x is no multiple of its clusters' 3");
    expect("CARVEOUT=-1,CLUSTER=17,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH,
           "cluster 17 has 17 in x; Hone Double takes 1 to 16");
    expect("CARVEOUT=101,CLUSTER=1,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH,
           "a carve-out of 101 percent; expected 0 to 100, or -1 for none");
    attributes.device.cluster_launch = false;
    attributes.device.identity.capability = 80;
    expect("CARVEOUT=-1,CLUSTER=2,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH,
           "a launch in clusters; Hone Double has none (compute capability 8.0, from 9.0 on)");
    attributes.device.identity.capability = 90;
}

TEST(too_many_blocks_can_not_cooperate)
{
    open_bench("n=4096,sm_count=512");
    expect("CARVEOUT=-1,CLUSTER=1,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_OK, NULL);
    expect("CARVEOUT=-1,CLUSTER=2,COOPERATIVE=true,SHARED=1024", HN_OUTCOME_LAUNCH_ERROR,
           "attributes <<<(512, 1, 1), (128, 1, 1), 1024 B, cluster (2, 1, 1), cooperative>>>: "
           "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch");
}

static double time_us(const char *point)
{
    return bench_fixture_record(&attributes, point, &measured, HN_OUTCOME_OK, NULL)
        ->timing.median_us;
}

/* On the double such a step takes less time. */
TEST(a_step_may_begin_before_the_last_has_ended)
{
    bench_fixture_unload(&attributes);
    bench_fixture_load(&attributes, "double/attributes_twice.yaml", 90);
    open_bench("n=4096");
    assert_true(time_us("EARLY=second,SHARED=1024") < 0.9 * time_us("EARLY=none,SHARED=1024"));
    attributes.device.identity.capability = 89;
    expect("EARLY=second,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH,
           "a programmatic launch; Hone Double has none (compute capability 8.9, from 9.0 on)");
    attributes.device.identity.capability = 90;
}

static int active_clusters(const char *point)
{
    bench_fixture_set_reference(&attributes, point);
    return bench_fixture_record(&attributes, point, &verify_only, HN_OUTCOME_OK, NULL)
        ->active_clusters;
}

/* The double has room for 16 blocks, 8 pairs, 2 clusters of four. */
TEST(grids_follow_from_clusters_that_run_at_once)
{
    bench_fixture_unload(&attributes);
    bench_fixture_load(&attributes, "double/clusters.yaml", 90);
    open_bench("n=4096");
    assert_int_equal(active_clusters("CLUSTER=1,COOPERATIVE=false,SHARED=1024,SPARED=1"), 16);
    assert_int_equal(active_clusters("CLUSTER=2,COOPERATIVE=true,SHARED=1024,SPARED=1"), 8);
    assert_int_equal(active_clusters("CLUSTER=4,COOPERATIVE=true,SHARED=1024,SPARED=0"), 2);
    expect("CLUSTER=4,COOPERATIVE=false,SHARED=1024,SPARED=100", HN_OUTCOME_INVALID_LAUNCH,
           "grid -392 has -392 in x; Hone Double takes 1 to 2147483647");
    expect("CLUSTER=4,COOPERATIVE=true,SHARED=1024,SPARED=-100", HN_OUTCOME_LAUNCH_ERROR,
           "attributes <<<(408, 1, 1), (128, 1, 1), 1024 B, cluster (4, 1, 1), cooperative>>>: "
           "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch");
}
