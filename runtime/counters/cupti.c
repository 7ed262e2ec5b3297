/* SPDX-License-Identifier: MIT */
#include "runtime/counters/cupti.h"

#include <string.h>

#include "runtime/device/library.h"

/* The sizes that the headers of CUDA 12.6 to 13.0 give on 64-bit machines. */
#define HAS_SIZE(type, last, bytes)                                                                \
    _Static_assert(HN_CUPTI_SIZE(type, last) == (bytes), "not the layout of CUPTI")
HAS_SIZE(hn_cupti_plain, private_data, 16);
HAS_SIZE(hn_cupti_chip, name, 32);
HAS_SIZE(hn_cupti_availability, image, 40);
HAS_SIZE(hn_cupti_host, host, 48);
HAS_SIZE(hn_cupti_host_end, host, 24);
HAS_SIZE(hn_cupti_metrics, count, 40);
HAS_SIZE(hn_cupti_config_size, config_size, 32);
HAS_SIZE(hn_cupti_config, config, 40);
HAS_SIZE(hn_cupti_passes, passes, 40);
HAS_SIZE(hn_cupti_values, values, 72);
HAS_SIZE(hn_cupti_enable, profiler, 32);
HAS_SIZE(hn_cupti_profiler, profiler, 24);
HAS_SIZE(hn_cupti_data_size, data_size, 64);
HAS_SIZE(hn_cupti_data, data, 40);
HAS_SIZE(hn_cupti_plan, level, 90);
HAS_SIZE(hn_cupti_range, name, 32);
HAS_SIZE(hn_cupti_stop, all_submitted, 41);
HAS_SIZE(hn_cupti_decode, dropped, 32);

/* CUDA 12.6; from 13.0 on versions have six digits. */
enum { OLDEST = 24 };

static const struct hn_toolkit_library wanted = {
    .variable = "HONE_CUPTI",
    .file = "libcupti.so",
    .wheel = "cuda_cupti",
    .aside = "/extras/CUPTI/lib64",
};

static enum hn_status fail_not_found(const struct hn_error *reason, struct hn_error *err)
{
    return hn_fail(err, HN_ERUN,
                   "CUPTI of CUDA 12.6 or later, which reads the GPU's counters, was not found; it "
                   "comes with the CUDA toolkit and with 'pip install nvidia-cuda-cupti', and "
                   "HONE_CUPTI names its file (%.300s)",
                   reason->message);
}

/* Wheels are in no path, and CUPTI looks for these by their names. */
static void load_companions(const struct hn_cupti *cupti)
{
    void *function = NULL;
    memcpy(&function, &cupti->version, sizeof function);
    hn_toolkit_load_beside(function, "libnvperf_host.so");
    hn_toolkit_load_beside(function, "libnvperf_target.so");
}

enum hn_status hn_cupti_open(struct hn_cupti *cupti, struct hn_error *err)
{
    *cupti = (struct hn_cupti){0};
    const struct hn_symbol symbols[] = {{"cuptiGetVersion", &cupti->version, false},
                                        {"cuptiGetErrorMessage", &cupti->message, true},
#define X(member, function, structure) {#function, &cupti->member, false},
                                        HN_CUPTI_FUNCTIONS(X)
#undef X
    };
    struct hn_error reason = {.message = ""};
    uint32_t version = 0;
    if (hn_toolkit_open(&wanted, symbols, sizeof symbols / sizeof *symbols, &cupti->library,
                        &reason) != HN_OK)
        return fail_not_found(&reason, err);
    if (cupti->version(&version) != HN_CUPTI_SUCCESS || version < OLDEST) {
        hn_cupti_close(cupti);
        return hn_fail(err, HN_ERUN,
                       "CUPTI says that it is version %u, expected that of CUDA 12.6 (%d) or later",
                       version, OLDEST);
    }
    load_companions(cupti);
    return HN_OK;
}

void hn_cupti_close(struct hn_cupti *cupti)
{
    hn_library_close(cupti->library);
    *cupti = (struct hn_cupti){0};
}

enum hn_status hn_cupti_check(const struct hn_cupti *cupti, int result, const char *what,
                              struct hn_error *err)
{
    const char *text = NULL;
    if (result == HN_CUPTI_SUCCESS)
        return HN_OK;
    if (result == HN_CUPTI_INSUFFICIENT_PRIVILEGES ||
        result == HN_CUPTI_VIRTUAL_DEVICE_INSUFFICIENT_PRIVILEGES)
        return hn_fail(err, HN_ERUN,
                       "the driver lets only administrators read the GPU's counters: run as root, "
                       "or have 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' put into a "
                       "file of /etc/modprobe.d and the driver loaded again");
    if (result == HN_CUPTI_HARDWARE_BUSY || result == HN_CUPTI_MULTIPLE_SUBSCRIBERS)
        return hn_fail(err, HN_ERUN,
                       "another profiler is reading the GPU's counters (%s: CUPTI's error %d)",
                       what, result);
    if (cupti->message != NULL)
        (void)cupti->message(result, &text);
    return hn_fail(err, HN_ERUN, "the GPU's counters can not be read: %s: CUPTI's error %d%s%s",
                   what, result, text != NULL ? ", " : "", text != NULL ? text : "");
}
