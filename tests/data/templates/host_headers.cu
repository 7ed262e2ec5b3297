/* SPDX-License-Identifier: MIT */
/* What device code takes from the headers of C, C++ and CUDA. */
#include <stdint.h>
#include <cstdint>
#include <stddef.h>
#include <cstddef>
#include <climits>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cassert>
#include <cstring>
#include <cstdlib>
#include <ctime>
#include <cinttypes>
#include <stdbool.h>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <limits>
#include <algorithm>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
struct pair_of { float x; int y; };
enum class colour : unsigned char { red };
static_assert(sizeof(uint64_t) == 8 && sizeof(intptr_t) == 8 && INT64_MAX == LLONG_MAX, "");
static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<unsigned>::digits == 32 && std::numeric_limits<int>::digits10 == 9, "");
static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX && std::numeric_limits<double>::epsilon() == DBL_EPSILON, "");
static_assert(std::numeric_limits<float>::infinity() > FLT_MAX && std::numeric_limits<char>::is_signed, "");
static_assert(std::numeric_limits<long long>::min() == LLONG_MIN && std::numeric_limits<short>::digits10 == 4, "");
static_assert(std::is_same_v<std::remove_cv_t<const volatile int>, int> && std::is_same<std::decay_t<const int &>, int>::value, "");
static_assert(std::is_same_v<std::decay_t<int[3]>, int *> && std::is_same_v<std::decay_t<int(int)>, int (*)(int)>, "");
static_assert(std::is_integral_v<const uint8_t> && !std::is_integral_v<float> && std::is_floating_point_v<double>, "");
static_assert(std::is_signed_v<float> && std::is_unsigned_v<size_t> && !std::is_signed_v<pair_of>, "");
static_assert(std::is_pointer_v<int *const> && std::is_enum_v<colour> && std::is_class_v<pair_of> && std::is_function_v<void()>, "");
static_assert(std::is_same_v<std::make_unsigned_t<int>, unsigned> && std::is_same_v<std::underlying_type_t<colour>, unsigned char>, "");
static_assert(std::is_same_v<std::conditional_t<true, int, float>, int> && std::is_convertible_v<int, float>, "");
static_assert(std::is_base_of_v<pair_of, pair_of> && std::is_trivially_copyable_v<pair_of>, "");
static_assert(std::is_same_v<std::make_index_sequence<3>, std::index_sequence<0, 1, 2>>, "");
static_assert(std::min(1, 2) == 1 && std::max(1.0, 2.0) == 2.0 && std::clamp(5, 0, 3) == 3, "");
static_assert(std::is_same_v<decltype(std::declval<int>()), int &&> && std::is_same_v<std::nullptr_t, decltype(nullptr)>, "");
static_assert(offsetof(pair_of, y) == 4, "");
template <class T, std::enable_if_t<std::is_integral<T>::value, int> = 0> __device__ T twice(T x) { return 2 * x; }
template <size_t... i> __device__ int total(std::index_sequence<i...>) { return (int(i) + ... + 0); }
extern "C" __global__ void k(float *x, const __grid_constant__ CUtensorMap map)
{
    assert(x != NULL);
    float infinite = INFINITY, none = NAN;
    std::swap(infinite, none);
    const std::pair<int, float> p = std::make_pair(1, 2.f);
    int64_t wide = twice(int64_t{3});
    x[0] = std::sqrt(x[1]) + std::fabs(x[2]) + std::pow(x[3], 2.f) + std::exp(x[1]) + M_PI + p.second + wide;
    x[1] = std::isnan(x[1]) ? infinite : HUGE_VALF + total(std::make_index_sequence<4>{});
    std::memcpy(x, x + 4, sizeof(float));
    memset(x, 0, 4);
    x[2] = std::abs(x[2]) + std::abs(-3) + std::floor(x[1]) + sinf(x[0]) + CUDA_VERSION;
    for (int i : {1, 2})
        x[i] += std::move(x[3]);
    if (std::isinf(x[4]))
        printf("%" PRId64 " %s", wide, __FILE__);
    x[5] = offsetof(pair_of, y) + std::exchange(x[6], 1.f) + uint32_t(clock());
}
