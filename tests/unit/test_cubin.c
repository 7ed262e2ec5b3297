/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin.h"

#include "base/file.h"
#include "nvrtc_fixture.h"

static struct hn_image image;

static int compile_scale(void **state)
{
    static const char *const entries[] = {"scale", "unused"};
    char *text FREED = NULL;
    assert_ok(hn_file_read(HONE_TEST_DATA "/templates/scale.cu", 1 << 20, &text, NULL, NULL));
    struct request request = {.name = "scale.cu",
                              .text = text,
                              .entries = entries,
                              .entry_count = 2,
                              .architecture = "sm_90"};
    open_nvrtc(state);
    image = *compile_request(&request);
    return image.outcome == HN_OUTCOME_OK ? 0 : 1;
}

ALL_TESTS(compile_scale, NULL)

static enum hn_status inspect(const void *cubin, size_t size, const char *entry,
                              struct hn_resources *resources, char hash[33], struct hn_error *err)
{
    return hn_cubin_inspect(cubin, size, &entry, 1, resources, hash, err);
}

TEST(takes_the_largest_of_several_entries)
{
    struct hn_resources scale;
    struct hn_resources unused;
    char scale_hash[33];
    char unused_hash[33];
    assert_ok(inspect(image.cubin, image.size, "scale", &scale, scale_hash, &said));
    assert_ok(inspect(image.cubin, image.size, "unused", &unused, unused_hash, &said));
    assert_int_equal(scale.shared_bytes, 512);
    assert_int_equal(unused.shared_bytes, 0);
    assert_true(scale.registers >= unused.registers);
    assert_int_equal(image.resources.registers, scale.registers);
    assert_int_equal(image.resources.shared_bytes, 512);
    assert_string_not_equal(scale_hash, unused_hash);
    assert_string_not_equal(scale_hash, image.code_hash);
}

TEST(names_a_missing_kernel)
{
    struct hn_resources resources;
    char hash[33];
    assert_error(inspect(image.cubin, image.size, "helper", &resources, hash, &said), HN_ENOTFOUND,
                 "no kernel 'helper' in the machine code");
}

TEST(refuses_what_is_no_cubin)
{
    struct hn_resources resources;
    char hash[33];
    assert_error(inspect("no", 2, "scale", &resources, hash, &said), HN_EFORMAT,
                 "not a valid cubin: too short");
    assert_int_equal(inspect(NULL, 0, "scale", &resources, hash, &said), HN_EFORMAT);
    char zeros[4096] = {0};
    assert_error(inspect(zeros, sizeof zeros, "scale", &resources, hash, &said), HN_EFORMAT,
                 "not a valid cubin: no 64-bit ELF file");
}

/* Under the sanitizers: no read beyond the end, whatever is cut off. */
TEST(survives_truncation)
{
    for (size_t size = 0; size < image.size; size += 7) {
        void *cut FREED = malloc(size > 0 ? size : 1);
        struct hn_resources resources;
        char hash[33];
        memcpy(cut, image.cubin, size);
        assert_int_equal(inspect(cut, size, "scale", &resources, hash, &said), HN_EFORMAT);
    }
}

/* Any one byte changed leaves a file that is read or refused. */
TEST(survives_damage)
{
    unsigned char *damaged FREED = malloc(image.size);
    for (size_t i = 0; i < image.size; i++) {
        memcpy(damaged, image.cubin, image.size);
        damaged[i] ^= 0xff;
        struct hn_resources resources;
        char hash[33];
        enum hn_status status = inspect(damaged, image.size, "scale", &resources, hash, &said);
        assert_true(status == HN_OK || status == HN_EFORMAT || status == HN_ENOTFOUND);
        struct hn_parameters parameters ENDED_BY(hn_parameters_finish);
        (void)hn_cubin_read_parameters(damaged, image.size, "scale", &parameters, &said);
    }
}

TEST(reads_the_spills_of_its_entries)
{
    static const char log[] =
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "ptxas         .     16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Used 32 registers\n"
        "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
        "ptxas         .     99 bytes stack frame, 990 bytes spill stores, 991 bytes spill loads\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
        "ptxas         .     8 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads";
    const char *const entries[] = {"first", "second"};
    struct hn_resources resources = {.known = true};
    hn_cubin_read_log(log, entries, 2, &resources);
    assert_int_equal(resources.spill_store_bytes, 24);
    assert_int_equal(resources.spill_load_bytes, 20);
    hn_cubin_read_log(NULL, entries, 2, &resources);
    assert_int_equal(resources.spill_store_bytes, 24);
}

static unsigned warnings_of(const char *log)
{
    const char *const entries[] = {"first", "second"};
    struct hn_resources resources = {.known = true};
    hn_cubin_read_log(log, entries, 2, &resources);
    return resources.warnings;
}

TEST(reads_the_warnings_of_its_entries)
{
    static const char other[] =
        "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to non wgmma instructions reading accumulator registers of  a wgmma "
        "between start and end of the pipeline stage in the function 'other'\n"
        "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    assert_int_equal(warnings_of(other), 0);
    assert_int_equal(
        warnings_of("ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async "
                    "instructions are serialized due to insufficient register resources for the "
                    "wgmma pipeline in the function 'first'\n"
                    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"),
        1u << HN_WARNING_SERIALISED);
    assert_int_equal(
        warnings_of("ptxas info    : (C7517) warpgroup.wait is injected in around line 37 by "
                    "compiler to allow use of registers defined by GMMA in function '_Z3mmaPfyy'\n"
                    "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; "
                    "unable to determine register count at entry.\n"),
        1u << HN_WARNING_INJECTED | 1u << HN_WARNING_SETMAXNREG);
    assert_int_equal(warnings_of("ptxas info    : (C7999) Potential Performance Loss: unknown\n"),
                     1u << HN_WARNING_OTHER);
    assert_int_equal(warnings_of("ptxas info : Compiling entry function 'second' for 'sm_90'\n"
                                 " 8 bytes stack frame, 24 bytes spill stores, 8 bytes spill "
                                 "loads"),
                     1u << HN_WARNING_SPILLS);
}

TEST(reads_the_parameters_that_a_kernel_declares)
{
    struct hn_parameters parameters;
    assert_ok(hn_cubin_read_parameters(image.cubin, image.size, "scale", &parameters, &said));
    assert_int_equal(parameters.count, 2);
    assert_int_equal(parameters.bytes[0], 8);
    assert_int_equal(parameters.bytes[1], 4);
    hn_parameters_finish(&parameters);
    assert_error(hn_cubin_read_parameters(image.cubin, image.size, "helper", &parameters, &said),
                 HN_EFORMAT, "the cubin has no parameters of kernel 'helper'");
    hn_parameters_finish(&parameters);
}
