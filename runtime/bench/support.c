/* SPDX-License-Identifier: MIT */
#include "runtime/bench/support.h"
#include "runtime/bench/support_host.h"

#include <stdio.h>

/* The text of the support kernels that the host runs, too. */
#include "runtime/bench/support_grid.cuh"
/* Each of these needs those before it. */
#include "runtime/bench/support_element.cuh"
#include "runtime/bench/support_random.cuh"

#include "runtime/bench/support_fill.cuh"
#include "runtime/bench/support_sum.cuh"

enum { BLOCKS_PER_SM = 8, MAX_BLOCKS = 1024 };

static const char *const entries_of_all[] = {
#define X(identifier, name) name,
    HN_SUPPORT_KERNELS(X)
#undef X
};

struct hn_source hn_support_program(const struct hn_plan *plan, struct hn_support_options *options)
{
    static struct hn_text_file file = {(char *)"hone/support.cu", NULL};
    static const struct hn_template template = {.files = &file, .file_count = 1};
    struct hn_source source = {.template = &template,
                               .text = (char *)hn_support_source,
                               .entries = (char **)entries_of_all,
                               .entry_count = HN_SUPPORT_KERNEL_COUNT};
    /* The memcpy that results are set beside copies uniform floats. */
    unsigned elements = 1u << HN_FLOAT32;
    unsigned fills = 1u << HN_FILL_UNIFORM;
    bool multisets = false, loose = false;
    if (plan == NULL)
        return source;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const struct hn_compare *compare = hn_plan_comparison(plan, argument);
        elements |= 1u << argument->element;
        fills |= 1u << argument->fill.kind;
        multisets = multisets || compare->mode == HN_COMPARE_MULTISET;
        loose =
            loose || compare->partial || compare->mismatches != NULL || compare->mismatch_share > 0;
    }
    snprintf(options->texts[0], sizeof options->texts[0], "-DELEMENTS=%#x", elements);
    snprintf(options->texts[1], sizeof options->texts[1], "-DFILLS=%#x", fills);
    snprintf(options->texts[2], sizeof options->texts[2], "-DMULTISETS=%d", multisets);
    snprintf(options->texts[3], sizeof options->texts[3], "-DLOOSE=%d", loose);
    for (size_t i = 0; i < HN_SUPPORT_OPTIONS; i++)
        options->list[i] = options->texts[i];
    source.options = options->list;
    source.option_count = HN_SUPPORT_OPTIONS;
    return source;
}

CUmodule hn_kernels_load(struct hn_context *context, const struct hn_image *image, const char *what,
                         const char *const *entries, size_t count, CUfunction *kernels,
                         struct hn_error *err)
{
    CUmodule module = NULL;
    char loading[64];
    if (hn_failed(err))
        return NULL;
    snprintf(loading, sizeof loading, "loading the %s", what);
    if (image->outcome != HN_OUTCOME_OK || image->cubin == NULL)
        hn_fail(err, HN_ERUN, "the %s did not compile: %s", what,
                image->message == NULL ? "no message" : image->message);
    HN_CALL(context, cuModuleLoadDataEx, (&module, image->cubin, 0, NULL, NULL), loading, err);
    if (hn_failed(err))
        return NULL;
    for (size_t i = 0; i < count; i++)
        HN_CALL(context, cuModuleGetFunction, (&kernels[i], module, entries[i]), entries[i], err);
    if (!hn_failed(err))
        return module;
    context->driver->p_cuModuleUnload(module);
    return NULL;
}

void hn_support_init(struct hn_support *support, struct hn_context *context,
                     const struct hn_image *image, struct hn_error *err)
{
    int blocks = BLOCKS_PER_SM * context->device->identity.sm_count;
    *support = (struct hn_support){.context = context};
    support->blocks = blocks < 1 || blocks > MAX_BLOCKS ? MAX_BLOCKS : (unsigned int)blocks;
    support->module = hn_kernels_load(context, image, "support kernels", entries_of_all,
                                      HN_SUPPORT_KERNEL_COUNT, support->kernels, err);
}

void hn_support_finish(struct hn_support *support)
{
    if (support->module != NULL)
        support->context->driver->p_cuModuleUnload(support->module);
    support->module = NULL;
}

void hn_support_launch(struct hn_support *support, enum hn_support_kernel kernel,
                       unsigned int blocks, void **parameters, struct hn_error *err)
{
    struct hn_context *context = support->context;
    unsigned int threads = kernel == HN_SUPPORT_SPIN ? 1 : THREADS;
    HN_CALL(context, cuLaunchKernel,
            (support->kernels[kernel], blocks > 0 ? blocks : support->blocks, 1, 1, threads, 1, 1,
             0, context->stream, parameters, NULL),
            entries_of_all[kernel], err);
}

/* Seeds have to be far apart in every bit: the kernel adds multiples of a constant to them, and
 * those of neighbours would be the same numbers a place further on. */
static uint64_t mix_seed(uint64_t seed, uint64_t argument)
{
    uint64_t z = seed ^ argument * 0xd1342543de82ef95u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

_Static_assert((int)TRANSPOSED == (int)HN_FILL_TRANSPOSED && (int)SORTED == (int)HN_FILL_SORTED &&
                   (int)ZIPF == (int)HN_FILL_ZIPF && (int)FLOAT8_E4M3 == (int)HN_FLOAT8_E4M3,
               "one list, twice");

static struct hone_recipe seeded(const struct hn_recipe *recipe, enum hn_element element,
                                 uint64_t seed)
{
    int64_t low, high;
    hn_element_range(element, &low, &high);
    double most = element == HN_UINT64 ? 0x1p64 : (double)high;
    bool turned = recipe->fill.kind == HN_FILL_TRANSPOSED;
    const struct hn_fill *fill = turned ? &recipe->source_fill : &recipe->fill;
    struct hone_recipe seeded = {
        .a = fill->numbers[0],
        .b = fill->numbers[1],
        .seed = mix_seed(seed, turned ? recipe->source : recipe->argument),
        .count = recipe->count,
        .turned = turned ? (uint64_t)recipe->fill.numbers[0] : 0,
        .low = (double)low,
        .high = most > 0x1p53 ? nextafter(most, 0) : most,
        .kind = (int)fill->kind,
        .integer = !hn_element_is_real(element),
    };
    if (fill->kind == HN_FILL_CSR_COLUMNS) {
        seeded.rows = recipe->source_count - 1;
        seeded.rows_seed = mix_seed(seed, recipe->source);
        seeded.entries = recipe->source_fill.numbers[0];
        seeded.spread = recipe->source_fill.numbers[1];
    }
    return seeded;
}

void hn_support_fill(struct hn_support *support, struct hn_elements elements,
                     const struct hn_recipe *recipe, uint64_t seed, struct hn_error *err)
{
    struct hone_recipe filling = seeded(recipe, elements.type, seed);
    void *parameters[] = {&elements.data,  &elements.count, &elements.row,
                          &elements.pitch, &elements.type,  &filling};
    hn_support_launch(support, HN_SUPPORT_FILL, 0, parameters, err);
}

void hn_support_poison(struct hn_support *support, struct hn_elements elements, uint64_t seed,
                       struct hn_error *err)
{
    void *parameters[] = {&elements.data,  &elements.count, &elements.row,
                          &elements.pitch, &elements.type,  &seed};
    hn_support_launch(support, HN_SUPPORT_POISON, 0, parameters, err);
}

void hn_support_checksum(struct hn_support *support, CUdeviceptr data, uint64_t bytes,
                         CUdeviceptr sums, struct hn_error *err)
{
    void *parameters[] = {&data, &bytes, &sums};
    hn_support_launch(support, HN_SUPPORT_CHECKSUM, 0, parameters, err);
}

void hn_support_veil(struct hn_support *support, CUdeviceptr from, CUdeviceptr to, uint64_t count,
                     size_t element_size, uint64_t key, struct hn_error *err)
{
    unsigned int size = (unsigned int)element_size;
    void *parameters[] = {&from, &to, &count, &size, &key};
    hn_support_launch(support, HN_SUPPORT_VEIL, 0, parameters, err);
}

void hn_host_fill(const struct hn_recipe *recipe, enum hn_element element, uint64_t seed,
                  uint64_t first, uint64_t count, void *data)
{
    struct hone_recipe own = seeded(recipe, element, seed);
    struct zipf zipf = zipf_of(&own);
    for (uint64_t i = 0; i < count; i++)
        store(data, i, (int)element, fill_value(&own, &zipf, first + i));
}

uint64_t hn_support_checksum_of_zeros(CUdeviceptr data, uint64_t bytes)
{
    uint64_t words = data % 8 == 0 ? bytes / 8 : 0, sum = 0;
    for (uint64_t i = 0; i < words; i++)
        sum += mix_word(0, i);
    for (uint64_t i = words * 8; i < bytes; i++)
        sum += mix_byte(0, i);
    return sum;
}
