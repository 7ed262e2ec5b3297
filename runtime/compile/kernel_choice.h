/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_KERNEL_CHOICE_H
#define HONE_RUNTIME_COMPILE_KERNEL_CHOICE_H

#include "runtime/compile/compile_request.h"
#include "runtime/compile/image.h"

/* Which kernel of the machine code an entry means that is a plain name: the one that is extern "C", else the only one
 * of that name in whatever namespace. Puts mangled names into the image's entries. Where there is none, or several,
 * the image's message says so and lists the name expressions that there are, and it is a compile error. */
enum hn_status hn_kernel_choose(const struct hn_compile_request *request, struct hn_image *image, struct hn_error *err);

#endif
