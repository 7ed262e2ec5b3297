/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/commands/command.h"
#include "tuner/commands/open_cache.h"

enum { PROBLEM = 1, SETS = 2, REGIME = 4, DEVICE = 8, CACHE = 16 };

static const struct {
    const char *command;
    unsigned takes;
} commands[] = {
    {"tune", PROBLEM | SETS | REGIME | DEVICE | CACHE},
    {"tune --family", REGIME | DEVICE | CACHE},
    {"explain", PROBLEM | SETS | REGIME | CACHE},
    {"export", PROBLEM | REGIME | CACHE},
    {"run", PROBLEM | REGIME | DEVICE},
    {"cache list", CACHE},
    {"device --measure", CACHE},
};

static void append(struct hn_text *text, const char *option, const char *value)
{
    hn_text_append(text, option);
    hn_text_append_word(text, value);
}

/* Without a password. */
static void append_cache(struct hn_text *text, const char *option, const char *path)
{
    char *shown = path == NULL ? NULL : hn_cache_shown(path);
    if (shown != NULL)
        append(text, option, shown);
    free(shown);
}

const char *hn_follow_up(const struct hn_options *options, const char *command, const char *subject,
                         char line[HN_FOLLOW_UP_SIZE])
{
    struct hn_text text = {0};
    unsigned takes = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        takes |= strcmp(commands[i].command, command) == 0 ? commands[i].takes : 0;
    hn_text_printf(&text, "hone %s", command);
    if (subject != NULL)
        append(&text, " ", subject);
    for (size_t i = 0; (takes & PROBLEM) != 0 && i < options->problem.count; i++) {
        hn_text_printf(&text, " -p %s=", options->problem.names[i]);
        hn_value_append(&text, &options->problem.values[i]);
    }
    for (size_t i = 0; (takes & SETS) != 0 && i < options->restrictions.count; i++)
        append(&text, " -s ", options->restrictions.items[i]);
    if ((takes & REGIME) != 0 && options->regime != HN_COLD)
        append(&text, " --regime ", hn_regime_name((enum hn_regime)options->regime));
    if ((takes & DEVICE) != 0 && options->device != NULL)
        append(&text, " --device ", options->device);
    if ((takes & CACHE) != 0) {
        append_cache(&text, " --cache ", options->cache);
        append_cache(&text, " --base ", options->base);
    }
    snprintf(line, HN_FOLLOW_UP_SIZE, "%s", text.failed ? "" : text.data);
    hn_text_finish(&text);
    return line;
}
