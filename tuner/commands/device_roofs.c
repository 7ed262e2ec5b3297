/* SPDX-License-Identifier: MIT */
#include "tuner/commands/device_roofs.h"

#include <stdio.h>
#include <unistd.h>

#include "runtime/bench/roofs.h"
#include "runtime/compile/compile.h"
#include "tuner/workers/turn.h"

static enum hn_status compile(const struct hn_device *device, struct hn_image *image,
                              struct hn_error *err)
{
    char number[16];
    char architecture[HN_ARCHITECTURE_SIZE];
    struct hn_nvrtc nvrtc;
    snprintf(number, sizeof number, "sm_%d", device->identity.capability);
    hn_architecture_name(number, true, architecture);
    const struct hn_compile_request request = {
        .name = "hone/roofs.cu",
        .text = hn_roofs_source,
        .entries = hn_roofs_entries,
        .entry_count = hn_roofs_entry_count,
        .architecture = architecture,
    };
    enum hn_status status = hn_nvrtc_open(&nvrtc, err);
    if (status != HN_OK)
        return status;
    status = hn_compile(&nvrtc, &request, image, err);
    hn_nvrtc_close(&nvrtc);
    return status;
}

static enum hn_status measure(const struct hn_driver *driver, const struct hn_device *device,
                              const struct hn_image *image, struct hn_roofs *roofs,
                              struct hn_error *err)
{
    struct hn_context context;
    enum hn_status status = hn_context_init(&context, driver, device, err);
    if (status != HN_OK)
        return status;
    status = hn_roofs_measure(&context, image, roofs, err);
    hn_context_finish(&context);
    return status;
}

enum hn_status hn_device_measure_roofs(const struct hn_driver *driver,
                                       const struct hn_device *device, struct hn_roofs *roofs,
                                       struct hn_error *err)
{
    struct hn_image image;
    hn_image_init(&image);
    enum hn_status status = compile(device, &image, err);
    if (status == HN_OK) {
        int lock = hn_turn_open(device->uuid, NULL);
        hn_turn_take(lock);
        status = measure(driver, device, &image, roofs, err);
        hn_turn_end(lock);
        if (lock >= 0)
            close(lock);
    }
    hn_image_finish(&image);
    return status;
}
