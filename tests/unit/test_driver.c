/* SPDX-License-Identifier: MIT */
#include "runtime/device/driver.h"

#include "tests/unit/unit.h"

static const struct hn_driver *open_double(const char *devices)
{
    static struct hn_driver driver;
    setenv("HONE_DOUBLE_COUNT", devices, 1);
    assert_ok(hn_driver_open(&driver, &said));
    return keep(&driver, hn_driver_close);
}

TEST(device_has_identity_and_limits)
{
    struct hn_device device;
    const struct hn_driver *driver = open_double("1");
    assert_ok(hn_driver_device(driver, 0, &device, &said));
    assert_string_equal(device.identity.name, "Hone Double");
    assert_string_equal(device.identity.mig_profile, "");
    assert_string_equal(device.uuid, "GPU-d0112233-4455-6677-8899-aabbccddeeff");
    assert_int_equal(device.identity.capability, 90);
    assert_int_equal(device.identity.sm_count, 16);
    assert_int_equal(device.max_threads_per_block, 1024);
    assert_int_equal(device.max_block[2], 64);
    assert_int_equal(device.max_grid[1], 65535);
    assert_int_equal(device.shared_per_block_optin, 232448);
    assert_int_equal(device.memory_bytes, 96 << 20);
    assert_true(device.cluster_launch);
    assert_false(device.integrated);
    assert_true(strlen(device.driver) > 0);
}

TEST(a_mig_instance_has_a_profile)
{
    struct hn_device device;
    const struct hn_driver *driver = open_double("1");
    setenv("HONE_DOUBLE_NAME", "NVIDIA H200 MIG 1g.18gb", 1);
    assert_ok(hn_driver_device(driver, 0, &device, &said));
    unsetenv("HONE_DOUBLE_NAME");
    assert_string_equal(device.identity.name, "NVIDIA H200");
    assert_string_equal(device.identity.mig_profile, "1g.18gb");
    assert_string_equal(device.uuid, "MIG-d0112233-4455-6677-8899-aabbccddeeff");
}

TEST(selects_by_nothing_number_and_uuid)
{
    struct hn_device device;
    const struct hn_driver *driver = open_double("3");
    assert_ok(hn_driver_select(driver, NULL, &device, &said));
    assert_int_equal(device.ordinal, 0);
    assert_ok(hn_driver_select(driver, "2", &device, &said));
    assert_int_equal(device.ordinal, 2);
    assert_ok(hn_driver_select(driver, "GPU-d1", &device, &said));
    assert_int_equal(device.ordinal, 1);
}

TEST(select_lists_what_there_is)
{
    struct hn_device device;
    const struct hn_driver *driver = open_double("2");
    assert_error(hn_driver_select(driver, "7", &device, &said), HN_EUSAGE,
                 "no such device: '7'; expected one of:\n"
                 "  0  GPU-d0112233-4455-6677-8899-aabbccddeeff  Hone Double\n"
                 "  1  GPU-d1112233-4455-6677-8899-aabbccddeeff  Hone Double");
    assert_mentions(hn_driver_select(driver, "GPU-d", &device, &said), HN_EUSAGE,
                    "more than one device is called 'GPU-d'");
}

TEST(no_device_is_a_run_failure)
{
    struct hn_device device;
    const struct hn_driver *driver = open_double("0");
    assert_error(hn_driver_select(driver, NULL, &device, &said), HN_ERUN,
                 "the CUDA driver finds no GPU");
}

TEST(check_names_the_error)
{
    struct hn_error err;
    const struct hn_driver *driver = open_double("1");
    assert_ok(hn_driver_check(driver, CUDA_SUCCESS, "cuInit", &err));
    assert_int_equal(hn_driver_check(driver, CUDA_ERROR_ILLEGAL_ADDRESS, "scale", &err), HN_ERUN);
    assert_string_equal(err.message, "scale: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access "
                                     "was encountered");
    hn_driver_check(driver, (CUresult)12345, "scale", &err);
    assert_string_equal(err.message, "scale: CUDA error 12345");
}

TEST(rejections_are_not_fatal_and_faults_are)
{
    static const int harmless[] = {0, 1, 2, 200, 209, 500, 701, 720};
    static const int fatal[] = {226, 700, 702, 710, 714, 715, 716,
                                717, 718, 719, 721, 810, 911, 999};
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        assert_false(hn_driver_result_is_fatal((CUresult)harmless[i]));
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        assert_true(hn_driver_result_is_fatal((CUresult)fatal[i]));
}

TEST(every_failing_call_is_reported)
{
    for (int call = 1;; call++) {
        char number[16];
        struct hn_device device;
        struct hn_driver driver;
        snprintf(number, sizeof number, "%d", call);
        setenv("HONE_DOUBLE_COUNT", "1", 1);
        setenv("HONE_DOUBLE_FAIL", number, 1);
        enum hn_status status = hn_driver_open(&driver, &said);
        if (status == HN_OK)
            status = hn_driver_select(&driver, "0", &device, &said);
        hn_driver_close(&driver);
        unsetenv("HONE_DOUBLE_FAIL");
        if (status == HN_OK) {
            assert_true(call > 30);
            return;
        }
        assert_int_equal(status, HN_ERUN);
        assert_non_null(strstr(said.message, "CUDA_ERROR_UNKNOWN"));
    }
}
