/* SPDX-License-Identifier: MIT */
#include "runtime/compile/template.h"

#include "base/file.h"
#include "base/text.h"
#include "nvrtc_fixture.h"

ALL_TESTS(open_nvrtc, NULL)

/* Compiles a program whose kernel is k. */
static void expect_compiles(const char *text, const char *const *options)
{
    const struct hn_image *image = compile_text("sm_90", "host_headers.cu", text, "k", options);
    if (image->outcome != HN_OUTCOME_OK)
        fail_msg("%s\n%s", text, image->log);
}

TEST(they_hold_what_device_code_takes)
{
    char *text FREED = NULL;
    assert_ok(
        hn_file_read(HONE_TEST_DATA "/templates/host_headers.cu", 1 << 20, &text, NULL, NULL));
    expect_compiles(text, NULL);
}

TEST(each_stands_alone)
{
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++) {
        const char *name = hn_host_headers[i].name;
        char text[160];
        snprintf(text, sizeof text,
                 "#include <%s>\n#include \"%s\"\nextern \"C\" __global__ void k() {}\n", name,
                 name);
        expect_compiles(text, NULL);
    }
}

TEST(they_agree_with_the_toolkits)
{
    expect_compiles("#include <stdint.h>\n#include <limits>\n#include <cuda/std/cstdint>\n"
                    "#include <cuda/std/limits>\n#include <cfloat>\n#include <cuda_fp16.h>\n"
                    "static_assert(cuda::std::numeric_limits<uint64_t>::max() =="
                    " std::numeric_limits<uint64_t>::max(), \"\");\n"
                    "extern \"C\" __global__ void k() {}\n",
                    NULL);
}

TEST(the_runtime_is_there_without_the_toolkit)
{
    const struct hn_nvrtc whole = nvrtc;
    nvrtc.include_dir[0] = nvrtc.cccl_dir[0] = '\0';
    nvrtc.p_nvrtcInstallBundledHeaders = NULL;
    expect_compiles(
        "#include \"cuda_runtime.h\"\n#include \"device_launch_parameters.h\"\n"
        "extern \"C\" __global__ void k(float4 *x) { x[threadIdx.x] = make_float4(1, 2, 3, 4); }",
        NULL);
    static const char *const others[] = {"cuda_fp16.h", "cub/cub.cuh", "cuda/std/cstdint"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[64];
        snprintf(text, sizeof text, "#include <%s>\n", others[i]);
        const struct hn_image *image = compile_text("sm_90", "host_headers.cu", text, "k", NULL);
        assert_non_null(strstr(image->message, "; headers of CUDA, cub/ and cuda/ come with a "
                                               "toolkit, with NVRTC from 13.3 on"));
    }
    nvrtc = whole;
}

TEST(a_folder_of_the_config_comes_first)
{
    const char *folder = own_folder();
    char path[64];
    char option[64];
    snprintf(path, sizeof path, "%s/stdint.h", folder);
    snprintf(option, sizeof option, "-I%s", folder);
    const char text[] = "typedef int mine;\n";
    assert_ok(hn_file_write(path, text, sizeof text - 1, NULL));
    expect_compiles("#include <stdint.h>\nextern \"C\" __global__ void k(mine *x) { *x = 1; }\n",
                    OPTIONS(option));
}

static struct hn_hash hash_of(const char *text)
{
    char path[] = "/tmp/hone-headers-XXXXXX";
    struct hn_template template ENDED_BY(hn_template_finish);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
    assert_ok(hn_template_load(path, &template, NULL, NULL));
    struct hn_hash hash = template.hash;
    unlink(path);
    return hash;
}

static struct hn_hash hash_with(const char *text, const char *const *headers)
{
    struct hn_text all ENDED_BY(hn_text_finish) = {0};
    hn_text_append_bytes(&all, text, strlen(text) + 1);
    for (; *headers != NULL; headers++)
        hn_text_printf(&all, "<%s>\n%s", *headers,
                       hn_host_header_find(*headers, strlen(*headers))->text);
    return hn_hash_bytes(all.data, all.length);
}

TEST(what_is_included_is_hashed)
{
    const char *const none[] = {NULL};
    const char *const with_limits[] = {"limits.h", "stdint.h", NULL};
    const char other[] = "#include <cuda_fp16.h>\n// <stdint.h>\n";
    const char direct[] = "#include <stdint.h>\n";
    const char quoted[] = "#include \"stdint.h\"\n";
    assert_string_equal(hash_of(other).hex, hash_with(other, none).hex);
    assert_string_equal(hash_of(direct).hex, hash_with(direct, with_limits).hex);
    assert_string_equal(hash_of(quoted).hex, hash_with(quoted, with_limits).hex);
}

/* A template that defines the types itself for NVRTC is the same whatever Hone's header says. */
TEST(what_nvrtc_does_not_read_is_not)
{
    const char *const none[] = {NULL};
    const char *const with_limits[] = {"limits.h", "stdint.h", NULL};
    const char host[] =
        "#ifndef ONCE\n#ifdef __CUDACC_RTC__\ntypedef int t;\n#if 1\n#else\n#endif\n"
        "#else\n#include <stdint.h>\n#endif\n#endif\n";
    const char behind[] = "#ifdef __CUDACC_RTC__\n#else\n#endif\n#include <stdint.h>\n";
    const char within[] = "#ifdef __CUDACC_RTC__\n#include <stdint.h>\n#else\n#endif\n";
    const char other[] = "#ifdef OTHER\n#else\n#include <stdint.h>\n#endif\n";
    assert_string_equal(hash_of(host).hex, hash_with(host, none).hex);
    assert_string_equal(hash_of(behind).hex, hash_with(behind, with_limits).hex);
    assert_string_equal(hash_of(within).hex, hash_with(within, with_limits).hex);
    assert_string_equal(hash_of(other).hex, hash_with(other, with_limits).hex);
}
