/* SPDX-License-Identifier: MIT */
/* Elements of all types: where they lie, and how a number is stored as one. */

enum element { INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT32, FLOAT64, FLOAT16, BFLOAT16, FLOAT8_E4M3 };

/* Where an element lies whose row has `row` of them, `pitch` after the row before; one after the other where row is 0. */
DEVICE u64 place(u64 index, u64 row, u64 pitch)
{
    return row == 0 ? index : index / row * pitch + index % row;
}

/* The formats of 16 and 8 bits by their numbers of fraction bits, 10 (float16), 7 (bfloat16) and 3 (float8_e4m3, which has
 * no infinity but 448), without CUDA's headers for them: what is nearest to x, ties to even. */
DEVICE unsigned short narrow(double x, int fraction_bits)
{
    int bias = fraction_bits == 10 ? 15 : fraction_bits == 7 ? 127 : 7;
    int most = fraction_bits == 3 ? 0x7e : (2 * bias + 1) << fraction_bits;
    int sign = !signbit(x) ? 0 : fraction_bits == 3 ? 0x80 : 0x8000;
    int exponent = 0;
    if (isnan(x))
        return (unsigned short)(sign | (fraction_bits == 3 ? 0x7f : most | 1 << (fraction_bits - 1)));
    if (isinf(x) || x == 0.0)
        return (unsigned short)(sign | (x == 0.0 ? 0 : most));
    frexp(fabs(x), &exponent);
    if (exponent < 2 - bias)
        exponent = 2 - bias; /* of the numbers without a leading one */
    double units = rint(ldexp(fabs(x), fraction_bits + 1 - exponent));
    int bits = (int)units + ((exponent - 2 + bias) << fraction_bits);
    return (unsigned short)(sign | (bits > most ? most : bits));
}

/* bfloat16 is the upper half of a float; the others have their bits at their places after a shift, but 112 and 120 too small
 * an exponent. */
DEVICE double widen(unsigned short half, int fraction_bits)
{
    union {
        unsigned int word;
        float real;
    } value;
    if (fraction_bits == 7) {
        value.word = (unsigned int)half << 16;
        return (double)value.real;
    }
    if (fraction_bits == 3) {
        value.word = (unsigned int)(half & 0x7f) << 20;
        if ((half & 0x7f) == 0x7f)
            value.word = 0x7fc00000u;
        else
            value.real *= 1.329227995784916e36f; /* 2^120 */
        return half & 0x80 ? -(double)value.real : (double)value.real;
    }
    value.word = (unsigned int)(half & 0x7fff) << 13;
    if (value.word >= 0x0f800000u)
        value.word |= 0x7f800000u;
    else
        value.real *= 5.192296858534828e33f; /* 2^112 */
    return half & 0x8000 ? -(double)value.real : (double)value.real;
}

#define CASE(element, ...)                                                                                             \
    case element:                                                                                                      \
        if (USES(ELEMENTS, element)) {                                                                                 \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        break;

DEVICE void store(void *data, u64 index, int element, double value)
{
    switch (element) {
    CASE(INT8, ((signed char *)data)[index] = (signed char)value)
    CASE(INT16, ((short *)data)[index] = (short)value)
    CASE(INT32, ((int *)data)[index] = (int)value)
    CASE(INT64, ((long long *)data)[index] = (long long)value)
    CASE(UINT8, ((unsigned char *)data)[index] = (unsigned char)value)
    CASE(UINT16, ((unsigned short *)data)[index] = (unsigned short)value)
    CASE(UINT32, ((unsigned int *)data)[index] = (unsigned int)value)
    CASE(UINT64, ((u64 *)data)[index] = (u64)value)
    CASE(FLOAT32, ((float *)data)[index] = (float)value)
    CASE(FLOAT64, ((double *)data)[index] = value)
    CASE(FLOAT16, ((unsigned short *)data)[index] = narrow(value, 10))
    CASE(BFLOAT16, ((unsigned short *)data)[index] = narrow(value, 7))
    CASE(FLOAT8_E4M3, ((unsigned char *)data)[index] = (unsigned char)narrow(value, 3))
    }
}
