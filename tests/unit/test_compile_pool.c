/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/workers/compile_pool_part.h"

/* Workers are this very program, run again: see main. */
static void a_worker_that_hangs_while_it_starts_ends_the_run(void **state)
{
    (void)state;
    struct hn_compile_pool *pool = NULL;
    struct hn_error err = {.message = ""};
    assert_int_equal(hn_compile_pool_create(1, 10, &pool, &err), HN_OK);
    pool->start_limit_ms = 100;
    assert_int_equal(hn_compile_pool_timeout_ms(pool), -1);
    double start = hn_now_ms();
    assert_int_equal(hn_compile_pool_start(pool, 1, &err), HN_OK);
    assert_in_range(hn_compile_pool_timeout_ms(pool), 0, 101);
    enum hn_status status = HN_OK;
    while (status == HN_OK && hn_now_ms() - start < 30e3)
        status = hn_compile_pool_process(pool, &err);
    assert_int_equal(status, HN_ERUN);
    assert_string_equal(
        err.message,
        "a compile worker did not start within 0.1 s: NVRTC, which it loads, hangs or is very slow "
        "to read; see that $HONE_NVRTC, where it is set, names the library");
    assert_true(hn_now_ms() - start >= 99);
    hn_compile_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_hangs_while_it_starts_ends_the_run),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return pause();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
