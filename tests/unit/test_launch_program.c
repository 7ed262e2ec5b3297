/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch.h"

#include "tests/unit/bindings_fixture.h"
#include "tests/unit/config_fixture.h"

/* A program's launches are those that are made for each problem on its own. */

enum { POINTS = 300, SIZES = 300 };

static uint64_t random_state = 20261123;

static int64_t draw(int64_t low, int64_t high)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return low + (int64_t)((random_state * 2685821657736338717u) >> 33) % (high - low + 1);
}

/* Problems at both ends of a family and within. */
struct family {
    const struct hn_bindings *low, *high, *one;
};

/* K, words and reals are the same for all. */
static struct family draw_family(void)
{
    char low[160], high[160], one[160], rest[64];
    snprintf(rest, sizeof rest, "K=%d,LAYOUT=%s,SKEW=%s", (const int[]){16, 64, 130}[draw(0, 2)],
             draw(0, 1) == 0 ? "row" : "column", draw(0, 1) == 0 ? "0.5" : "1.5");
    snprintf(low, sizeof low, "M=1,N=1,OFFSET=-2000,%s", rest);
    snprintf(high, sizeof high, "M=3000000000,N=70000,OFFSET=200,%s", rest);
    snprintf(one, sizeof one, "M=1000,N=2000,OFFSET=0,%s", rest);
    return (struct family){parsed(low), parsed(high), parsed(one)};
}

static const struct hn_bindings *draw_point(void)
{
    char text[160];
    snprintf(text, sizeof text, "CLUSTER=%d,MODE=%s,SPLIT=%d,STAGES=%d,TILE=%d", (int)draw(1, 2),
             draw(0, 1) == 0 ? "plain" : "wide", 1 << draw(0, 3), (int)draw(1, 4), 8 << draw(0, 3));
    return parsed(text);
}

/* Even by its logarithm, every other one. */
static void draw_problem(const struct family *family, struct hn_bindings *problem)
{
    const struct hn_bindings *low = family->low, *high = family->high;
    assert_ok(hn_bindings_copy(problem, low, NULL));
    for (size_t i = 0; i < low->count; i++) {
        int64_t first = low->values[i].integer, last = high->values[i].integer;
        if (low->values[i].type != HN_INTEGER || first == last)
            continue;
        problem->values[i].integer =
            draw(0, 1) == 0 ? draw(first, last) : first + draw(0, (last - first) >> draw(0, 20));
    }
}

static void set_names(struct hn_program *program, const struct hn_plan *plan,
                      const struct hn_bindings *problem)
{
    for (size_t i = 0; i < plan->name_count; i++) {
        const struct hn_value *value = hn_bindings_get(problem, plan->names[i]);
        if (value != NULL && value->type == HN_INTEGER)
            hn_program_set(program, i, value->integer);
    }
}

static void expect_same(const struct hn_launch_program *made, const struct hn_plan *plan,
                        const struct hn_launch *launch, const struct hn_value *values)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        if ((hn_program_result(&made->program, made->steps) >> i & 1) == 0)
            continue;
        assert_true(count < launch->step_count && launch->steps[count].step == &plan->steps[i]);
        for (size_t axis = 0; axis < 3; axis++)
            assert_int_equal(hn_program_result(&made->program, made->grids[i][axis]),
                             launch->steps[count].grid[axis]);
        count++;
    }
    assert_int_equal(count, launch->step_count);
    for (size_t i = 0; i < launch->tensor_count; i++) {
        const struct hn_tensor *tensor = &launch->tensors[i];
        const struct hn_tensor_terms *terms = &made->tensors[tensor->argument];
        assert_int_equal(terms->rank, tensor->rank);
        for (size_t k = 0; k < terms->rank; k++)
            assert_int_equal(hn_program_result(&made->program, terms->dims[k]), tensor->dims[k]);
        for (size_t k = 0; k + 1 < terms->rank; k++)
            assert_int_equal(hn_program_result(&made->program, terms->strides[k]),
                             tensor->strides[k]);
    }
    for (size_t i = 0; i < plan->argument_count; i++) {
        uint64_t bytes = 0, align = 0;
        int64_t value = 0;
        const struct hn_argument *argument = &plan->arguments[i];
        const int64_t result =
            made->arguments[i] < 0 ? 0 : hn_program_result(&made->program, made->arguments[i]);
        if (made->arguments[i] >= 0 && argument->value != NULL) {
            assert_true(hn_expression_integer(argument->value, values, &value, NULL));
            assert_int_equal(result, value);
        } else if (made->arguments[i] >= 0) {
            hn_argument_buffer_bytes(argument, values, &bytes, &said);
            assert_ok(said.status);
            assert_int_equal(result * (int64_t)hn_argument_bytes(argument), bytes);
        }
        if (made->aligns[i] >= 0) {
            hn_argument_evaluate_align(argument, values, &align, &said);
            assert_ok(said.status);
            assert_int_equal(hn_program_result(&made->program, made->aligns[i]), align);
        }
    }
}

/* Returns how many launches are valid; -1: there is no program. */
static int try_sizes(const struct hn_plan *plan, const struct hn_bindings *point,
                     const struct family *family)
{
    int valid = 0;
    struct hn_device device;
    struct hn_launch launch;
    struct hn_launch_program made ENDED_BY(hn_launch_program_finish) = {0};
    assert_ok(hn_device_for_architecture("sm_90", &device, NULL));
    if (!hn_launch_try(plan, &device, family->one, point, &launch, NULL))
        return -1;
    bool can = hn_launch_program_make(&made, plan, &device, point, family->low, family->high);
    hn_launch_finish(&launch);
    for (int i = 0; can && i < SIZES; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish);
        struct hn_value *values FREED = NULL;
        draw_problem(family, &problem);
        set_names(&made.program, plan, &problem);
        bool own = hn_launch_try(plan, &device, &problem, point, &launch, &values);
        if (hn_program_run(&made.program, &made.part) != own)
            fail_msg("%s: %s", hn_bindings_text(&problem), own ? "is valid" : "is not valid");
        if (own) {
            expect_same(&made, plan, &launch, values);
            hn_launch_finish(&launch);
            valid++;
        }
    }
    return can ? valid : -1;
}

TEST(launches_are_those_that_are_made_one_by_one)
{
    struct hn_config *config = load(HONE_TEST_DATA "/select/select.yaml");
    int programs = 0, valid = 0;
    for (int i = 0; i < POINTS; i++) {
        struct family family = draw_family();
        int own = try_sizes(config->plan, draw_point(), &family);
        programs += own >= 0;
        valid += own > 0 ? own : 0;
    }
    print_message("%d programs, %d valid launches\n", programs, valid);
    assert_true(programs > 10 && valid > 500 && valid < programs * SIZES);
}

#define BGEMM "ALPHA=1.0,BETA=0.0,BIAS=none,OUT=half,SM_COUNT=132,TRANS_B=t,TYPE=half,"
#define BLAS "ALPHA=1.0,BETA=0.0,GAP_A=0,GAP_B=0,GAP_C=0,TRANS_A=n,TRANS_B=t,"

/* Families of shipped templates, at the default point. */
TEST(shipped_kernels_are_programs)
{
    static const char *const kernels[][4] = {
        {"sgemm", "M=1,N=1,K=1", "M=16384,N=16384,K=1048576", "M=100,N=100,K=100"},
        {"sgemm_blas", BLAS "M=1,N=1,K=1", BLAS "M=16384,N=16384,K=1048576",
         BLAS "M=100,N=100,K=100"},
        {"bgemm", BGEMM "M=1,N=1,K=1", BGEMM "M=16384,N=16384,K=32768", BGEMM "M=9,N=9,K=9"},
        {"bgemm", BGEMM "M=1,N=2048,K=1", BGEMM "M=16384,N=2048,K=32768",
         BGEMM "M=2000,N=2048,K=2000"},
        {"transpose", "ROWS=1,COLUMNS=1", "ROWS=1048576,COLUMNS=1048576", "ROWS=99,COLUMNS=99"},
        {"reduce", "SIZE=1,SM_COUNT=132", "SIZE=1073741824,SM_COUNT=132", "SIZE=9,SM_COUNT=132"},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/configs/%s.yaml", HONE_SOURCE_DIR, kernels[i][0]);
        struct hn_config *config = load(path);
        struct family family = {parsed(kernels[i][1]), parsed(kernels[i][2]),
                                parsed(kernels[i][3])};
        if (try_sizes(config->plan, hn_plan_default(config->plan, family.one), &family) < SIZES / 2)
            fail_msg("%s: no program, or hardly a launch is valid", kernels[i][0]);
    }
}
