/* SPDX-License-Identifier: MIT */
#define HELPER_FACTOR 3.0f
