/* SPDX-License-Identifier: MIT */
#include "tuner/init/known_names.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const char *const whole[] = {
    /* of C++ */
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "final",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "override",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "std",
    "defined",
    "unroll",
    /* of CUDA */
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "half",
    "half2",
    "dim3",
    "cub",
    "thrust",
    "nvcuda",
    "cooperative_groups",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "nv_bfloat16",
    "nv_bfloat162",
    /* of C's headers */
    "NULL",
    "EOF",
    "INFINITY",
    "NAN",
    "TRUE",
    "FALSE",
    "CHAR_BIT",
    "stdin",
    "stdout",
    "stderr",
    "errno",
    "RAND_MAX",
    "SIZE_MAX",
    "HUGE_VAL",
    "HUGE_VALF",
    "CLOCKS_PER_SEC",
    "EXIT_SUCCESS",
    "EXIT_FAILURE",
    "FP_NAN",
    "FP_INFINITE",
};

/* INT32_MAX, FLT_EPSILON, M_PI, cudaSuccess, CU_..., __CUDA_ARCH__. */
static const char *const begins[] = {"__",    "CUDA",  "CU_",      "cuda",   "cu",    "M_",
                                     "INT",   "UINT",  "FLT_",     "DBL_",   "LDBL",  "LONG",
                                     "LLONG", "ULONG", "ULLONG",   "SCHAR_", "CHAR_", "UCHAR_",
                                     "SHRT_", "USHRT", "PTRDIFF_", "PRI",    "SCN"};

/* float4, uchar2, longlong1. */
static bool is_vector_type(const char *name)
{
    static const char *const types[] = {"char",     "short", "int",   "long",
                                        "longlong", "float", "double"};
    size_t length = strlen(name);
    if (length < 4 || name[length - 1] < '1' || name[length - 1] > '4')
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *plain = name[0] == 'u' ? name + 1 : name;
        if (strlen(plain) == strlen(types[i]) + 1 &&
            strncmp(plain, types[i], strlen(types[i])) == 0)
            return true;
    }
    return false;
}

bool hn_is_known_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    /* uint32_t */
    return is_vector_type(name) || (length > 2 && strcmp(name + length - 2, "_t") == 0);
}
