/* SPDX-License-Identifier: MIT */
#include "runtime/plan/option_list.h"

#include <dirent.h>

#include "base/file.h"
#include "nvrtc_fixture.h"

/* Both lists, as messages tell them: names one after another. */
static char *compiler_names;
static char *assembler_names;

static char *names_in(const char *refused)
{
    assert_int_equal(hn_option_check(refused, &said), HN_ECONFIG);
    const char *names = strstr(said.message, "allowed are ");
    assert_non_null(names);
    return strdup(names + strlen("allowed are "));
}

static int read_lists(void **state)
{
    compiler_names = names_in("--unknown");
    assembler_names = names_in("-Xptxas=--unknown");
    return 0;
}

static int free_lists(void **state)
{
    free(compiler_names);
    free(assembler_names);
    return 0;
}

ALL_TESTS(read_lists, free_lists)

static bool is_allowed(const char *text)
{
    return hn_option_check(text, NULL) == HN_OK;
}

/* 2000 of them kept a compiler busy until its time was up. */
TEST(threads_have_a_bound)
{
    assert_true(is_allowed("--split-compile=0") && is_allowed("--split-compile=64"));
    assert_true(is_allowed("-Xptxas=--split-compile=8"));
    static const char *const texts[] = {
        "--split-compile=2000", "--split-compile=65",          "--split-compile=",
        "--split-compile=-1",   "-Xptxas=--split-compile=100", "--split-compile=8x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_mentions(hn_option_check(texts[i], &said), HN_ECONFIG, "a number of threads from 0");
    }
}

TEST(allows_what_changes_the_code)
{
    const char *texts =
        "-DN=1; -DTEXT=\"a b\"; --define-macro=N=f(x); -UN; -I/usr/include; -I.; "
        "--include-path=../a b; -std=c++11; --std=c++20; -use_fast_math; --use_fast_math; "
        "--maxrregcount=32; -maxrregcount=32; -arch=sm_90a; --gpu-architecture=sm_90; "
        "-lineinfo; -G; --fmad=false; --ptxas-options=-v; --ptxas-options=-O1; "
        "--ptxas-options=-O=1; -Xptxas=-dlcm=cg; -Xptxas=--def-load-cache=ca; "
        "--diag-suppress=177,550; -Xptxas=--maxntid=16,16";
    for (char *text; (text = next_text(&texts)) != NULL;)
        assert_true(is_allowed(text));
}

/* What the documentation of NVRTC 13.0 names beside the allowed ones, and ways to write them. */
TEST(refuses_what_does_more)
{
    const char *texts =
        "--time=a; -time=a; --fdevice-time-trace=a; -fdevice-time-trace=a; "
        "--device-time-trace=a;  --fdevice-time-trace=a; \t--pch; --pch; --create-pch=a; "
        "--use-pch=a; --pch-dir=a; --pch-verbose=true; --pch-messages=true; "
        "--instantiate-templates-in-pch=true; --pre-include=a; -include=a; --options-file=a; "
        "-optf=a; @a; a; ; --relocatable-device-code=true; -rdc=true; --device-c; -dc; "
        "--device-w; -dw; --extensible-whole-program; -ewp; --dlink-time-opt; -dlto; "
        "--gen-opt-lto; --optix-ir; --fdevice-syntax-only; --version-ident=true; --no-cache; "
        "---use_fast_math; --use_fast_math=a; -std; -std=c++17 --pch; -std=../a; "
        "--frandom-seed=/tmp/a; -DN=1\n--pch; -DN=1 --pch; -D; -I; -Xptxas; -Xptxas=; -Xptxas -v; "
        "--ptxas-options=--compiler-stats-file=a; -Xptxas=--compiler-stats-file=a; "
        "-Xptxas=--compiler-stats=a; -Xptxas=--options-file=a; -Xptxas=-optf=a; -Xptxas=@a; "
        "-Xptxas=a.ptx; -Xptxas=-v,--options-file=a; -Xptxas=-v --options-file=a; "
        "-Xptxas=-O1 -o=a; -Xptxas=-dlcm=cg/../a; -Xptxas=--gpu-name=sm_80; "
        "-Xptxas=-O3,--split-compile,2000; -Xptxas=-O3,-o,a; -Xptxas=-dlcm=ca,-optf,a; "
        "-Xptxas=--opt-level=3,a.ptx; -Xptxas=--maxntid=16,a.ptx";
    for (char *text; (text = next_text(&texts)) != NULL;)
        if (is_allowed(text))
            fail_msg("'%s' is allowed", text);
}

TEST(says_what_was_found_and_what_is_allowed)
{
    assert_mentions(hn_option_check("-Xptxas=--options-file=a", &said), HN_ECONFIG,
                    "option '-Xptxas=--options-file=a': '--options-file=a' is "
                    "not one of those that do no more than change the code");
    assert_non_null(strstr(said.message, "; allowed are --opt-level, "));
    static const char *const cases[][2] = {
        {"--std", "'--std' needs a value right behind it, as -DN=1"},
        {"-I inc", "'-I inc' needs a value right behind it, as -DN=1"},
        {"-DM=1 -DN=2", "'-DM=1 -DN=2' holds another option: each is a text of its own"},
        {"-Xptxas=-O3,-v", "'-O3,-v' holds another option: each is a text of its own"},
        {"--std=a/b", "needs a value of letters, digits and _+-.,: alone"},
        {"--minimal=1", "'--minimal=1' takes no value"},
        {"-O3", "'-O3' is for the host's code: device code is optimised unless"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_mentions(hn_option_check(cases[i][0], &said), HN_ECONFIG, cases[i][1]);
}

TEST(tells_targets_and_folders)
{
    assert_string_equal(hn_option_value("-arch=sm_80", "gpu-architecture"), "sm_80");
    assert_string_equal(hn_option_value("--gpu-architecture=sm_90a", "gpu-architecture"), "sm_90a");
    assert_null(hn_option_value("-DARCH=sm_80", "gpu-architecture"));
    assert_string_equal(hn_option_value("-Iinc", "include-path"), "inc");
    assert_string_equal(hn_option_value("--include-path=/a", "include-path"), "/a");
    assert_null(hn_option_value("-DI=inc", "include-path"));
}

/* "--options-file <file>,...   (-optf)" */
static void check_line_of_help(const char *line)
{
    char name[64], argument[64] = "", text[160];
    if (sscanf(line, "--%63[^ ] <%63[^>]", name, argument) < 1 || strstr(argument, "file") == NULL)
        return;
    snprintf(text, sizeof text, "--ptxas-options=--%s=a", name);
    assert_false(is_allowed(text));
    const char *brief = strstr(line, "(-");
    assert_non_null(brief);
    snprintf(text, sizeof text, "--ptxas-options=%.*s=a", (int)strcspn(brief + 1, ")"), brief + 1);
    assert_false(is_allowed(text));
}

TEST(none_of_ptxas_that_takes_a_file_is_allowed)
{
    char line[1024], help[65536] = "";
    FILE *pipe = popen("ptxas --help 2>/dev/null", "r");
    assert_non_null(pipe);
    size_t size = fread(help, 1, sizeof help - 1, pipe);
    pclose(pipe);
    if (size == 0)
        skip();
    size_t found = 0;
    for (const char *at = help; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        found += strncmp(line, "--", 2) == 0;
        check_line_of_help(line);
    }
    assert_true(found > 40);
}

/* What NVRTC says to an option. Free it. */
static char *log_with(const char *option)
{
    static const char *const entries[] = {"k"};
    struct hn_image image;
    struct request request = {
        .name = "k.cu",
        .text = "extern \"C\" __global__ void k(int *x) { x[threadIdx.x] = 1; }\n",
        .entries = entries,
        .entry_count = 1,
        .options = &option,
        .option_count = 1,
        .architecture = "sm_90",
    };
    enum hn_status status = compile_into(&request, &image);
    assert_true(status == HN_OK || status == HN_ECONFIG || status == HN_ERUN);
    char *log = strdup(status == HN_OK && image.log != NULL ? image.log : "");
    if (status == HN_OK)
        hn_image_finish(&image);
    return log;
}

static void try_values(const char *prefix, const char *name)
{
    static const char *const values[] = {"", "=true", "=1", "=written"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char option[160];
        snprintf(option, sizeof option, "%s--%s%s", prefix, name, values[i]);
        if (!is_allowed(option) || strcmp(name, "expt-relaxed-constexpr") == 0) /* nvcc's */
            continue;
        char *log FREED = log_with(option);
        if (strstr(log, "unrecognized option") != NULL || strstr(log, "Unknown option") != NULL)
            print_error("NVRTC does not know %s: %s\n", option, log);
        assert_null(strstr(log, "unrecognized option"));
        assert_null(strstr(log, "Unknown option"));
    }
}

static void try_all(const char *prefix, const char *names)
{
    char name[64];
    for (; *names == '-'; names += strspn(names, ", ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(names + 2, ","), names + 2);
        try_values(prefix, name);
        names += strcspn(names, ",");
    }
}

/* Each is known to this NVRTC, and leaves the folder that it works in empty. */
TEST_WITH(none_that_is_allowed_writes_a_file, open_nvrtc, NULL)
{
    char folder[] = "/tmp/hone-options-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    try_all("", compiler_names);
    try_all("--ptxas-options=", assembler_names);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(the_manual_lists_them_all)
{
    char *manual FREED = NULL, name[64];
    assert_ok(hn_file_read(HONE_SOURCE_DIR "/docs/config.md", 1 << 20, &manual, NULL, NULL));
    const char *const lists[] = {compiler_names, assembler_names};
    for (size_t i = 0; i < 2; i++)
        for (const char *names = lists[i]; *names == '-'; names += strspn(names, ", ")) {
            snprintf(name, sizeof name, "`%.*s`", (int)strcspn(names, ","), names);
            if (strstr(manual, name) == NULL)
                print_error("docs/config.md does not list %s\n", name);
            assert_non_null(strstr(manual, name));
            names += strcspn(names, ",");
        }
}
