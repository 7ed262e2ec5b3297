/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_RUN_H
#define HONE_BASE_RUN_H

#include <pthread.h>
#include <stddef.h>

#include "base/error.h"

/* Milliseconds of the monotonic clock. */
double hn_now_ms(void);
/* Seconds since 1970. */
double hn_epoch_s(void);

/* SIGINT, SIGTERM and SIGHUP ask a command to stop: it finishes nothing new, keeps everything and exits with 128 + n.
 * A second one kills at once. Programs other than hone install nothing. */
void hn_interrupt_install(void);
/* The signal that came, 0 for none. */
int hn_interrupted(void);
/* HN_EINTERRUPTED once one came: for whatever waits. */
enum hn_status hn_interrupt_check(struct hn_error *err);

/* Threads beside the main one, and eventfds by which they wake each other. */

/* Starts a thread that gets no signals: these are the main thread's. False: err (may be NULL) says why; HN_ERUN. */
bool hn_thread_start(pthread_t *thread, void *(*run)(void *), void *context, struct hn_error *err);

/* An eventfd; -1 after a failure. HN_ERUN. */
int hn_event_make(struct hn_error *err);
/* Makes the eventfd readable (-1: there is none); reads it empty. Neither waits. */
void hn_event_signal(int event);
void hn_event_clear(int event);

/* Does tasks 0 .. count-1 on so many threads (0: as many as there are cores), each task once, started in order. */
void hn_parallel_do(size_t count, size_t jobs, void (*run)(void *context, size_t task), void *context);

/* The cores that this process may use, at least 1. */
size_t hn_parallel_cores(void);

#endif
