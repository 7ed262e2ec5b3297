/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/bench/roofs.h"
#include "runtime/compile/nvrtc.h"
#include "tuner/commands/command.h"
#include "tuner/commands/device_hosts.h"
#include "tuner/commands/device_roofs.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/output.h"
#include "tuner/report/format.h"
#include "tuner/report/roof.h"

struct show {
    const struct hn_options *options;
    struct hn_driver driver;
    struct hn_store *store; /* NULL: there is no cache */
    json_t *devices;        /* NULL: text */
};

static void print_bytes(const char *what, double bytes)
{
    char text[HN_FORMAT_SIZE];
    hn_format_bytes(bytes, text);
    printf("  %-20s %s\n", what, text);
}

/* Data moves on both edges of the memory clock. */
static double peak_gb_per_s(const struct hn_device *device)
{
    return 2.0 * device->memory_clock_khz * device->memory_bus_bits / 8 / 1e6;
}

static void print_memory(const struct hn_device *device)
{
    print_bytes("memory", (double)device->memory_bytes);
    if (device->memory_clock_khz > 0)
        printf("  %-20s %.0f GB/s (%d bits at %.0f MHz)\n", "peak bandwidth", peak_gb_per_s(device),
               device->memory_bus_bits, device->memory_clock_khz / 1e3);
    print_bytes("L2", device->l2_bytes);
    print_bytes("L2 set aside", device->max_persisting_l2_bytes);
    print_bytes("access window", device->max_access_window_bytes);
    printf("  %-20s %d\n", "copy engines", device->copy_engines);
}

static void print_limits(const struct hn_device *device)
{
    printf("  %-20s %d, each %d threads, %d blocks, %d registers\n", "SMs",
           device->identity.sm_count, device->max_threads_per_sm, device->max_blocks_per_sm,
           device->registers_per_sm);
    print_bytes("shared memory an SM", device->shared_per_sm);
    printf("  %-20s %d threads (%d x %d x %d), %d registers\n", "block",
           device->max_threads_per_block, device->max_block[0], device->max_block[1],
           device->max_block[2], device->registers_per_block);
    print_bytes("  static shared", device->shared_per_block);
    print_bytes("  with dynamic", device->shared_per_block_optin);
    print_bytes("  reserved", device->shared_reserved_per_block);
    printf("  %-20s %d x %d x %d\n", "grid", device->max_grid[0], device->max_grid[1],
           device->max_grid[2]);
    printf("  %-20s %s\n", "clusters", device->cluster_launch ? "yes" : "no");
}

static void print_device(const struct hn_device *device)
{
    const struct hn_device_identity *identity = &device->identity;
    printf("\ndevice %d: %s\n", device->ordinal, identity->name);
    if (identity->mig_profile[0] != '\0')
        printf("  %-20s %s\n", "MIG profile", identity->mig_profile);
    printf("  %-20s %s\n", "UUID", device->uuid);
    printf("  %-20s %d.%d\n", "compute capability", identity->capability / 10,
           identity->capability % 10);
    printf("  %-20s %s\n", "driver", device->driver);
    printf("  %-20s %.0f MHz\n", "clock", device->clock_khz / 1e3);
    print_limits(device);
    print_memory(device);
}

static void print_nvrtc(const struct hn_nvrtc *nvrtc)
{
    int architectures[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(nvrtc, architectures);
    printf("NVRTC %d.%d compiles for", nvrtc->major, nvrtc->minor);
    for (size_t i = 0; i < count; i++)
        printf(" sm_%d", architectures[i]);
    printf("\nCUDA headers: %s\n", nvrtc->include_dir[0] != '\0'
                                       ? nvrtc->include_dir
                                       : "not found (templates can not include cuda_fp16.h)");
}

static json_t *nvrtc_to_json(const struct hn_nvrtc *nvrtc)
{
    int numbers[HN_NVRTC_ARCHITECTURES];
    size_t count = hn_nvrtc_architectures(nvrtc, numbers);
    json_t *architectures = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(architectures, json_sprintf("sm_%d", numbers[i]));
    return json_pack("{s:o, s:o, s:s}", "version",
                     json_sprintf("%d.%d", nvrtc->major, nvrtc->minor), "architectures",
                     architectures, "include_dir", nvrtc->include_dir);
}

/* NVRTC is told of even where there is no driver: it is all that `hone compile` needs. */
static void show_nvrtc(json_t *document)
{
    struct hn_nvrtc nvrtc;
    struct hn_error reason = {.message = ""};
    if (hn_nvrtc_open(&nvrtc, &reason) != HN_OK) {
        if (document != NULL)
            json_object_set_new(document, "nvrtc", json_null());
        else
            printf("%s\n", reason.message);
        return;
    }
    if (document != NULL)
        json_object_set_new(document, "nvrtc", nvrtc_to_json(&nvrtc));
    else
        print_nvrtc(&nvrtc);
    hn_nvrtc_close(&nvrtc);
}

static void print_roofs(const struct hn_roofs *roofs)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_roofs_append(&text, roofs);
    printf("  %-20s %s\n", "at best", text.failed ? "" : text.data);
    hn_text_finish(&text);
    hn_text_init(&text);
    hn_tensor_roofs_append(&text, &roofs->tensor);
    if (text.length > 0 && !text.failed)
        printf("  %-20s %s\n", "tensor cores at best", text.data);
    hn_text_finish(&text);
}

/* Those measured now, or with whatever driver before. HN_ENOTFOUND: there are none. */
static enum hn_status find_roofs(struct show *show, const struct hn_device *device,
                                 struct hn_roofs *roofs, struct hn_error *err)
{
    if (!show->options->measure)
        return show->store == NULL
                   ? HN_ENOTFOUND
                   : hn_store_get_roofs(show->store, &device->identity, NULL, roofs, err);
    enum hn_status status = hn_device_measure_roofs(&show->driver, device, roofs, err);
    return status == HN_OK ? hn_store_put_roofs(show->store, &device->identity, roofs, err)
                           : status;
}

static enum hn_status show_device(struct show *show, int ordinal, struct hn_error *err)
{
    struct hn_device device;
    struct hn_roofs roofs;
    enum hn_status status = hn_driver_device(&show->driver, ordinal, &device, err);
    if (status != HN_OK)
        return status;
    enum hn_status found = find_roofs(show, &device, &roofs, err);
    if (found != HN_OK && found != HN_ENOTFOUND)
        return found;
    if (show->devices == NULL) {
        print_device(&device);
        if (found == HN_OK)
            print_roofs(&roofs);
        return HN_OK;
    }
    json_t *json = hn_needed(hn_device_to_json(&device));
    json_object_set_new(json, "roofs", found == HN_OK ? hn_roofs_to_json(&roofs) : json_null());
    json_array_append_new(show->devices, json);
    return HN_OK;
}

/* Only what is measured needs a cache. */
static enum hn_status open_store(struct show *show, struct hn_error *err)
{
    enum hn_store_mode mode = show->options->measure ? HN_STORE_WRITE : HN_STORE_READ;
    struct hn_error reason;
    enum hn_status status = hn_cache_open(show->options, mode, &show->store, &reason);
    if (status == HN_OK)
        return HN_OK;
    show->store = NULL;
    if (!show->options->measure && (status == HN_ENOTFOUND || show->options->cache == NULL))
        return HN_OK;
    *err = reason;
    return status;
}

static enum hn_status show_devices(struct show *show, struct hn_error *err)
{
    int count = 0;
    enum hn_status status = hn_driver_open(&show->driver, err);
    if (status != HN_OK)
        return status;
    status = hn_driver_count(&show->driver, &count, err);
    if (status == HN_OK && count == 0)
        status = hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    if (status == HN_OK)
        status = open_store(show, err);
    for (int i = 0; status == HN_OK && i < count; i++)
        status = show_device(show, i, err);
    hn_store_close(show->store);
    hn_driver_close(&show->driver);
    return status;
}

static enum hn_status show_json(struct show *show, struct hn_error *err)
{
    show->devices = json_array();
    json_t *document = hn_needed(json_pack("{s:o}", "devices", show->devices));
    show_nvrtc(document);
    enum hn_status status = show_devices(show, err);
    enum hn_status written = hn_output_json(document, status == HN_OK ? err : NULL);
    json_decref(document);
    return status == HN_OK ? written : status;
}

/* What is there, of which this machine may be none. */
static enum hn_status show_hosts(struct show *show, struct hn_error *err)
{
    json_t *document = show->options->json ? json_object() : NULL;
    enum hn_status status = open_store(show, err);
    if (status == HN_OK)
        status = hn_device_show_hosts(show->options, show->store, document, err);
    hn_store_close(show->store);
    if (document == NULL)
        return status;
    enum hn_status written = hn_output_json(document, status == HN_OK ? err : NULL);
    json_decref(document);
    return status == HN_OK ? written : status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct show show = {.options = options};
    if (options->workers != NULL)
        return show_hosts(&show, err);
    if (options->json)
        return show_json(&show, err);
    show_nvrtc(NULL);
    return show_devices(&show, err);
}

const struct hn_command hn_command_device = {
    .name = "device",
    .of = HN_DEVICE,
    .arguments = "",
    .summary = "show the GPUs, their identity and limits, and the compiler",
    .help =
        "Shows the GPUs that the driver finds, their identity and limits, what the cache holds of "
        "how fast they are at best, and NVRTC.",
    .details = "Without a driver: NVRTC alone, and exit code 1.",
    .examples = "hone device --measure",
    .extra = "found '%s', expected no argument",
    .run = run,
};
