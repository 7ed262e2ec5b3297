/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_THREAD_H
#define HONE_BASE_THREAD_H

#include <pthread.h>

/* Threads beside the main one, and eventfds by which they wake each other. */

/* Starts a thread that gets no signals: these are the main thread's. 0, or what pthread_create says. */
int hn_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

/* Makes the eventfd readable (-1: there is none); reads it empty. Neither waits where it was made with EFD_NONBLOCK. */
void hn_event_signal(int event);
void hn_event_clear(int event);

#endif
