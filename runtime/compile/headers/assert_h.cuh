/* SPDX-License-Identifier: MIT */
/* assert is the compiler's. */
#if defined NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
#ifndef static_assert
#define static_assert static_assert
#endif
