/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile.h"

#include "tests/unit/unit.h"

#define PRELUDE "#define SIZE 64\n#define BLOCK 128\n#line 1\n"
#define KERNEL "extern \"C\" __global__ void k(int *x) { x[0] = BLOCK; }\n"

static struct hn_nvrtc nvrtc;

static int open_nvrtc(void **state)
{
    return hn_nvrtc_open(&nvrtc, NULL) == HN_OK ? 0 : 1;
}

static int close_nvrtc(void **state)
{
    hn_nvrtc_close(&nvrtc);
    return 0;
}

ALL_TESTS(open_nvrtc, close_nvrtc)

static void expect(const char *text, const char *option, const char *message)
{
    static const char *const entries[] = {"k"};
    struct hn_image image ENDED_BY(hn_image_finish);
    struct hn_compile_request request = {.name = "/t/k.cu",
                                         .text = text,
                                         .entries = entries,
                                         .entry_count = 1,
                                         .options = &option,
                                         .option_count = option != NULL,
                                         .architecture = "sm_90"};
    assert_ok(hn_compile(&nvrtc, &request, &image, NULL));
    if (message == NULL) {
        assert_int_equal(image.outcome, HN_OUTCOME_OK);
        assert_null(image.message);
    } else {
        assert_int_equal(image.outcome, HN_OUTCOME_COMPILE_ERROR);
        assert_string_equal(image.message, message);
    }
}

TEST(a_second_define_is_an_error)
{
    expect(PRELUDE "// one\n#define BLOCK 64\n" KERNEL, NULL,
           "/t/k.cu(2): error: macro 'BLOCK' is defined again, but line 2 of the prelude has "
           "'#define BLOCK 128', which so has no effect; take it out, or write it between #ifndef "
           "BLOCK and #endif");
}

TEST(an_undef_is_an_error)
{
    expect(PRELUDE
           "#ifndef N\n#define N 1\n#endif\n# undef BLOCK // own\n#define BLOCK 64\n" KERNEL,
           NULL,
           "/t/k.cu(4): error: macro 'BLOCK' is undefined, but line 2 of the prelude has '#define "
           "BLOCK 128', which so has no effect; take it out, or write it between #ifndef BLOCK and "
           "#endif");
}

TEST(defaults_and_macros_of_the_templates_own_are_none)
{
    expect(PRELUDE KERNEL, NULL, NULL);
    expect(PRELUDE "#ifndef BLOCK\n#define BLOCK 64\n#endif\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#if 0\n#undef BLOCK\n#endif\n#undef BLOCKS\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#define BLOCK 128\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#define OWN 1\n#define OWN 2\n#undef OWN\n" KERNEL, NULL, NULL);
    expect(PRELUDE KERNEL, "-DBLOCK=7", NULL);
}
