/* SPDX-License-Identifier: MIT */
#include "runtime/device/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
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

enum hn_status hn_library_open(const char *const *names, size_t name_count,
                               const struct hn_symbol *symbols, size_t symbol_count, void **library,
                               struct hn_error *err)
{
    struct hn_text tried HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < name_count; i++) {
        /* dlopen() would wait for whoever writes into a FIFO. */
        struct stat about;
        bool special =
            strchr(names[i], '/') != NULL && stat(names[i], &about) == 0 && !S_ISREG(about.st_mode);
        /* The driver and NVRTC start threads and register exit handlers: they stay loaded. */
        void *handle = special ? NULL : dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *reason = handle == NULL && !special ? dlerror() : NULL;
        const char *missing = handle != NULL ? resolve(handle, symbols, symbol_count) : NULL;
        if (handle != NULL && missing == NULL) {
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
    return hn_fail(err, HN_ERUN, "no library could be loaded: %s",
                   tried.data != NULL ? tried.data : "no names to try");
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

/* Where a toolkit has a library, and PyPI's wheels, with its own folder between the halves. */
enum form { TOOLKIT, WHEELS, PYTHON };
static const char *const forms[][2] = {
    [TOOLKIT] = {"{/lib64,", "}"},
    [WHEELS] = {"/", ""},
    [PYTHON] = {"/lib/python3*/{site,dist}-packages/", ""},
};

/* Best first. The loader's path has no root. */
static const struct place {
    enum form form;
    const char *variable; /* of the environment, which names the root */
    const char *root;
} places[] = {
    {WHEELS, "HONE_CUDA_WHEELS", NULL}, {TOOLKIT, "CUDA_HOME", NULL}, {TOOLKIT, NULL, ""},
    {TOOLKIT, NULL, "/usr/local/cuda"}, {TOOLKIT, NULL, "/opt/cuda"},
#ifdef HONE_CUDA_WHEELS
    {WHEELS, NULL, HONE_CUDA_WHEELS},
#endif
    {PYTHON, "VIRTUAL_ENV", NULL},      {PYTHON, NULL, "/usr/local"}, {PYTHON, NULL, "/usr"},
};

/* The files that are there, or names for the loader. */
static void add_place(const struct place *place, const struct hn_toolkit_library *wanted,
                      glob_t *found)
{
    static const char *const versions[] = {".13", ".12", ""};
    const char *root = place->variable != NULL ? getenv(place->variable) : place->root;
    const char *const *form = forms[place->form];
    const char *own = place->form != TOOLKIT  ? wanted->wheel
                      : wanted->aside != NULL ? wanted->aside
                                              : "/lib64";
    bool for_loader = place->variable == NULL && *root == '\0';
    for (size_t i = 0; root != NULL && (for_loader || *root != '\0') && i < 3; i++) {
        struct hn_text pattern HN_ENDED_BY(hn_text_finish) = {0};
        for (const char *c = root; *c != '\0'; c++)
            hn_text_printf(&pattern, strchr("*?[]{},\\", *c) != NULL ? "\\%c" : "%c", *c);
        if (!for_loader)
            hn_text_printf(&pattern, "%s%s%s/", form[0], own, form[1]);
        hn_text_printf(&pattern, "%s%s", wanted->file, versions[i]);
        if (!pattern.failed)
            glob(pattern.data, GLOB_APPEND | (for_loader ? GLOB_NOCHECK : GLOB_BRACE), NULL, found);
    }
    for (const char *const *also = wanted->also; for_loader && also != NULL && *also != NULL;
         also++)
        glob(*also, GLOB_APPEND | GLOB_BRACE, NULL, found);
}

enum hn_status hn_toolkit_open(const struct hn_toolkit_library *wanted,
                               const struct hn_symbol *symbols, size_t symbol_count, void **library,
                               struct hn_error *err)
{
    const char *chosen = getenv(wanted->variable);
    glob_t found = {0};
    if (chosen != NULL && *chosen != '\0')
        return hn_library_open(&chosen, 1, symbols, symbol_count, library, err);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        add_place(&places[i], wanted, &found);
    enum hn_status status = hn_library_open((const char *const *)found.gl_pathv, found.gl_pathc,
                                            symbols, symbol_count, library, err);
    globfree(&found);
    return status == HN_OK ? HN_OK : HN_ENOTFOUND;
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
