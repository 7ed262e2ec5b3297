/* SPDX-License-Identifier: MIT */
/* memcpy and memset are the compiler's. */
#ifndef HONE_STRING_H
#define HONE_STRING_H
namespace std {
using ::memcpy;
using ::memset;
using ::size_t;
} // namespace std
#endif
