/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_OPTION_LIST_H
#define HONE_RUNTIME_PLAN_OPTION_LIST_H

#include <stdbool.h>

#include "base/error.h"

/* The compile options that a config, a recording or a plan of a cache may give, which others may have written: those that
 * decide what code is made of the template, and none with which NVRTC or ptxas writes or reads files of its own, or
 * makes something that can not be loaded. An option is one text with its value, as "-DN=1" or "--std=c++17". */

/* HN_ECONFIG: not on the list; says which are. */
enum hn_status hn_option_check(const char *text, struct hn_error *err);

/* The part of its text that an option names: "sm_80" of -arch=sm_80; the folder of -I. NULL: it is another option. */
const char *hn_option_architecture(const char *text);
const char *hn_option_folder(const char *text);
/* "N=1" of -DN=1, "N" of -UN. */
const char *hn_option_macro(const char *text, bool *defines);

#endif
