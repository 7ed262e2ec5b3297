/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/text.h"
#include "runtime/driver.h"
#include "runtime/nvrtc.h"
#include "tuner/command.h"
#include "tuner/options.h"
#include "tuner/report/format.h"

extern const struct hn_command hn_command_device;

static error_t parse(int key, char *argument, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "found '%s', expected no argument", argument);
    return EINVAL;
}

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

static enum hn_status show_device(const struct hn_driver *driver, int ordinal, json_t *devices,
                                  struct hn_error *err)
{
    struct hn_device device;
    enum hn_status status = hn_driver_device(driver, ordinal, &device, err);
    if (status != HN_OK)
        return status;
    if (devices == NULL)
        print_device(&device);
    else if (json_array_append_new(devices, hn_device_to_json(&device)) != 0)
        return hn_fail_memory(err);
    return HN_OK;
}

static enum hn_status show_devices(json_t *devices, struct hn_error *err)
{
    struct hn_driver driver;
    int count = 0;
    enum hn_status status = hn_driver_open(&driver, err);
    if (status != HN_OK)
        return status;
    status = hn_driver_count(&driver, &count, err);
    if (status == HN_OK && count == 0)
        status = hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    for (int i = 0; status == HN_OK && i < count; i++)
        status = show_device(&driver, i, devices, err);
    hn_driver_close(&driver);
    return status;
}

static enum hn_status show_json(struct hn_error *err)
{
    json_t *devices = json_array();
    json_t *document = json_pack("{s:o}", "devices", devices);
    if (document == NULL)
        return hn_fail_memory(err);
    show_nvrtc(document);
    enum hn_status status = show_devices(devices, err);
    json_dumpf(document, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(document);
    return status;
}

static enum hn_status run(int argc, char **argv, struct hn_error *err)
{
    struct hn_options options;
    const struct hn_command_line line = {
        .name = "device",
        .arguments = "",
        .summary = "Shows the GPUs that the driver finds, their identity and limits, and NVRTC.",
        .details = "Without a driver: NVRTC alone, and exit code 1.",
        .groups = HN_OPTIONS_OUTPUT,
        .parse = parse,
    };
    hn_options_init(&options);
    enum hn_status status = hn_options_parse(&line, argc, argv, &options);
    if (status == HN_OK && options.json) {
        status = show_json(err);
    } else if (status == HN_OK) {
        show_nvrtc(NULL);
        status = show_devices(NULL, err);
    }
    hn_options_finish(&options);
    return status;
}

const struct hn_command hn_command_device = {
    .name = "device",
    .arguments = "",
    .summary = "show the GPUs, their identity and limits, and the compiler",
    .run = run,
};
