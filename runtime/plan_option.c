/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/plan.h"

/* Parses the hole that starts behind `start` ('{') and appends it; *end is its '}'. */
static enum hn_status add_hole(struct hn_option *option, const char *start, const char **end,
                               struct hn_error *err)
{
    *end = start + strcspn(start + 1, "{}") + 1;
    if (**end != '}')
        return hn_fail(err, HN_ECONFIG, "'{' without its '}' in option '%s'", option->text);
    struct hn_expression **grown =
        realloc(option->holes, (option->hole_count + 1) * sizeof(struct hn_expression *));
    if (grown == NULL)
        return hn_fail_memory(err);
    option->holes = grown;

    char *text = strndup(start + 1, (size_t)(*end - start - 1));
    if (text == NULL)
        return hn_fail_memory(err);
    struct hn_expression *hole = NULL;
    enum hn_status status = hn_expression_parse(text, &hole, err);
    free(text);
    if (status == HN_OK)
        option->holes[option->hole_count++] = hole;
    return status;
}

enum hn_status hn_option_check(const char *text, struct hn_error *err)
{
    static const char *const refused[] = {"time",       "fdevice-time-trace",
                                          "pch",        "create-pch",
                                          "create_pch", "fdevice_time_trace",
                                          "use-pch",    "use_pch",
                                          "pch-dir",    "pch_dir"};
    const char *name = text + strspn(text, " \t\n\v\f\r-");
    size_t length = strcspn(name, "= \t\n\v\f\r");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strlen(refused[i]) == length && strncasecmp(refused[i], name, length) == 0)
            return hn_fail(err, HN_ECONFIG,
                           "option '%s': with '%s' the compiler writes files or loads precompiled "
                           "headers, which a config may not ask for",
                           text, refused[i]);
    return HN_OK;
}

enum hn_status hn_option_set_text(struct hn_option *option, const char *text, struct hn_error *err)
{
    option->text = strdup(text);
    if (option->text == NULL)
        return hn_fail_memory(err);
    enum hn_status allowed = hn_option_check(text, err);
    if (allowed != HN_OK)
        return allowed;
    const char *at = option->text;
    for (at += strcspn(at, "{}"); *at != '\0'; at += strcspn(at, "{}")) {
        if (*at == '}')
            return hn_fail(err, HN_ECONFIG, "'}' without its '{' in option '%s'", text);
        const char *end = at;
        enum hn_status status = add_hole(option, at, &end, err);
        if (status != HN_OK)
            return status;
        at = end + 1;
    }
    return HN_OK;
}
