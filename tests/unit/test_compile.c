/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile.h"

#include "base/file.h"
#include "nvrtc_fixture.h"

ALL_TESTS(open_nvrtc, NULL)

static char *read_template(const char *name)
{
    char path[512];
    char *text = NULL;
    snprintf(path, sizeof path, "%s/templates/%s", HONE_TEST_DATA, name);
    assert_ok(hn_file_read(path, 1 << 20, &text, NULL, NULL));
    return keep(text, free);
}

/* A file of tests/data/templates.txt, compiled; options is NULL-terminated. */
static const struct hn_image *compile_for(const char *architecture, const char *name,
                                          const char *entry, const char *const *options)
{
    return compile_text(architecture, name, read_template(name), entry, options);
}

/* One that compiles on sm_90. */
static const struct hn_image *compile(const char *name, const char *entry,
                                      const char *const *options)
{
    const struct hn_image *image = compile_for("sm_90", name, entry, options);
    if (image->outcome != HN_OUTCOME_OK)
        fail_msg("%s", image->message);
    return image;
}

TEST(test_resources)
{
    const struct hn_image *image = compile("scale.cu", "scale", NULL);
    assert_null(image->message);
    assert_true(image->size > 1000);
    assert_int_equal(image->entry_count, 1);
    assert_string_equal(image->entries[0], "scale");
    assert_true(image->resources.known);
    assert_int_equal(image->resources.shared_bytes, 512);
    assert_int_equal(image->resources.spill_store_bytes, 0);
    char used[64];
    snprintf(used, sizeof used, "Used %d registers, used 1 barriers", image->resources.registers);
    assert_non_null(strstr(image->log, used));
    assert_true(image->compile_ms > 0);
    assert_null(strstr(image->log, "Compile time"));
    assert_int_equal(strlen(image->code_hash), 32);
}

/* Shared memory by the ELF file agrees with ptxas on every architecture that NVRTC knows. */
TEST(test_shared_memory_of_every_architecture)
{
    int known[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(&nvrtc, known);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        char architecture[16];
        snprintf(architecture, sizeof architecture, "sm_%d", known[i]);
        const struct hn_image *image = compile_for(architecture, "scale.cu", "scale", NULL);
        assert_int_equal(image->outcome, HN_OUTCOME_OK);
        assert_int_equal(image->resources.shared_bytes, 512);
        char used[64];
        snprintf(used, sizeof used, "Used %d registers, used 1 barriers, 512 bytes smem",
                 image->resources.registers);
        assert_non_null(strstr(image->log, used));
    }
}

TEST(test_spills)
{
    const struct hn_image *image = compile("spill.cu", "spill", NULL);
    assert_int_equal(image->resources.spill_store_bytes, 0);
    assert_true(image->resources.registers > 32);
    image = compile("spill.cu", "spill", OPTIONS("--maxrregcount=32"));
    assert_true(image->resources.spill_store_bytes > 0);
    assert_true(image->resources.spill_load_bytes > 0);
    assert_true(image->resources.stack_bytes > 0);
    assert_true(image->resources.local_bytes >= image->resources.stack_bytes);
    assert_int_equal(image->resources.registers, 32);
}

TEST(test_name_expression)
{
    const struct hn_image *image = compile("generic.cu", "demo::fill<4, float>", NULL);
    assert_string_equal(image->entries[0], "_ZN4demo4fillILi4EfEEvPT0_");
}

TEST(test_errors)
{
    const struct {
        const char *name, *entry;
        const char *const *options;
        const char *message;
    } cases[] = {
        {"generic.cu", "demo::empty<4>", NULL,
         "name expression 'demo::empty<4>': namespace \"demo\" has no member \"empty\""},
        {"scale.cu", "scala", NULL, "no kernel 'scala' in the program; there is scale, unused"},
        {"half_helper.cuh", "fill", NULL, "no kernel 'fill' in the program; there is none at all"},
        {"names.cu", "tile", NULL,
         "kernel 'tile' is a template: as entry, expected a name expression with values or types "
         "in place of the parameters of \"outer::inner::tile<T, N, is_fast, WIDE>\""},
        {"broken.cu", "broken", NULL,
         "broken.cu(4): error: identifier \"undeclared\" is undefined"},
        {"big_shared.cu", "big_shared", NULL,
         "kernel 'big_shared' has 80000 bytes of static shared memory; the limit is 49152 (beyond "
         "it use dynamic shared memory)"},
        {"scale.cu", "scale", OPTIONS("--bogus=1"),
         "nvrtc: error: unrecognized option --bogus=1 found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hn_image *image =
            compile_for("sm_90", cases[i].name, cases[i].entry, cases[i].options);
        assert_int_equal(image->outcome, HN_OUTCOME_COMPILE_ERROR);
        assert_string_equal(image->message, cases[i].message);
        assert_null(image->cubin);
    }
}

static void expect_entry(const char *entry, const char *mangled)
{
    const struct hn_image *image = compile("names.cu", entry, NULL);
    assert_string_equal(image->entries[0], mangled);
    assert_true(image->resources.registers > 0);
}

/* Whatever a kernel is listed as, it is an entry. */
static void expect_listed(const char *entry, const char *message, size_t count)
{
    const struct hn_image *image = compile_for("sm_90", "names.cu", entry, NULL);
    assert_int_equal(image->outcome, HN_OUTCOME_COMPILE_ERROR);
    assert_string_equal(image->message, message);
    const char *listed = strstr(image->message, "one of ") + strlen("one of ");
    for (; *listed != '\0'; count--) {
        char expression[200];
        size_t quote = *listed == '"';
        size_t length = strcspn(listed + quote, quote ? "\"" : ",");
        snprintf(expression, sizeof expression, "%.*s", (int)length, listed + quote);
        compile("names.cu", expression, NULL);
        listed += length + 2 * quote;
        listed += strspn(listed, ", ");
    }
    assert_int_equal(count, 0);
}

TEST(test_entry_by_name)
{
    expect_entry("plain", "plain");
    expect_entry("global_one", "_Z10global_onePf");
    expect_entry("nested", "_ZN5outer5inner6nestedEPKfPNS_4pairIfEEi");
    expect_entry("kept", "_Z4keptPf");
    expect_entry("once", "_ZN5outer4onceIdLi7EEEvPT_");
    compile("names.cu", "hidden", NULL);
}

TEST(test_entry_of_several)
{
    expect_listed("both",
                  "several kernels are called 'both'; as entry, expected one of "
                  "\"&both\", \"&outer::both\"",
                  2);
    expect_listed("load",
                  "several kernels are called 'load'; as entry, expected one of "
                  "_ZN5outer4loadEPKdPNS_4pairINS2_IfEEEEj, _ZN5outer4loadEPfi",
                  2);
    expect_listed("twice",
                  "several kernels are called 'twice'; as entry, expected one of "
                  "_Z5twiceILb0ELi3EEvPf, _Z5twiceILb1ELi3EEvPf",
                  2);
}

TEST(test_assembler_error)
{
    const struct hn_image *image = compile_for("sm_90", "bad_asm.cu", "bad_asm", NULL);
    assert_int_equal(image->outcome, HN_OUTCOME_COMPILE_ERROR);
    assert_non_null(strstr(image->message, "'wgmma.fence' not supported on .target 'sm_90'"));
    image = compile_for("sm_90a", "bad_asm.cu", "bad_asm", NULL);
    assert_int_equal(image->outcome, HN_OUTCOME_OK);
}

TEST(test_architecture_unknown)
{
    struct request request = {.name = "x.cu", .text = "", .architecture = "sm_35"};
    struct hn_image image;
    assert_mentions(compile_into(&request, &image), HN_EUSAGE,
                    "does not compile for 'sm_35'; it knows sm_");
}

/* The toolkit's headers are found; a header that was read at the start is the one that counts. */
TEST(test_includes)
{
    char *text = read_template("half.cu");
    const char *entry = "half_scale";
    struct hn_text_file include = {"half_helper.cuh", "#define HELPER_FACTOR 5.0f\n"};
    struct request request = {
        .name = HONE_TEST_DATA "/templates/half.cu",
        .text = text,
        .entries = &entry,
        .entry_count = 1,
        .includes = &include,
        .include_count = 1,
        .architecture = "sm_90",
    };
    const struct hn_image *given = compile_request(&request);
    assert_int_equal(given->outcome, HN_OUTCOME_OK);
    include.text = "#define HELPER_FACTOR 6.0f\n";
    const struct hn_image *other = compile_request(&request);
    assert_int_equal(other->outcome, HN_OUTCOME_OK);
    assert_string_not_equal(given->code_hash, other->code_hash);
}

TEST(test_hash_ignores_names_and_options)
{
    const char *plain = compile("scale.cu", "scale", NULL)->code_hash;
    const struct {
        const char *entry;
        const char *const *options;
    } same[] = {
        {"another_name", OPTIONS("-DNAME=another_name", "-DIRRELEVANT=1")},
        {"scale", OPTIONS("-DOTHER=9.f")},
        {"scale", OPTIONS("--maxrregcount=128")},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(compile("scale.cu", same[i].entry, same[i].options)->code_hash, plain);
}

TEST(test_hash_sees_what_runs)
{
    static const char *const changes[] = {
        "-DFACTOR=3.5f", /* of a callee */
        "-DFIRST=9.f",   /* a constant */
        "-DLAUNCHES=8",  /* data */
        "-DTILE=256",    /* shared memory */
        "-DBOUNDS=__launch_bounds__(64)",
        "-DBOUNDS=__cluster_dims__(2,1,1)",
        "-DBOUNDS=__cluster_dims__(4,1,1)",
    };
    enum { CHANGES = sizeof changes / sizeof *changes };
    const char *hashes[CHANGES + 1] = {compile("scale.cu", "scale", NULL)->code_hash};
    for (size_t i = 0; i < CHANGES; i++) {
        hashes[i + 1] = compile("scale.cu", "scale", OPTIONS(changes[i]))->code_hash;
        for (size_t j = 0; j <= i; j++)
            assert_string_not_equal(hashes[i + 1], hashes[j]);
    }
}
