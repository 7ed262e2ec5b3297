/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_C_LOCALE_H
#define HONE_BASE_C_LOCALE_H

#include <locale.h>

/* Numbers are those of the C locale, whatever locale the process has. The command never sets one; an application may, so
 * that libhone enters the C locale wherever numbers are read or written, by itself or by jansson, and leaves it again. The
 * locale is the calling thread's: other threads notice nothing. */
struct hn_c_locale {
    locale_t own;
    locale_t before;
};

void hn_c_locale_enter(struct hn_c_locale *scope);
void hn_c_locale_leave(struct hn_c_locale *scope);

/* strtod of the C locale. */
double hn_c_strtod(const char *text, char **end);

#endif
