/* SPDX-License-Identifier: MIT */
#ifndef HONE_TYPE_TRAITS
#define HONE_TYPE_TRAITS
namespace std {
using ::size_t;
template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    __host__ __device__ constexpr operator T() const noexcept { return v; }
    __host__ __device__ constexpr T operator()() const noexcept { return v; }
};
template <bool v> using bool_constant = integral_constant<bool, v>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool condition, class A, class B> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };
template <bool condition, class A, class B> using conditional_t = typename conditional<condition, A, B>::type;
template <bool condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool condition, class T = void> using enable_if_t = typename enable_if<condition, T>::type;
template <class...> using void_t = void;
template <class T> struct type_identity { typedef T type; };
template <class T> using type_identity_t = T;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;

template <class T> struct remove_const : type_identity<T> {};
template <class T> struct remove_const<const T> : type_identity<T> {};
template <class T> struct remove_volatile : type_identity<T> {};
template <class T> struct remove_volatile<volatile T> : type_identity<T> {};
template <class T> struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <class T> struct remove_reference : type_identity<T> {};
template <class T> struct remove_reference<T &> : type_identity<T> {};
template <class T> struct remove_reference<T &&> : type_identity<T> {};
template <class T> struct remove_cvref : remove_cv<typename remove_reference<T>::type> {};
template <class T> struct remove_pointer : type_identity<T> {};
template <class T> struct remove_pointer<T *> : type_identity<T> {};
template <class T> struct remove_pointer<T *const> : type_identity<T> {};
template <class T> struct remove_extent : type_identity<T> {};
template <class T> struct remove_extent<T[]> : type_identity<T> {};
template <class T, size_t n> struct remove_extent<T[n]> : type_identity<T> {};
template <class T> struct add_const : type_identity<const T> {};
template <class T> struct add_pointer : type_identity<typename remove_reference<T>::type *> {};
template <class T> struct add_lvalue_reference : type_identity<T &> {};
template <> struct add_lvalue_reference<void> : type_identity<void> {};
template <class T> struct add_rvalue_reference : type_identity<T &&> {};
template <> struct add_rvalue_reference<void> : type_identity<void> {};
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T> __host__ __device__ add_rvalue_reference_t<T> declval() noexcept;

/* X(trait, condition) */
#define HONE_TRAIT(trait, ...)                                                                                     \
    template <class T> struct trait : bool_constant<(__VA_ARGS__)> {};                                             \
    template <class T> constexpr bool trait##_v = trait<T>::value;
#define HONE_TRAIT_OF_PATTERN(trait, pattern, ...)                                                                 \
    template <class T> struct trait : false_type {};                                                               \
    template <__VA_ARGS__> struct trait<pattern> : true_type {};                                                   \
    template <class T> constexpr bool trait##_v = trait<T>::value;
template <class T, class... Ts> constexpr bool hone_is_one_of = false;
template <class T, class First, class... Ts>
constexpr bool hone_is_one_of<T, First, Ts...> = is_same_v<remove_cv_t<T>, First> || hone_is_one_of<T, Ts...>;
HONE_TRAIT(is_void, is_same_v<remove_cv_t<T>, void>)
HONE_TRAIT(is_null_pointer, is_same_v<remove_cv_t<T>, decltype(nullptr)>)
HONE_TRAIT(is_integral, hone_is_one_of<T, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short,
                                       unsigned short, int, unsigned, long, unsigned long, long long, unsigned long long>)
HONE_TRAIT(is_floating_point, hone_is_one_of<T, float, double, long double>)
HONE_TRAIT(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
template <class T, bool = is_arithmetic_v<T>> struct hone_is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T> struct hone_is_signed<T, false> : false_type {};
HONE_TRAIT(is_signed, hone_is_signed<T>::value)
HONE_TRAIT(is_unsigned, is_arithmetic_v<T> && !hone_is_signed<T>::value)
HONE_TRAIT_OF_PATTERN(is_const, const T, class T)
HONE_TRAIT_OF_PATTERN(is_volatile, volatile T, class T)
HONE_TRAIT_OF_PATTERN(is_lvalue_reference, T &, class T)
HONE_TRAIT_OF_PATTERN(is_rvalue_reference, T &&, class T)
HONE_TRAIT(is_reference, is_lvalue_reference_v<T> || is_rvalue_reference_v<T>)
template <class T> struct hone_is_pointer : false_type {};
template <class T> struct hone_is_pointer<T *> : true_type {};
HONE_TRAIT(is_pointer, hone_is_pointer<remove_cv_t<T>>::value)
template <class T> struct is_array : false_type {};
template <class T> struct is_array<T[]> : true_type {};
template <class T, size_t n> struct is_array<T[n]> : true_type {};
template <class T> constexpr bool is_array_v = is_array<T>::value;
HONE_TRAIT(is_function, !is_const_v<const T> && !is_reference_v<T>)
HONE_TRAIT(is_enum, __is_enum(T))
HONE_TRAIT(is_class, __is_class(T))
HONE_TRAIT(is_union, __is_union(T))
HONE_TRAIT(is_empty, __is_empty(T))
HONE_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
HONE_TRAIT(is_scalar, is_arithmetic_v<T> || is_enum_v<T> || is_pointer_v<T> || is_null_pointer_v<T>)
HONE_TRAIT(is_fundamental, is_arithmetic_v<T> || is_void_v<T> || is_null_pointer_v<T>)
#undef HONE_TRAIT
#undef HONE_TRAIT_OF_PATTERN
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> constexpr bool is_base_of_v = is_base_of<A, B>::value;
template <class A, class B> struct is_convertible : bool_constant<__is_convertible_to(A, B)> {};
template <class A, class B> constexpr bool is_convertible_v = is_convertible<A, B>::value;
template <class T, class... A> struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A> constexpr bool is_constructible_v = is_constructible<T, A...>::value;

template <class T> struct hone_decay_value : remove_cv<T> {};
template <class T> struct hone_decay_function : add_pointer<T> {};
template <class T>
struct decay : conditional_t<is_array_v<remove_reference_t<T>>, add_pointer<remove_extent_t<remove_reference_t<T>>>,
                             conditional_t<is_function_v<remove_reference_t<T>>, hone_decay_function<remove_reference_t<T>>,
                                           hone_decay_value<remove_reference_t<T>>>> {};
template <class T> using decay_t = typename decay<T>::type;

template <size_t bytes> struct hone_integer;
template <> struct hone_integer<1> { typedef signed char low; typedef unsigned char high; };
template <> struct hone_integer<2> { typedef short low; typedef unsigned short high; };
template <> struct hone_integer<4> { typedef int low; typedef unsigned int high; };
template <> struct hone_integer<8> { typedef long long low; typedef unsigned long long high; };
template <class T> struct make_signed : type_identity<typename hone_integer<sizeof(T)>::low> {};
template <class T> struct make_unsigned : type_identity<typename hone_integer<sizeof(T)>::high> {};
template <> struct make_signed<unsigned long> : type_identity<long> {};
template <> struct make_signed<long> : type_identity<long> {};
template <> struct make_unsigned<unsigned long> : type_identity<unsigned long> {};
template <> struct make_unsigned<long> : type_identity<unsigned long> {};
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> struct underlying_type : type_identity<__underlying_type(T)> {};
template <class T> using underlying_type_t = typename underlying_type<T>::type;
#if __cplusplus >= 201703L
template <class... T> struct conjunction : bool_constant<(bool(T::value) && ...)> {};
template <class... T> struct disjunction : bool_constant<(bool(T::value) || ...)> {};
template <class T> struct negation : bool_constant<!bool(T::value)> {};
template <class... T> constexpr bool conjunction_v = conjunction<T...>::value;
template <class... T> constexpr bool disjunction_v = disjunction<T...>::value;
template <class T> constexpr bool negation_v = negation<T>::value;
#endif
} // namespace std
#endif
