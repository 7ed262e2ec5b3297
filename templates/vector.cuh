// SPDX-License-Identifier: MIT
// A word of VECTOR floats, which one instruction moves: 4, 8 or 16 bytes. Its address is a multiple of its size.
#ifndef HONE_VECTOR_CUH
#define HONE_VECTOR_CUH

#if VECTOR == 1
typedef float vector;
#elif VECTOR == 2
typedef float2 vector;
#elif VECTOR == 4
typedef float4 vector;
#else
#error "VECTOR is 1, 2 or 4"
#endif

#endif
