/* SPDX-License-Identifier: MIT */
#include "runtime/device/device.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/text.h"

/* What differs between architectures: the CUDA C++ Programming Guide's table "Technical
 * Specifications per Compute Capability", shared memory in KiB. Registers are 64 Ki a block and an
 * SM, a block has at most 1024 threads, and from 8.0 on the driver keeps 1 KiB of shared memory of
 * each block, on all of them. */
static const struct architecture {
    int capability;
    int threads_per_sm;
    int blocks_per_sm;
    int shared_per_sm;
    int shared_per_block_optin;
} architectures[] = {
    {75, 1024, 16, 64, 64},    {80, 2048, 32, 164, 163},  {86, 1536, 16, 100, 99},
    {87, 1536, 16, 164, 163},  {88, 1536, 16, 100, 99},   {89, 1536, 24, 100, 99},
    {90, 2048, 32, 228, 227},  {100, 2048, 32, 228, 227}, {103, 2048, 32, 228, 227},
    {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99},  {121, 1536, 24, 100, 99},
};
enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof *architectures };

static enum hn_status fail_unknown(const char *architecture, struct hn_error *err)
{
    struct hn_text known;
    hn_text_init(&known);
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        hn_text_printf(&known, "%ssm_%d", i > 0 ? " " : "", architectures[i].capability);
    enum hn_status status = hn_fail(err, HN_EUSAGE, "unknown architecture '%.40s'; known are %s",
                                    architecture, known.data != NULL ? known.data : "");
    hn_text_finish(&known);
    return status;
}

/* "sm_90a" has the limits of sm_90: the suffix only opens instructions to the compiler. */
static const struct architecture *find_architecture(const char *text, const char **suffix)
{
    if (strncmp(text, "sm_", 3) == 0 || strncmp(text, "SM_", 3) == 0)
        text += 3;
    if (!hn_is_digit(*text))
        return NULL;
    char *end = NULL;
    long capability = strtol(text, &end, 10);
    if (strcmp(end, "") != 0 && strcmp(end, "a") != 0 && strcmp(end, "f") != 0)
        return NULL;
    *suffix = end;
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++) {
        if (architectures[i].capability == capability)
            return &architectures[i];
    }
    return NULL;
}

/* A matter of the chip, not of the architecture: those of an A100 and an H200 as they say of
 * themselves, and for the others what rules nothing out. */
static int persisting_l2_bytes(const struct architecture *architecture)
{
    int mib = architecture->capability == 80 ? 30 : architecture->capability == 90 ? 37 : 128;
    return mib << 20;
}

enum hn_status hn_device_for_architecture(const char *architecture, struct hn_device *device,
                                          struct hn_error *err)
{
    const char *suffix = "";
    const struct architecture *found = find_architecture(architecture, &suffix);
    if (found == NULL)
        return fail_unknown(architecture, err);

    *device = (struct hn_device){
        .identity.capability = found->capability,
        .ordinal = -1,
        .warp_size = 32,
        .max_threads_per_block = 1024,
        .max_block = {1024, 1024, 64},
        .max_grid = {INT_MAX, 65535, 65535},
        .max_threads_per_sm = found->threads_per_sm,
        .max_blocks_per_sm = found->blocks_per_sm,
        .registers_per_block = 65536,
        .registers_per_sm = 65536,
        .shared_per_block = 48 * 1024,
        .shared_per_block_optin = found->shared_per_block_optin * 1024,
        .shared_per_sm = found->shared_per_sm * 1024,
        .shared_reserved_per_block = found->capability >= 80 ? 1024 : 0,
        .max_persisting_l2_bytes = found->capability >= 80 ? persisting_l2_bytes(found) : 0,
        .max_access_window_bytes = found->capability >= 80 ? 128 << 20 : 0,
        .cluster_launch = found->capability >= 90,
    };
    snprintf(device->identity.name, sizeof device->identity.name, "sm_%d%s", found->capability,
             suffix);
    return HN_OK;
}

void hn_architecture_name(const char *architecture, bool specific, char name[HN_ARCHITECTURE_SIZE])
{
    const char *number = strncmp(architecture, "sm_", 3) == 0 ? architecture + 3 : architecture;
    bool plain = number[strspn(number, "0123456789")] == '\0';
    snprintf(name, HN_ARCHITECTURE_SIZE, "sm_%.8s%s", number,
             specific && plain && atoi(number) >= 90 ? "a" : "");
}

/* X(key, member): the numbers of a device as JSON knows them. */
#define NUMBERS(X)                                                                                 \
    X("compute_capability", identity.capability)                                                   \
    X("sm_count", identity.sm_count)                                                               \
    X("ordinal", ordinal)                                                                          \
    X("warp_size", warp_size)                                                                      \
    X("max_threads_per_block", max_threads_per_block)                                              \
    X("max_block_x", max_block[0])                                                                 \
    X("max_block_y", max_block[1])                                                                 \
    X("max_block_z", max_block[2])                                                                 \
    X("max_grid_x", max_grid[0])                                                                   \
    X("max_grid_y", max_grid[1])                                                                   \
    X("max_grid_z", max_grid[2])                                                                   \
    X("max_threads_per_sm", max_threads_per_sm)                                                    \
    X("max_blocks_per_sm", max_blocks_per_sm)                                                      \
    X("registers_per_block", registers_per_block)                                                  \
    X("registers_per_sm", registers_per_sm)                                                        \
    X("shared_per_block", shared_per_block)                                                        \
    X("shared_per_block_optin", shared_per_block_optin)                                            \
    X("shared_per_sm", shared_per_sm)                                                              \
    X("shared_reserved_per_block", shared_reserved_per_block)                                      \
    X("l2_bytes", l2_bytes)                                                                        \
    X("clock_khz", clock_khz)                                                                      \
    X("memory_clock_khz", memory_clock_khz)                                                        \
    X("memory_bus_bits", memory_bus_bits)                                                          \
    X("copy_engines", copy_engines)                                                                \
    X("max_persisting_l2_bytes", max_persisting_l2_bytes)                                          \
    X("max_access_window_bytes", max_access_window_bytes)

static const struct number {
    const char *key;
    size_t offset;
} numbers[] = {
#define X(key, member) {key, offsetof(struct hn_device, member)},
    NUMBERS(X)
#undef X
};

/* X(key, member): its strings. */
static const struct string {
    const char *key;
    size_t offset;
    size_t size;
} strings[] = {
#define X(key, member)                                                                             \
    {                                                                                              \
        key, offsetof(struct hn_device, member), sizeof((struct hn_device *)0)->member             \
    }
    X("name", identity.name),
    X("mig_profile", identity.mig_profile),
    X("uuid", uuid),
    X("driver", driver),
#undef X
};

json_t *hn_device_to_json(const struct hn_device *device)
{
    json_t *json = json_object();
    int failed = json == NULL;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        failed |= json_object_set_new(json, strings[i].key,
                                      json_string((const char *)device + strings[i].offset));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int number = 0;
        memcpy(&number, (const char *)device + numbers[i].offset, sizeof number);
        failed |= json_object_set_new(json, numbers[i].key, json_integer(number));
    }
    failed |= json_object_set_new(json, "memory_bytes", json_integer(device->memory_bytes));
    failed |= json_object_set_new(json, "cluster_launch", json_boolean(device->cluster_launch));
    failed |= json_object_set_new(json, "integrated", json_boolean(device->integrated));
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

static bool read_string(const json_t *json, const struct string *string, struct hn_device *device)
{
    const char *text = json_string_value(json_object_get(json, string->key));
    if (text == NULL || strlen(text) >= string->size)
        return false;
    memcpy((char *)device + string->offset, text, strlen(text) + 1);
    return true;
}

static bool read_number(const json_t *json, const struct number *number, struct hn_device *device)
{
    const json_t *value = json_object_get(json, number->key);
    json_int_t wide = json_integer_value(value);
    if (!json_is_integer(value) || wide < INT_MIN || wide > INT_MAX)
        return false;
    int narrow = (int)wide;
    memcpy((char *)device + number->offset, &narrow, sizeof narrow);
    return true;
}

static enum hn_status fail_key(const char *key, struct hn_error *err)
{
    return hn_fail(err, HN_EFORMAT, "device: '%s' is missing or not what it should be", key);
}

enum hn_status hn_device_from_json(const json_t *json, struct hn_device *device,
                                   struct hn_error *err)
{
    *device = (struct hn_device){.ordinal = -1};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (!read_string(json, &strings[i], device))
            return fail_key(strings[i].key, err);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!read_number(json, &numbers[i], device))
            return fail_key(numbers[i].key, err);
    }
    const json_t *memory = json_object_get(json, "memory_bytes");
    const json_t *cluster = json_object_get(json, "cluster_launch");
    const json_t *integrated = json_object_get(json, "integrated");
    if (!json_is_integer(memory) || json_integer_value(memory) < 0)
        return fail_key("memory_bytes", err);
    if (!json_is_boolean(cluster) || !json_is_boolean(integrated))
        return fail_key("cluster_launch or integrated", err);
    device->memory_bytes = json_integer_value(memory);
    device->cluster_launch = json_is_true(cluster);
    device->integrated = json_is_true(integrated);
    return HN_OK;
}

const char *const hn_device_limit_names[HN_DEVICE_LIMITS] = {"sm_count", "max_threads",
                                                             "shared_bytes", "l2_bytes"};

size_t hn_device_find_limit(const char *name)
{
    size_t i = 0;
    while (i < HN_DEVICE_LIMITS && strcmp(hn_device_limit_names[i], name) != 0)
        i++;
    return i;
}

int64_t hn_device_limit(const struct hn_device *device, size_t limit)
{
    const int64_t limits[HN_DEVICE_LIMITS] = {device->identity.sm_count,
                                              device->max_threads_per_block,
                                              device->shared_per_block_optin, device->l2_bytes};
    return limits[limit];
}
