/* SPDX-License-Identifier: MIT */
#include "runtime/plan/argument.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void hn_evaluate_word(const struct hn_value *values, const struct hn_expression *expression,
                      const char *const *names, int count, const char *expected, int *to,
                      struct hn_error *err)
{
    struct hn_value value;
    if (expression == NULL || hn_failed(err) ||
        hn_expression_evaluate(expression, values, &value, err) != HN_OK)
        return;
    *to = value.type == HN_WORD ? (int)hn_text_place(value.word, names, (size_t)count) : count;
    if (*to < count)
        return;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_value_append(&text, &value);
    hn_fail(err, HN_EVALUE, "'%.60s' is %s, expected %s", hn_expression_text(expression),
            text.data == NULL ? "" : text.data, expected);
}

struct element_info {
    const char *name;
    size_t size;
    const char *c_name, *vector;
};

static const struct element_info elements[HN_ELEMENT_COUNT] = {
#define X(identifier, name, bytes, c_name, vector) [identifier] = {name, bytes, c_name, vector},
    HN_ELEMENTS(X)
#undef X
};

size_t hn_element_size(enum hn_element element)
{
    return elements[element].size;
}

const char *hn_element_name(enum hn_element element)
{
    return elements[element].name;
}

static void format_type(enum hn_element element, unsigned lanes, char text[HN_TYPE_SIZE])
{
    if (lanes > 1)
        snprintf(text, HN_TYPE_SIZE, "%sx%u", hn_element_name(element), lanes);
    else
        snprintf(text, HN_TYPE_SIZE, "%s", hn_element_name(element));
}

bool hn_type_parse(const char *name, enum hn_element *element, unsigned *lanes)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 8, 16};
    char text[HN_TYPE_SIZE];
    for (int i = 0; i < HN_ELEMENT_COUNT; i++) {
        bool begins = strncmp(name, elements[i].name, strlen(elements[i].name)) == 0;
        for (size_t n = 0; begins && n < sizeof sizes / sizeof sizes[0]; n++) {
            format_type((enum hn_element)i, sizes[n], text);
            if (strcmp(text, name) != 0)
                continue;
            *element = (enum hn_element)i;
            *lanes = sizes[n];
            return true;
        }
    }
    return false;
}

void hn_type_format_c(enum hn_element element, unsigned lanes, char *text, size_t size)
{
    unsigned most = element == HN_FLOAT8_E4M3 ? 1 : hn_element_is_narrow(element) ? 2 : 4;
    if (lanes <= 1)
        snprintf(text, size, "%s", elements[element].c_name);
    else if (lanes <= most)
        snprintf(text, size, "%s%u", elements[element].vector, lanes);
    else
        snprintf(text, size, "%s[%u]", elements[element].c_name, lanes);
}

bool hn_element_is_real(enum hn_element element)
{
    return element >= HN_FLOAT32;
}

bool hn_element_is_narrow(enum hn_element element)
{
    return element >= HN_FLOAT16;
}

void hn_element_range(enum hn_element element, int64_t *low, int64_t *high)
{
    bool is_unsigned = hn_element_name(element)[0] == 'u';
    size_t size = hn_element_size(element);
    int64_t most = INT64_MAX >> (64 - 8 * size);
    *low = is_unsigned ? 0 : -most - 1;
    *high = is_unsigned && size < 8 ? most * 2 + 1 : most;
}

/* A binary format of 16 or 8 bits: sign, exponent, fraction. */
struct narrow_format {
    int fraction_bits, bias, sign;
    int most; /* the bits of the largest number, or of infinity where there is one */
    int nan;
};

/* Float8_e4m3 has no infinity: what is too large becomes its largest number, 448. */
static struct narrow_format format_of(enum hn_element element)
{
    return element == HN_FLOAT16    ? (struct narrow_format){10, 15, 0x8000, 0x7c00, 0x7e00}
           : element == HN_BFLOAT16 ? (struct narrow_format){7, 127, 0x8000, 0x7f80, 0x7fc0}
                                    : (struct narrow_format){3, 7, 0x80, 0x7e, 0x7f};
}

/* As narrow() of support_element.cuh. */
static int encode_narrow(double real, struct narrow_format format)
{
    int exponent = 0;
    int sign = signbit(real) ? format.sign : 0;
    if (isnan(real))
        return sign | format.nan;
    if (isinf(real) || real == 0.0)
        return sign | (real == 0.0 ? 0 : format.most);
    frexp(fabs(real), &exponent);
    if (exponent < 2 - format.bias)
        exponent = 2 - format.bias; /* of the numbers without a leading one */
    double units = rint(ldexp(fabs(real), format.fraction_bits + 1 - exponent));
    int bits = (int)units + ((exponent - 2 + format.bias) << format.fraction_bits);
    return sign | (bits > format.most ? format.most : bits);
}

static double decode_narrow(int bits, struct narrow_format format)
{
    int magnitude = bits & (format.sign - 1);
    int exponent = magnitude >> format.fraction_bits;
    int fraction = magnitude & ((1 << format.fraction_bits) - 1);
    double sign = (bits & format.sign) != 0 ? -1.0 : 1.0;
    if (magnitude > format.most)
        return (double)NAN;
    if (magnitude == format.most && fraction == 0)
        return sign * (double)INFINITY;
    if (exponent > 0)
        fraction += 1 << format.fraction_bits;
    return sign *
           ldexp(fraction, (exponent > 0 ? exponent : 1) - format.bias - format.fraction_bits);
}

void hn_element_encode(double real, enum hn_element element, void *bytes)
{
    float single = (float)real;
    int narrow = hn_element_is_narrow(element) ? encode_narrow(real, format_of(element)) : 0;
    const void *from = element == HN_FLOAT64   ? (const void *)&real
                       : element == HN_FLOAT32 ? (const void *)&single
                                               : &narrow;
    memcpy(bytes, from, hn_element_size(element)); /* little endian */
}

double hn_element_decode(const void *bytes, enum hn_element element)
{
    double real = 0.0;
    float single = 0.0f;
    int narrow = 0;
    void *to = element == HN_FLOAT64   ? (void *)&real
               : element == HN_FLOAT32 ? (void *)&single
                                       : &narrow;
    memcpy(to, bytes, hn_element_size(element));
    return element == HN_FLOAT64   ? real
           : element == HN_FLOAT32 ? (double)single
                                   : decode_narrow(narrow, format_of(element));
}

/* Little endian, as the host. */
static uint64_t bits_of(const void *bytes, enum hn_element element)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, hn_element_size(element));
    return bits;
}

struct hn_value hn_element_value(uint64_t bits, enum hn_element element)
{
    const size_t unused_bits = 64 - 8 * hn_element_size(element);
    if (hn_element_is_real(element))
        return hn_real(hn_element_decode(&bits, element));
    bits <<= unused_bits;
    return hn_integer(hn_element_name(element)[0] == 'i' ? (int64_t)bits >> unused_bits
                                                         : (int64_t)(bits >> unused_bits));
}

uint64_t hn_element_count(const void *bytes, enum hn_element element)
{
    const int64_t number = hn_element_value(bits_of(bytes, element), element).integer;
    return hn_element_name(element)[0] == 'i' && number < 0 ? 0 : (uint64_t)number;
}

void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size)
{
    uint64_t bits = bits_of(bytes, element);
    size_t unused_bits = 64 - 8 * hn_element_size(element);
    int digits = element == HN_FLOAT64 ? 17 : element == HN_FLOAT32 ? 9 : 6;
    if (hn_element_name(element)[0] == 'i')
        snprintf(text, size, "%" PRId64, hn_element_value(bits, element).integer);
    else if (hn_element_name(element)[0] == 'u')
        snprintf(text, size, "%" PRIu64, bits);
    else if (bits == UINT64_MAX >> unused_bits)
        snprintf(text, size, "never written");
    else
        snprintf(text, size, "%.*g", digits, hn_element_decode(bytes, element));
}

const char *const hn_fill_names[HN_FILL_COUNT] = {HN_FILLS(HN_NAMED_OF_3)};

const int hn_fill_numbers[HN_FILL_COUNT] = {HN_FILLS(HN_MORE_OF_3)};

bool hn_fill_has_source(enum hn_fill_kind kind)
{
    return kind == HN_FILL_CSR_COLUMNS || kind == HN_FILL_TRANSPOSED;
}

/* That there are numbers from 0 to n - 1. */
static const char *check_numbers(double n, enum hn_element element)
{
    /* Of reals: so many bits have all numbers from 0 on. */
    int bits = hn_element_is_narrow(element) ? format_of(element).fraction_bits + 1
               : element == HN_FLOAT32       ? 24
                                             : 53;
    int64_t low, high;
    hn_element_range(element, &low, &high);
    double last = hn_element_is_real(element) ? ldexp(1, bits) : (double)high;
    if (n < 1 || n != floor(n))
        return "expected a whole number of values, at least 1";
    return n - 1 > last ? "which does not fit into %s" : NULL;
}

/* Whether the ends of what it fills are values of the element: infinities hide what is wrong.
 * Nearly all that is normally distributed lies within four deviations. */
static const char *check_range(const struct hn_fill *fill, enum hn_element element, uint64_t count)
{
    int64_t low, high;
    double a = fill->numbers[0], b = fill->numbers[1];
    double last = a;
    bool is_real = hn_element_is_real(element);
    if (!is_real && (a != floor(a) || (fill->kind != HN_FILL_NORMAL && b != floor(b))))
        return "expected whole numbers for elements of %s";
    if (fill->kind == HN_FILL_IOTA)
        last = a + b * (double)(count - 1);
    else if (fill->kind == HN_FILL_UNIFORM || fill->kind == HN_FILL_SORTED)
        last = b;
    else if (fill->kind == HN_FILL_NORMAL && is_real)
        last = fabs(a) + 4 * fabs(b);
    hn_element_range(element, &low, &high);
    double most = element == HN_UINT64 ? ldexp(1, 64) : (double)high;
    bool fits = fmin(a, last) >= (double)low && fmax(a, last) <= most;
    if (is_real) {
        uint64_t bits = 0;
        hn_element_encode(fmax(fabs(a), fabs(last)), element, &bits);
        fits = isfinite(hn_element_decode(&bits, element));
    }
    return fits ? NULL : "which does not fit into %s";
}

/* What is wrong, with a place for the element's name; NULL: nothing. */
static const char *find_wrong(const struct hn_fill *fill, enum hn_element element, uint64_t count)
{
    double a = fill->numbers[0], b = fill->numbers[1];
    if (!isfinite(a) || !isfinite(b))
        return "expected finite numbers";
    switch (fill->kind) {
    case HN_FILL_FILE:
        return NULL;
    case HN_FILL_PERMUTATION:
        return check_numbers((double)count, element);
    case HN_FILL_SKEWED:
        return b < 0 || b > 1 ? "expected skewed(n, share) with a share from 0 to 1"
                              : check_numbers(a, element);
    case HN_FILL_ZIPF:
        return b < 0 ? "expected zipf(n, exponent) with an exponent of at least 0"
                     : check_numbers(a, element);
    case HN_FILL_CSR_ROWS:
        if (hn_element_is_real(element) || count < 2)
            return "expected integers, one more than the matrix has rows";
        if (a < 0 || b < 0 || b > 1)
            return "expected csr_rows(entries, spread) with entries of at least 0 a row and a "
                   "spread from 0 to 1";
        return check_numbers(floor(a * (double)(count - 1)) + 1, element);
    case HN_FILL_CSR_COLUMNS:
        return check_numbers(a, element);
    case HN_FILL_TRANSPOSED:
        return a < 1 || a != floor(a) || a > (double)count || count % (uint64_t)a != 0
                   ? "expected a number of rows that divides that of elements"
                   : NULL;
    case HN_FILL_SORTED:
    case HN_FILL_UNIFORM:
        return a > b ? "expected the lower bound first" : check_range(fill, element, count);
    case HN_FILL_NORMAL:
        return b < 0 ? "expected a deviation of at least 0" : check_range(fill, element, count);
    default:
        return check_range(fill, element, count);
    }
}

bool hn_fill_check(const struct hn_fill *fill, enum hn_element element, uint64_t count, char *why,
                   size_t size)
{
    const char *wrong = find_wrong(fill, element, count);
    if (wrong != NULL)
        snprintf(why, size, wrong, hn_element_name(element));
    return wrong == NULL;
}

const char *const hn_texture_addresses[HN_TEXTURE_ADDRESS_COUNT] = {
    [HN_TEXTURE_WRAP] = "wrap",
    [HN_TEXTURE_CLAMP] = "clamp",
    [HN_TEXTURE_MIRROR] = "mirror",
    [HN_TEXTURE_BORDER] = "border",
};
const char *const hn_texture_filters[2] = {"point", "linear"};
const char *const hn_texture_reads[2] = {"element", "normalized_float"};

const char *const hn_role_names[HN_ROLE_COUNT] = {HN_ROLES(HN_NAMED)};

const char *const hn_compare_mode_names[HN_COMPARE_MODE_COUNT] = {HN_COMPARE_MODES(HN_NAMED)};

enum hn_status hn_argument_set_count(struct hn_argument *argument, struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&text, "(%s) * (%s)", hn_expression_text(argument->shape.width),
                   hn_expression_text(argument->shape.height));
    return text.failed ? hn_fail_memory(err)
                       : hn_expression_parse(text.data, &argument->count, err);
}

void hn_argument_evaluate_rows(const struct hn_argument *argument, const struct hn_value *values,
                               uint64_t *row, uint64_t *pitch, struct hn_error *err)
{
    static const int64_t MOST = INT64_C(1) << 40;
    const struct hn_shape *shape = &argument->shape;
    int64_t width = 0;
    *row = *pitch = 0;
    hn_expression_integer(shape->width, values, &width, err);
    if (shape->width == NULL || hn_failed(err))
        return;
    if (width < 1 || width > MOST) {
        hn_fail(err, HN_EVALUE, "argument '%s' has a width of %lld; expected 1 to %lld",
                argument->name, (long long)width, (long long)MOST);
        return;
    }
    int64_t row_bytes = width * (int64_t)hn_argument_bytes(argument);
    int64_t bytes = row_bytes;
    if (shape->device)
        bytes = (row_bytes + HN_DEVICE_PITCH - 1) / HN_DEVICE_PITCH * HN_DEVICE_PITCH;
    if (!hn_expression_integer(shape->pitch, values, &bytes, err))
        return;
    *row = (uint64_t)width * argument->lanes;
    *pitch = (uint64_t)bytes;
    if (bytes < row_bytes || bytes > 8 * MOST ||
        bytes % (int64_t)hn_element_size(argument->element) != 0)
        hn_fail(err, HN_EVALUE,
                "argument '%s' has a pitch of %lld bytes; expected a multiple of %zu, at "
                "least the %lld of a row",
                argument->name, (long long)bytes, hn_element_size(argument->element),
                (long long)row_bytes);
}

void hn_argument_evaluate_align(const struct hn_argument *argument, const struct hn_value *values,
                                uint64_t *align, struct hn_error *err)
{
    int64_t bytes = 0;
    int64_t least = (int64_t)hn_element_size(argument->element);
    if (argument->align == NULL || !hn_expression_integer(argument->align, values, &bytes, err))
        return;
    if (bytes >= least && bytes <= HN_MOST_ALIGN && (bytes & (bytes - 1)) == 0)
        *align = (uint64_t)bytes;
    else
        hn_fail(err, HN_EVALUE,
                "argument '%s' has an align of %lld; expected a power of two from %lld to %d",
                argument->name, (long long)bytes, (long long)least, HN_MOST_ALIGN);
}

void hn_argument_format_type(const struct hn_argument *argument, char text[HN_TYPE_SIZE])
{
    format_type(argument->element, argument->lanes, text);
}

size_t hn_argument_bytes(const struct hn_argument *argument)
{
    return hn_element_size(argument->element) * (argument->lanes > 1 ? argument->lanes : 1);
}

int64_t hn_argument_most(const struct hn_argument *argument)
{
    return ((int64_t)1 << 50) / (int64_t)hn_argument_bytes(argument);
}

void hn_argument_buffer_bytes(const struct hn_argument *argument, const struct hn_value *values,
                              uint64_t *bytes, struct hn_error *err)
{
    const int64_t most = hn_argument_most(argument);
    int64_t count = 0;
    uint64_t row = 0, pitch = 0;
    int64_t element_bytes = (int64_t)hn_argument_bytes(argument);
    if (hn_expression_integer(argument->count, values, &count, err) && (count < 1 || count > most))
        hn_fail(err, HN_EVALUE, "argument '%s' has a count of %lld; expected 1 to %lld",
                argument->name, (long long)count, (long long)most);
    hn_argument_evaluate_rows(argument, values, &row, &pitch, err);
    uint64_t rows = row == 0 ? 0 : (uint64_t)count * argument->lanes / row;
    if (!hn_failed(err) && rows > 0 && rows > (UINT64_C(1) << 50) / pitch)
        hn_fail(err, HN_EVALUE, "argument '%s' has %llu rows of %llu bytes: too large",
                argument->name, (unsigned long long)rows, (unsigned long long)pitch);
    if (!hn_failed(err))
        *bytes = row == 0 ? (uint64_t)(count * element_bytes) : rows * pitch;
}

void hn_argument_evaluate_scalar(const struct hn_argument *argument, const struct hn_value *values,
                                 uint64_t *scalar, struct hn_error *err)
{
    int64_t integer = 0, low = 0, high = 0;
    double real = 0.0;
    *scalar = 0;
    if (hn_element_is_real(argument->element)) {
        hn_expression_number(argument->value, values, &real, err);
        hn_element_encode(real, argument->element, scalar);
        if (isfinite(real) && !isfinite(hn_element_decode(scalar, argument->element)))
            hn_fail(err, HN_EVALUE, "argument '%s' is %g, which %s cannot hold", argument->name,
                    real, hn_element_name(argument->element));
        return;
    }
    hn_expression_integer(argument->value, values, &integer, err);
    hn_element_range(argument->element, &low, &high);
    if (!hn_failed(err) && (integer < low || integer > high))
        hn_fail(err, HN_EVALUE, "argument '%s' is %lld, which %s cannot hold", argument->name,
                (long long)integer, hn_element_name(argument->element));
    memcpy(scalar, &integer, hn_element_size(argument->element)); /* little endian */
}

bool hn_argument_is_buffer(const struct hn_argument *argument)
{
    return argument->count != NULL && argument->role != HN_ROLE_SYMBOL;
}

bool hn_argument_is_compared(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_OUTPUT || argument->role == HN_ROLE_INOUT;
}

bool hn_argument_is_repeatable(const struct hn_argument *argument)
{
    bool counter = argument->role == HN_ROLE_COUNTER && argument->zero == HN_ZERO_OUTSIDE;
    return argument->role != HN_ROLE_INOUT && argument->role != HN_ROLE_METRIC && !counter &&
           !argument->changes;
}

bool hn_argument_is_filled(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT ||
           (argument->role == HN_ROLE_SYMBOL && argument->count != NULL);
}

const char *hn_texture_check(const struct hn_texture *texture, const struct hn_argument *buffer)
{
    bool small = !hn_element_is_real(buffer->element) && hn_element_size(buffer->element) <= 2;
    bool mirrors =
        texture->address[0] == HN_TEXTURE_WRAP || texture->address[0] == HN_TEXTURE_MIRROR ||
        texture->address[1] == HN_TEXTURE_WRAP || texture->address[1] == HN_TEXTURE_MIRROR;
    /* A channel can have no 64 bits, no bfloat16 and no float8. */
    if (hn_element_size(buffer->element) > 4 || buffer->element == HN_BFLOAT16 ||
        buffer->element == HN_FLOAT8_E4M3 ||
        (buffer->lanes != 1 && buffer->lanes != 2 && buffer->lanes != 4))
        return "a texture reads elements of 8, 16 or 32 bits, or vectors of 2 or 4 of them, and no "
               "bfloat16";
    if (texture->dimensions == 2 && buffer->shape.width == NULL)
        return "a texture of two dimensions needs a buffer with width and height";
    if (texture->as_float && !small)
        return "only integers of 8 and 16 bits are read as normalized_float";
    if (texture->linear && !hn_element_is_real(buffer->element) && !texture->as_float)
        return "the linear filter needs float16, float32 or 'read: normalized_float'";
    /* Linear memory is fetched by whole numbers, and reads 0 outside: CUDA C++ Programming Guide,
     * "Texture Fetching". */
    if (texture->dimensions == 1)
        return texture->linear       ? "a texture of one dimension has no linear filter"
               : texture->normalized ? "a texture of one dimension has no normalized coordinates"
                                     : NULL;
    if (mirrors && !texture->normalized)
        return "address modes wrap and mirror need 'normalized: true'";
    return NULL;
}
