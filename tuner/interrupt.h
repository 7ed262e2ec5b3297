/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INTERRUPT_H
#define HONE_TUNER_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP ask a command to stop: it finishes nothing new, keeps everything and exits with 128 + n.
 * A second one kills at once. SIGPIPE and SIGXFSZ are ignored. */
void hn_interrupt_install(void);
/* The signal that came, 0 for none. */
int hn_interrupted(void);

#endif
