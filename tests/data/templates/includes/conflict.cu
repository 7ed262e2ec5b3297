/* SPDX-License-Identifier: MIT */
#include "one.cuh"
#include "sub/clash.cuh"
