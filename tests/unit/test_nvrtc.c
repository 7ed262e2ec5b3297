/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvrtc.h"

#include "runtime/device/library.h"
#include "tests/unit/unit.h"

static void path_of(const struct hn_nvrtc *nvrtc, char *path, size_t size)
{
    void *function = NULL;
    memcpy(&function, &nvrtc->p_nvrtcVersion, sizeof function);
    assert_true(hn_library_path(function, path, size));
}

TEST(opens_with_its_headers)
{
    struct hn_nvrtc nvrtc;
    assert_ok(hn_nvrtc_open(&nvrtc, &said));
    assert_true(nvrtc.major >= 12);
    char header[1200];
    snprintf(header, sizeof header, "%s/cuda_fp16.h", nvrtc.include_dir);
    assert_int_equal(access(header, R_OK), 0);
    int architectures[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(&nvrtc, architectures);
    assert_true(count > 5);
    for (size_t i = 1; i < count; i++)
        assert_true(architectures[i - 1] < architectures[i]);
    hn_nvrtc_close(&nvrtc);
    assert_null(nvrtc.library);
}

TEST(takes_the_file_that_is_set)
{
    struct hn_nvrtc nvrtc;
    char path[1024];
    assert_ok(hn_nvrtc_open(&nvrtc, NULL));
    path_of(&nvrtc, path, sizeof path);
    hn_nvrtc_close(&nvrtc);
    setenv("HONE_NVRTC", path, 1);
    assert_ok(hn_nvrtc_open(&nvrtc, NULL));
    hn_nvrtc_close(&nvrtc);
    unsetenv("HONE_NVRTC");
}

TEST(fails_on_a_wrong_file)
{
    struct hn_nvrtc nvrtc;
    setenv("HONE_NVRTC", "/nowhere/libnvrtc.so", 1);
    assert_error(hn_nvrtc_open(&nvrtc, &said), HN_ERUN,
                 "NVRTC could not be loaded from $HONE_NVRTC: no library could be loaded: "
                 "/nowhere/libnvrtc.so: cannot open shared object file: No such file or "
                 "directory");
    setenv("HONE_NVRTC", "libm.so.6", 1);
    assert_mentions(hn_nvrtc_open(&nvrtc, &said), HN_ERUN,
                    "libm.so.6 has no function nvrtcVersion");
    unsetenv("HONE_NVRTC");
}

/* A folder as the wheels of CUDA 13 unpack, made of links to the NVRTC that is there. */
TEST(looks_into_the_wheels)
{
    struct hn_nvrtc nvrtc;
    char path[1024];
    assert_ok(hn_nvrtc_open(&nvrtc, NULL));
    path_of(&nvrtc, path, sizeof path);
    hn_nvrtc_close(&nvrtc);

    const char *root = own_folder();
    char command[4096];
    snprintf(command, sizeof command,
             "mkdir -p %s/nvidia/cu13/lib && ln -s %s %s/nvidia/cu13/lib/libnvrtc.so.13", root,
             path, root);
    assert_int_equal(system(command), 0);
    setenv("HONE_CUDA_WHEELS", root, 1);
    assert_ok(hn_nvrtc_open(&nvrtc, NULL));
    assert_true(nvrtc.include_dir[0] != '\0');
    hn_nvrtc_close(&nvrtc);
    unsetenv("HONE_CUDA_WHEELS");
}
