/* SPDX-License-Identifier: MIT */
#ifndef HONE_LIMITS
#define HONE_LIMITS
#include <float.h>
#include <limits.h>
namespace std {
template <class T> struct numeric_limits {
    static constexpr bool is_specialized = false;
};
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
#define HONE_LIMITS_COMMON(T, integer, sign, bits, decimals, low, most, least)                                     \
    static constexpr bool is_specialized = true, is_integer = integer, is_exact = integer, is_signed = sign;       \
    static constexpr bool has_infinity = !integer, has_quiet_NaN = !integer, is_bounded = true;                    \
    static constexpr int digits = bits, digits10 = decimals, radix = 2;                                            \
    static __host__ __device__ constexpr T lowest() noexcept { return low; }                                       \
    static __host__ __device__ constexpr T min() noexcept { return least; }                                        \
    static __host__ __device__ constexpr T max() noexcept { return most; }
#define HONE_LIMITS_INTEGER(T, low, most)                                                                          \
    template <> struct numeric_limits<T> {                                                                         \
        HONE_LIMITS_COMMON(T, true, (static_cast<T>(-1) < 0), 8 * sizeof(T) - is_signed, digits * 643 / 2136, low,      \
                           most, low)                                                                              \
        static __host__ __device__ constexpr T epsilon() noexcept { return 0; }                                    \
        static __host__ __device__ constexpr T infinity() noexcept { return 0; }                                   \
        static __host__ __device__ constexpr T quiet_NaN() noexcept { return 0; }                                  \
    };
#define HONE_LIMITS_REAL(T, name, infinite, nan)                                                                   \
    template <> struct numeric_limits<T> {                                                                         \
        HONE_LIMITS_COMMON(T, false, true, name##_MANT_DIG, name##_DIG, -name##_MAX, name##_MAX, name##_MIN)        \
        static constexpr int max_digits10 = name##_DECIMAL_DIG, min_exponent = name##_MIN_EXP;                     \
        static constexpr int max_exponent = name##_MAX_EXP;                                                        \
        static __host__ __device__ constexpr T epsilon() noexcept { return name##_EPSILON; }                       \
        static __host__ __device__ constexpr T denorm_min() noexcept { return name##_TRUE_MIN; }                   \
        static __host__ __device__ constexpr T infinity() noexcept { return __builtin_bit_cast(T, infinite); }     \
        static __host__ __device__ constexpr T quiet_NaN() noexcept { return __builtin_bit_cast(T, nan); }         \
    };
template <> struct numeric_limits<bool> {
    HONE_LIMITS_COMMON(bool, true, false, 1, 0, false, true, false)
};
HONE_LIMITS_INTEGER(char, CHAR_MIN, CHAR_MAX)
HONE_LIMITS_INTEGER(signed char, SCHAR_MIN, SCHAR_MAX)
HONE_LIMITS_INTEGER(unsigned char, 0, UCHAR_MAX)
HONE_LIMITS_INTEGER(short, SHRT_MIN, SHRT_MAX)
HONE_LIMITS_INTEGER(unsigned short, 0, USHRT_MAX)
HONE_LIMITS_INTEGER(int, INT_MIN, INT_MAX)
HONE_LIMITS_INTEGER(unsigned int, 0, UINT_MAX)
HONE_LIMITS_INTEGER(long, LONG_MIN, LONG_MAX)
HONE_LIMITS_INTEGER(unsigned long, 0, ULONG_MAX)
HONE_LIMITS_INTEGER(long long, LLONG_MIN, LLONG_MAX)
HONE_LIMITS_INTEGER(unsigned long long, 0, ULLONG_MAX)
HONE_LIMITS_REAL(float, FLT, 0x7f800000, 0x7fc00000)
HONE_LIMITS_REAL(double, DBL, 0x7ff0000000000000LL, 0x7ff8000000000000LL)
#undef HONE_LIMITS_COMMON
#undef HONE_LIMITS_INTEGER
#undef HONE_LIMITS_REAL
} // namespace std
#endif
