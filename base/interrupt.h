/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_INTERRUPT_H
#define HONE_BASE_INTERRUPT_H

#include "base/error.h"

/* SIGINT, SIGTERM and SIGHUP ask a command to stop: it finishes nothing new, keeps everything and exits with 128 + n.
 * A second one kills at once. Programs other than hone install nothing. */
void hn_interrupt_install(void);
/* The signal that came, 0 for none. */
int hn_interrupted(void);
/* HN_EINTERRUPTED once one came: for whatever waits. */
enum hn_status hn_interrupt_check(struct hn_error *err);

#endif
