/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/host_headers.h"

/* Static shared memory of a block, on every architecture. */
enum { STATIC_SHARED_LIMIT = 48 * 1024 };

static bool contains(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what)) != NULL;
}

void hn_compile_log_strip(char *log)
{
    char *to = log;
    for (const char *from = log; *from != '\0';) {
        size_t length = strcspn(from, "\n");
        size_t whole = length + (from[length] == '\n');
        if (!contains(from, length, "Compile time =")) {
            memmove(to, from, whole);
            to += whole;
        }
        from += whole;
    }
    *to = '\0';
}

/* "x.cu(3): error: …", "x.cu(1): catastrophic error: …", "x.cu:1:10: fatal error: …", "ptxas fatal
 * : …", "ptxas …, line 26; error   : …", "nvrtc: error: …". */
static bool is_error(const char *line, size_t length)
{
    static const char *const marks[] = {": error: ",       ": catastrophic error: ",
                                        ": fatal error: ", ": error #",
                                        "error   : ",      "fatal   : ",
                                        "error : "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (contains(line, length, marks[i]))
            return true;
    }
    return false;
}

/* With -v ptxas writes no error for too much static shared memory, only "… 80000 bytes smem". */
static char *describe_shared(const char *log)
{
    static const char heading[] = "Compiling entry function '";
    char kernel[256] = "?";
    for (const char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *name = memmem(line, length, heading, sizeof heading - 1);
        if (name != NULL) {
            name += sizeof heading - 1;
            snprintf(kernel, sizeof kernel, "%.*s", (int)strcspn(name, "'\n"), name);
        }
        const char *mark = memmem(line, length, " bytes smem", 11);
        const char *start = mark;
        while (start != NULL && start > line && start[-1] >= '0' && start[-1] <= '9')
            start--;
        long bytes = start != NULL ? strtol(start, NULL, 10) : 0;
        char *message = NULL;
        if (bytes > STATIC_SHARED_LIMIT)
            return asprintf(&message,
                            "kernel '%s' has %ld bytes of static shared memory; the limit is %d "
                            "(beyond it use dynamic shared memory)",
                            kernel, bytes, STATIC_SHARED_LIMIT) >= 0
                       ? message
                       : NULL;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* NVRTC reports a wrong name expression as an error in a file of its own, with a pragma in the line
 * after it. */
static char *describe_name_expression(const char *line, size_t length)
{
    static const char mark[] = "): error: ";
    static const char pragma[] = "#pragma nv_mangled_name ";
    if (strncmp(line, "__nv_name_map(", 14) != 0)
        return NULL;
    const char *reason = memmem(line, length, mark, sizeof mark - 1);
    const char *expression = strstr(line + length, pragma);
    if (reason == NULL || expression == NULL)
        return NULL;
    reason += sizeof mark - 1;
    expression += sizeof pragma - 1;
    char *message = NULL;
    if (asprintf(&message, "name expression '%.*s': %.*s", (int)strcspn(expression, "\n"),
                 expression, (int)(length - (size_t)(reason - line)), reason) < 0)
        return NULL;
    return message;
}

static char *describe_error(const char *line, size_t length)
{
    char *message = describe_name_expression(line, length);
    return message != NULL ? message : strndup(line, length);
}

char *hn_compile_log_error(const char *log)
{
    const char *first = NULL;
    for (const char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (is_error(line, length))
            return describe_error(line, length);
        if (first == NULL && length > 0)
            first = line;
        line += length + (line[length] == '\n');
    }
    char *shared = describe_shared(log);
    if (shared != NULL)
        return shared;
    return first != NULL ? strndup(first, strcspn(first, "\n"))
                         : strdup("the compiler gave no reason");
}

static bool needs_host(const char *error)
{
    static const char missing[] = "cannot open source file \"";
    const char *header = strstr(error, missing);
    if (header != NULL) {
        header += strlen(missing);
        return hn_is_header_of_host(header, strcspn(header, "\""));
    }
    return strstr(error, "not allowed in JIT mode") != NULL;
}

char *hn_compile_log_nvrtc_error(const char *log)
{
    char *error = hn_compile_log_error(log);
    char *message = NULL;
    if (error == NULL || !needs_host(error))
        return error;
    char *advice = strstr(error, ". Consider using -default-device");
    if (advice != NULL)
        *advice = '\0';
    if (asprintf(&message,
                 "%s; NVRTC compiles device code alone: write what is for the host between "
                 "#ifndef __CUDACC_RTC__ and #endif, or have nvcc compile it with `compile: "
                 "{compiler: nvcc}`",
                 error) < 0)
        return error;
    free(error);
    return message;
}
