/* SPDX-License-Identifier: MIT */
#define ONE 1
