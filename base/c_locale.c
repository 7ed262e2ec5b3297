/* SPDX-License-Identifier: MIT */
#include "base/c_locale.h"

#include <assert.h>
#include <stdlib.h>

/* Of the C locale there is one that is never freed: neither call can fail, allocates or takes a
 * lock. */
static locale_t c_locale(void)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(locale != (locale_t)0);
    return locale;
}

void hn_c_locale_enter(struct hn_c_locale *scope)
{
    scope->own = c_locale();
    scope->before = uselocale(scope->own);
}

void hn_c_locale_leave(struct hn_c_locale *scope)
{
    uselocale(scope->before);
    freelocale(scope->own);
}

double hn_c_strtod(const char *text, char **end)
{
    locale_t locale = c_locale();
    double number = strtod_l(text, end, locale);
    freelocale(locale);
    return number;
}
