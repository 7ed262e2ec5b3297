/* SPDX-License-Identifier: MIT */
#include "tuner/init/clang.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/library.h"

/* Where distributions and wheels have it. Names without a folder are the loader's. */
static const char *const places[] = {
    "libclang.so",
    "libclang.so.1",
    "/usr/lib/{,*-linux-gnu/}libclang-[1-9][0-9].so.1",
    "/usr/lib{64,}/{llvm*/lib{64,}/,}libclang{,-[1-9][0-9]}.so*",
    "/usr/{local/,}lib/python3*/{site,dist}-packages/clang/native/libclang.so",
};

enum hn_status hn_clang_open(struct hn_clang *clang, struct hn_error *err)
{
    struct hn_symbol symbols[] = {
#define X(type, name, arguments) {"clang_" #name, &clang->name, false},
        HN_CLANG_FUNCTIONS(X)
#undef X
    };
    const char *chosen = getenv("HONE_LIBCLANG"), *environment = getenv("VIRTUAL_ENV");
    bool named = chosen != NULL && *chosen != '\0';
    char wheel[1024];
    glob_t found = {0};
    struct hn_error why;
    snprintf(wheel, sizeof wheel, "%s/lib/python3*/site-packages/clang/native/libclang.so",
             environment != NULL ? environment : "");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        glob(places[i], GLOB_APPEND | GLOB_BRACE | (i < 2 ? GLOB_NOCHECK : 0), NULL, &found);
    glob(wheel, GLOB_APPEND, NULL, &found);
    enum hn_status status = hn_library_open(
        named ? &chosen : (const char *const *)found.gl_pathv, named ? 1 : found.gl_pathc, symbols,
        sizeof symbols / sizeof *symbols, &clang->library, &why);
    globfree(&found);
    if (status == HN_OK)
        return HN_OK;
    return named ? hn_fail(err, HN_ERUN, "HONE_LIBCLANG, with which sources are read: %s",
                           why.message)
                 : hn_fail(err, HN_ERUN,
                           "sources are read with libclang, which is not found: looked for it in "
                           "the loader's path, folders of LLVM and Python environments; `apt-get "
                           "install libclang1` or `pip install libclang` brings it, HONE_LIBCLANG "
                           "names a file");
}
