/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <math.h>

#include "library_fixture.h"

enum { SUMMED = 4096, SUMMED_BUFFERS = 6 };

/* Of the driver double: launches that were no graph's; 0 on a GPU. */
static uint64_t plain_launches(void)
{
    const uint64_t *count = dlsym(RTLD_DEFAULT, "hone_double_launches");
    return count == NULL ? 0 : *count;
}

static void expect_sum(struct hone_kernel *kernel, CUstream stream, CUdeviceptr x,
                       CUdeviceptr result, int expected)
{
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("sum", result)};
    int found = -1;
    CHECK_CUDA(cuMemcpyHtoD(result, &found, sizeof found));
    launch_ok(kernel, stream, arguments, 2);
    fetch(&found, result, sizeof found);
    assert_int_equal(found, expected);
}

/* Two kernels through scratch, or one with a counter, which is zeroed before each launch or before
 * the first. */
TEST(composite_plans_have_scratch_of_their_own)
{
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = open_cache();
    static const char *const finishes[][2] = {
        {"two_pass", "two_pass"}, {"last_block", "last_block"}, {"once", "last_block"}};
    int host[SUMMED], sum = 0;
    for (int i = 0; i < SUMMED; i++)
        sum += host[i] = i % 7;
    CUdeviceptr x = new_buffer(host, sizeof host), result = new_buffer(host, sizeof(int));
    CUstream stream;
    CHECK_CUDA(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    for (size_t f = 0; f < 3; f++) {
        char name[32];
        snprintf(name, sizeof name, "sum_%s", finishes[f][0]);
        struct hone_kernel *kernel = get_kernel(cache, name, "n", SUMMED, NULL);
        assert_non_null(strstr(hone_kernel_info(kernel)->point, finishes[f][1]));
        expect_ok(hone_prepare(kernel, stream, &err), &err);
        for (int i = 0; i < 4; i++)
            expect_sum(kernel, i % 2 == 0 ? stream : NULL, x, result, sum);
    }
    CHECK_CUDA(cuStreamDestroy(stream));
}

/* A launch in a stream that the program captures is a part of the program's graph. */
static void expect_part_of_capture(struct hone_kernel *kernel, CUstream stream, CUdeviceptr x,
                                   CUdeviceptr result, int expected)
{
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("sum", result)};
    CUgraph graph;
    CUgraphExec exec;
    int found = -1;
    CHECK_CUDA(cuMemcpyHtoD(result, &found, sizeof found));
    CHECK_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_ok(kernel, stream, arguments, 2);
    CHECK_CUDA(cuStreamEndCapture(stream, &graph));
    CHECK_CUDA(cuMemcpyDtoH(&found, result, sizeof found));
    assert_int_equal(found, -1);
    CHECK_CUDA(cuGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cuGraphLaunch(exec, stream));
    fetch(&found, result, sizeof found);
    assert_int_equal(found, expected);
    CHECK_CUDA(cuGraphExecDestroy(exec));
    CHECK_CUDA(cuGraphDestroy(graph));
}

/* Graphs are made for arguments that come again, as many as are kept; others are launched. */
static void replay(struct hone_kernel *kernel, CUstream stream, const CUdeviceptr *x,
                   CUdeviceptr result)
{
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 3; i++)
            expect_sum(kernel, stream, x[i], result, SUMMED * (i + 1));
    uint64_t before = plain_launches();
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < 3; i++)
            expect_sum(kernel, stream, x[i], result, SUMMED * (i + 1));
    assert_int_equal(plain_launches(), before);
    expect_part_of_capture(kernel, stream, x[1], result, SUMMED * 2);
    expect_sum(kernel, stream, x[1], result, SUMMED * 2);
    assert_int_equal(plain_launches(), before);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < SUMMED_BUFFERS; i++)
            expect_sum(kernel, stream, x[i], result, SUMMED * (i + 1));
}

TEST(launches_are_replayed_as_graphs)
{
    struct hone_cache *cache = open_cache();
    const struct hone_options options = {.graph = 1};
    static const char *const names[] = {"sum_two_pass", "sum_last_block", "sum_once"};
    CUdeviceptr x[SUMMED_BUFFERS];
    CUdeviceptr result = new_buffer(NULL, sizeof(int));
    CUstream stream;
    int host[SUMMED];
    for (int b = 0; b < SUMMED_BUFFERS; b++) {
        for (int i = 0; i < SUMMED; i++)
            host[i] = b + 1;
        x[b] = new_buffer(host, sizeof host);
    }
    CHECK_CUDA(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    for (size_t i = 0; i < 2; i++) {
        struct hone_kernel *kernel = get_kernel(cache, names[i], "n", SUMMED, &options);
        assert_ptr_not_equal(kernel, get_kernel(cache, names[i], "n", SUMMED, NULL));
        assert_ptr_equal(kernel, get_kernel(cache, names[i], "n", SUMMED, &options));
        replay(kernel, stream, x, result);
        for (int turn = 0; turn < 3; turn++)
            expect_sum(kernel, NULL, x[turn % 2], result, SUMMED * (turn % 2 + 1));
    }
    /* One kernel and nothing to zero: a graph has nothing to gain. */
    struct hone_kernel *kernel = get_kernel(cache, names[2], "n", SUMMED, &options);
    for (int turn = 0; turn < 3; turn++)
        expect_sum(kernel, stream, x[0], result, SUMMED);
    CHECK_CUDA(cuStreamDestroy(stream));
}

TEST(scratch_can_be_the_callers)
{
    enum { COUNT = 4096 };
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = get_kernel(cache, "sum_last_block", "n", COUNT, NULL);
    int host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = 1;
    CUdeviceptr buffers[4];
    for (int i = 0; i < 4; i++)
        buffers[i] = new_buffer(host, sizeof host);
    const struct hone_argument arguments[] = {
        hone_buffer("x", buffers[0]), hone_buffer("partial", buffers[1]),
        hone_buffer("sum", buffers[2]), hone_buffer("done", buffers[3])};
    struct hone_argument_info info;
    assert_int_equal(hone_kernel_argument(kernel, 1, &info), HONE_OK);
    assert_int_equal(info.need, HONE_OWNED);
    launch_ok(kernel, NULL, arguments, 4);
    int found = 0;
    fetch(&found, buffers[2], sizeof found);
    assert_int_equal(found, COUNT);
    CHECK_CUDA(cuMemcpyDtoH(&found, buffers[1], sizeof found));
    assert_int_not_equal(found, 1);
}

TEST(symbols_are_set_before_a_launch)
{
    enum { COUNT = 5000 };
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = open_cache();
    struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    struct hone_kernel *kernel = get_kernel(cache, "look_up", "n", COUNT, &options);
    int x[COUNT], weights[16], offsets[4] = {1, 2, 3, 4}, y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    for (int i = 0; i < 16; i++)
        weights[i] = i * i;
    CUdeviceptr device_x = new_buffer(x, sizeof x), device_y = new_buffer(x, sizeof x);
    CUdeviceptr device_weights = new_buffer(weights, sizeof weights);
    const struct hone_argument arguments[] = {hone_buffer("x", device_x),
                                              hone_buffer("weights", device_weights),
                                              hone_buffer("y", device_y)};
    expect_no_launch(kernel, NULL, arguments, 3, "call hone_set_symbols");
    bool constant = strstr(hone_kernel_info(kernel)->point, "MEMORY=constant") != NULL;
    assert_int_equal(hone_kernel_symbol_count(kernel), constant ? 2 : 1);
    const char *name = NULL;
    uint64_t bytes = 0;
    assert_int_equal(hone_kernel_symbol(kernel, constant ? 1 : 0, &name, &bytes), HONE_OK);
    assert_string_equal(name, "offsets");
    assert_int_equal(bytes, sizeof offsets);
    const struct hone_argument symbols[] = {hone_buffer("weights", device_weights),
                                            hone_bytes("offsets", offsets, sizeof offsets)};
    expect_failure(hone_set_symbols(kernel, NULL, symbols, 1, &err), HONE_INVALID, &err, "offsets");
    expect_ok(hone_set_symbols(kernel, NULL, symbols, 2, &err), &err);
    for (int turn = 0; turn < 2; turn++) {
        launch_ok(kernel, NULL, arguments, 3);
        fetch(y, device_y, sizeof y);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(y[i], 3 * weights[x[i] & 15] + offsets[x[i] & 3]);
    }
}

TEST(every_role_is_served)
{
    enum { COUNT = 1000 };
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = get_kernel(cache, "accumulate", "n", COUNT, NULL);
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    memset(y, 0, sizeof y);
    CUdeviceptr device_x = new_buffer(x, sizeof x), device_y = new_buffer(y, sizeof y);
    const struct hone_argument arguments[] = {hone_buffer("x", device_x),
                                              hone_buffer("y", device_y)};
    for (int i = 0; i < 3; i++)
        launch_ok(kernel, NULL, arguments, 2);
    fetch(y, device_y, sizeof y);
    for (int i = 0; i < COUNT; i++)
        assert_true(fabsf(y[i] - 3 * x[i]) < 1e-3f);
    const struct hone_argument beside[] = {hone_buffer("x", device_x + 8),
                                           hone_buffer("y", device_y)};
    expect_no_launch(
        kernel, NULL, beside, 2,
        "8, expected a multiple of 16 bytes, as its 'align' or a tensor map over it wants");
}

/* The kernel adds the blocks of its cluster. */
static void expect_blocks_added(struct hone_cache *cache, const char *name, const char *point,
                                int blocks)
{
    enum { COUNT = 4096 };
    /* The plan's other problem value, sm_count, is the device's. */
    const struct hone_value problem[] = {hone_integer("n", COUNT)};
    struct hone_kernel *kernel = get(cache, name, problem, 1, NULL);
    assert_string_equal(hone_kernel_info(kernel)->point, point);
    int host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    CUdeviceptr x = new_buffer(host, sizeof host), y = new_buffer(host, sizeof host);
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y)};
    for (int i = 0; i < 2; i++)
        launch_ok(kernel, NULL, arguments, 2);
    fetch(host, y, sizeof host);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(host[i], i + blocks);
}

/* Clusters, cooperation, a carve-out and more than 48 KiB of shared memory. */
TEST(attributes_of_a_launch_are_set)
{
    struct hone_cache *cache = open_cache();
    expect_blocks_added(cache, "attributes", "CARVEOUT=100,CLUSTER=2,COOPERATIVE=true,SHARED=65536",
                        2);
}

/* More than these could not cooperate. */
TEST(grids_have_the_clusters_that_run_at_once)
{
    struct hone_cache *cache = open_cache();
    expect_blocks_added(cache, "clusters", "CLUSTER=4,COOPERATIVE=true,SHARED=1024,SPARED=1", 4);
}

/* The double adds 1 only where the window over x is as the config has it. */
TEST(windows_lie_over_the_callers_buffer)
{
    enum { COUNT = 4096 };
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = get_kernel(cache, "windows", "n", COUNT, NULL);
    int host[COUNT] = {0};
    CUdeviceptr x = new_buffer(host, sizeof host), y = new_buffer(host, sizeof host);
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y)};
    launch_ok(kernel, NULL, arguments, 2);
    fetch(host, y, sizeof host);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(host[i], 1);
}

/* A structure by value, vectors and 16-bit integers. */
TEST(structures_are_passed_by_value)
{
    enum { COUNT = 5000 };
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("n", COUNT), hone_integer("BINS", 40)};
    struct hone_kernel *kernel = get(cache, "inputs", problem, 2, NULL);
    int order[COUNT], found[COUNT];
    for (int i = 0; i < COUNT; i++)
        order[i] = COUNT - 1 - i;
    const int weights[8] = {1, 10, 100, 1000, 10000, 5, 50, 500};
    const float array[6] = {0, 1, 2, 3, 4, 5};
    const short bytes[4] = {7, 8, 9, 10};
    CUdeviceptr device_order = new_buffer(order, sizeof order);
    CUdeviceptr device_array = new_buffer(array, sizeof array);
    CUdeviceptr device_bytes = new_buffer(bytes, sizeof bytes);
    CUdeviceptr y = new_buffer(order, sizeof order);
    struct hone_argument arguments[] = {
        hone_buffer("order", device_order), hone_buffer("array", device_array),
        hone_buffer("bytes", device_bytes), hone_bytes("by_value", weights, sizeof weights),
        hone_buffer("y", y)};
    launch_ok(kernel, NULL, arguments, 5);
    fetch(found, y, sizeof found);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(found[i], weights[order[i] & 7] + (int)array[order[i] % 6] + bytes[i & 3] +
                                       order[i]);
    arguments[3] = hone_bytes("by_value", weights, sizeof weights - 1);
    expect_no_launch(kernel, NULL, arguments, 5, "has 31 bytes, expected 32");
}

/* The caller lays it out, with addresses and what the config gives its fields. */
TEST(structures_with_fields_are_the_callers)
{
    enum { COUNT = 5000 };
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("n", COUNT), hone_integer("which", 1)};
    struct hone_kernel *kernel = get(cache, "params", problem, 2, NULL);
    static float in[COUNT], found[COUNT];
    unsigned int turns = 0;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    CUdeviceptr x = new_buffer(in, sizeof in), y = new_buffer(found, sizeof found);
    struct {
        CUdeviceptr in;
        int n;
        bool negate;
        CUdeviceptr out;
        short which;
        float slope, offsets[2];
        double bias;
        CUdeviceptr turns;
    } params = {x, COUNT, true, y, 1, 0.5f, {3, 0.25f}, 2, new_buffer(&turns, sizeof turns)};
    struct hone_argument argument = hone_bytes("p", &params, sizeof params);
    launch_ok(kernel, NULL, &argument, 1);
    fetch(found, y, sizeof found);
    for (int i = 0; i < COUNT; i++)
        assert_float_equal(found[i], -(0.5f * (float)i + 2.25f), 0);
    argument = hone_bytes("p", &params, sizeof params - 8);
    expect_no_launch(kernel, NULL, &argument, 1, "has 48 bytes, expected 56");
}

enum { SIDE = 64 };

/* Each moved by a row and four columns, zero beyond. */
static void expect_moved(CUdeviceptr x, CUdeviceptr y)
{
    static float before[SIDE][SIDE], after[SIDE][SIDE];
    fetch(before, x, sizeof before);
    CHECK_CUDA(cuMemcpyDtoH(after, y, sizeof after));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            assert_true(after[i][j] ==
                        (i + 1 < SIDE && j + 4 < SIDE ? before[i + 1][j + 4] : 0.0f));
}

/* More buffers than a kernel keeps maps of; the caller's own map goes before one that is made. */
TEST(tensor_maps_are_made_of_buffers)
{
    enum { BUFFERS = 100 };
    static float host[SIDE * SIDE];
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("ROWS", SIDE), hone_integer("COLUMNS", SIDE)};
    CUdeviceptr buffers[BUFFERS];
    struct hone_kernel *kernel = get(cache, "tensor", problem, 2, NULL);
    for (int i = 0; i < BUFFERS; i++) {
        for (int k = 0; k < SIDE * SIDE; k++)
            host[k] = (float)(i + k);
        buffers[i] = new_buffer(host, sizeof host);
    }
    for (int turn = 0; turn < 2 * BUFFERS; turn++) {
        int i = turn % BUFFERS;
        CUdeviceptr x = buffers[i], y = buffers[(i + 1) % BUFFERS];
        const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y)};
        launch_ok(kernel, NULL, arguments, 2);
        expect_moved(x, y);
    }
    CUtensorMap map;
    const cuuint64_t sizes[2] = {SIDE, SIDE}, stride[1] = {4 * SIDE};
    const cuuint32_t box[2] = {32, 8}, ones[2] = {1, 1};
    CHECK_CUDA(cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(uintptr_t)buffers[2], sizes, stride, box,
        ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    struct hone_argument own[] = {hone_buffer("x", buffers[0]), hone_buffer("y", buffers[1]),
                                  hone_bytes("x_map", &map, sizeof map)};
    launch_ok(kernel, NULL, own, 3);
    expect_moved(buffers[2], buffers[1]);
    expect_no_launch(kernel, NULL, own + 1, 2, "takes 'x'");
    own[0] = hone_buffer("x", buffers[0] + 8);
    expect_no_launch(kernel, NULL, own, 2,
                     "expected a multiple of 16 bytes, as its 'align' or a tensor map");
    struct hone_argument_info info;
    assert_int_equal(hone_kernel_argument(kernel, 4, &info), HONE_OK);
    assert_string_equal(info.role, "tensor_map");
    assert_int_equal(info.need, HONE_OWNED);
    assert_int_equal(info.bytes, 128);
}

TEST(pipelines_are_not_supported)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("SIZE", 10000), hone_integer("RADIUS", 3)};
    expect_no_kernel(cache, "smooth", problem, 2, NULL, HONE_UNSUPPORTED,
                     "pipeline between host and device");
}

TEST(captures_what_launches_of_plans_are_given)
{
    if (getenv("HONE_TEST_CAPTURE") == NULL)
        skip();
    composite_plans_have_scratch_of_their_own(NULL);
    every_role_is_served(NULL);
    tensor_maps_are_made_of_buffers(NULL);
    symbols_are_set_before_a_launch(NULL);
}
