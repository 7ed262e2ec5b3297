/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"
#include "runtime/plan/launch.h"
#include "tests/unit/unit.h"

static struct bench_fixture matrix;

static int load(void **state)
{
    return bench_fixture_use(&matrix, "double/tensor.yaml");
}

ALL_TESTS(load, NULL)

static int launches_of_a_sample(const char *point)
{
    return bench_fixture_record(&matrix, point, &both, HN_OUTCOME_OK, NULL)->timing.batch;
}

/* Short kernels are timed over several sets of the arguments: each has maps of its own. */
TEST(kernels_are_given_maps)
{
    bench_fixture_start(&matrix, HN_COLD);
    assert_true(launches_of_a_sample("BOX=32,FAULT=0,PROMOTION=0,SWIZZLE=128") > 1);
    assert_true(launches_of_a_sample("BOX=16,FAULT=0,PROMOTION=256,SWIZZLE=64") > 1);
}

/* A matrix of 100 x 60 floats that breaks no rule, in which each test breaks one. */
static struct hn_tensor make(void)
{
    return (struct hn_tensor){.name = "m",
                              .over = "x",
                              .element = HN_FLOAT32,
                              .bytes = 24000,
                              .align = 256,
                              .rank = 2,
                              .dims = {100, 60},
                              .strides = {400},
                              .box = {32, 8},
                              .element_strides = {1, 1},
                              .settings = {128, 256, 0, HN_TENSOR_NAN}};
}

static void expect_rule(const struct hn_tensor *tensor, const char *part)
{
    char why[HN_TENSOR_WHY];
    bool fits = hn_tensor_check(tensor, why);
    if (fits != (part[0] == '\0') || strstr(why, part) == NULL)
        fail_msg("found '%s', expected '%s'", why, part);
}

#define BREAK(member, value, part)                                                                 \
    do {                                                                                           \
        struct hn_tensor tensor = make();                                                          \
        tensor.member = (value);                                                                   \
        expect_rule(&tensor, part);                                                                \
    } while (0)

TEST(rules_are_told)
{
    BREAK(align, 16, "");
    BREAK(align, 8, "the buffer begins at multiples of 8 bytes; expected 16");
    BREAK(dims[1], 0, "dims[1] is 0; expected 1 to 4294967296");
    BREAK(dims[1], 61, "reach beyond the 24000 bytes of the buffer");
    BREAK(dims[1], INT64_C(1) << 32, "reach beyond");
    BREAK(dims[1], (INT64_C(1) << 32) + 1, "dims[1] is 4294967297");
    BREAK(dims[0], 101, "reach beyond");
    BREAK(strides[0], 392, "strides[0] is 392 bytes; expected a multiple of 16, less than 2**40");
    BREAK(strides[0], INT64_C(1) << 40, "strides[0] is 1099511627776 bytes");
    BREAK(strides[0], -400, "strides[0] is -400 bytes");
    BREAK(box[1], 256, "");
    BREAK(box[1], 257, "box[1] is 257; expected 1 to 256");
    BREAK(box[0], 30, "box[0] is 30 elements of float32, 120 bytes; expected a multiple of 16");
    BREAK(box[0], 36, "144 bytes; expected at most the 128 bytes of swizzle");
    BREAK(element_strides[1], 8, "");
    BREAK(element_strides[1], 9, "element_strides[1] is 9; expected 1 to 8");
    BREAK(settings[HN_TENSOR_SWIZZLE], 96, "swizzle is 96; expected 0, 32, 64 or 128");
    BREAK(settings[HN_TENSOR_PROMOTION], 32, "l2_promotion is 32; expected 0, 64, 128 or 256");
    BREAK(settings[HN_TENSOR_INTERLEAVE], 16, "interleave is 16, and rank 2");
    BREAK(element, HN_INT32, "oob_fill is nan; int32 has none");
}

TEST(interleaved_channels_have_rules_of_their_own)
{
    struct hn_tensor tensor = make();
    tensor.rank = 3;
    tensor.dims[0] = 8;
    tensor.dims[1] = 10;
    tensor.dims[2] = 60;
    tensor.strides[0] = 32;
    tensor.strides[1] = 400;
    tensor.box[2] = tensor.element_strides[2] = 1;
    tensor.settings[HN_TENSOR_INTERLEAVE] = 32;
    expect_rule(&tensor, "interleave is 32, and swizzle 128; expected 32");
    tensor.settings[HN_TENSOR_SWIZZLE] = 32;
    expect_rule(&tensor, "strides[1] is 400 bytes; expected a multiple of 32");
    tensor.strides[1] = 384;
    expect_rule(&tensor, "");
}

/* Values that are no whole numbers, or no fill, are errors; devices without the accelerator have no
 * such launches. */
TEST(points_are_checked_against_the_device)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    struct hn_device device = matrix.device;
    const struct hn_config *config = matrix.config;
    assert_ok(
        hn_launch_make(config->plan, &config->problems[0], &config->plan->defaults, &launch, NULL));
    assert_int_equal(launch.tensor_count, 2);
    assert_true(hn_launch_takes(&launch, 0)); /* the buffer, by its map */
    assert_true(hn_launch_takes(&launch, 4));
    assert_false(hn_launch_takes(&launch, 2));
    assert_int_equal(launch.tensors[0].bytes, 24000);
    assert_int_equal(launch.tensors[1].element_strides[1], 1);
    device.identity.capability = 89;
    assert_false(hn_launch_check(&launch, &device, &record));
    assert_non_null(strstr(record.message, "tensor map 'x_map'; "));
    assert_non_null(strstr(record.message, "has none (compute capability 8.9, from 9.0 on)"));
}

/* The canonical JSON says all that the YAML does. */
TEST(plans_keep_their_maps)
{
    const struct hn_plan *plan = matrix.config->plan;
    struct hn_plan *again = NULL;
    json_t *json = keep(hn_plan_to_json(plan), json_decref);
    const json_t *map = json_array_get(json_object_get(json, "arguments"), 4);
    assert_string_equal(json_string_value(json_object_get(map, "role")), "tensor_map");
    assert_string_equal(json_string_value(json_object_get(map, "from")), "x");
    const json_t *fields = json_object_get(map, "tensor_map");
    assert_string_equal(json_string_value(json_array_get(json_object_get(fields, "dims"), 0)),
                        "COLUMNS");
    assert_string_equal(json_string_value(json_object_get(fields, "oob_fill")), "zeros");
    assert_ok(hn_plan_from_json(json, &again, &said));
    struct hn_hash before = hn_plan_hash(plan), after = hn_plan_hash(again);
    assert_string_equal(before.hex, after.hex);
    hn_plan_destroy(again);
    again = NULL;
    json_array_clear(json_object_get(
        json_object_get(json_array_get(json_object_get(json, "arguments"), 4), "tensor_map"),
        "box"));
    assert_mentions(hn_plan_from_json(json, &again, &said), HN_EFORMAT,
                    "'box' has to be a list with an extent for each");
}
