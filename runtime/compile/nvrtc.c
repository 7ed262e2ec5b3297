/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvrtc.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/device/library.h"

enum { MAX_CANDIDATES = 96 };

/* File names of NVRTC to try, best first. */
struct candidates {
    char *paths[MAX_CANDIDATES];
    size_t count;
};

static void add_path(struct candidates *list, const char *folder, const char *file)
{
    char *path = NULL;
    if (list->count < MAX_CANDIDATES && asprintf(&path, "%s%s", folder, file) >= 0)
        list->paths[list->count++] = path;
}

static void add_folder(struct candidates *list, const char *folder)
{
    static const char *const names[] = {"/libnvrtc.so.13", "/libnvrtc.so.12", "/libnvrtc.so"};
    if (access(folder, F_OK) != 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_path(list, folder, names[i]);
}

static void add_below(struct candidates *list, const char *root, const char *below)
{
    char *folder = NULL;
    if (root == NULL || *root == '\0' || asprintf(&folder, "%s%s", root, below) < 0)
        return;
    add_folder(list, folder);
    free(folder);
}

/* A folder as the PyPI wheels of CUDA 13 and 12 unpack into it. */
static void add_wheels(struct candidates *list, const char *root)
{
    add_below(list, root, "/nvidia/cu13/lib");
    add_below(list, root, "/nvidia/cuda_nvrtc/lib");
}

static void add_python(struct candidates *list, const char *root)
{
    static const char *const below[] = {"/lib/python3*/site-packages",
                                        "/lib/python3*/dist-packages"};
    for (size_t i = 0; root != NULL && i < sizeof below / sizeof *below; i++) {
        char *pattern = NULL;
        if (asprintf(&pattern, "%s%s", root, below[i]) < 0)
            return;
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++)
                add_wheels(list, found.gl_pathv[j]);
            globfree(&found);
        }
        free(pattern);
    }
}

static void collect(struct candidates *list)
{
    const char *chosen = getenv("HONE_NVRTC");
    if (chosen != NULL && *chosen != '\0') {
        add_path(list, "", chosen);
        return;
    }
    add_wheels(list, getenv("HONE_CUDA_WHEELS"));
    add_below(list, getenv("CUDA_HOME"), "/lib64");
    add_path(list, "", "libnvrtc.so.13");
    add_path(list, "", "libnvrtc.so.12");
    add_path(list, "", "libnvrtc.so");
    add_folder(list, "/usr/local/cuda/lib64");
    add_folder(list, "/opt/cuda/lib64");
#ifdef HONE_CUDA_WHEELS
    add_wheels(list, HONE_CUDA_WHEELS);
#endif
    add_python(list, getenv("VIRTUAL_ENV"));
    add_python(list, "/usr/local");
    add_python(list, "/usr");
}

/* The toolkit has lib64 or lib beside include, Debian /usr/lib/<triplet>, the wheels of CUDA 12 a
 * folder a package. */
static void find_headers(struct hn_nvrtc *nvrtc)
{
    static const char *const places[] = {"/../include", "/../../include",
                                         "/../../cuda_runtime/include"};
    char library[900];
    void *function = NULL;
    memcpy(&function, &nvrtc->p_nvrtcVersion, sizeof function);
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

/* The wheels' NVRTC does not look for its builtins beside itself; once they are loaded, it finds
 * them by their soname. */
static void load_builtins(const struct hn_nvrtc *nvrtc)
{
    char library[900];
    char builtins[1100];
    void *function = NULL;
    void *handle = NULL;
    memcpy(&function, &nvrtc->p_nvrtcVersion, sizeof function);
    if (!hn_library_path(function, library, sizeof library))
        return;
    *strrchr(library, '/') = '\0';
    snprintf(builtins, sizeof builtins, "%s/libnvrtc-builtins.so.%d.%d", library, nvrtc->major,
             nvrtc->minor);
    const char *const names[] = {builtins};
    (void)hn_library_open(names, 1, NULL, 0, &handle, NULL);
}

static enum hn_status fail_not_found(const struct candidates *list, const struct hn_error *reason,
                                     struct hn_error *err)
{
    if (list->count == 1)
        return hn_fail(err, HN_ERUN, "NVRTC could not be loaded from $HONE_NVRTC: %.1500s",
                       reason->message);
    return hn_fail(err, HN_ERUN,
                   "NVRTC (libnvrtc.so.13 or .12) was not found in the loader's path, $CUDA_HOME, "
                   "/usr/local/cuda or a Python environment; install the CUDA toolkit, or "
                   "'pip install nvidia-cuda-nvrtc nvidia-cuda-runtime', or set HONE_NVRTC to the "
                   "file (%.1500s)",
                   reason->message);
}

enum hn_status hn_nvrtc_open(struct hn_nvrtc *nvrtc, struct hn_error *err)
{
    *nvrtc = (struct hn_nvrtc){0};
    const struct hn_symbol symbols[] = {
#define X(name) {#name, &nvrtc->p_##name, false},
        HN_NVRTC_FUNCTIONS(X)
#undef X
    };
    struct candidates list = {.count = 0};
    collect(&list);
    struct hn_error reason = {.message = ""};
    enum hn_status status =
        hn_library_open((const char *const *)list.paths, list.count, symbols,
                        sizeof symbols / sizeof *symbols, &nvrtc->library, &reason);
    if (status != HN_OK)
        status = fail_not_found(&list, &reason, err);
    for (size_t i = 0; i < list.count; i++)
        free(list.paths[i]);
    if (status != HN_OK)
        return status;
    if (nvrtc->p_nvrtcVersion(&nvrtc->major, &nvrtc->minor) != NVRTC_SUCCESS) {
        hn_nvrtc_close(nvrtc);
        return hn_fail(err, HN_ERUN, "NVRTC was loaded but does not tell its version");
    }
    load_builtins(nvrtc);
    find_headers(nvrtc);
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
