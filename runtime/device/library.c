/* SPDX-License-Identifier: MIT */
#include "runtime/device/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static const char *resolve(void *library, const struct hn_symbol *symbols, size_t symbol_count)
{
    for (size_t i = 0; i < symbol_count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && !symbols[i].optional)
            return symbols[i].name;
        /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the same
         * representation. */
        memcpy(symbols[i].address, &address, sizeof address);
    }
    return NULL;
}

/* dlopen() would wait for whoever writes into a FIFO. */
static bool is_special(const char *name)
{
    struct stat about;
    return strchr(name, '/') != NULL && stat(name, &about) == 0 && !S_ISREG(about.st_mode);
}

enum hn_status hn_library_open(const char *const *names, size_t name_count,
                               const struct hn_symbol *symbols, size_t symbol_count, void **library,
                               struct hn_error *err)
{
    struct hn_text tried = {0};
    for (size_t i = 0; i < name_count; i++) {
        bool special = is_special(names[i]);
        /* The driver and NVRTC start threads and register exit handlers: they stay loaded once
         * closed. */
        void *handle = special ? NULL : dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *reason = handle == NULL && !special ? dlerror() : NULL;
        const char *missing = handle != NULL ? resolve(handle, symbols, symbol_count) : NULL;
        if (handle != NULL && missing == NULL) {
            hn_text_finish(&tried);
            *library = handle;
            return HN_OK;
        }
        hn_text_append(&tried, tried.length > 0 ? "; " : "");
        if (missing != NULL)
            hn_text_printf(&tried, "%s has no function %s", names[i], missing);
        else if (special)
            hn_text_printf(&tried, "%s is no regular file", names[i]);
        else
            hn_text_append(&tried, reason != NULL ? reason : "unknown reason");
        hn_library_close(handle);
    }
    enum hn_status status = hn_fail(err, HN_ERUN, "no library could be loaded: %s",
                                    tried.data != NULL ? tried.data : "no names to try");
    hn_text_finish(&tried);
    return status;
}

void hn_library_close(void *library)
{
    if (library != NULL)
        dlclose(library);
}

bool hn_library_path(const void *symbol, char *path, size_t size)
{
    Dl_info info;
    if (dladdr(symbol, &info) == 0 || info.dli_fname == NULL)
        return false;
    char real[PATH_MAX];
    if (realpath(info.dli_fname, real) == NULL)
        return false;
    int length = snprintf(path, size, "%s", real);
    return length > 0 && (size_t)length < size;
}

enum { MAX_CANDIDATES = 128 };

/* File names to try, best first. */
struct candidates {
    const struct hn_toolkit_library *wanted;
    char *paths[MAX_CANDIDATES];
    size_t count;
};

static void add_path(struct candidates *list, const char *folder, const char *file,
                     const char *version)
{
    char *path = NULL;
    if (list->count < MAX_CANDIDATES && asprintf(&path, "%s%s%s", folder, file, version) >= 0)
        list->paths[list->count++] = path;
}

static void add_versions(struct candidates *list, const char *folder)
{
    static const char *const versions[] = {".13", ".12", ""};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        add_path(list, folder, list->wanted->file, versions[i]);
}

static void add_below(struct candidates *list, const char *root, const char *below,
                      const char *further)
{
    char *folder = NULL;
    if (root == NULL || *root == '\0' || below == NULL ||
        asprintf(&folder, "%s%s%s/", root, below, further) < 0)
        return;
    if (access(folder, F_OK) == 0)
        add_versions(list, folder);
    free(folder);
}

static void add_toolkit(struct candidates *list, const char *root)
{
    add_below(list, root, "/lib64", "");
    add_below(list, root, list->wanted->aside, "");
}

/* A folder as the PyPI wheels of CUDA 13 and 12 unpack into it. */
static void add_wheels(struct candidates *list, const char *root)
{
    char folder[64];
    add_below(list, root, "/nvidia/cu13", "/lib");
    snprintf(folder, sizeof folder, "/nvidia/%s", list->wanted->wheel);
    add_below(list, root, folder, "/lib");
}

static void add_python(struct candidates *list, const char *root)
{
    static const char *const below[] = {"/lib/python3*/site-packages",
                                        "/lib/python3*/dist-packages"};
    for (size_t i = 0; root != NULL && i < sizeof below / sizeof *below; i++) {
        char *pattern = NULL;
        glob_t found;
        if (asprintf(&pattern, "%s%s", root, below[i]) < 0)
            return;
        bool any = glob(pattern, 0, NULL, &found) == 0;
        for (size_t j = 0; any && j < found.gl_pathc; j++)
            add_wheels(list, found.gl_pathv[j]);
        if (any)
            globfree(&found);
        free(pattern);
    }
}

bool hn_toolkit_is_chosen(const struct hn_toolkit_library *wanted)
{
    const char *chosen = getenv(wanted->variable);
    return chosen != NULL && *chosen != '\0';
}

static void collect(struct candidates *list)
{
    const char *chosen = getenv(list->wanted->variable);
    if (hn_toolkit_is_chosen(list->wanted)) {
        add_path(list, "", chosen, "");
        return;
    }
    add_wheels(list, getenv("HONE_CUDA_WHEELS"));
    add_toolkit(list, getenv("CUDA_HOME"));
    add_versions(list, "");
    add_toolkit(list, "/usr/local/cuda");
    add_toolkit(list, "/opt/cuda");
#ifdef HONE_CUDA_WHEELS
    add_wheels(list, HONE_CUDA_WHEELS);
#endif
    add_python(list, getenv("VIRTUAL_ENV"));
    add_python(list, "/usr/local");
    add_python(list, "/usr");
}

enum hn_status hn_toolkit_open(const struct hn_toolkit_library *wanted,
                               const struct hn_symbol *symbols, size_t symbol_count, void **library,
                               struct hn_error *err)
{
    struct candidates list = {.wanted = wanted};
    collect(&list);
    enum hn_status status = hn_library_open((const char *const *)list.paths, list.count, symbols,
                                            symbol_count, library, err);
    for (size_t i = 0; i < list.count; i++)
        free(list.paths[i]);
    return status;
}

void hn_toolkit_load_beside(const void *symbol, const char *file)
{
    char path[1200];
    if (!hn_library_path(symbol, path, 1000))
        return;
    snprintf(strrchr(path, '/') + 1, 128, "%s", file);
    const char *const names[] = {path};
    void *handle = NULL;
    (void)hn_library_open(names, 1, NULL, 0, &handle, NULL);
}
