/* SPDX-License-Identifier: MIT */
/* A C++ template that needs a name expression. */
namespace demo
{
template <int N, class T> __global__ void fill(T *x)
{
    for (int i = 0; i < N; i++)
        x[blockIdx.x * N + i] = N;
}
} // namespace demo
