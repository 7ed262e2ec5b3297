// Where the compiler puts the fields of a structure that is passed by value. It follows the template in a program that
// takes one, and then a table of hone_field (runtime/compile/source.c). No macro of a template has such names.

template <unsigned hone_I> struct hone_is {
    enum { is = hone_I };
};
// The number of a type among Hone's elements (HN_ELEMENTS), 99 of a bool, 100 of an address, 101 of what configs have no value for.
template <class hone_T, bool = __is_class(hone_T) || __is_union(hone_T)> struct hone_kind : hone_is<101> {};
template <class hone_T> struct hone_kind<hone_T, false> {
    enum {
        is = sizeof(hone_T) > 8 ? 101
                                : (hone_T(-1) < hone_T(0) ? 0 : 4) + (sizeof(hone_T) > 1) + (sizeof(hone_T) > 2) + (sizeof(hone_T) > 4)
    };
};
template <> struct hone_kind<bool, false> : hone_is<99> {};
template <> struct hone_kind<float, false> : hone_is<8> {};
template <> struct hone_kind<double, false> : hone_is<9> {};
#ifdef __CUDA_FP16_TYPES_EXIST__
template <> struct hone_kind<__half, true> : hone_is<10> {};
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
template <> struct hone_kind<__nv_bfloat16, true> : hone_is<11> {};
#endif
template <class hone_T> struct hone_kind<hone_T *, false> : hone_is<100> {};
template <class hone_T> struct hone_kind<hone_T *__restrict__, false> : hone_kind<hone_T *> {};
template <class hone_T, decltype(sizeof 0) hone_N> struct hone_kind<hone_T[hone_N], false> : hone_is<101> {};
template <class hone_T> __device__ hone_kind<hone_T> hone_kind_of(const volatile hone_T &);

// Whether a structure can be initialised with so many numbers and addresses. These become no structures and no arrays,
// so that those within count by their own fields and elements.
struct hone_any {
    template <class hone_T, int (*)[hone_kind<hone_T>::is < 101 ? 1 : -1] = nullptr>
    __device__ operator hone_T() const;
};
template <unsigned hone_N, class hone_T, class... hone_A>
struct hone_takes : hone_takes<hone_N - 1, hone_T, hone_A..., hone_any> {};
template <class hone_T, class... hone_A> struct hone_takes<0, hone_T, hone_A...> {
    template <class hone_U> static __device__ char test(decltype(hone_U{hone_A()...}) *);
    template <class hone_U> static __device__ long test(...);
    enum { is = sizeof(test<hone_T>(nullptr)) == 1 };
};

// NVRTC has no offsetof, but what EDG's front end makes one of.
#ifdef __CUDACC_RTC__
#define hone_offset(type, member) __INTADDR__(&((type *)0)->member)
#else
#define hone_offset(type, member) __builtin_offsetof(type, member)
#endif
#define hone_field(type, member)                                                                                       \
    (unsigned)hone_offset(type, member), sizeof(((type *)0)->member), decltype(hone_kind_of(((type *)0)->member))::is
// Added to a field for each index in its name: 0 where the array has that element, else an error in the field's line.
template <bool hone_B> struct hone_index_is_in_array;
template <> struct hone_index_is_in_array<true> : hone_is<0> {};
#define hone_index(type, array, index)                                                                                 \
    (unsigned)hone_index_is_in_array<((index) < sizeof(((type *)0)->array) / sizeof(*((type *)0)->array))>::is
// Begins the table, which goes on with fields. Its names are given to it, since Hone does not look into names that a macro
// puts together, and so would not know what else the program reads.
#define hone_structure(type, table, count, ...)                                                                        \
    typedef __VA_ARGS__ type;                                                                                          \
    static_assert(!hone_takes<count + 1, type>::is, "the structure has more fields than the config, which has "        \
                  #count "; give all, those within as a.b or w[2]");                                                   \
    extern "C" __device__ const unsigned table[] = {0, sizeof(type), 0
