/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvcc.c"

#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit/nvrtc_fixture.h"

static char folder[] = "/tmp/hone-test-nvcc-XXXXXX";

static int start(void **state)
{
    if (mkdtemp(folder) == NULL || hn_nvrtc_open(&nvrtc, NULL) != HN_OK)
        return 1;
    return setenv("TMPDIR", folder, 1);
}

/* All that nvcc and its call wrote is gone. */
static int finish(void **state)
{
    hn_nvrtc_close(&nvrtc);
    return rmdir(folder);
}

ALL_TESTS(start, finish)

static const char with_host_code[] =
    "#define N 3\n#line 1\n"
    "#include <vector>\n"
    "#define PART \"../part/twice.cuh\"\n"
    "#include PART\n"
    "namespace app {\n"
    "template <class T> struct pair { T a, b; };\n"
    "template <class T, int n> __global__ void k(T *x, pair<T> p)\n"
    "{\n"
    "    x[threadIdx.x] = p.b;\n"
    "}\n"
    "__global__ void k(int *x) { x[0] = twice(N); }\n"
    "__global__ void k(float *x) { x[0] = N; }\n"
    "}\n"
    "extern \"C\" __global__ void plain(int *x) { x[1] = 2; }\n"
    "int main() { return (int)std::vector<int>(3).size(); }\n";
static const struct hn_text_file twice = {
    "../part/twice.cuh",
    "#pragma once\ntemplate <class T> __device__ T twice(T x) { return 2 * x; }\n"};

static enum hn_status compile(const char *text, const char *const *entries, size_t count,
                              const char *option, struct hn_image *image)
{
    const struct request request = {
        .compiler = HN_COMPILER_NVCC,
        .name = "/nowhere/app.cu",
        .text = text,
        .includes = &twice,
        .include_count = 1,
        .entries = entries,
        .entry_count = count,
        .options = &option,
        .option_count = option != NULL,
        .architecture = "sm_90",
    };
    return compile_into(&request, image);
}

static void fails_with(const char *text, const char *entry, const char *option, const char *message)
{
    struct hn_image image ENDED_BY(hn_image_finish);
    assert_ok(compile(text, &entry, 1, option, &image));
    assert_int_equal(image.outcome, HN_OUTCOME_COMPILE_ERROR);
    assert_string_equal(image.message, message);
    assert_null(image.cubin);
}

TEST(says_its_version)
{
    char version[16];
    assert_ok(hn_compiler_version(HN_COMPILER_NVCC, NULL, version, NULL));
    assert_int_equal(strncmp(version, "nvcc 1", 6), 0);
    assert_true(strlen(version) >= strlen("nvcc 12.0.1"));
}

TEST(compiles_a_file_with_host_code)
{
    static const char *const entries[] = {"app::k<app::pair<float>, 4>",
                                          "(void (*)(float *))&app::k", "app::k<double, N>",
                                          "plain", "&plain"};
    static const char *const mangled[] = {"_ZN3app1kINS_4pairIfEELi4EEEvPT_NS1_IS3_EE",
                                          "_ZN3app1kEPf", "_ZN3app1kIdLi3EEEvPT_NS_4pairIS1_EE",
                                          "plain", "plain"};
    struct hn_image image ENDED_BY(hn_image_finish);
    assert_ok(compile(with_host_code, entries, 5, NULL, &image));
    if (image.outcome != HN_OUTCOME_OK)
        fail_msg("%s\n%s", image.message, image.log);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(image.entries[i], mangled[i]);
    assert_true(image.resources.known);
    assert_true(image.resources.registers > 0);
}

TEST(finds_a_kernel_by_its_name)
{
    static const char *const entry = "only";
    struct hn_image image ENDED_BY(hn_image_finish);
    assert_ok(compile("#line 1\nnamespace app { __global__ void only(int *x) { *x = 1; } }\n",
                      &entry, 1, NULL, &image));
    assert_int_equal(image.outcome, HN_OUTCOME_OK);
    assert_string_equal(image.entries[0], "_ZN3app4onlyEPi");
    fails_with(with_host_code, "k", NULL,
               "several kernels are called 'k'; as entry, expected one of "
               "_ZN3app1kEPf, _ZN3app1kEPi");
}

TEST(an_option_names_an_include)
{
    static const char *const entry = "k";
    struct hn_image image ENDED_BY(hn_image_finish);
    assert_ok(compile(
        "#line 1\n#include PART\nextern \"C\" __global__ void k(int *x) { *x = twice(4); }\n",
        &entry, 1, "-DPART=\"../part/twice.cuh\"", &image));
    if (image.outcome != HN_OUTCOME_OK)
        fail_msg("%s", image.message);
    fails_with("#define N 3\n#error no\n#line 1\n", "k", "-DOTHER",
               "prelude:2:2: error: #error no");
}

TEST(errors_stand_where_they_are)
{
    fails_with("#define N 3\n#line 1\n\nint x = nothing;\n", "k", NULL,
               "/nowhere/app.cu(2): error: identifier \"nothing\" is undefined");
    fails_with("#line 1\n#include <nowhere.h>\n", "k", NULL,
               "/nowhere/app.cu:1:10: fatal error: nowhere.h: No such file or directory");
    fails_with("#line 1\ntemplate <int n> __global__ void k(int *x) { *x = n; }\n", "k<3, 4>", NULL,
               "name expression 'k<3, 4>': it names no kernel, or several");
    fails_with("#line 1\n__global__ void k(int *x) { *x = 1; }\n", "m<3>", NULL,
               "name expression 'm<3>': identifier \"m\" is undefined");
    fails_with(
        "#define N 3\n#line 1\n#define N 4\nextern \"C\" __global__ void k() {}\n", "k", NULL,
        "/nowhere/app.cu:1: error: macro 'N' is defined again, but line 1 of the prelude has "
        "'#define N 3', which so has no effect; take it out, write it "
        "between #ifndef N and #endif, or have 'override: {N: define}' in the config "
        "replace its value");
    fails_with("#line 1\n", "k", "--minimal", "nvcc fatal   : Unknown option '--minimal'");
}

/* Macros in pragmas are expanded, as by NVRTC; a loop that is unrolled has no branch back. */
TEST(a_loop_is_unrolled_by_a_macro)
{
    static const char *const entry = "k";
    static const char text[] =
        "#define FACTOR %d\n#line 1\n"
        "extern \"C\" __global__ void k(float *x)\n{\n"
        "  # pragma unroll FACTOR + 1 // as often\n"
        "    for (int i = 0; i < 64; i++)\n        x[i * 37] = x[i] * x[5];\n#pragma unroll\n"
        "    for (int i = 0; i < 2; i++)\n        x[i] = nothing;\n}\n";
    char program[600];
    snprintf(program, sizeof program, text, 3);
    fails_with(program, entry, NULL,
               "/nowhere/app.cu(8): error: identifier \"nothing\" is undefined");
    char hashes[2][33];
    for (int i = 0; i < 2; i++) {
        struct hn_image image ENDED_BY(hn_image_finish);
        snprintf(program, sizeof program, text, 15 * i);
        memcpy(strstr(program, "nothing"), "1.0f/2.", 7);
        assert_ok(compile(program, &entry, 1, NULL, &image));
        if (image.outcome != HN_OUTCOME_OK)
            fail_msg("%s", image.message);
        memcpy(hashes[i], image.code_hash, sizeof hashes[i]);
    }
    assert_string_not_equal(hashes[0], hashes[1]);
}

/* nvcc hands its command lines to a shell. */
TEST(options_reach_no_shell)
{
    static const char *const entry = "k";
    static const char text[] = "#line 1\nextern \"C\" __global__ void k(char *x)\n"
                               "{ x[0] = sizeof M; static_assert(sizeof M == 26, \"\"); }\n";
    struct hn_image image;
    assert_ok(compile(text, &entry, 1, "-DM=\"$(touch ../x)`touch ../y`\"", &image));
    if (image.outcome != HN_OUTCOME_OK)
        fail_msg("%s", image.message);
    hn_image_finish(&image);
    assert_error(compile(text, &entry, 1, "-I/tmp/$(touch x)", &image), HN_ECONFIG,
                 "option '-I/tmp/$(touch x)': nvcc takes letters, digits and "
                 "_+-.,:=/@ there, not '$'");
}

TEST(another_architecture_is_refused)
{
    static const char *const entry = "k";
    const struct request request = {
        .compiler = HN_COMPILER_NVCC,
        .name = "k.cu",
        .text = "#line 1\n",
        .entries = &entry,
        .entry_count = 1,
        .architecture = "sm_20",
    };
    struct hn_image image;
    assert_error(compile_into(&request, &image), HN_EUSAGE,
                 "nvcc: Unsupported gpu architecture 'sm_20'");
}

TEST(is_looked_for_where_the_user_says)
{
    struct hn_error none = {.message = ""};
    char *path FREED = find_nvcc(&none);
    setenv("NVCC", path, 1);
    char *found FREED = find_nvcc(&none);
    assert_ok(none.status);
    assert_string_equal(found, path);
    setenv("NVCC", "/nowhere/nvcc", 1);
    free(find_nvcc(&none));
    assert_int_equal(none.status, HN_ERUN);
    assert_string_equal(none.message, "$NVCC is '/nowhere/nvcc', which is no program; expected the "
                                      "path of nvcc");
    setenv("NVCC", "/bin/true", 1);
    char version[16];
    assert_error(hn_compiler_version(HN_COMPILER_NVCC, NULL, version, &said), HN_ERUN,
                 "`/bin/true --version` does not say which version it is; is it nvcc?");
    unsetenv("NVCC");
}

/* What stands there would be in no record. */
TEST(flags_of_the_environment_have_no_effect)
{
    static const char *const entry = "k";
    struct hn_image image ENDED_BY(hn_image_finish);
    setenv("NVCC_APPEND_FLAGS", "--nonsense", 1);
    setenv("NVCC_PREPEND_FLAGS", "--nonsense", 1);
    assert_ok(compile("extern \"C\" __global__ void k() {}\n", &entry, 1, NULL, &image));
    assert_int_equal(image.outcome, HN_OUTCOME_OK);
    unsetenv("NVCC_APPEND_FLAGS");
    unsetenv("NVCC_PREPEND_FLAGS");
}

TEST(what_a_killed_one_left_is_removed)
{
    char left[64], file[80], version[16];
    snprintf(left, sizeof left, "%s/hone-scratch-gone00", folder);
    snprintf(file, sizeof file, "%s/program.cu", left);
    assert_int_equal(mkdir(left, 0700), 0);
    assert_ok(hn_file_write(file, "x", 1, NULL));
    assert_ok(hn_compiler_version(HN_COMPILER_NVCC, NULL, version, NULL));
    assert_int_not_equal(access(left, F_OK), 0);
}

TEST(markers_name_their_kernels)
{
    static const char marker[] =
        "_Z12hone_entry_2IXadL_ZN2ns1kIPNS0_1PIfEELi3EEEvPT_NS2_IS5_EEEEEvv";
    assert_true(entry_marker_names(marker, 2, "_ZN2ns1kIPNS_1PIfEELi3EEEvPT_NS1_IS4_EE"));
    assert_false(entry_marker_names(marker, 1, "_ZN2ns1kIPNS_1PIfEELi3EEEvPT_NS1_IS4_EE"));
    assert_false(entry_marker_names(marker, 2, "_ZN2ns1kIPNS_1PIfEELi3EEEvPT_NS1_IS4_E"));
    assert_false(entry_marker_names(marker, 2, "_ZN2ns1kIPNS_1PIfEELi4EEEvPT_NS1_IS4_EE"));
    assert_true(entry_marker_names("_Z12hone_entry_0IXadL_Z3S0_PfEEEvv", 0, "_Z3S0_Pf"));
    assert_true(entry_marker_names("_Z12hone_entry_0IXadL_Z2kkPfEEEvv", 0, "kk"));
    assert_false(entry_marker_names("_Z12hone_entry_0IXadL_Z3kkkPfEEEvv", 0, "kk"));
    assert_false(entry_marker_names("k", 0, "k"));
}
