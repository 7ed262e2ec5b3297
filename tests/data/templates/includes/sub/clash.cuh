/* SPDX-License-Identifier: MIT */
#include "one.cuh"
