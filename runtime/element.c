/* SPDX-License-Identifier: MIT */
#include "runtime/element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct element_info {
    const char *name;
    size_t size;
    const char *c_name;
};

static const struct element_info elements[HN_ELEMENT_COUNT] = {
#define X(identifier, name, bytes, c_name) [identifier] = {name, bytes, c_name},
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

const char *hn_element_c_name(enum hn_element element)
{
    return elements[element].c_name;
}

bool hn_element_parse(const char *name, enum hn_element *element)
{
    for (int i = 0; i < HN_ELEMENT_COUNT; i++) {
        if (strcmp(elements[i].name, name) == 0) {
            *element = (enum hn_element)i;
            return true;
        }
    }
    return false;
}

bool hn_element_is_real(enum hn_element element)
{
    return element == HN_FLOAT32 || element == HN_FLOAT64;
}

uint64_t hn_element_count(const void *bytes, enum hn_element element)
{
    bool is_signed = hn_element_name(element)[0] == 'i';
    size_t size = hn_element_size(element);
    uint64_t number = 0;
    memcpy(&number, bytes, size); /* little endian */
    bool negative = is_signed && (number >> (8 * size - 1)) != 0;
    return negative ? 0 : number;
}

void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
    } value = {0};
    memcpy(&value, bytes, hn_element_size(element));
    if ((element == HN_FLOAT32 && value.u32 == UINT32_MAX) ||
        (element == HN_FLOAT64 && value.u64 == UINT64_MAX)) {
        snprintf(text, size, "never written");
        return;
    }
    switch (element) {
    case HN_INT8:
        snprintf(text, size, "%" PRId8, value.i8);
        break;
    case HN_INT16:
        snprintf(text, size, "%" PRId16, value.i16);
        break;
    case HN_INT32:
        snprintf(text, size, "%" PRId32, value.i32);
        break;
    case HN_INT64:
        snprintf(text, size, "%" PRId64, value.i64);
        break;
    case HN_UINT8:
        snprintf(text, size, "%" PRIu8, value.u8);
        break;
    case HN_UINT16:
        snprintf(text, size, "%" PRIu16, value.u16);
        break;
    case HN_UINT32:
        snprintf(text, size, "%" PRIu32, value.u32);
        break;
    case HN_UINT64:
        snprintf(text, size, "%" PRIu64, value.u64);
        break;
    case HN_FLOAT32:
        snprintf(text, size, "%.9g", (double)value.f32);
        break;
    default:
        snprintf(text, size, "%.17g", value.f64);
        break;
    }
}
