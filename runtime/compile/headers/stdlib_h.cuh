/* SPDX-License-Identifier: MIT */
#ifndef HONE_STDLIB_H
#define HONE_STDLIB_H
namespace std {
using ::abs;
using ::free;
using ::labs;
using ::llabs;
using ::malloc;
using ::size_t;
} // namespace std
#endif
