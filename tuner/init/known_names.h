/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_KNOWN_NAMES_H
#define HONE_TUNER_INIT_KNOWN_NAMES_H

#include <stdbool.h>

/* Names that no source has to declare: keywords, what CUDA has built in, what the headers of C, C++ and CUDA define. */
bool hn_is_known_name(const char *name);

#endif
