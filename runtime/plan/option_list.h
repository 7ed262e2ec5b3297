/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_OPTION_LIST_H
#define HONE_RUNTIME_PLAN_OPTION_LIST_H

#include "base/error.h"

/* The compile options that a config, a recording or a plan of a cache may give, which others may have written: those that
 * decide what code is made of the template, and none with which NVRTC or ptxas writes files of its own, reads any
 * but headers and control files, or makes something that cannot be loaded. An option is one text with its value, as "-DN=1" or "--std=c++17". */

/* HN_ECONFIG: not on the list; says which are. */
enum hn_status hn_option_check(const char *text, struct hn_error *err);

/* The value of the option of that long name, however it is written: "sm_80" of -arch=sm_80 for "gpu-architecture", the
 * folder of -I for "include-path". That of an option of ptxas likewise. NULL: it is another option. */
const char *hn_option_value(const char *text, const char *name);

/* The file with which ptxas 13.3 and later is told what to optimise. */
#define HN_OPTION_CONTROLS "apply-controls"
/* The folder of -I or the control file, relative to the config's folder. NULL: it is another option. */
const char *hn_option_path(const char *text);

#endif
