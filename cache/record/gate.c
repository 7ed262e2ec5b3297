/* SPDX-License-Identifier: MIT */
#include "cache/record/gate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/run.h"
#include "base/text.h"

enum { JSON_MOST = 8000000, OBJECT_WEIGHT = 4 };

/* C0, DEL and, as UTF-8, C1. */
static bool is_control(const unsigned char *c)
{
    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

void hn_gate_expect(struct hn_error *err, bool holds, const char *format, ...)
{
    if (holds || hn_failed(err))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    err->status = HN_EFORMAT;
}

void hn_gate_line(const char *what, const char *text, size_t most, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    hn_gate_expect(err, strlen(text) <= most, "%s has %zu bytes, expected at most %zu", what,
                   strlen(text), most);
    const char *c = text;
    while (*c != '\0' && !is_control((const unsigned char *)c))
        c++;
    hn_gate_expect(err, *c == '\0',
                   "%s has a control character (0x%02x) at byte %td, expected one line of text",
                   what, (unsigned char)*c, c - text);
}

void hn_gate_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c != '\n' && *c != '\t' && is_control(c)) {
            if (*c == 0xc2)
                c[1] = '?';
            *c = '?';
        }
    }
}

char *hn_gate_escape(const char *text)
{
    struct hn_text shown = {0};
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t' || !is_control((const unsigned char *)c)) {
            hn_text_append_bytes(&shown, c, 1);
            continue;
        }
        if ((unsigned char)*c == 0xc2)
            hn_text_printf(&shown, "\\x%02x", (unsigned char)*c++);
        hn_text_printf(&shown, "\\x%02x", (unsigned char)*c);
    }
    return hn_text_take(&shown);
}

void hn_gate_hash(const char *what, const char *hash, struct hn_error *err)
{
    size_t length = strlen(hash);
    hn_gate_expect(err, (length == 0 || length == 32) && strspn(hash, "0123456789abcdef") == length,
                   "the hash of the %s is '%.40s', expected 32 hexadecimal digits", what, hash);
}

void hn_gate_amount(const char *what, double amount, struct hn_error *err)
{
    hn_gate_expect(err, amount >= 0 && isfinite(amount),
                   "'%s' is %g, expected a number that is not negative", what, amount);
}

void hn_gate_moment(const char *what, double seconds, struct hn_error *err)
{
    const double end_of_9999 = 253402300799;
    hn_gate_expect(err, seconds >= 0 && seconds <= end_of_9999,
                   "'%s' is %g, expected seconds since 1970, at most %.0f", what, seconds,
                   end_of_9999);
}

void hn_gate_date(double seconds, struct hn_error *err)
{
    enum { DAY = 24 * 3600 };
    hn_gate_expect(
        err, seconds >= 0 && seconds <= hn_epoch_s() + DAY,
        "its date is %.17g seconds since 1970, which is %s: is the clock of this machine right?",
        seconds, seconds < 0 ? "before all times" : "in the future");
}

void hn_gate_json(const char *text, size_t size, struct hn_error *err)
{
    size_t weight = 0;
    bool quoted = false;
    if (hn_failed(err) || size <= JSON_MOST / OBJECT_WEIGHT)
        return;
    for (size_t i = 0; i < size && weight <= JSON_MOST; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else if (text[i] == '{')
            weight += OBJECT_WEIGHT;
        else
            weight += text[i] == ',' || text[i] == '[';
    }
    hn_gate_expect(err, weight <= JSON_MOST,
                   "it holds more than %d values, which would fill the memory", JSON_MOST);
}
