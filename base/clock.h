/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_CLOCK_H
#define HONE_BASE_CLOCK_H

/* Milliseconds of the monotonic clock. */
double hn_now_ms(void);

#endif
