/* SPDX-License-Identifier: MIT */
#include "runtime/device/device.h"

#include "tests/unit/unit.h"

TEST(knows_the_limits_of_architectures)
{
    static const struct {
        const char *name;
        int capability, threads, blocks, shared_kib, optin_kib, reserved;
        bool cluster;
    } cases[] = {
        {"sm_75", 75, 1024, 16, 64, 64, 0, false},
        {"sm_80", 80, 2048, 32, 164, 163, 1024, false},
        {"86", 86, 1536, 16, 100, 99, 1024, false},
        {"sm_89", 89, 1536, 24, 100, 99, 1024, false},
        {"sm_90a", 90, 2048, 32, 228, 227, 1024, true},
        {"100f", 100, 2048, 32, 228, 227, 1024, true},
        {"sm_110", 110, 1536, 24, 228, 227, 1024, true},
        {"sm_121", 121, 1536, 24, 100, 99, 1024, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_device device;
        assert_ok(hn_device_for_architecture(cases[i].name, &device, NULL));
        assert_int_equal(device.identity.capability, cases[i].capability);
        assert_int_equal(device.max_threads_per_sm, cases[i].threads);
        assert_int_equal(device.max_blocks_per_sm, cases[i].blocks);
        assert_int_equal(device.shared_per_sm, cases[i].shared_kib * 1024);
        assert_int_equal(device.shared_per_block_optin, cases[i].optin_kib * 1024);
        assert_int_equal(device.shared_reserved_per_block, cases[i].reserved);
        assert_int_equal(device.cluster_launch, cases[i].cluster);
        assert_int_equal(device.ordinal, -1);
        assert_int_equal(device.max_threads_per_block, 1024);
    }
}

TEST(keeps_the_architecture_as_its_name)
{
    static const struct {
        const char *given, *plain, *specific;
    } names[] = {{"90", "sm_90", "sm_90a"},
                 {"sm_100", "sm_100", "sm_100a"},
                 {"sm_90a", "sm_90a", "sm_90a"},
                 {"sm_120f", "sm_120f", "sm_120f"},
                 {"sm_89", "sm_89", "sm_89"}};
    struct hn_device device;
    assert_ok(hn_device_for_architecture("90", &device, NULL));
    assert_string_equal(device.identity.name, "sm_90");
    assert_ok(hn_device_for_architecture("sm_90a", &device, NULL));
    assert_string_equal(device.identity.name, "sm_90a");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[HN_ARCHITECTURE_SIZE];
        hn_architecture_name(names[i].given, true, name);
        assert_string_equal(name, names[i].specific);
        hn_architecture_name(names[i].given, false, name);
        assert_string_equal(name, names[i].plain);
    }
}

TEST(lists_the_known_architectures)
{
    static const char *const unknown[] = {"sm_91", "", "sm_", "hopper", "sm_90x", "sm_9 0", "-90"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct hn_device device;
        assert_mentions(hn_device_for_architecture(unknown[i], &device, &said), HN_EUSAGE,
                        unknown[i]);
        assert_non_null(strstr(said.message, "known are sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 "
                                             "sm_100 sm_103 sm_110 sm_120 sm_121"));
    }
}

static void make_device(struct hn_device *device)
{
    memset(device, 0, sizeof *device);
    assert_ok(hn_device_for_architecture("sm_90", device, NULL));
    strcpy(device->identity.name, "NVIDIA H200");
    strcpy(device->identity.mig_profile, "1g.18gb");
    strcpy(device->uuid, "GPU-0123");
    strcpy(device->driver, "580.159.04");
    device->identity.sm_count = 132;
    device->ordinal = 1;
    device->memory_bytes = 150000000000;
    device->clock_khz = 1980000;
    device->integrated = true;
}

static enum hn_status read_device(const json_t *json, struct hn_device *device)
{
    hn_error_init(&said);
    hn_fields_read("device", &hn_device_structure, json, device, &said);
    return said.status;
}

TEST(survives_json)
{
    struct hn_device device;
    make_device(&device);
    json_t *json = keep(hn_fields_to_json(&hn_device_structure, &device), json_decref);
    assert_non_null(json);
    struct hn_device copy;
    assert_ok(read_device(json, &copy));
    json_t *again = keep(hn_fields_to_json(&hn_device_structure, &copy), json_decref);
    assert_true(json_equal(json, again));
    assert_string_equal(copy.identity.mig_profile, "1g.18gb");
    assert_int_equal(copy.max_block[2], 64);
    assert_true(copy.memory_bytes == 150000000000);
    assert_true(copy.integrated);
}

/* Every key is needed, and none may hold another type. */
TEST(refuses_damaged_json)
{
    struct hn_device device;
    make_device(&device);
    json_t *json = keep(hn_fields_to_json(&hn_device_structure, &device), json_decref);
    json_auto_t *whole = json_deep_copy(json);
    const char *key = NULL;
    json_t *value = NULL;
    size_t keys = 0;
    json_object_foreach(whole, key, value)
    {
        json_object_del(json, key);
        assert_int_equal(read_device(json, &device), HN_EFORMAT);
        json_object_set_new(json, key, json_array());
        assert_int_equal(read_device(json, &device), HN_EFORMAT);
        json_object_set(json, key, value);
        assert_ok(read_device(json, &device));
        keys++;
    }
    assert_true(keys > 30);
    json_object_set_new(json, "l2_bytes", json_integer(1LL << 40));
    assert_error(read_device(json, &device), HN_EFORMAT,
                 "device: 'l2_bytes' is not an integer of 0 to 2147483647");
}
