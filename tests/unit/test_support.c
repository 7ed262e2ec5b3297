/* SPDX-License-Identifier: MIT */
#include <glob.h>

#include "runtime/bench/support.h"
#include "tests/unit/config_fixture.h"
#include "tests/unit/nvrtc_fixture.h"

static unsigned bits_of(const char *option, const char *name)
{
    assert_int_equal(strncmp(option, name, strlen(name)), 0);
    return (unsigned)strtoul(option + strlen(name), NULL, 0);
}

static void check_plan(const struct hn_plan *plan)
{
    struct hn_support_options options;
    hn_support_program(plan, &options);
    unsigned elements = bits_of(options.texts[0], "-DELEMENTS=");
    unsigned fills = bits_of(options.texts[1], "-DFILLS=");
    /* What a memcpy is filled with. */
    assert_true(elements >> HN_FLOAT32 & 1);
    assert_true(fills >> HN_FILL_UNIFORM & 1);
    bool multisets = plan->compare.mode == HN_COMPARE_MULTISET;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        assert_true(elements >> argument->element & 1);
        if (hn_argument_is_filled(argument))
            assert_true(fills >> argument->fill.kind & 1);
        if (argument->compare != NULL && argument->compare->mode == HN_COMPARE_MULTISET)
            multisets = true;
    }
    assert_string_equal(options.texts[2], multisets ? "-DMULTISETS=1" : "-DMULTISETS=0");
    assert_string_equal(options.texts[3], "-DLOOSE=0");
}

/* What is left out of the support kernels stops the device, so that none may be missing. */
TEST(all_that_a_plan_uses_is_compiled)
{
    glob_t found;
    assert_int_equal(glob(HONE_SOURCE_DIR "/configs/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_plan(load(found.gl_pathv[i])->plan);
    assert_true(found.gl_pathc > 0);
    globfree(&found);
}

TEST(a_plain_plan_leaves_most_out)
{
    struct hn_support_options options;
    const struct hn_plan plan = {.argument_count = 0};
    const struct hn_source source = hn_support_program(&plan, &options);
    struct hn_image *image = keep_new(struct hn_image, hn_image_finish);
    assert_string_equal(options.texts[0], "-DELEMENTS=0x100");
    assert_string_equal(options.texts[1], "-DFILLS=0x1");
    assert_string_equal(options.texts[2], "-DMULTISETS=0");
    assert_string_equal(options.texts[3], "-DLOOSE=0");
    open_nvrtc(NULL); /* without what is left out the rest compiles; the double compiles all */
    assert_ok(hn_compile(&nvrtc, &source, "sm_90", image, &said));
    assert_int_equal(image->outcome, HN_OUTCOME_OK);
}

TEST(what_leaves_elements_out_or_lets_them_differ_is_compiled_where_asked_for)
{
    struct hn_support_options options;
    struct hn_compare own = {.partial = true};
    struct hn_argument output = {.role = HN_ROLE_OUTPUT, .lanes = 1};
    struct hn_plan plan = {.arguments = &output, .argument_count = 1};
    plan.compare.mismatch_share = 0.01;
    hn_support_program(&plan, &options);
    assert_string_equal(options.texts[3], "-DLOOSE=1");
    plan.compare.mismatch_share = 0.0;
    output.compare = &own;
    hn_support_program(&plan, &options);
    assert_string_equal(options.texts[3], "-DLOOSE=1");
}
