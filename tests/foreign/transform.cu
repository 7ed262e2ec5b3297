// SPDX-License-Identifier: MIT
#include <limits>
#include <type_traits>
#include <utility>

namespace pixels {
namespace detail {

template <typename T> struct clamped {
    T low = std::numeric_limits<T>::lowest();
    T high = std::numeric_limits<T>::max();

    __host__ __device__ constexpr T operator()(float x) const
    {
        return x < float(low) ? low : x > float(high) ? high : static_cast<T>(x);
    }
};

template <typename T, std::enable_if_t<std::is_integral<T>::value, int> = 0> __device__ float widen(T x)
{
    return float(x) / float(std::numeric_limits<T>::max());
}

template <typename Operation, typename T, typename... More>
__device__ auto apply(Operation &&operation, T &&first, More &&...more)
{
    return std::forward<Operation>(operation)(std::forward<T>(first), std::forward<More>(more)...);
}

} // namespace detail

enum class curve { linear, squared, smooth };

template <curve c> __device__ float bend(float x)
{
    if constexpr (c == curve::linear)
        return x;
    else if constexpr (c == curve::squared)
        return x * x;
    else
        return x * x * (3.f - 2.f * x);
}

template <typename Pixel, curve c, int per_thread>
__global__ void __launch_bounds__(512) grade(const Pixel *__restrict__ in, Pixel *__restrict__ out, float gain, int n)
{
    static_assert(std::is_unsigned<Pixel>::value && per_thread > 0, "an unsigned pixel");
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        if (first + i >= n)
            return;
        const float x = gain * bend<c>(detail::widen(in[first + i]));
        out[first + i] = detail::apply(detail::clamped<Pixel>{}, x * std::numeric_limits<Pixel>::max());
    }
}

} // namespace pixels
