/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

enum hn_status hn_fail(struct hn_error *err, enum hn_status status, const char *format, ...)
{
    if (err != NULL) {
        err->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

enum hn_status hn_fail_memory(struct hn_error *err)
{
    return hn_fail(err, HN_ENOMEM, "out of memory");
}
