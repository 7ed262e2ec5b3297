/* SPDX-License-Identifier: MIT */
#define THREE 3
