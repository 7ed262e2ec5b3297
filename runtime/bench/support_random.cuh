/* SPDX-License-Identifier: MIT */
/* Random numbers, each a function of a seed and an index, so that no thread waits for another. */

/* splitmix64's finalizer (Steele, Lea, Flood 2014): a hash of 64 bits to 64 bits. */
DEVICE u64 mix(u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

DEVICE u64 random_word(u64 seed, u64 index)
{
    return mix(seed + (index + 1) * 0x9e3779b97f4a7c15ull);
}

/* Uniform in [0, 1) with 53 bits. */
DEVICE double unit(u64 word)
{
    return (double)(word >> 11) * 1.1102230246251565e-16;
}

/* The natural logarithm of a number above 0, and the cosine of so many turns from 0 to 1, as the host computes them too: each
 * operation rounds alike on both, and none is left to be contracted. Errors are of some units in the last place. */
DEVICE double natural_log(double x)
{
    int exponent = 0;
    double m = frexp(x, &exponent);
    int small = m < 0.70710678118654752;
    m = small ? 2.0 * m : m;
    exponent -= small;
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double sum = 0.0;
    ROLLED for (int k = 23; k > 0; k -= 2)
        sum = fma(sum, z, 1.0 / (double)k);
    return fma((double)exponent, 0.69314718055994531, s * sum * 2.0);
}

DEVICE double cosine_of_turns(double turns)
{
    double x = turns > 0.5 ? 1.0 - turns : turns;
    int negative = x > 0.25;
    x = negative ? 0.5 - x : x;
    double z = x * x * 39.478417604357434; /* (2 pi)^2 */
    double sum = 1.0;
    ROLLED for (int k = 24; k > 0; k -= 2)
        sum = fma(-z / (double)(k * (k - 1)), sum, 1.0);
    return negative ? -sum : sum;
}

/* Zipf's distribution over 1 to n by rejection-inversion: a point under the hat t^-s, whose integral can be inverted,
 * falls at a number k or is thrown away (Hoermann and Derflinger, "Rejection-inversion to generate variates from
 * monotone discrete distributions", 1996). */
struct zipf {
    double n, s;
    double low, high; /* integrals of the hat to 3/2 less the whole first bar, and to n + 1/2 */
    double sure;      /* k - x below this needs no test */
};

/* The integral of t^-s from 1 to x, and its inverse. */
DEVICE double hat_area(double x, double s)
{
    return s == 1.0 ? log(x) : expm1((1.0 - s) * log(x)) / (1.0 - s);
}

DEVICE double hat_place(double area, double s)
{
    double t = (1.0 - s) * area;
    return s == 1.0 ? exp(area) : exp(log1p(t > -1.0 ? t : -1.0) / (1.0 - s));
}

DEVICE struct zipf prepare_zipf(double n, double s)
{
    struct zipf zipf = {n, s, hat_area(1.5, s) - 1.0, hat_area(n + 0.5, s),
                        2.0 - hat_place(hat_area(2.5, s) - pow(2.0, -s), s)};
    return zipf;
}

DEVICE double draw_zipf(struct zipf zipf, u64 word)
{
    double k = 1.0;
    for (int round = 0; round < 64; round++) {
        double area = zipf.high + unit(word) * (zipf.low - zipf.high);
        double x = hat_place(area, zipf.s);
        k = floor(x + 0.5);
        k = k < 1.0 ? 1.0 : k > zipf.n ? zipf.n : k;
        if (k - x <= zipf.sure || area >= hat_area(k + 0.5, zipf.s) - pow(k, -zipf.s))
            break;
        word = mix(word + 0x9e3779b97f4a7c15ull);
    }
    return k - 1.0;
}

/* A permutation of the numbers under `count`: a Feistel network over a power of four that is not much larger, gone
 * through again until the number is one of them (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). */
DEVICE u64 permute(u64 index, u64 count, u64 seed)
{
    unsigned int bits = 1;
    while (bits < 32 && (1ull << (2 * bits)) < count)
        bits++;
    u64 mask = (1ull << bits) - 1;
    do {
        u64 left = index >> bits;
        u64 right = index & mask;
        for (u64 round = 1; round <= 6; round++) {
            u64 next = left ^ (mix(right + seed * round) & mask);
            left = right;
            right = next;
        }
        index = left << bits | right;
    } while (index >= count);
    return index;
}
