// SPDX-License-Identifier: MIT
// Integer types of a fixed width. NVRTC knows no <stdint.h>; elsewhere the host's own names must stay as they are.
#ifndef HONE_FIXED_WIDTH_CUH
#define HONE_FIXED_WIDTH_CUH

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#else
#include <stdint.h>
#endif

#endif
