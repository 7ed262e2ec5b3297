/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/option_list.h"
#include "runtime/plan/plan.h"

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

/* With a number in the place of each hole, as its values are. */
static enum hn_status check_text(const struct hn_option *option, struct hn_error *err)
{
    struct hn_text filled;
    hn_text_init(&filled);
    const char *at = option->text;
    for (size_t i = 0; i < option->hole_count; i++) {
        size_t before = strcspn(at, "{");
        hn_text_append_bytes(&filled, at, before);
        hn_text_append(&filled, "0");
        at += before + strcspn(at + before, "}") + 1;
    }
    hn_text_append(&filled, at);
    enum hn_status status =
        filled.data == NULL ? hn_fail_memory(err) : hn_option_check(filled.data, err);
    hn_text_finish(&filled);
    return status;
}

enum hn_status hn_option_set_text(struct hn_option *option, const char *text, struct hn_error *err)
{
    option->text = strdup(text);
    if (option->text == NULL)
        return hn_fail_memory(err);
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
    return check_text(option, err);
}
