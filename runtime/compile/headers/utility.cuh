/* SPDX-License-Identifier: MIT */
/* std::move and std::forward are the compiler's. */
#ifndef HONE_UTILITY
#define HONE_UTILITY
#include <type_traits>
namespace std {
template <class T> __host__ __device__ constexpr void swap(T &a, T &b)
{
    T was = static_cast<T &&>(a);
    a = static_cast<T &&>(b);
    b = static_cast<T &&>(was);
}
template <class T, class U = T> __host__ __device__ constexpr T exchange(T &at, U &&value)
{
    T was = static_cast<T &&>(at);
    at = static_cast<U &&>(value);
    return was;
}
template <class A, class B> struct pair {
    typedef A first_type;
    typedef B second_type;
    A first;
    B second;
    __host__ __device__ constexpr pair() : first(), second() {}
    __host__ __device__ constexpr pair(const A &a, const B &b) : first(a), second(b) {}
};
template <class A, class B> __host__ __device__ constexpr pair<decay_t<A>, decay_t<B>> make_pair(A &&a, B &&b)
{
    return pair<decay_t<A>, decay_t<B>>(static_cast<A &&>(a), static_cast<B &&>(b));
}
template <class T, T... values> struct integer_sequence {
    typedef T value_type;
    static __host__ __device__ constexpr size_t size() { return sizeof...(values); }
};
template <size_t... values> using index_sequence = integer_sequence<size_t, values...>;
template <class T, size_t left, T... values> struct hone_sequence : hone_sequence<T, left - 1, T(left - 1), values...> {};
template <class T, T... values> struct hone_sequence<T, 0, values...> {
    typedef integer_sequence<T, values...> type;
};
template <class T, T count> using make_integer_sequence = typename hone_sequence<T, size_t(count)>::type;
template <size_t count> using make_index_sequence = make_integer_sequence<size_t, count>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;
} // namespace std
#endif
