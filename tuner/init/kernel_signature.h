/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_KERNEL_SIGNATURE_H
#define HONE_TUNER_INIT_KERNEL_SIGNATURE_H

#include "tuner/init/find_kernels.h"

/* The lists between brackets, from begin to end: of a kernel's arguments, and of its template's parameters. */
enum hn_status hn_kernel_read_arguments(const char *code, size_t begin, size_t end, struct hn_kernel *kernel,
                                        struct hn_error *err);
enum hn_status hn_kernel_read_parameters(const char *code, size_t begin, size_t end, struct hn_kernel *kernel,
                                         struct hn_error *err);
void hn_kernel_finish(struct hn_kernel *kernel);

#endif
