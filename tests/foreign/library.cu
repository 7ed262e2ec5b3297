/* SPDX-License-Identifier: MIT */
/* Tokens of numbers to numbers: "-12.5" padded with zeros to 16 bytes each. */
#include <assert.h>
#include <ctime>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef THREADS
#define THREADS 128
#endif

typedef struct token {
    char text[16];
} token_t;

static __device__ bool is_digit(char c) { return c >= '0' && c <= '9'; }

static __device__ double parse(const token_t *token)
{
    const char *at = token->text;
    const bool negative = *at == '-';
    int64_t digits = 0, scale = 1;
    bool fraction = false;
    for (at += negative; at < token->text + sizeof token->text && *at != '\0'; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (!is_digit(*at) || digits > INT64_MAX / 100)
            return NAN;
        digits = 10 * digits + (*at - '0');
        if (fraction)
            scale *= 10;
    }
    const double value = (double)digits / (double)scale;
    return negative ? -value : value;
}

__global__ void parse_tokens(const token_t *tokens, double *values, uint32_t *failures, size_t count)
{
    const size_t i = (size_t)blockIdx.x * THREADS * REPEAT + threadIdx.x;
    static_assert(offsetof(token_t, text) == 0 && sizeof(token_t) == 16, "as the host packs them");
    assert(count <= UINT_MAX);
    for (size_t j = i; j < i + (size_t)THREADS * REPEAT && j < count; j += THREADS) {
        token_t token;
        memcpy(&token, &tokens[j], sizeof token);
        double value = parse(&token);
        if (isnan(value) || fabs(value) > FLT_MAX) {
            if (VERBOSE)
                printf("token %" PRIu64 " is no number\n", (uint64_t)j);
            atomicAdd(failures, 1u);
            value = -DBL_MAX;
        }
        values[j] = value;
    }
}
