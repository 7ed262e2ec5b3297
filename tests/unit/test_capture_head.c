/* SPDX-License-Identifier: MIT */
#include "file_fixture.h"
#include "runtime/plan/capture_file.h"

ALL_TESTS(make_file, remove_file)

/* Writes a capture of five bytes and that description, and reads the latter. */
static enum hn_status read_capture(const char *head, struct hn_capture_head *made,
                                   struct hn_error *err)
{
    uint64_t size = strlen(head);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "%spack!%s", HN_CAPTURE_MAGIC, head);
    fwrite(&size, sizeof size, 1, file);
    fputs(HN_CAPTURE_MAGIC, file);
    fclose(file);
    file = fopen(path, "rb");
    assert_non_null(file);
    enum hn_status status = hn_capture_read_head(file, path, made, err);
    fclose(file);
    return status;
}

static const char good[] =
    "{\"format\": 1, \"kernel\": \"scale\", \"config\": \"/a/b.yaml\", \"problem\": {\"n\": 16, "
    "\"x\": 0.5}, \"scalars\": {\"a\": 2.5}, \"inputs\": [{\"name\": \"x\", \"offset\": 8, "
    "\"packed\": 5, \"bytes\": 64}], \"expected\": [{\"name\": \"y\", \"offset\": 8, \"packed\": "
    "5, "
    "\"bytes\": 64}]}";

TEST(a_whole_one_is_read)
{
    struct hn_capture_head head;
    assert_ok(read_capture(good, &head, &said));
    assert_string_equal(head.kernel, "scale");
    hn_fields_finish(&hn_capture_structure, &head);
}

/* `was` in the good one becomes `is`. */
TEST(a_hostile_one_is_refused)
{
    static const struct {
        const char *was, *is, *reason;
    } cases[] = {
        {"\"format\": 1", "\"format\": 2",
         "has format 2, this Hone knows up to 1: use the newer Hone"},
        {"\"format\": 1", "\"format\": -1", "does not say its format"},
        {"\"kernel\": \"scale\"", "\"kernel\": \"*/ x\"", "'kernel' is not a name"},
        {"\"kernel\": \"scale\", ", "", "'kernel' is not a string"},
        {"/a/b", "/a\\u001b[2J", "path of its config has a control character"},
        {"\"problem\": {\"n\": 16, \"x\": 0.5}", "\"problem\": [1]", "expected an object"},
        {"\"x\": 0.5", "\"x y\": 0.5", "found the name 'x y'"},
        {"\"x\": 0.5", "\"x\": {\"real\": \"inf\"}", "'x' is not finite"},
        {"\"x\": 0.5", "\"x\": 1e999", "overflow"},
        {"\"n\": 16", "\"n\": 16, \"n\": 17", "duplicate"},
        {"\"scalars\": {\"a\": 2.5}, ", "", "expected an object"},
        {"{\"a\": 2.5}", "{\"a\": \"n\"}", "'a' is not finite"},
        {"{\"a\": 2.5}", "{\"a b\": 1}", "found the name 'a b'"},
        {"\"name\": \"x\"", "\"name\": \"../x\"", "'name' is not a name"},
        {"\"offset\": 8", "\"offset\": 14", "'x' is not within the file"},
        {"\"packed\": 5", "\"packed\": 9223372036854775807", "'x' is not within the file"},
        {"\"bytes\": 64", "\"bytes\": 0", "'x' is not made of so many bytes"},
        {"\"bytes\": 64", "\"bytes\": 1000000000000", "'x' is not made of so many bytes"},
        {"\"expected\": [",
         "\"expected\": [{\"name\": \"y\", \"offset\": 8, \"packed\": 5, \"bytes\": 64}, ",
         "'y' is not once in its list"},
        {"\"expected\": [", "\"expected\": 1, \"rest\": [", "'expected' is not a list"},
        {"\"format\": 1", "\"format\": 1, \"positional\": true", "'block' is not one of a launch"},
        {"\"format\": 1",
         "\"format\": 1, \"positional\": true, \"grid\": [1, 1], \"block\": [1, 1, 1]",
         "'block' is not one of a launch"},
        {"\"format\": 1", "\"format\": 1, \"grid\": [1, 0, 1]", "of 1 to"},
        {"\"format\": 1", "\"format\": 1, \"block\": [1, 1, 1, 1]", "'block' is"},
        {"\"format\": 1", "\"format\": 1, \"shared_bytes\": -1", "'shared_bytes' is"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_capture_head head;
        const char *text = replaced(good, cases[i].was, cases[i].is);
        assert_mentions(read_capture(text, &head, &said), HN_EFORMAT, cases[i].reason);
        assert_null(head.kernel);
    }
}

/* The driver's name, mangled where it is C++, and what a config or a user calls it. */
TEST(a_kernel_is_known_by_its_name)
{
    static const struct {
        const char *kernel, *name;
        bool same;
    } cases[] = {
        {"scale", "scale", true},
        {"scale", "rescale", false},
        {"_Z5scalePKfPfi", "scale", true},
        {"_Z5scalePKfPfi", "_Z5scalePKfPfi", true},
        {"_ZN4mine5scaleIfEEvPKT_PS1_S1_i", "scale", true},
        {"_ZN4mine5scaleIfEEvPKT_PS1_S1_i", "mine::scale<float>", true},
        {"_ZN4mine5scaleIfEEvPKT_PS1_S1_i", "&mine::scale<TILE>", true},
        {"_Z5scale4ViewIfE", "(void (*)(View<float>))&scale", true},
        {"_Z7rescalePKfPfi", "scale", false},
        {"_Z15scale_and_sharePKf", "scale", false},
        {"_Z15scalePKfPfiPKfi", "scale", false},
        {"_ZN2v25scaleEPKfPfi", "v2::scale", true},
        {"_ZN39_GLOBAL__N__1f06dc63_7_anon_cu_88e80c775scaleEPfi", "scale", true},
        {"_ZN4mineL5scaleEPfi", "scale", true},
        {"_ZN5scale4fillEPfi", "scale", false},
        {"_Z4fill5scalei", "scale", false},
        {"_ZN99scale", "scale", false},
        {"x5scale", "scale", false},
        {"_Z5scalePKfPfi", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hn_capture_is_of(cases[i].kernel, cases[i].name), cases[i].same);
}
