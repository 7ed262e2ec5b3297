/* SPDX-License-Identifier: MIT */
#include "one.cuh"
#include "nowhere.cuh"
