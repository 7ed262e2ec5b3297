/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_UNIT_H
#define HONE_TESTS_UNIT_H

/* cmocka with what it needs before it, and the headers of C that most tests use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#endif
