/* SPDX-License-Identifier: MIT */
/* std::initializer_list is the compiler's. */
