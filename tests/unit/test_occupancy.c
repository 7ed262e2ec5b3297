/* SPDX-License-Identifier: MIT */
#include "runtime/device/device.h"

#include "tests/unit/unit.h"

/* An SM of sm_90 has 64 warps, 32 blocks, 64 Ki registers in portions of 256 a warp, 228 KiB shared
 * memory of which a block costs 1 KiB beside its own. */
static const struct {
    const char *architecture;
    int registers, static_bytes, threads, dynamic_bytes;
    double occupancy;
} cases[] = {
    {"sm_90", 32, 0, 256, 0, 1.0},
    {"sm_90", 33, 0, 256, 0, 6 * 8 / 64.0}, /* 33 registers take 40: 6 blocks */
    {"sm_90", 128, 0, 128, 0, 4 * 4 / 64.0},
    {"sm_90", 255, 0, 256, 0, 8 / 64.0},
    {"sm_90", 255, 0, 512, 0, 0},       /* 131072 registers in a block */
    {"sm_90", 32, 0, 32, 0, 32 / 64.0}, /* 32 blocks of one warp */
    {"sm_90", 32, 0, 33, 0, 1.0},       /* two warps, as 64 threads */
    {"sm_90", 32, 48 * 1024, 256, 0, 4 * 8 / 64.0},
    {"sm_90", 32, 0, 256, 100 * 1024, 2 * 8 / 64.0},
    {"sm_90", 32, 0, 256, 227 * 1024, 8 / 64.0},
    {"sm_90", 32, 0, 256, 227 * 1024 + 1, 0},
    {"sm_90", 32, 1024, 256, 227 * 1024, 0},
    {"sm_90", 32, 0, 1025, 0, 0},
    {"sm_90", 32, 0, 0, 0, 0},
    {"sm_80", 32, 0, 256, 100 * 1024, 8 / 64.0},
    {"sm_75", 32, 0, 256, 0, 1.0},
    {"sm_86", 40, 0, 256, 0, 1.0}, /* 48 warps of 40 registers fit just */
    {"sm_120", 32, 0, 1024, 0, 32 / 48.0},
};

TEST(agrees_with_the_rules_of_the_hardware)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_device device;
        assert_ok(hn_device_for_architecture(cases[i].architecture, &device, NULL));
        struct hn_resources resources = {
            .known = true,
            .registers = cases[i].registers,
            .shared_bytes = cases[i].static_bytes,
        };
        double found =
            hn_occupancy(&device, &resources, cases[i].threads, cases[i].dynamic_bytes, -1);
        if (found != cases[i].occupancy)
            print_error("case %zu: %g, expected %g\n", i, found, cases[i].occupancy);
        assert_true(found == cases[i].occupancy);
    }
}

TEST(goes_down_with_the_carve_out)
{
    static const struct {
        int carveout; /* percent of 228 KiB, rounded up to 8, 16, 32, 64, 100, 132, 164, 196, 228 */
        int blocks;   /* of 15 KiB and 1 KiB of the system's */
    } carved[] = {{-1, 8}, {100, 8}, {28, 4}, {25, 4}, {14, 2}, {0, 1}};
    struct hn_device device;
    struct hn_resources resources = {.known = true, .registers = 32, .shared_bytes = 15 * 1024};
    assert_ok(hn_device_for_architecture("sm_90", &device, NULL));
    for (size_t i = 0; i < sizeof carved / sizeof *carved; i++) {
        double found = hn_occupancy(&device, &resources, 256, 0, carved[i].carveout);
        if (found != carved[i].blocks * 8 / 64.0)
            print_error("%d%%: %g, expected %d blocks\n", carved[i].carveout, found,
                        carved[i].blocks);
        assert_true(found == carved[i].blocks * 8 / 64.0);
    }
}

static const struct {
    int registers, static_bytes, max_threads, threads, dynamic_bytes;
    const char *why;
} excesses[] = {
    {64, 0, 0, 1024, 0, NULL},
    {64, 0, 1024, 1024, 0, NULL},
    {65, 0, 0, 1024, 0,
     "1024 threads of 65 registers take 73728; sm_90 has 65536 for a block: 8192 too many"},
    {255, 0, 0, 257, 0,
     "257 threads of 255 registers take 73728; sm_90 has 65536 for a block: 8192 too many"},
    {32, 1024, 0, 256, 227 * 1024,
     "1024 bytes of static and 232448 of dynamic shared memory are 233472; sm_90 has 232448 for a "
     "block: 1024 too many"},
    {32, 0, 128, 129, 0,
     "a block of 129 threads; the kernel is compiled for 128 at most (__launch_bounds__): 1 too "
     "many"},
};

TEST(says_which_limit_is_exceeded)
{
    struct hn_device device;
    assert_ok(hn_device_for_architecture("sm_90", &device, NULL));
    for (size_t i = 0; i < sizeof excesses / sizeof *excesses; i++) {
        struct hn_resources resources = {
            .known = true,
            .registers = excesses[i].registers,
            .shared_bytes = excesses[i].static_bytes,
            .max_threads = excesses[i].max_threads,
        };
        char why[256] = "";
        bool found = hn_occupancy_exceeds(&device, &resources, excesses[i].threads,
                                          excesses[i].dynamic_bytes, why, sizeof why);
        assert_int_equal(found, excesses[i].why != NULL);
        assert_string_equal(why, found ? excesses[i].why : "");
    }
}

TEST(knows_every_architecture_of_the_table)
{
    static const char *const all[] = {"75", "80",  "86",  "87",  "88",  "89",
                                      "90", "100", "103", "110", "120", "121"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hn_device device;
        struct hn_resources resources = {.known = true, .registers = 32};
        assert_ok(hn_device_for_architecture(all[i], &device, NULL));
        assert_true(hn_occupancy(&device, &resources, 256, 0, -1) == 1.0);
    }
}
