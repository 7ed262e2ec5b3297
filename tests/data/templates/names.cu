/* SPDX-License-Identifier: MIT */
/* Kernels that are called in all the ways of C++. */
extern "C" __global__ void plain(float *x) { x[0] = 1; }
__global__ void global_one(float *x) { x[0] = 2; }
static __global__ void kept(float *x) { x[0] = 3; }
__global__ void both(float *x) { x[0] = 4; }

template <bool fast, int n> __global__ void twice(float *x) { x[fast] = n; }
template __global__ void twice<true, 3>(float *);
template __global__ void twice<false, 3>(float *);

namespace {
__global__ void hidden(float *x) { x[0] = 5; }
} // namespace

namespace outer {
template <typename T> struct pair {
    T a, b;
};
__global__ void both(float *x) { x[0] = 6; }
__global__ void load(float *x, int n) { x[n] = 7; }
__global__ void load(const double *x, pair<pair<float>> *y, unsigned n) { y->a.a = x[n]; }
template <class T, int n> __global__ void once(T *x) { x[0] = n; }
template __global__ void once<double, 7>(double *);

namespace inner {
__global__ void nested(const float *x, pair<float> *y, int n) { y[n].a = x[n]; }

/* template <int> __global__ void tile(int) */
template <typename T, int N = (4 < 5), bool is_fast = (N > 3)>
__global__ void __launch_bounds__(128) tile(const T *x, T *y)
{
    y[N] = x[is_fast];
}
} // namespace inner
} // namespace outer
