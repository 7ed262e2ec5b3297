/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_PRELUDE_CHECK_H
#define HONE_RUNTIME_COMPILE_PRELUDE_CHECK_H

/* Whether a template takes away what the prelude in front of it defines, so that the values of a parameter have no effect:
 * by a second #define, which the compiler's log tells, or by an #undef outside of all conditions. What to tell, with both
 * places, or NULL. Free it. text: of the program, prelude and all; name: of the template. */
char *hn_prelude_check(const char *name, const char *text, const char *log);

#endif
