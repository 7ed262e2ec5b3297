/* SPDX-License-Identifier: MIT */
#include "runtime/compile/template.h"

#include "base/file.h"
#include "base/text.h"
#include "nvrtc_fixture.h"

#define FOLDER HONE_TEST_DATA "/templates/includes"

TEST(reads_quoted_includes_once)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/sub/../main.cu", &template, false, &said));
    assert_string_equal(template.files->name, FOLDER "/main.cu");
    assert_int_equal(template.file_count, 4);
    assert_string_equal(template.files[1].name, "one.cuh");
    assert_string_equal(template.files[2].name, "sub/two.cuh");
    assert_string_equal(template.files[3].name, "three.cuh");
    assert_non_null(strstr(template.files[3].text, "#define THREE 3"));
    assert_int_equal(strlen(template.hash.hex), 32);
}

TEST_WITH(what_was_read_compiles, open_nvrtc, NULL)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/main.cu", &template, false, NULL));
    const char *entry = "sum";
    struct request request = {
        .name = "/nowhere/main.cu",
        .text = template.files->text,
        .includes = template.files + 1,
        .include_count = 3,
        .entries = &entry,
        .entry_count = 1,
        .architecture = "sm_90",
    };
    const struct hn_image *image = compile_request(&request);
    assert_null(image->message);
    assert_int_equal(image->outcome, HN_OUTCOME_OK);
}

TEST(ends_on_a_circle)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/circle.cu", &template, false, NULL));
    assert_int_equal(template.file_count, 2);
}

static void fails_with(const char *path, const char *message)
{
    struct hn_template template;
    assert_error(hn_template_load(path, &template, false, &said), HN_ECONFIG, message);
    assert_null(template.files);
}

TEST(names_what_is_missing)
{
    fails_with("/nowhere/x.cu", "template /nowhere/x.cu: No such file or directory");
    fails_with(FOLDER "/missing.cu",
               FOLDER "/missing.cu:3: include \"nowhere.cuh\" was not found: no file " FOLDER
                      "/nowhere.cuh (headers of the CUDA toolkit are included with <>)");
}

/* What stands between #if and #endif may be missing, and is used where it is there. */
TEST(leaves_conditions_to_the_compiler)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/elsewhere.cu", &template, false, NULL));
    assert_string_equal(template.files[1].name, "one.cuh");
    for (size_t i = 1; i < template.file_count; i++)
        assert_string_not_equal(template.files[i].name, "tuned.h");
}

/* A program is built by commands of its own, which say where else to look. */
TEST(leaves_includes_of_a_program_to_its_compiler)
{
    static const char *const paths[] = {FOLDER "/missing.cu", FOLDER "/conflict.cu"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct hn_template template ENDED_BY(hn_template_finish);
        assert_ok(hn_template_load(paths[i], &template, true, &said));
        assert_string_equal(template.files->name, paths[i]);
    }
}

TEST(refuses_one_name_for_two_files)
{
    fails_with(FOLDER "/conflict.cu",
               FOLDER "/sub/clash.cuh:2: \"one.cuh\" is " FOLDER "/sub/one.cuh here, but " FOLDER
                      "/one.cuh for another file; give them different names");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
}

static struct hn_hash hash_of(const char *folder)
{
    char path[256];
    struct hn_template template ENDED_BY(hn_template_finish);
    snprintf(path, sizeof path, "%s/main.cu", folder);
    assert_ok(hn_template_load(path, &template, false, NULL));
    return template.hash;
}

TEST(hash_tells_texts_not_places)
{
    const char *here = own_folder();
    const char *there = own_folder();
    write_file(here, "main.cu", "#include \"a.cuh\"\n");
    write_file(here, "a.cuh", "#define A 1\n");
    write_file(there, "main.cu", "#include \"a.cuh\"\n");
    write_file(there, "a.cuh", "#define A 1\n");
    struct hn_hash first = hash_of(here);
    assert_string_equal(hash_of(there).hex, first.hex);
    write_file(there, "a.cuh", "#define A 2\n");
    assert_string_not_equal(hash_of(there).hex, first.hex);
}
