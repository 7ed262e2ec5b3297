/* SPDX-License-Identifier: MIT */
#include "circle.cuh"
