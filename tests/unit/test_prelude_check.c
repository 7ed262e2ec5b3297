/* SPDX-License-Identifier: MIT */
#include "nvrtc_fixture.h"

#define PRELUDE "#define SIZE 64\n#define BLOCK 128\n#line 1\n"
#define KERNEL "extern \"C\" __global__ void k(int *x) { x[0] = BLOCK; }\n"

ALL_TESTS(open_nvrtc, NULL)

static void expect(const char *text, const char *option, const char *message)
{
    const struct hn_image *image =
        compile_text("sm_90", "/t/k.cu", text, "k", option == NULL ? NULL : OPTIONS(option));
    if (message == NULL) {
        assert_int_equal(image->outcome, HN_OUTCOME_OK);
        assert_null(image->message);
    } else {
        assert_int_equal(image->outcome, HN_OUTCOME_COMPILE_ERROR);
        assert_string_equal(image->message, message);
    }
}

TEST(a_second_define_is_an_error)
{
    expect(PRELUDE "// one\n#define BLOCK 64\n" KERNEL, NULL,
           "/t/k.cu(2): error: macro 'BLOCK' is defined again, but line 2 of the prelude has "
           "'#define BLOCK 128', which so has no effect; take it out, write it "
           "between #ifndef BLOCK and #endif, or have 'override: {BLOCK: define}' in the config "
           "replace its value");
}

/* Warnings tell of it, which options cannot turn off. */
TEST(a_second_define_is_an_error_without_warnings_too)
{
    static const char *const options[] = {"-w", "--diag-suppress=47", "--no-display-error-number"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        expect(PRELUDE "#if SIZE > 1\n#define BLOCK 12\n#endif\n" KERNEL, options[i],
               "/t/k.cu(2): error: macro 'BLOCK' is defined again, but line 2 of the prelude has "
               "'#define BLOCK 128', which so has no effect; take it out, write it "
               "between #ifndef BLOCK and #endif, or have 'override: {BLOCK: define}' in the "
               "config replace its value");
}

TEST(an_undef_is_an_error)
{
    expect(PRELUDE
           "#ifndef N\n#define N 1\n#endif\n# undef BLOCK // own\n#define BLOCK 64\n" KERNEL,
           NULL,
           "/t/k.cu(4): error: macro 'BLOCK' is undefined, but line 2 of the prelude has '#define "
           "BLOCK 128', which so has no effect; take it out, write it "
           "between #ifndef BLOCK and #endif, or have 'override: {BLOCK: define}' in the config "
           "replace its value");
    expect(PRELUDE "#if 0\n#endif\n#ifdef BLOCK\n#undef BLOCK\n#endif\n#define BLOCK 64\n" KERNEL,
           NULL,
           "/t/k.cu(4): error: macro 'BLOCK' is undefined, but line 2 of the prelude has '#define "
           "BLOCK 128', which so has no effect; take it out, write it "
           "between #ifndef BLOCK and #endif, or have 'override: {BLOCK: define}' in the config "
           "replace its value");
}

TEST(defaults_and_macros_of_the_templates_own_are_none)
{
    expect(PRELUDE KERNEL, NULL, NULL);
    expect(PRELUDE "#ifndef BLOCK\n#define BLOCK 64\n#endif\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#if 0\n#undef BLOCK\n#endif\n#undef BLOCKS\n" KERNEL, NULL, NULL);
    expect(PRELUDE "/*\n#endif\n#undef BLOCK\n*/\n#if 0\n#undef BLOCK\n#endif\n" KERNEL, NULL,
           NULL);
    expect(PRELUDE "#ifdef BLOCK\n#else\n#undef BLOCK\n#endif\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#define BLOCK 128\n" KERNEL, NULL, NULL);
    expect(PRELUDE "#define OWN 1\n#define OWN 2\n#undef OWN\n" KERNEL, NULL, NULL);
    expect(PRELUDE KERNEL, "-DBLOCK=7", NULL);
    expect(PRELUDE KERNEL "#undef SIZE\n#undef BLOCK\n", NULL, NULL);
}
