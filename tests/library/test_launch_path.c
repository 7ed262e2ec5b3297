/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>

#include "shared_cache.h"

/* What launching does beside the driver's work: counted by functions of the C library that stand
 * before the real ones. Only on the driver double, which takes no mutex and allocates nothing. */

ALL_TESTS(set_up, tear_down)

enum { LAUNCHES = 100 };

/* Of the double: how often a tensor map was encoded. */
unsigned long double_maps_encoded(void);

static _Thread_local long allocations = -1; /* negative: not counted */
static _Thread_local long locks = -1;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    allocations += allocations >= 0;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations += allocations >= 0;
    return __libc_calloc(count, size);
}

void *__libc_memalign(size_t alignment, size_t size);

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations += allocations >= 0;
    return __libc_memalign(alignment, size);
}

void *realloc(void *old, size_t size)
{
    allocations += allocations >= 0;
    return __libc_realloc(old, size);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static _Atomic(void *) real;
    int (*function)(pthread_mutex_t *);
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    void *address = real;
    memcpy(&function, &address, sizeof function);
    locks += locks >= 0;
    return function(mutex);
}

static enum hone_status sum(struct hone_kernel *kernel, CUdeviceptr x, CUdeviceptr y)
{
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("sum", y)};
    return hone_launch(kernel, NULL, arguments, 2, NULL);
}

static void count_of(struct shared *shared, const char *name, const struct hone_value *problem,
                     size_t count, int64_t n, const struct hone_options *options,
                     enum hone_status (*run)(struct hone_kernel *, CUdeviceptr, CUdeviceptr))
{
    struct hone_kernel *kernel = NULL;
    assert_int_equal(hone_get(shared->cache, name, problem, count, options, &kernel, NULL),
                     HONE_OK);
    CUdeviceptr x = new_buffer(NULL, (size_t)n * 4), y = new_buffer(NULL, (size_t)n * 4);
    /* A graph is made in the second. */
    assert_int_equal(run(kernel, x, y), HONE_OK);
    assert_int_equal(run(kernel, x, y), HONE_OK);
    bool good = true;
    allocations = locks = 0;
    for (int i = 0; i < LAUNCHES; i++)
        good = run(kernel, x, y) == HONE_OK && good;
    long allocated = allocations, locked = locks;
    locks = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        struct hone_kernel *again = NULL;
        good = hone_get(shared->cache, name, problem, count, options, &again, NULL) == HONE_OK &&
               again == kernel && good;
    }
    long allocated_by_get = allocations - allocated, locked_by_get = locks;
    allocations = locks = -1;
    assert_true(good);
    assert_int_equal(allocated, 0);
    assert_int_equal(locked, 0);
    assert_int_equal(allocated_by_get, 0);
    assert_int_equal(locked_by_get, 0);
}

static void count_calls(struct shared *shared, const char *name, int64_t n,
                        const struct hone_options *options,
                        enum hone_status (*run)(struct hone_kernel *, CUdeviceptr, CUdeviceptr))
{
    const struct hone_value problem[] = {hone_integer("n", n)};
    count_of(shared, name, problem, 1, n, options, run);
}

/* They are found by the address of the buffer, once they were encoded. */
TEST(tensor_maps_are_encoded_once)
{
    const struct hone_value problem[] = {hone_integer("ROWS", 64), hone_integer("COLUMNS", 64)};
    unsigned long before = double_maps_encoded();
    count_of(*state, "tensor", problem, 2, 64 * 64, NULL, launch);
    assert_int_equal(double_maps_encoded() - before, 2);
}

TEST(launching_takes_no_lock_and_no_memory)
{
    count_calls(*state, "scale", N, NULL, launch);
}

TEST(composite_plans_take_none_either)
{
    const struct hone_options graph = {.graph = 1};
    count_calls(*state, "sum_two_pass", 4096, NULL, sum);
    count_calls(*state, "sum_last_block", 4096, NULL, sum);
    count_calls(*state, "sum_two_pass", 4096, &graph, sum);
    count_calls(*state, "sum_last_block", 4096, &graph, sum);
}

/* By the real `hone`, on the same cache. */
TEST(a_miss_tunes_and_remembers)
{
    struct shared *shared = *state;
    const struct hone_value problem[] = {hone_integer("n", 2000)};
    struct hone_options options = {.on_miss = HONE_MISS_TUNE, .tune_seconds = 60};
    options.tune_command = "/nowhere/hone";
    expect_no_kernel(shared->cache, "scale", problem, 1, &options, HONE_SYSTEM,
                     "cannot be started");
    options.tune_command = "/bin/false";
    expect_no_kernel(shared->cache, "scale", problem, 1, &options, HONE_TUNE_FAILED, "exit code 1");
    options.tune_command = NULL;
    options.tune_config = "/nowhere.yaml";
    expect_no_kernel(shared->cache, "scale", problem, 1, &options, HONE_TUNE_FAILED,
                     "/nowhere.yaml");
    options.tune_config = NULL;
    struct hone_kernel *kernel = get(shared->cache, "scale", problem, 1, &options);
    assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_EXACT);
    assert_string_equal(hone_kernel_info(kernel)->tuned_problem, "n=2000");

    struct hone_cache *again = open_cache();
    struct hone_options strict = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    kernel = get_kernel(again, "scale", "n", 2000, &strict);
    assert_int_equal(hone_kernel_info(kernel)->compiled, 0);
}
