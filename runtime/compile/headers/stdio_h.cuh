/* SPDX-License-Identifier: MIT */
/* printf is the compiler's; a device has no files. */
#ifndef HONE_STDIO_H
#define HONE_STDIO_H
namespace std {
using ::printf;
using ::size_t;
} // namespace std
#endif
