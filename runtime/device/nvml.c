/* SPDX-License-Identifier: MIT */
#include "runtime/device/nvml.h"

#include <string.h>

#include "runtime/device/library.h"

/* NVML's interface as far as we use it: toolkits and wheels do not always bring its header. */
enum { NVML_SUCCESS = 0, UUID_SIZE = 96 };

struct nvml {
    void *library;
    int (*init)(void);
    int (*count)(unsigned int *count);
    int (*get_device)(unsigned int index, void **device);
    int (*get_capability)(void *device, int *major, int *minor);
    int (*get_uuid)(void *device, char *uuid, unsigned int size);
};

static bool open_nvml(struct nvml *nvml)
{
    static const char *const names[] = {"libnvidia-ml.so.1"};
    const struct hn_symbol symbols[] = {
        {"nvmlInit_v2", &nvml->init, false},
        {"nvmlDeviceGetCount_v2", &nvml->count, false},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml->get_device, false},
        {"nvmlDeviceGetCudaComputeCapability", &nvml->get_capability, false},
        {"nvmlDeviceGetUUID", &nvml->get_uuid, false},
    };
    if (hn_library_open(names, 1, symbols, sizeof symbols / sizeof *symbols, &nvml->library,
                        NULL) != HN_OK)
        return false;
    if (nvml->init() == NVML_SUCCESS)
        return true;
    hn_library_close(nvml->library);
    return false;
}

static bool is_named(const struct nvml *nvml, void *device, const char *uuid)
{
    char own[UUID_SIZE] = "";
    return nvml->get_uuid(device, own, sizeof own) == NVML_SUCCESS &&
           strncmp(own, uuid, strlen(uuid)) == 0;
}

/* The one capability of all devices, or of those whose UUID begins so; 0 when there are several.
 * Which device a number means depends on how CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are read.
 */
static int common_capability(const struct nvml *nvml, const char *uuid)
{
    unsigned int count = 0;
    int common = 0;
    if (nvml->count(&count) != NVML_SUCCESS)
        return 0;
    for (unsigned int i = 0; i < count; i++) {
        void *device;
        int major = 0;
        int minor = 0;
        /* One that this process may not use is none of ours. */
        if (nvml->get_device(i, &device) != NVML_SUCCESS ||
            (uuid != NULL && !is_named(nvml, device, uuid)) ||
            nvml->get_capability(device, &major, &minor) != NVML_SUCCESS)
            continue;
        int capability = 10 * major + minor;
        if (common != 0 && capability != common)
            return 0;
        common = capability;
    }
    return common;
}

int hn_nvml_capability(const char *selector)
{
    struct nvml nvml;
    bool by_uuid = selector != NULL && strncmp(selector, "GPU-", 4) == 0;
    if (!open_nvml(&nvml))
        return 0;
    /* It stays open: what watches the clocks later need not wait for it again. */
    return common_capability(&nvml, by_uuid ? selector : NULL);
}
