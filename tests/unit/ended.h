/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_ENDED_H
#define HONE_TESTS_ENDED_H

#include "base/memory.h"

/* As there. Not where a test fails before the block ends: the program ends then anyway. */
#define ENDED_BY HN_ENDED_BY
#define FREED HN_FREED

#endif
