/* SPDX-License-Identifier: MIT */
#include "runtime/device/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the same
 * representation. */
static void store_address(void *where, void *address)
{
    memcpy(where, &address, sizeof address);
}

static const char *resolve(void *library, const struct hn_symbol *symbols, size_t symbol_count)
{
    for (size_t i = 0; i < symbol_count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && !symbols[i].optional)
            return symbols[i].name;
        store_address(symbols[i].address, address);
    }
    return NULL;
}

static const char *last_error(void)
{
    const char *reason = dlerror();
    return reason != NULL ? reason : "unknown reason";
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
    struct hn_text tried;
    hn_text_init(&tried);
    for (size_t i = 0; i < name_count; i++) {
        const char *separator = tried.length > 0 ? "; " : "";
        /* The driver and NVRTC start threads and register exit handlers: they stay loaded once
         * closed. */
        if (is_special(names[i])) {
            hn_text_printf(&tried, "%s%s is no regular file", separator, names[i]);
            continue;
        }
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle == NULL) {
            hn_text_printf(&tried, "%s%s", separator, last_error());
            continue;
        }
        const char *missing = resolve(handle, symbols, symbol_count);
        if (missing == NULL) {
            hn_text_finish(&tried);
            *library = handle;
            return HN_OK;
        }
        hn_text_printf(&tried, "%s%s has no function %s", separator, names[i], missing);
        dlclose(handle);
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
