/* SPDX-License-Identifier: MIT */
#include "library_fixture.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { N = 24576 };

static CUcontext context;
static CUdevice device;

static int set_up(void **state)
{
    (void)setlocale(LC_ALL, ""); /* as applications do */
    CHECK_CUDA(cuInit(0));
    CHECK_CUDA(cuDeviceGet(&device, 0));
    CHECK_CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CHECK_CUDA(cuCtxSetCurrent(context));
    return 0;
}

static int tear_down(void **state)
{
    CHECK_CUDA(cuDevicePrimaryCtxRelease(device));
    return 0;
}

ALL_TESTS(set_up, tear_down)

/* Buffers of a kernel y = a * x. */
struct scale {
    CUdeviceptr x, y;
};

static struct scale new_scale(int n)
{
    float *host FREED = calloc((size_t)n, sizeof *host);
    for (int i = 0; i < n; i++)
        host[i] = (float)(i % 1000);
    return (struct scale){new_buffer(host, (size_t)n * sizeof *host),
                          new_buffer(host, (size_t)n * sizeof *host)};
}

static void check_scale(const struct scale *scale, int n, float a)
{
    float *host FREED = calloc((size_t)n, sizeof *host);
    fetch(host, scale->y, (size_t)n * sizeof *host);
    for (int i = 0; i < n; i++)
        if (fabsf(host[i] - a * (float)(i % 1000)) > 1e-3f)
            fail_msg("element %d is %g, expected %g", i, (double)host[i],
                     (double)(a * (float)(i % 1000)));
}

static void launch_scale(struct hone_kernel *kernel, const struct scale *scale, float a)
{
    const struct hone_argument arguments[] = {hone_buffer("x", scale->x),
                                              hone_buffer("y", scale->y), hone_float32("a", a)};
    launch_ok(kernel, NULL, arguments, 3);
}

static void use_scale(struct hone_kernel *kernel, int n, float a)
{
    struct scale scale = new_scale(n);
    launch_scale(kernel, &scale, a);
    check_scale(&scale, n, a);
}

TEST(an_exact_record_is_launched_from_its_image)
{
    struct hone_cache *cache = open_cache();
    struct hone_options options = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", N, &options);
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_int_equal(info->grade, HONE_GRADE_EXACT);
    assert_int_equal(info->compiled, 0);
    assert_int_equal(info->stale, 0);
    assert_string_equal(info->kernel, "scale");
    assert_string_equal(info->problem, "n=24576");
    assert_string_equal(info->tuned_problem, "n=24576");
    assert_string_equal(info->verification, "verified");
    assert_string_equal(info->regime, "cold");
    assert_string_equal(info->objective, "time");
    assert_non_null(strstr(info->point, "BLOCK="));
    assert_non_null(strstr(info->record, "\"outcome\":\"ok\""));
    assert_true(info->median_us > 0 && info->low_us <= info->median_us &&
                info->median_us <= info->high_us);
    assert_true(info->recorded > 1.7e9);

    use_scale(kernel, N, 2.5f);
    use_scale(kernel, N, -3);
}

TEST(arguments_tell_what_they_are)
{
    static const struct {
        const char *name, *type, *role;
        enum hone_argument_kind kind;
        enum hone_need need;
        uint64_t bytes;
    } expected[] = {
        {"x", "float32", "input", HONE_BUFFER, HONE_REQUIRED, 4 * N},
        {"y", "float32", "output", HONE_BUFFER, HONE_REQUIRED, 4 * N},
        {"a", "float32", "value", HONE_FLOAT32, HONE_OPTIONAL, 4},
        {"n", "int32", "value", HONE_INT32, HONE_FIXED, 4},
    };
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", N, NULL);
    assert_int_equal(hone_kernel_argument_count(kernel), 4);
    for (size_t i = 0; i < 4; i++) {
        struct hone_argument_info info;
        assert_int_equal(hone_kernel_argument(kernel, i, &info), HONE_OK);
        assert_string_equal(info.name, expected[i].name);
        assert_string_equal(info.type, expected[i].type);
        assert_string_equal(info.role, expected[i].role);
        assert_int_equal(info.kind, expected[i].kind);
        assert_int_equal(info.need, expected[i].need);
        assert_int_equal(info.bytes, expected[i].bytes);
    }
    struct hone_argument_info info;
    assert_int_equal(hone_kernel_argument(kernel, 4, &info), HONE_INVALID);
    assert_int_equal(hone_kernel_symbol_count(kernel), 0);
}

/* Each is wrong in its own way, and none launches anything. */
TEST(wrong_arguments_are_refused)
{
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", N, NULL);
    struct scale scale = new_scale(N);
    const struct hone_argument x = hone_buffer("x", scale.x), y = hone_buffer("y", scale.y);
    struct {
        struct hone_argument arguments[5];
        size_t count;
        const char *message;
    } wrong[] = {
        {{x}, 1, "argument 'y' of scale is missing"},
        {{y, x}, 2, "found argument 'y' where scale takes 'x': arguments stand"},
        {{x, hone_buffer("z", scale.y)}, 2, "takes 'y', and nothing of that name"},
        {{x, hone_uint64("y", scale.y)}, 2, "given by hone_uint64, expected hone_buffer"},
        {{x, y, hone_float64("a", 2)}, 3, "given by hone_float64, expected hone_float32"},
        {{x, y, hone_int32("n", N - 1)}, 3, "not what it is for the problem n=24576"},
        {{x, y, hone_int32("n", N), y}, 4, "argument 'y': it is given twice"},
        {{x, y, hone_int32("m", N)}, 3, "argument 'm': the kernel has none"},
        {{x, hone_buffer(NULL, scale.y)}, 2, "found argument '(NULL)'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_no_launch(kernel, NULL, wrong[i].arguments, wrong[i].count, wrong[i].message);
        assert_int_equal(hone_launch(kernel, NULL, wrong[i].arguments, wrong[i].count, NULL),
                         HONE_INVALID);
    }
    check_scale(&scale, N, 1);
    const struct hone_argument right[] = {x, y, hone_float32("a", 4), hone_int32("n", N)};
    assert_int_equal(hone_launch(kernel, NULL, right, 4, NULL), HONE_OK);
    check_scale(&scale, N, 4);
}

TEST(wrong_use_returns_a_status)
{
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = NULL;
    struct hone_kernel *kernel = NULL;
    const struct hone_value n = hone_integer("n", N);
    const struct hone_value other = hone_integer("m", N);
    const struct hone_value no_word = hone_word("n", "two words");
    const struct hone_value no_number = hone_real("n", NAN);
    const struct hone_value twice[] = {n, hone_integer("n", 1000)};
    struct hone_options options = {.on_miss = (enum hone_miss)77};
    const struct hone_options newer = {.reserved = {1}};
    expect_failure(hone_open("/nowhere/hone.db", &cache, &err), HONE_NOT_FOUND, &err, "/nowhere");
    assert_null(cache);
    expect_failure(hone_open(__FILE__ "", NULL, &err), HONE_INVALID, &err, "NULL");
    cache = open_cache();
    expect_no_kernel(NULL, "scale", &n, 1, NULL, HONE_INVALID, "cache");
    expect_no_kernel(cache, NULL, &n, 1, NULL, HONE_INVALID, "kernel");
    expect_failure(hone_get(cache, "scale", &n, 1, NULL, NULL, &err), HONE_INVALID, &err, "handle");
    expect_no_kernel(cache, "scale", NULL, 1, NULL, HONE_INVALID, "problem");
    expect_no_kernel(cache, "scale", &no_word, 1, NULL, HONE_INVALID, "problem value 0");
    expect_no_kernel(cache, "scale", &no_number, 1, NULL, HONE_INVALID, "problem value 0");
    expect_no_kernel(cache, "scale", twice, 2, NULL, HONE_INVALID, "'n' is there twice");
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_INVALID, "on_miss");
    expect_no_kernel(cache, "scale", &n, 1, &newer, HONE_INVALID, "reserved");
    expect_no_kernel(cache, "scale", &other, 1, NULL, HONE_INVALID, "is unknown");
    expect_no_kernel(cache, "scales", &n, 1, NULL, HONE_NOT_FOUND,
                     "nothing tuned of kernel 'scales'");
    assert_null(kernel);
    expect_no_launch(NULL, NULL, NULL, 0, "kernel");
    expect_failure(hone_prepare(NULL, NULL, &err), HONE_INVALID, &err, "kernel");
    expect_failure(hone_set_symbols(NULL, NULL, NULL, 0, &err), HONE_INVALID, &err, "kernel");
    assert_null(hone_kernel_info(NULL));
    assert_string_equal(hone_status_name((enum hone_status)1000), "unknown status");
    hone_close(NULL);
}

TEST(files_that_are_no_caches_are_refused)
{
    char path[] = "/tmp/hone-library-XXXXXX";
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = NULL;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("this is no database, but long enough to look like one ...............................\n"
          "and a second line that makes it longer than the header of a database has to be\n",
          file);
    fclose(file);
    expect_failure(hone_open(path, &cache, &err), HONE_BAD_FILE, &err, path);
    assert_null(cache);
    remove(path);
}

/* What a file or a path says, a program may show on a terminal. */
TEST(messages_have_no_control_bytes)
{
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = NULL;
    expect_failure(hone_open("/tmp/a\033[2Jb\x7f\xc2\x9bz", &cache, &err), HONE_NOT_FOUND, &err,
                   "cache '/tmp/a?[2Jb???z': ");
}

TEST(without_a_context_nothing_is_made)
{
    struct hone_error err = {.message = ""};
    struct hone_cache *cache = open_cache();
    struct hone_kernel *kernel = NULL;
    const struct hone_value n = hone_integer("n", N);
    CHECK_CUDA(cuCtxSetCurrent(NULL));
    expect_failure(hone_get(cache, "scale", &n, 1, NULL, &kernel, &err), HONE_CUDA, &err,
                   "no CUDA context is current");
    assert_int_equal(err.cuda, CUDA_ERROR_INVALID_CONTEXT);
    CHECK_CUDA(cuCtxSetCurrent(context));
    get(cache, "scale", &n, 1, NULL);
}

TEST(the_same_question_gives_the_same_handle)
{
    struct hone_cache *cache = open_cache();
    struct hone_options separate = {.separate = 1};
    struct hone_options strict = {.on_miss = HONE_MISS_FAIL};
    struct hone_kernel *first = get_kernel(cache, "scale", "n", N, NULL);
    assert_ptr_equal(get_kernel(cache, "scale", "n", N, NULL), first);
    assert_ptr_not_equal(get_kernel(cache, "scale", "n", 1000, NULL), first);
    assert_ptr_not_equal(get_kernel(cache, "scale", "n", N, &separate), first);
    assert_ptr_not_equal(get_kernel(cache, "scale", "n", N, &separate),
                         get_kernel(cache, "scale", "n", N, &separate));
    assert_ptr_not_equal(get_kernel(cache, "scale", "n", N, &strict), first);
    assert_ptr_equal(get_kernel(cache, "scale", "n", N, NULL), first);
}

/* 5000 was not tuned: the code of 24576 does, which n is not compiled into. */
TEST(a_miss_takes_the_nearest_record)
{
    struct hone_cache *cache = open_cache();
    struct hone_options options = {.on_miss = HONE_MISS_NEAREST, .forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", 5000, &options);
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_int_equal(info->grade, HONE_GRADE_PROBLEM);
    assert_string_equal(info->problem, "n=5000");
    assert_string_equal(info->tuned_problem, "n=24576");
    use_scale(kernel, 5000, 7);
}

TEST(a_wrong_name_of_a_problem_value_is_named)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value values[] = {hone_integer("n", 5000), hone_integer("m", 3)};
    const struct hone_options stream = {.regime = "graph10"};
    expect_no_kernel(cache, "scale", values, 2, NULL, HONE_INVALID,
                     "problem value 'm' of scale is unknown: it is tuned for n=24576");
    expect_no_kernel(cache, "scale", &values[1], 1, NULL, HONE_INVALID,
                     "problem value 'm' of scale is unknown");
    expect_no_kernel(cache, "scale", NULL, 0, NULL, HONE_INVALID,
                     "problem value 'n' of scale is missing: it is tuned for n=24576");
    expect_no_kernel(cache, "scale", values, 1, &stream, HONE_INVALID,
                     "and this regime and objective");
}

TEST(a_miss_fails_or_takes_the_default_as_asked)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value n = hone_integer("n", 5000);
    struct hone_options options = {.on_miss = HONE_MISS_FAIL};
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_NOT_FOUND,
                     "nothing is tuned of scale for n=5000");
    options = (struct hone_options){.on_miss = HONE_MISS_DEFAULT, .forbid_compile = 1};
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_NEEDS_COMPILER, "forbid_compile");
    options.forbid_compile = 0;
    struct hone_kernel *kernel = get(cache, "scale", &n, 1, &options);
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_int_equal(info->grade, HONE_GRADE_DEFAULT);
    assert_int_equal(info->compiled, 1);
    assert_string_equal(info->point, "BLOCK=128,FAULT=0,ITEMS=1");
    assert_string_equal(info->record, "{}");
    const struct hone_value other = hone_integer("n", 6000);
    struct hone_kernel *another = get(cache, "scale", &other, 1, &options);
    assert_int_equal(hone_kernel_info(another)->compiled, 0); /* n is not in the program */
    use_scale(kernel, 5000, 0.5f);
}

TEST(a_missing_compiler_is_a_status)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value n = hone_integer("n", 5000);
    struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    setenv("HONE_NVRTC", "/nowhere/libnvrtc.so", 1);
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_COMPILE_FAILED, "/nowhere/libnvrtc.so");
    unsetenv("HONE_NVRTC");
    get(cache, "scale", &n, 1, &options);
}

TEST(a_missing_command_is_a_status)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value n = hone_integer("n", 5001);
    struct hone_options options = {.on_miss = HONE_MISS_DEFAULT, .tune_command = "/nowhere/hone"};
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_NEEDS_COMPILER, "/nowhere/hone");
    options.tune_command = "/bin/false";
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_COMPILE_FAILED, "exit status 1");
}

/* What ends a compiler ends no application. */
TEST(a_compiler_bomb_is_a_status)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("n", N), hone_integer("DEEP", 1)};
    struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    expect_no_kernel(cache, "bomb", problem, 2, &options, HONE_COMPILE_FAILED, "");
}

/* 3.0 / 2 is not 3 / 2; where the value is no constant, an argument has its own type. */
TEST(a_constant_is_of_the_kind_that_was_tuned)
{
    struct hone_cache *cache = open_cache();
    const struct hone_value problem[] = {hone_integer("n", N), hone_real("DEEP", 0)};
    const struct hone_value size = hone_real("n", N);
    const struct hone_options first = {.on_miss = HONE_MISS_DEFAULT};
    expect_no_kernel(
        cache, "bomb", problem, 2, NULL, HONE_INVALID,
        "'DEEP' of bomb is a constant of its program, as an integer: found a decimal number");
    expect_no_kernel(cache, "bomb", problem, 2, &first, HONE_INVALID, "as an integer");
    assert_non_null(get(cache, "scale", &size, 1, NULL));
}

TEST(a_problem_may_have_a_default_of_its_own)
{
    struct hone_cache *cache = open_cache();
    struct hone_value problem[] = {hone_integer("n", 777), hone_integer("DEEP", 0)};
    struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    struct hone_kernel *kernel = get(cache, "bomb", problem, 2, &options);
    assert_string_equal(hone_kernel_info(kernel)->point, "BLOCK=64,FAULT=0,ITEMS=1");
    problem[0].as.integer = 778;
    kernel = get(cache, "bomb", problem, 2, &options);
    assert_string_equal(hone_kernel_info(kernel)->point, "BLOCK=128,FAULT=0,ITEMS=1");
}

/* Each of the sizes that were tuned has another point, and there is no rule. */
TEST(the_nearest_results_are_raced)
{
    enum { SIZE = 5000, MOST = 60 };
    struct hone_cache *cache = open_cache();
    const struct hone_options options = {.on_miss = HONE_MISS_RACE, .forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(cache, "raced", "n", SIZE, &options);
    struct scale scale = new_scale(SIZE);
    struct hone_race race;
    int launches = 0;
    assert_int_equal(hone_kernel_race(kernel, &race), HONE_OK);
    assert_int_equal(race.points, 3);
    assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_PROBLEM);
    for (; !race.finished && launches < MOST; launches++) {
        launch_scale(kernel, &scale, 0.5f);
        check_scale(&scale, SIZE, 0.5f);
        assert_int_equal(hone_kernel_race(kernel, &race), HONE_OK);
    }
    assert_true(race.finished && race.median_us > 0);
    launch_scale(kernel, &scale, 1.5f);
    check_scale(&scale, SIZE, 1.5f);
}

static void run_line(const char *line)
{
    if (system(line) != 0)
        fail_msg("%s", line);
}

TEST(what_others_can_write_is_not_run)
{
    struct stat about;
    const char *path = getenv("HONE_TEST_CACHE");
    const struct hone_value n = hone_integer("n", N);
    struct hone_options options = {.on_miss = HONE_MISS_FAIL};
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(chmod(path, 0666), 0);
    struct hone_cache *cache = open_cache();
    assert_int_equal(chmod(path, about.st_mode & 07777), 0);
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_UNTRUSTED,
                     "can be written by others (mode 0666)");
    options.trust = HONE_TRUST_ANY;
    get(cache, "scale", &n, 1, &options);
    options.trust = HONE_TRUST_OWN;
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_UNTRUSTED, "options.trust");
    options.trust = (enum hone_trust)7;
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_INVALID, "trust");
    /* SQLite made them with the mode that the cache had. */
    run_line("rm -f $HONE_TEST_CACHE-wal $HONE_TEST_CACHE-shm");
}

enum { STRANGER = 65534 };

/* What hone_get says of `scale` in a cache of which others may have a part. */
static enum hone_status try_cache(const char *path, struct hone_error *err)
{
    struct hone_cache *cache = NULL;
    struct hone_kernel *kernel = NULL;
    const struct hone_value n = hone_integer("n", N);
    const struct hone_options options = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    enum hone_status status = hone_open(path, &cache, err);
    if (status == HONE_OK)
        status = hone_get(cache, "scale", &n, 1, &options, &kernel, err);
    hone_close(cache);
    return status;
}

/* Whatever others could put in the place of the cache or beside it, changed by a line of the shell
 * and back again. */
TEST(all_that_decides_is_looked_at)
{
    static const struct {
        const char *line, *back, *path, *message; /* NULL: it is run */
    } cases[] = {
        {"chmod 755 own", "true", "own/a/b/cache.db", NULL},
        {"chmod 777 own", "chmod 755 own", "own/a/b/cache.db", "own' can be written by others"},
        {"chmod 1777 own", "chmod 755 own", "own/a/b/cache.db", NULL},
        {"chmod 1777 own/a/b", "chmod 755 own/a/b", "own/a/b/cache.db",
         "b' can be written by others"},
        {"touch own/a/b/cache.db-wal; chmod 666 own/a/b/cache.db-wal", "rm own/a/b/cache.db-wal",
         "own/a/b/cache.db", "cache.db-wal' can be written by others (mode 0666)"},
        {"touch own/a/b/cache.db-shm; chmod 622 own/a/b/cache.db-shm", "rm own/a/b/cache.db-shm",
         "own/a/b/cache.db", "cache.db-shm' can be written by others (mode 0622)"},
        {"ln -s ../own/a/b/cache.db own/link", "rm own/link", "own/link", NULL},
        {"mkdir own/r; touch own/r/.x.json; chmod 666 own/r/.x.json", "rm -r own/r", "own/r",
         ".x.json' can be written by others"},
        {"mkdir own/r; ln -s nowhere own/r/x.json", "rm -r own/r", "own/r", "x.json' is a link"},
        {"mkdir own/r; ln -s ../a/b/cache.db own/r/x.json", "rm -r own/r", "own/r",
         "x.json' is a link"},
        /* As root alone: */
        {"chown 65534 own", "chown 0 own", "own/a/b/cache.db", "own' belongs to user 65534"},
        {"chgrp 65534 own; chmod 775 own", "chgrp 0 own; chmod 755 own", "own/a/b/cache.db",
         "own' can be written by others (mode 0775)"},
        {"touch own/a/b/cache.db-wal; chown 65534 own/a/b/cache.db-wal", "rm own/a/b/cache.db-wal",
         "own/a/b/cache.db", "cache.db-wal' belongs to user 65534"},
    };
    enum { FOR_ALL = 10 };
    size_t count = geteuid() == 0 ? sizeof cases / sizeof cases[0] : FOR_ALL;
    run_line("rm -rf own; mkdir -p own/a/b; chmod 755 own own/a own/a/b; "
             "cp $HONE_TEST_CACHE own/a/b/cache.db; chmod 600 own/a/b/cache.db");
    for (size_t i = 0; i < count; i++) {
        struct hone_error err = {.message = ""};
        run_line(cases[i].line);
        enum hone_status status = try_cache(cases[i].path, &err);
        run_line(cases[i].back);
        if (cases[i].message != NULL)
            expect_failure(status, HONE_UNTRUSTED, &err, cases[i].message);
        else if (status == HONE_UNTRUSTED)
            fail_msg("%s: %s", cases[i].line, err.message);
    }
}

/* Two folders take turns at one name, as long as the parent lets them. */
static void exchange(const char *name)
{
    if (setgid(STRANGER) != 0 || setuid(STRANGER) != 0 || chdir(name) != 0)
        _exit(1);
    for (;;)
        if (symlink("evil", "next") != 0 || rename("next", "now") != 0 ||
            symlink("../good", "next") != 0 || rename("next", "now") != 0)
            _exit(1);
}

/* `scale` is in the stranger's cache alone. */
TEST(a_place_that_is_exchanged_gives_no_kernel)
{
    enum { ROUNDS = 400 };
    if (geteuid() != 0 || getenv("HONE_TEST_OTHER") == NULL)
        skip();
    run_line("rm -rf race; mkdir -p race/good race/theirs/evil; chmod 755 . race race/good; "
             "cp $HONE_TEST_OTHER race/good/cache.db; chmod 644 race/good/cache.db; "
             "cp $HONE_TEST_CACHE race/theirs/evil/cache.db; ln -s evil race/theirs/now; "
             "chown -hR 65534:65534 race/theirs");
    pid_t child = fork();
    if (child == 0)
        exchange("race/theirs");
    size_t theirs = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct hone_error err = {.message = ""};
        enum hone_status status = try_cache("race/theirs/now/cache.db", &err);
        theirs += status == HONE_OK;
        if (status != HONE_UNTRUSTED && status != HONE_NOT_FOUND)
            print_error("%s: %s\n", hone_status_name(status), err.message);
    }
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(theirs, 0);
}

static atomic_bool goes_on = true;

/* Holds the cache's lock nearly always. */
static void *get_again_and_again(void *cache)
{
    const struct hone_options options = {.separate = 1};
    CHECK_CUDA(cuCtxSetCurrent(context));
    for (int i = 0; atomic_load(&goes_on) && i < 2000; i++)
        get_kernel(cache, "scale", "n", N, &options);
    return NULL;
}

/* It has no thread that would give the lock back. */
TEST(a_child_does_not_hang)
{
    enum { FORKS = 20 };
    pthread_t thread;
    struct hone_cache *cache = open_cache();
    assert_int_equal(pthread_create(&thread, NULL, get_again_and_again, cache), 0);
    for (int i = 0; i < FORKS; i++) {
        int ended = 0;
        pid_t child = fork();
        if (child == 0) {
            struct hone_kernel *kernel = NULL;
            const struct hone_value n = hone_integer("n", N);
            const struct hone_options options = {.separate = 1};
            alarm(20);
            enum hone_status status = hone_get(cache, "scale", &n, 1, &options, &kernel, NULL);
            _exit(status == HONE_UNSUPPORTED || status == HONE_CUDA ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_int_equal(ended, 0);
    }
    atomic_store(&goes_on, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static CUdeviceptr new_matrix(int rows, int columns, int seed)
{
    float host[4096];
    assert_true(rows * columns <= 4096);
    for (int i = 0; i < rows * columns; i++)
        host[i] = (float)((i / columns * 3 + i % columns + seed) % 7);
    return new_buffer(host, (size_t)(rows * columns) * sizeof *host);
}

/* Of integers, so that any order of adding gives the same. */
static void check_product(CUdeviceptr buffer, int m, int n, int k)
{
    float host[4096];
    fetch(host, buffer, (size_t)(m * n) * sizeof *host);
    for (int i = 0; i < m * n; i++) {
        int sum = 0;
        for (int j = 0; j < k; j++)
            sum += ((i / n * 3 + j + 1) % 7) * ((j * 3 + i % n + 2) % 7);
        if (host[i] != (float)sum)
            fail_msg("element %d is %g, expected %d", i, (double)host[i], sum);
    }
}

/* Of a matmul of 4096 x 4096, on whatever GPU this is. */
TEST(a_shipped_recording_serves_another_size)
{
    enum { M = 80, N_COLUMNS = 48, K = 40 };
    const struct hone_value problem[] = {hone_integer("M", M), hone_integer("N", N_COLUMNS),
                                         hone_integer("K", K), hone_word("B_LAYOUT", "row")};
    /* Whoever checked the sources out may be somebody else. */
    const struct hone_options options = {.trust = HONE_TRUST_ANY};
    struct hone_cache *cache = open_at(getenv("HONE_TEST_SHIPPED"));
    struct hone_kernel *kernel = get(cache, "matmul", problem, 4, &options);
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_string_equal(info->problem, "B_LAYOUT=row,K=40,M=80,N=48");
    assert_string_equal(info->tuned_problem, "B_LAYOUT=row,K=32,M=4096,N=4096");
    assert_int_not_equal(info->grade, HONE_GRADE_EXACT);
    assert_int_not_equal(info->grade, HONE_GRADE_DEFAULT);
    const struct hone_argument arguments[] = {hone_buffer("A", new_matrix(M, K, 1)),
                                              hone_buffer("B", new_matrix(K, N_COLUMNS, 2)),
                                              hone_buffer("C", new_matrix(M, N_COLUMNS, 3))};
    launch_ok(kernel, NULL, arguments, 3);
    check_product(arguments[2].as.buffer, M, N_COLUMNS, K);
}

/* Recordings hold plan and template, but no machine code. */
TEST(a_folder_of_recordings_is_compiled)
{
    const struct hone_value n = hone_integer("n", N);
    struct hone_options options = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    struct hone_cache *cache = open_at(getenv("HONE_TEST_RECORDINGS"));
    expect_no_kernel(cache, "scale", &n, 1, &options, HONE_NOT_FOUND,
                     "nothing is tuned of scale for n=24576");
    options.forbid_compile = 0;
    struct hone_kernel *kernel = get(cache, "scale", &n, 1, &options);
    assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_EXACT);
    assert_int_equal(hone_kernel_info(kernel)->compiled, 1);
    use_scale(kernel, N, 9);
    const struct hone_value other = hone_integer("n", 77);
    options = (struct hone_options){.on_miss = HONE_MISS_TUNE};
    expect_no_kernel(cache, "scale", &other, 1, &options, HONE_UNSUPPORTED, "folder of recordings");
}

/* A real parameter, and a plan with decimal constants, in whatever locale is set. */
TEST(decimals_are_those_of_c)
{
    const struct hone_value n = hone_integer("n", N);
    struct hone_cache *cache = open_at(getenv("HONE_TEST_RECORDINGS"));
    struct hone_kernel *kernel = get(cache, "halves", &n, 1, NULL);
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_int_equal(info->compiled, 1);
    assert_int_equal(info->grade, HONE_GRADE_EXACT);
    assert_non_null(strstr(info->point, "FACTOR=0.5,"));
    assert_non_null(strstr(info->record, "\"half\":0.75"));
    use_scale(kernel, N, 2.5f);
}

TEST(the_locale_is_the_one_asked_for)
{
    const char *point = getenv("HONE_TEST_DECIMAL_POINT");
    if (point == NULL)
        skip();
    assert_string_equal(localeconv()->decimal_point, point);
    struct hone_cache *cache = open_cache();
    get_kernel(cache, "scale", "n", N, NULL);
    assert_string_equal(localeconv()->decimal_point, point);
}

TEST(a_plan_of_another_signature_is_refused)
{
    if (getenv("HONE_TEST_GROWING") == NULL)
        skip();
    const struct hone_value problem[] = {hone_integer("n", N), hone_integer("MORE", 1)};
    expect_no_kernel(
        open_cache(), "growing", problem, 2, NULL, HONE_BAD_FILE,
        "kernel 'scale' takes 5 parameters of 8, 8, 4, 4, 4 bytes, the plan passes 4: x, y, a, n;");
}

/* The C library has one place for all threads. */
TEST(a_program_may_be_at_its_own_words)
{
    char words[] = "one two";
    strtok(words, " ");
    get_kernel(open_cache(), "scale", "n", N, NULL);
    assert_string_equal(strtok(NULL, " "), "two");
}

TEST(a_value_fits_into_its_symbol)
{
    if (getenv("HONE_TEST_GROWING") == NULL)
        skip();
    const struct hone_value problem[] = {hone_integer("n", 5000), hone_integer("SMALL", 1)};
    expect_no_kernel(open_cache(), "narrow", problem, 2, NULL, HONE_BAD_FILE,
                     "symbol 'scale' has 2 bytes in the module; the plan gives it 4");
}

/* The next two are run by themselves: with HONE_CAPTURE, and after the captures were tuned. */
/* Whoever edits a template and does not tune again is told. */
TEST(a_changed_template_is_stale)
{
    if (getenv("HONE_TEST_CHANGED") == NULL)
        skip();
    struct hone_cache *cache = open_at(getenv("HONE_TEST_CHANGED"));
    const struct hone_info *info = hone_kernel_info(get_kernel(cache, "scale", "n", N, NULL));
    assert_int_equal(info->stale, 1);
    assert_string_equal(info->stale_because, "the template is another now");
    assert_int_equal(info->grade, HONE_GRADE_EXACT);
}

TEST(captures_what_launches_are_given)
{
    if (getenv("HONE_TEST_CAPTURE") == NULL)
        skip();
    struct hone_cache *cache = open_cache();
    struct scale scale = new_scale(5000);
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", 5000, NULL);
    for (int i = 0; i < 3; i++) /* the first is captured */
        launch_scale(kernel, &scale, 7 + (float)i);
    check_scale(&scale, 5000, 9);
}

TEST(captured_data_was_tuned)
{
    if (getenv("HONE_TEST_CAPTURE") == NULL)
        skip();
    struct hone_cache *cache = open_cache();
    struct hone_options options = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", 5000, &options);
    assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_EXACT);
    assert_int_equal(hone_kernel_argument_count(kernel), 4);
    use_scale(kernel, 5000, 3);
}
