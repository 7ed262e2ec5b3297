/* SPDX-License-Identifier: MIT */
#include "runtime/compile/template.h"

#include <sys/stat.h>

#include "base/file.h"
#include "nvrtc_fixture.h"

#define FOLDER HONE_TEST_DATA "/templates/includes"

TEST(reads_quoted_includes_once)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/sub/../main.cu", &template, NULL, &said));
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
    assert_ok(hn_template_load(FOLDER "/main.cu", &template, NULL, NULL));
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
    assert_ok(hn_template_load(FOLDER "/circle.cu", &template, NULL, NULL));
    assert_int_equal(template.file_count, 2);
}

static void fails_with(const char *path, const char *message)
{
    struct hn_template template;
    assert_error(hn_template_load(path, &template, NULL, &said), HN_ECONFIG, message);
    assert_null(template.files);
}

TEST(names_what_is_missing)
{
    fails_with("/nowhere/x.cu", "template /nowhere/x.cu: No such file or directory");
    fails_with(FOLDER "/missing.cu",
               FOLDER "/missing.cu:3: include \"nowhere.cuh\" was not found: no file " FOLDER
                      "/nowhere.cuh, nor in a folder of -I (headers of the CUDA toolkit are "
                      "included with <>)");
}

/* What stands between #if and #endif may be missing, and is used where it is there. */
TEST(leaves_conditions_to_the_compiler)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    assert_ok(hn_template_load(FOLDER "/elsewhere.cu", &template, NULL, NULL));
    assert_string_equal(template.files[1].name, "one.cuh");
    for (size_t i = 1; i < template.file_count; i++)
        assert_string_not_equal(template.files[i].name, "tuned.h");
}

/* A program is built by commands of its own, which say where else to look. */
TEST(leaves_includes_of_a_program_to_its_compiler)
{
    static const char *const paths[] = {FOLDER "/missing.cu", FOLDER "/conflict.cu"};
    char hash[] = "of its commands";
    const struct hn_plan plan = {.program = hash};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct hn_template template ENDED_BY(hn_template_finish);
        assert_ok(hn_template_load(paths[i], &template, &plan, &said));
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

static struct hn_hash hash_with(const char *folder, const struct hn_plan *plan,
                                struct hn_template *template)
{
    char path[256];
    snprintf(path, sizeof path, "%s/main.cu", folder);
    assert_ok(hn_template_load(path, template, plan, &said));
    return template->hash;
}

static struct hn_hash hash_of(const char *folder)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    return hash_with(folder, NULL, &template);
}

/* Those of all values, and of each the whole. */
TEST(hash_tells_control_files)
{
    static const char texts[][3] = {"", "a", {'a', 0, 'b'}, {'a', 0, 'c'}};
    const char *folder = own_folder();
    struct hn_option option = {.text = "-Xptxas=--apply-controls=acf/{ACF}.acf"};
    char config[256], main[256], acf[256], file[300];
    const struct hn_plan plan = {.config = config, .options = &option, .option_count = 1};
    struct hn_hash last = {""};
    snprintf(config, sizeof config, "%s/main.yaml", folder);
    snprintf(main, sizeof main, "%s/main.cu", folder);
    snprintf(acf, sizeof acf, "%s/acf", folder);
    snprintf(file, sizeof file, "%s/fast.acf", acf);
    assert_int_equal(mkdir(acf, 0700), 0);
    write_file(folder, "main.cu", "");
    write_file(acf, "not.txt", "1");
    for (size_t i = 0; i < 4; i++) {
        struct hn_template template ENDED_BY(hn_template_finish);
        assert_ok(hn_file_write(file, texts[i], i < 2 ? i : 3, NULL));
        struct hn_hash hash = hash_with(folder, &plan, &template);
        assert_int_equal(template.other_count, 1);
        assert_string_not_equal(hash.hex, last.hex);
        hn_template_check(&template, &plan, &said);
        assert_int_equal(said.status, HN_OK);
        last = hash;
    }
    struct hn_template template;
    option.text = (char[]){"-Xptxas=--apply-controls=acf"}; /* of a folder none is meant */
    (void)hash_with(folder, &plan, &template);
    assert_int_equal(template.other_count, 0);
    hn_template_finish(&template);
    option.text = (char[]){"-Xptxas=--apply-controls={ACF}/fast.acf"};
    assert_error(hn_template_load(main, &template, &plan, &said), HN_ECONFIG,
                 "control file '{ACF}/fast.acf': a '/' stands behind a value");
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
    static const struct {
        const char *main, *other;
    } forms[] = {
        {"/* all */ # /* of */ include /**/ \"a.cuh\"\n", ""},
        {"#include \\\n  \"a.cuh\"\n", ""},
        {"%: include \"a.cuh\"\n", ""},
        {"#define QUOTE(x) #x\n#include QUOTE(a.cuh)\n", ""},
        {"#include \"b.cuh\"\n#  include  PART\n", "#define PART \"a.cuh\"\n"},
        {"#include \"b.cuh\"\n#  include  PART\n", "#define PART \\\r\n\"a.cuh\"\n"},
        {"#include \"b.cuh\"\n#  include  PART\n",
         "#define QUOTE(x) #x\n#define PART QUOTE(a.cuh)\n"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        write_file(here, "main.cu", forms[i].main);
        write_file(here, "b.cuh", forms[i].other);
        write_file(here, "a.cuh", "#define A 2\n");
        first = hash_of(here);
        write_file(here, "a.cuh", "#define A 3\n");
        assert_string_not_equal(hash_of(here).hex, first.hex);
    }
}

/* What lies there the compiler finds by itself, and it counts all the same. */
TEST(looks_into_the_folders_of_options)
{
    const char *here = own_folder();
    char config[256], nested[256];
    struct hn_option options[] = {
        {.text = "-DPART=<named.cuh>"}, {.text = "-Iinc"}, {.text = "-I{GONE}"}};
    const struct hn_plan plan = {.config = config, .options = options, .option_count = 3};
    const char *const files[] = {"inc/quoted.cuh", "inc/bracketed.cuh", "inc/beside.cuh",
                                 "inc/named.cuh"};
    snprintf(config, sizeof config, "%s/here.yaml", here);
    snprintf(nested, sizeof nested, "%s/inc", here);
    assert_int_equal(mkdir(nested, 0700), 0);
    snprintf(nested, sizeof nested, "%s/inc/limits", here);
    assert_int_equal(mkdir(nested, 0700), 0);
    write_file(here, "main.cu",
               "#include \"quoted.cuh\"\n#include <bracketed.cuh>\n#include <limits>\n"
               "#define DATA \"data.bin\"\n#include PART\n");
    write_file(here, "data.bin", "\xff");
    write_file(here, files[0], "");
    write_file(here, files[1], "#include \"beside.cuh\"\n#include \"bracketed.cuh\"\n");
    write_file(here, files[2], "");
    write_file(here, files[3], "");
    struct hn_template first ENDED_BY(hn_template_finish);
    hash_with(here, &plan, &first);
    assert_int_equal(first.file_count, 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct hn_template changed ENDED_BY(hn_template_finish);
        write_file(here, files[i], "#define OTHER\n");
        hn_template_check(&first, &plan, &said);
        assert_non_null(strstr(said.message, "changed while variants were compiled from it"));
        assert_string_not_equal(hash_with(here, &plan, &changed).hex, first.hash.hex);
        write_file(here, files[i],
                   i == 1 ? "#include \"beside.cuh\"\n#include \"bracketed.cuh\"\n" : "");
    }
    struct hn_template again ENDED_BY(hn_template_finish);
    assert_string_equal(hash_with(here, &plan, &again).hex, first.hash.hex);
}
