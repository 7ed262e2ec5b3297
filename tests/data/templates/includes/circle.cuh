/* SPDX-License-Identifier: MIT */
#pragma once
#include "circle.cuh"
