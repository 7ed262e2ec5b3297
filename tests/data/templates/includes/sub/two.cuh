/* SPDX-License-Identifier: MIT */
#pragma once
#include "three.cuh"
#define TWO 2
