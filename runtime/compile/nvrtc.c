/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvrtc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/library.h"

static const struct hn_toolkit_library wanted = {
    .variable = "HONE_NVRTC",
    .file = "libnvrtc.so",
    .wheel = "cuda_nvrtc",
};

/* The toolkit has lib64 or lib beside include, Debian /usr/lib/<triplet>, the wheels of CUDA 12 a
 * folder a package. */
static void find_headers(struct hn_nvrtc *nvrtc, const void *function)
{
    static const char *const places[] = {"/../include", "/../../include",
                                         "/../../cuda_runtime/include"};
    char library[900];
    if (!hn_library_path(function, library, sizeof library))
        return;
    *strrchr(library, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char folder[1024];
        char header[1100];
        char real[PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s", library, places[i]);
        snprintf(header, sizeof header, "%s/cuda_fp16.h", folder);
        if (access(header, R_OK) != 0 || realpath(folder, real) == NULL ||
            strlen(real) >= sizeof nvrtc->include_dir)
            continue;
        memcpy(nvrtc->include_dir, real, strlen(real) + 1);
        return;
    }
}

enum hn_status hn_nvrtc_open(struct hn_nvrtc *nvrtc, struct hn_error *err)
{
    *nvrtc = (struct hn_nvrtc){0};
    const struct hn_symbol symbols[] = {
#define X(name) {#name, &nvrtc->p_##name, false},
        HN_NVRTC_FUNCTIONS(X)
#undef X
    };
    struct hn_error reason = {.message = ""};
    if (hn_toolkit_open(&wanted, symbols, sizeof symbols / sizeof *symbols, &nvrtc->library,
                        &reason) != HN_OK)
        return hn_fail(
            err, HN_ERUN,
            hn_toolkit_is_chosen(&wanted)
                ? "NVRTC could not be loaded from $HONE_NVRTC: %.1500s"
                : "NVRTC (libnvrtc.so.13 or .12) was not found in the loader's path, $CUDA_HOME, "
                  "/usr/local/cuda or a Python environment; install the CUDA toolkit, or "
                  "'pip install nvidia-cuda-nvrtc nvidia-cuda-runtime', or set HONE_NVRTC to the "
                  "file (%.1500s)",
            reason.message);
    if (nvrtc->p_nvrtcVersion(&nvrtc->major, &nvrtc->minor) != NVRTC_SUCCESS) {
        hn_nvrtc_close(nvrtc);
        return hn_fail(err, HN_ERUN, "NVRTC was loaded but does not tell its version");
    }
    void *function = NULL;
    memcpy(&function, &nvrtc->p_nvrtcVersion, sizeof function);
    /* The wheels' NVRTC does not look for its builtins beside itself; once they are loaded, it
     * finds them by their soname. */
    char builtins[64];
    snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", nvrtc->major, nvrtc->minor);
    hn_toolkit_load_beside(function, builtins);
    find_headers(nvrtc, function);
    return HN_OK;
}

void hn_nvrtc_close(struct hn_nvrtc *nvrtc)
{
    hn_library_close(nvrtc->library);
    *nvrtc = (struct hn_nvrtc){0};
}

size_t hn_nvrtc_architectures(const struct hn_nvrtc *nvrtc,
                              int architectures[HN_NVRTC_ARCHITECTURES])
{
    int count = 0;
    if (nvrtc->p_nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count < 0 ||
        count > HN_NVRTC_ARCHITECTURES ||
        nvrtc->p_nvrtcGetSupportedArchs(architectures) != NVRTC_SUCCESS)
        return 0;
    return (size_t)count;
}
