/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/greeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/process.h"

static const char mark[] = "\nhone-node ";
enum { LONGEST = 255, MOST = 4096 };

void hn_greeting_write(const struct hn_greeting *greeting, char text[256])
{
    snprintf(text, 256, "%sprotocol=%d build=%s host=%s compile=%d gpus=%d\n", mark,
             greeting->protocol, greeting->build, greeting->host, greeting->compile,
             greeting->gpus);
}

/* Host names and versions have no others. */
static bool is_plain(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+:";
    return text[0] != '\0' && strspn(text, allowed) == strlen(text);
}

/* The number that the word behind `name` is; -1 for anything else. */
static int take_number(const char *name, const char *word)
{
    size_t length = strlen(name);
    size_t digits =
        word != NULL && strncmp(word, name, length) == 0 ? strspn(word + length, "0123456789") : 0;
    return digits > 0 && digits < 6 && word[length + digits] == '\0' ? atoi(word + length) : -1;
}

static void take_name(const char *name, const char *word, char *text, size_t size)
{
    size_t length = strlen(name);
    if (word != NULL && strncmp(word, name, length) == 0 && is_plain(word + length))
        snprintf(text, size, "%s", word + length);
}

static enum hn_status read_line(char *line, struct hn_greeting *greeting, struct hn_error *err)
{
    char *rest = NULL;
    greeting->protocol = take_number("protocol=", strtok_r(line, " ", &rest));
    take_name("build=", strtok_r(NULL, " ", &rest), greeting->build, sizeof greeting->build);
    take_name("host=", strtok_r(NULL, " ", &rest), greeting->host, sizeof greeting->host);
    greeting->compile = take_number("compile=", strtok_r(NULL, " ", &rest));
    greeting->gpus = take_number("gpus=", strtok_r(NULL, " ", &rest));
    if (greeting->protocol >= 0 && greeting->build[0] != '\0' &&
        (greeting->protocol != HN_PROTOCOL || strcmp(greeting->build, hn_process_build()) != 0))
        return hn_fail(err, HN_ERUN,
                       "its Hone is another (build %s, protocol %d; this one is build %s, protocol "
                       "%d): install the same there, or name it by 'hone'",
                       greeting->build, greeting->protocol, hn_process_build(), HN_PROTOCOL);
    if (greeting->protocol < 0 || greeting->build[0] == '\0' || greeting->host[0] == '\0' ||
        greeting->compile < 1 || greeting->compile > MOST || greeting->gpus < 0 ||
        greeting->gpus > MOST)
        return hn_fail(err, HN_ERUN, "its agent greets in a way that this Hone does not know");
    return HN_OK;
}

enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting,
                                size_t *size, size_t *length, struct hn_error *err)
{
    char line[LONGEST + 1];
    const char *start = limit > 0 ? memmem(text, limit, mark, sizeof mark - 1) : NULL;
    if (start == NULL)
        return HN_ENOTFOUND;
    *greeting = (struct hn_greeting){0};
    *size = (size_t)(start - text);
    start += sizeof mark - 1;
    size_t left = limit - (size_t)(start - text);
    const char *end = memchr(start, '\n', left < LONGEST ? left : LONGEST);
    if (end == NULL)
        return left < LONGEST ? HN_ENOTFOUND
                              : hn_fail(err, HN_ERUN,
                                        "its agent greets in a way that this Hone does not know");
    memcpy(line, start, (size_t)(end - start));
    line[end - start] = '\0';
    *length = (size_t)(end - text) + 1 - *size;
    return read_line(line, greeting, err);
}
