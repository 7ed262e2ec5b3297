/* SPDX-License-Identifier: MIT */
#include "cache/record/record.h"

#include "tests/unit/unit.h"

static void make_identity(struct hn_identity *identity)
{
    *identity = (struct hn_identity){0};
    identity->kernel = strdup("matmul");
    identity->signature = strdup("A:float32:input,C:float32:output");
    identity->regime = strdup("cold");
    identity->objective = strdup("time");
    identity->device = (struct hn_device_identity){"NVIDIA H200", 90, 132, ""};
    struct hn_value m = hn_integer(4096);
    assert_ok(hn_bindings_set(&identity->problem, "M", &m, NULL));
}

TEST(copy_is_equal_and_independent)
{
    struct hn_identity identity ENDED_BY(hn_identity_finish);
    struct hn_identity copy ENDED_BY(hn_identity_finish);
    make_identity(&identity);
    assert_ok(hn_identity_copy(&copy, &identity, &said));
    assert_true(hn_identity_equal(&identity, &copy));
    assert_ptr_not_equal(identity.kernel, copy.kernel);
    assert_string_equal(copy.kernel, "matmul");
    assert_int_equal(hn_bindings_get(&copy.problem, "M")->integer, 4096);
}

static void replace(char **string, const char *with)
{
    free(*string);
    *string = strdup(with);
}

TEST(every_part_of_an_identity_counts)
{
    for (int part = 0; part < 9; part++) {
        struct hn_identity a ENDED_BY(hn_identity_finish);
        struct hn_identity b ENDED_BY(hn_identity_finish);
        struct hn_value m = hn_integer(2048);
        make_identity(&a);
        make_identity(&b);
        char **words[] = {&b.kernel, &b.signature, &b.regime, &b.objective};
        if (part < 4)
            replace(words[part], "other");
        else if (part == 4)
            hn_bindings_set(&b.problem, "M", &m, NULL);
        else if (part == 5)
            strcpy(b.device.name, "NVIDIA H100");
        else if (part == 6)
            b.device.capability = 100;
        else if (part == 7)
            b.device.sm_count = 114;
        else
            strcpy(b.device.mig_profile, "1g.18gb");
        assert_false(hn_identity_equal(&a, &b));
    }
}

TEST(versions_differ_in_any_part)
{
    const struct hn_version was = {
        .template_hash = "0123456789abcdef0123456789abcdef",
        .driver = "580.82",
        .nvrtc = "13.0",
        .protocol = 1,
    };
    struct hn_version is = was;
    assert_true(hn_version_equal(&was, &is));
    is.options_hash[0] = '1';
    assert_false(hn_version_equal(&was, &is));
    is = was;
    is.protocol = 2;
    assert_false(hn_version_equal(&was, &is));
}

TEST(difference_names_what_changed)
{
    const struct hn_version was = {.driver = "580.82", .nvrtc = "", .protocol = 1};
    struct hn_version is = {.driver = "580.159", .nvrtc = "13.0", .protocol = 2};
    strcpy(is.template_hash, "0123456789abcdef0123456789abcdef");
    struct hn_text text = {0};
    hn_version_append_difference(&text, &was, &is);
    assert_string_equal(text.data, "driver 580.82 -> 580.159, NVRTC unknown -> 13.0, template, "
                                   "measuring protocol 1 -> 2");
    hn_text_finish(&text);
    hn_version_append_difference(&text, &was, &was);
    assert_int_equal(text.length, 0);
    hn_text_finish(&text);
}
