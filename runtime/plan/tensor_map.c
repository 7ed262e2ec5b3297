/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/plan/launch.h"

const char *const hn_tensor_fills[HN_TENSOR_FILL_COUNT] = {
    [HN_TENSOR_ZEROS] = "zeros",
    [HN_TENSOR_NAN] = "nan",
};

static const char *const setting_keys[HN_TENSOR_SETTING_COUNT] = {HN_TENSOR_SETTINGS(HN_NAMED)};

const char *hn_tensor_map_check(const struct hn_tensor_map *map)
{
    if (map->rank < 1 || map->rank > HN_TENSOR_RANK)
        return "'dims' has to be a list of 1 to 5 extents, innermost first";
    if (map->stride_count != map->rank - 1)
        return "'strides' has to be a list of bytes for each dimension but the first";
    if (map->box_count != map->rank)
        return "'box' has to be a list with an extent for each dimension";
    if (map->element_stride_count != 0 && map->element_stride_count != map->rank)
        return "'element_strides' has to be a list with a stride for each dimension";
    return NULL;
}

void hn_argument_evaluate_tensor(const struct hn_argument *argument, const struct hn_argument *over,
                                 const struct hn_value *values, struct hn_tensor *tensor,
                                 struct hn_error *err)
{
    const struct hn_tensor_map *map = &argument->tensor_map;
    const struct {
        struct hn_expression *const *expressions;
        size_t count;
        int64_t *to;
    } lists[] = {
        {map->dims, map->rank, tensor->dims},
        {map->strides, map->stride_count, tensor->strides},
        {map->box, map->box_count, tensor->box},
        {map->element_strides, map->element_stride_count, tensor->element_strides},
        {map->settings, HN_TENSOR_FILL, tensor->settings},
    };
    int fill = HN_TENSOR_ZEROS;
    *tensor = (struct hn_tensor){.name = argument->name,
                                 .over = over->name,
                                 .element = over->element,
                                 .align = HN_PROMISED_ALIGN,
                                 .rank = (int)map->rank,
                                 .element_strides = {1, 1, 1, 1, 1}};
    hn_argument_buffer_bytes(over, values, &tensor->bytes, err);
    hn_argument_evaluate_align(over, values, &tensor->align, err);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (size_t i = 0; i < lists[l].count; i++)
            hn_expression_integer(lists[l].expressions[i], values, &lists[l].to[i], err);
    hn_evaluate_word(values, map->settings[HN_TENSOR_FILL], hn_tensor_fills, HN_TENSOR_FILL_COUNT,
                     "zeros or nan", &fill, err);
    tensor->settings[HN_TENSOR_FILL] = fill;
}

/* Rules. Each says why it does not hold; of several that do not, the first. */

struct judge {
    const struct hn_tensor *tensor;
    char *why; /* "" as long as all hold */
};

__attribute__((format(printf, 3, 4))) static void demand(const struct judge *judge, bool holds,
                                                         const char *format, ...)
{
    if (holds || judge->why[0] != '\0')
        return;
    int used =
        snprintf(judge->why, HN_TENSOR_WHY,
                 "tensor map '%.60s' over '%.60s': ", judge->tensor->name, judge->tensor->over);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(judge->why + used, HN_TENSOR_WHY - (size_t)used, format, arguments);
    va_end(arguments);
}

static void demand_range(const struct judge *judge, const char *list, const int64_t *found,
                         int count, int64_t most)
{
    for (int i = 0; i < count; i++)
        demand(judge, found[i] >= 1 && found[i] <= most, "%s[%d] is %lld; expected 1 to %lld", list,
               i, (long long)found[i], (long long)most);
}

static void demand_choice(const struct judge *judge, enum hn_tensor_setting setting,
                          const int *choices, const char *expected)
{
    int64_t found = judge->tensor->settings[setting];
    bool known = found == 0;
    for (int i = 0; i < 3; i++)
        known = known || (choices[i] != 0 && found == choices[i]);
    demand(judge, known, "%s is %lld; expected %s", setting_keys[setting], (long long)found,
           expected);
}

int64_t hn_tensor_grain(const struct hn_tensor *tensor)
{
    return tensor->settings[HN_TENSOR_INTERLEAVE] == 32 ? 32 : 16;
}

/* Extents and strides are what they may be. */
static bool lies_inside(const struct hn_tensor *tensor)
{
    uint64_t end = (uint64_t)tensor->dims[0] * hn_element_size(tensor->element);
    for (int i = 0; i + 1 < tensor->rank && end <= tensor->bytes; i++) {
        uint64_t steps = (uint64_t)tensor->dims[i + 1] - 1;
        uint64_t stride = (uint64_t)tensor->strides[i];
        end = steps > tensor->bytes / stride ? UINT64_MAX : end + steps * stride;
    }
    return end <= tensor->bytes;
}

bool hn_tensor_check(const struct hn_tensor *tensor, char why[HN_TENSOR_WHY])
{
    const struct judge judge = {tensor, why};
    int64_t interleave = tensor->settings[HN_TENSOR_INTERLEAVE];
    int64_t swizzle = tensor->settings[HN_TENSOR_SWIZZLE];
    bool plain = interleave == 0;
    long long grain = hn_tensor_grain(tensor);
    why[0] = '\0';
    demand_choice(&judge, HN_TENSOR_SWIZZLE, (const int[]){32, 64, 128}, "0, 32, 64 or 128");
    demand_choice(&judge, HN_TENSOR_PROMOTION, (const int[]){64, 128, 256}, "0, 64, 128 or 256");
    demand_choice(&judge, HN_TENSOR_INTERLEAVE, (const int[]){16, 32, 0}, "0, 16 or 32");
    demand(&judge,
           tensor->settings[HN_TENSOR_FILL] != HN_TENSOR_NAN ||
               (hn_element_is_real(tensor->element) && tensor->element != HN_FLOAT8_E4M3),
           "oob_fill is nan; %s has none", hn_element_name(tensor->element));
    demand(&judge, interleave == 0 || tensor->rank >= 3,
           "interleave is %lld, and rank %d; expected a rank of 3 to 5", (long long)interleave,
           tensor->rank);
    demand(&judge, interleave != 32 || swizzle == 32,
           "interleave is 32, and swizzle %lld; expected 32", (long long)swizzle);
    demand_range(&judge, "dims", tensor->dims, tensor->rank, INT64_C(1) << 32);
    demand(&judge, tensor->align % (uint64_t)grain == 0,
           "the buffer begins at multiples of %llu bytes; expected %lld, as its 'align' can say",
           (unsigned long long)tensor->align, grain);
    for (int i = 0; i + 1 < tensor->rank; i++)
        demand(&judge,
               tensor->strides[i] >= grain && tensor->strides[i] % grain == 0 &&
                   tensor->strides[i] < INT64_C(1) << 40,
               "strides[%d] is %lld bytes; expected a multiple of %lld, less than 2**40", i,
               (long long)tensor->strides[i], grain);
    demand(&judge, why[0] == '\0' && lies_inside(tensor),
           "dims and strides reach beyond the %llu bytes of the buffer; expected extents that lie "
           "in it",
           (unsigned long long)tensor->bytes);
    demand_range(&judge, "box", tensor->box, tensor->rank, 256);
    demand_range(&judge, "element_strides", tensor->element_strides, tensor->rank, 8);
    int64_t inner = tensor->box[0] * (int64_t)hn_element_size(tensor->element);
    demand(&judge, !plain || inner % 16 == 0,
           "box[0] is %lld elements of %s, %lld bytes; expected a multiple of 16 bytes",
           (long long)tensor->box[0], hn_element_name(tensor->element), (long long)inner);
    demand(&judge, !plain || swizzle == 0 || inner <= swizzle,
           "box[0] is %lld elements of %s, %lld bytes; expected at most the %lld bytes of swizzle",
           (long long)tensor->box[0], hn_element_name(tensor->element), (long long)inner,
           (long long)swizzle);
    return why[0] == '\0';
}
