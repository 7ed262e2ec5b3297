/* SPDX-License-Identifier: MIT */
#include "runtime/plan/argument.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture field;

static int load(void **state)
{
    return bench_fixture_use(&field, "double/field.yaml");
}

ALL_TESTS(load, NULL)

static int launches_of_a_sample(const char *point)
{
    return bench_fixture_record(&field, point, &both, HN_OUTCOME_OK, NULL)->timing.batch;
}

/* Short kernels are timed over several sets of the arguments: each has textures of its own. */
TEST(textures_read_rows)
{
    bench_fixture_start(&field, HN_COLD);
    assert_true(launches_of_a_sample("FAULT=0,PAD=0,PATH=global") > 1);
    assert_true(launches_of_a_sample("FAULT=0,PAD=28,PATH=texture_1d") > 1);
    assert_true(launches_of_a_sample("FAULT=0,PAD=0,PATH=texture_2d") > 1);
}

TEST(a_texture_that_the_device_refuses_is_named)
{
    struct hn_shape *shape = &field.config->plan->arguments[0].shape;
    shape->device = false; /* 400 bytes: no multiple of 32 */
    bench_fixture_start(&field, HN_COLD);
    bench_fixture_expect(&field, "FAULT=0,PAD=0,PATH=texture_2d", &both, HN_OUTCOME_LAUNCH_ERROR,
                         "texture 'plane' over 'in': CUDA_ERROR_INVALID_VALUE: invalid argument");
    bench_fixture_close(&field);
    shape->device = true;
}

TEST(pitches_are_values_of_expressions)
{
    const struct hn_plan *plan = field.config->plan;
    struct hn_bindings problem ENDED_BY(hn_bindings_finish), point ENDED_BY(hn_bindings_finish);
    struct hn_value *values FREED = NULL;
    int64_t pitch = 0;
    assert_int_equal(plan->pitch_count, 3);
    assert_string_equal(plan->pitches[2], "rows_pitch");
    hn_bindings_parse("HEIGHT=30,WIDTH=130", &problem, NULL);
    hn_bindings_parse("FAULT=0,PAD=28,PATH=global", &point, NULL);
    assert_ok(hn_plan_values(plan, &problem, &point, &values, NULL));
    static const int64_t expected[] = {1024, 8 * 133, 158};
    for (size_t i = 0; i < 3; i++) {
        assert_true(hn_expression_integer(plan->arguments[7 + i].value, values, &pitch, NULL));
        assert_int_equal(pitch, expected[i]);
    }
    assert_null(hn_plan_parameter_used(plan, plan->arguments[8].value));
    assert_string_equal(hn_plan_parameter_used(plan, plan->arguments[9].value), "PAD");
}

TEST(a_pitch_is_at_least_a_row)
{
    const struct hn_plan *plan = field.config->plan;
    struct hn_bindings problem ENDED_BY(hn_bindings_finish), point ENDED_BY(hn_bindings_finish);
    struct hn_value *values = NULL;
    hn_bindings_parse("HEIGHT=30,WIDTH=100", &problem, NULL);
    hn_bindings_parse("FAULT=0,PAD=-1,PATH=global", &point, NULL);
    assert_error(hn_plan_values(plan, &problem, &point, &values, &said), HN_EVALUE,
                 "argument 'rows' has a pitch of 99 bytes; expected a multiple "
                 "of 1, at least the 100 of a row");
}

TEST(what_a_texture_can_read)
{
    struct hn_argument buffer = {.element = HN_FLOAT32, .lanes = 1};
    struct hn_texture line = {.dimensions = 1, .address = {HN_TEXTURE_CLAMP, HN_TEXTURE_CLAMP}};
    struct hn_texture plane = line;
    plane.dimensions = 2;
    assert_null(hn_texture_check(&line, &buffer));
    assert_non_null(strstr(hn_texture_check(&plane, &buffer), "width and height"));
    buffer.shape.width = field.config->plan->arguments[0].shape.width;
    assert_null(hn_texture_check(&plane, &buffer));
    plane.address[1] = HN_TEXTURE_WRAP;
    assert_non_null(strstr(hn_texture_check(&plane, &buffer), "normalized: true"));
    plane.normalized = true;
    assert_null(hn_texture_check(&plane, &buffer));
    line.linear = true;
    assert_non_null(strstr(hn_texture_check(&line, &buffer), "no linear filter"));
    line.linear = false;
    line.as_float = true;
    assert_non_null(strstr(hn_texture_check(&line, &buffer), "8 and 16 bits"));
    buffer.element = HN_UINT8;
    assert_null(hn_texture_check(&line, &buffer));
    buffer.element = HN_INT32;
    plane.linear = true;
    assert_non_null(strstr(hn_texture_check(&plane, &buffer), "linear filter needs"));
    buffer.element = HN_FLOAT64;
    assert_non_null(strstr(hn_texture_check(&plane, &buffer), "8, 16 or 32 bits"));
    buffer = (struct hn_argument){.element = HN_FLOAT32, .lanes = 3};
    assert_non_null(hn_texture_check(&line, &buffer));
}
