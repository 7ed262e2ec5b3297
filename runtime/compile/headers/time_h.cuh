/* SPDX-License-Identifier: MIT */
#ifndef HONE_TIME_H
#define HONE_TIME_H
namespace std {
using ::clock;
using ::clock_t;
} // namespace std
#endif
