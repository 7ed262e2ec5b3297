// A gather with a functor, as libraries have it.
#include <type_traits>

namespace mylib
{
namespace detail
{
template <typename T>
struct Scale {
    T factor;
    __device__ T operator()(T value) const { return value * factor; }
};

template <typename T, typename Index, int ItemsPerThread, bool Checked>
__global__ void gather_kernel(T *__restrict__ out, const T *__restrict__ in, const Index *__restrict__ map, Index n, T factor)
{
    static_assert(std::is_arithmetic<T>::value, "a number");
    static_assert(ItemsPerThread > 0, "at least one");
    const Scale<T> scale{factor};
    const Index base = (blockIdx.x * blockDim.x + threadIdx.x) * ItemsPerThread;
#pragma unroll
    for (int k = 0; k < ItemsPerThread; k++)
        if (!Checked || base + k < n)
            out[base + k] = scale(in[map[base + k]]);
}
} // namespace detail
} // namespace mylib
