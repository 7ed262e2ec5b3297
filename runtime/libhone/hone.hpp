// SPDX-License-Identifier: MIT
#ifndef HONE_HPP
#define HONE_HPP

/* hone.h for C++17: caches and kernels that own what they hold, launches with the arguments of a call. docs/library.md is
 * the manual.
 *
 *   hone::cache cache("tuned.db");
 *   hone::kernel scale = cache.kernel("scale", {{"n", n}});
 *   scale(stream, x, y, 3.0f);
 *
 * What fails throws hone::error. With HONE_NO_EXCEPTIONS defined, or where the compiler has exceptions turned off, it
 * is returned instead: hone::result<T> holds a T or a hone::error. Both may be used in one program, not in one source
 * file.
 * Threads, contexts and lifetimes are those of hone.h; a kernel keeps its cache open. */

#if __cplusplus < 201703L /* compilers go on after #error: they shall find nothing else to complain of here */
#error "hone.hpp needs C++17: compile with -std=c++17 or later (hone.h is for C11 and C++11)"
#else

#include <hone.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(HONE_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define HONE_NO_EXCEPTIONS
#endif
#ifdef HONE_NO_EXCEPTIONS
#include <optional>
#endif

namespace hone {

/* A problem value by its name in the config: {"M", 4096}, {"layout", "row"}. */
struct value : hone_value {
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    value(const char *key, T number) : hone_value(make(key, number)) {}
    value(const char *key, const char *word) : hone_value(hone_word(key, word)) {}
    value(const char *key, const std::string &word) : hone_value(hone_word(key, word.c_str())) {}

private:
    template <typename T> static hone_value make(const char *key, T number)
    {
        if constexpr (std::is_same_v<T, bool>)
            return hone_boolean(key, number);
        else if constexpr (std::is_integral_v<T>)
            return hone_integer(key, static_cast<std::int64_t>(number));
        else
            return hone_real(key, static_cast<double>(number));
    }
};
static_assert(sizeof(value) == sizeof(hone_value), "arrays of both are the same");

/* Memory of the device with its size, for pointers that do not know theirs: hone::buffer{x, n}. */
template <typename T> struct buffer {
    T *pointer;
    std::size_t count;
    T *data() const { return pointer; }
    std::size_t size() const { return count; }
};
template <typename T> buffer(T *, std::size_t) -> buffer<T>;

/* An argument by its name, for the length of a call. */
template <typename T> struct named {
    const char *name;
    T &&value;
};

/* constexpr hone::name x{"x"}; kernel(stream, x = in, ...); */
class name {
public:
    constexpr explicit name(const char *text) : text_(text) {}
    name(const name &) = delete;
    name &operator=(const name &) = delete;
    template <typename T> constexpr named<T> operator=(T &&value) const { return {text_, static_cast<T &&>(value)}; }

private:
    const char *text_;
};

namespace detail {

template <typename T> using plain = std::remove_cv_t<std::remove_reference_t<T>>;
template <typename, template <typename...> class, typename...> struct is_made_by : std::false_type {};
template <template <typename...> class F, typename... A>
struct is_made_by<std::void_t<F<A...>>, F, A...> : std::true_type {};
template <template <typename...> class F, typename... A> inline constexpr bool works = is_made_by<void, F, A...>::value;
template <typename T> using data_of = decltype(std::declval<T &>().data());
template <typename T> using get_of = decltype(std::declval<T &>().get());
template <typename T> using size_of = decltype(std::declval<T &>().size());

template <typename> inline constexpr bool is_host_container = false;
template <typename T, typename A> inline constexpr bool is_host_container<std::vector<T, A>> = true;
template <typename T, std::size_t N> inline constexpr bool is_host_container<std::array<T, N>> = true;
template <typename C, typename T, typename A>
inline constexpr bool is_host_container<std::basic_string<C, T, A>> = true;

template <typename T> inline constexpr bool is_named = false;
template <typename T> inline constexpr bool is_named<named<T>> = true;

/* The device pointer of what has one: T *, thrust's pointers by get(), spans and vectors by data(). */
template <typename T> auto address_of(T &thing)
{
    if constexpr (std::is_pointer_v<plain<T>>)
        return thing;
    else if constexpr (works<data_of, T>) {
        auto data = thing.data();
        return address_of(data);
    } else
        return thing.get();
}

template <typename T> inline constexpr bool is_memory =
    std::is_pointer_v<plain<T>> || works<data_of, plain<T>> || works<get_of, plain<T>>;
template <typename T> using element = std::remove_pointer_t<plain<decltype(address_of(std::declval<T &>()))>>;

/* The kind of a scalar, or of an element of memory; 0 for structures and void. */
template <typename T> constexpr hone_argument_kind kind_of()
{
    if constexpr (std::is_enum_v<T>)
        return kind_of<std::underlying_type_t<T>>();
    else if constexpr (std::is_same_v<T, float>)
        return HONE_FLOAT32;
    else if constexpr (std::is_same_v<T, double>)
        return HONE_FLOAT64;
    else if constexpr (std::is_integral_v<T>) {
        constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return static_cast<hone_argument_kind>((std::is_signed_v<T> ? HONE_INT8 : HONE_UINT8) + size);
    } else
        return static_cast<hone_argument_kind>(0);
}

inline const char *kind_name(hone_argument_kind kind)
{
    static const char *const names[] = {"a structure", "a device pointer", "a texture", "a structure", "int8", "int16",
                                        "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                                        "float16", "bfloat16", "float8_e4m3"};
    return kind <= HONE_FLOAT8_E4M3 ? names[kind] : "unknown";
}

/* The kind in "float32x4". */
inline hone_argument_kind kind_in(const char *type)
{
    const std::size_t length = std::strcspn(type, "x");
    for (int kind = HONE_INT8; kind <= HONE_BFLOAT16; ++kind) {
        const char *one = kind_name(static_cast<hone_argument_kind>(kind));
        if (std::strncmp(one, type, length) == 0 && one[length] == '\0')
            return static_cast<hone_argument_kind>(kind);
    }
    return static_cast<hone_argument_kind>(0);
}

/* What a caller passes, as far as its type tells. */
struct given {
    bool memory, constant;
    hone_argument_kind kind; /* of the scalar or of an element */
    std::size_t bytes;       /* of the same; 0: not known */
};

template <typename T> constexpr given describe()
{
    if constexpr (is_memory<T>) {
        using E = element<T>;
        if constexpr (std::is_void_v<E>)
            return {true, std::is_const_v<E>, static_cast<hone_argument_kind>(0), 0};
        else
            return {true, std::is_const_v<E>, kind_of<std::remove_cv_t<E>>(), sizeof(E)};
    } else
        return {false, false, kind_of<plain<T>>(), sizeof(plain<T>)};
}

inline bool is_half(hone_argument_kind kind) { return kind == HONE_FLOAT16 || kind == HONE_BFLOAT16; }

inline bool is_scalar_right(const hone_argument_info &info, const given &given)
{
    if (info.kind == HONE_BUFFER || info.kind == HONE_TEXTURE)
        return given.kind == HONE_UINT64; /* CUdeviceptr, CUtexObject */
    if (info.kind == HONE_BYTES)
        return given.bytes == info.bytes;
    return given.kind == info.kind || (is_half(info.kind) && given.kind == 0 && given.bytes == 2);
}

/* NULL where the type of what is given can be the argument's, else what the matter is with it. */
inline const char *complaint(const hone_argument_info &info, const given &given)
{
    if (!given.memory)
        return is_scalar_right(info, given) ? nullptr : kind_name(given.kind);
    if (info.kind != HONE_BUFFER)
        return "a device pointer";
    if (given.constant && std::strcmp(info.role, "input") != 0)
        return "a pointer to const, and it is written";
    /* Structures, as float4 and __half, may be any elements. */
    return given.kind == 0 || given.kind == kind_in(info.type) ? nullptr : kind_name(given.kind);
}

#ifdef __GNUC__
__attribute__((format(printf, 2, 3), cold))
#endif
inline hone_status refuse(hone_error &err, const char *format, ...)
{
    std::va_list words;
    va_start(words, format);
    err.cuda = CUDA_SUCCESS;
    std::vsnprintf(err.message, sizeof err.message, format, words);
    va_end(words);
    return HONE_INVALID;
}

/* Its address stands for the types of a call. Not const, so that no linker makes two of them one. */
template <typename... T> inline char shape = 0;

struct kernel_state {
    std::shared_ptr<hone_cache> cache;
    hone_kernel *handle;
    std::vector<hone_argument_info> arguments;
    std::vector<std::size_t> positional; /* of the arguments, those that have a place in a call */
    std::atomic<const void *> checked{nullptr};

    kernel_state(std::shared_ptr<hone_cache> owner, hone_kernel *of) : cache(std::move(owner)), handle(of)
    {
        arguments.resize(hone_kernel_argument_count(handle));
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            hone_kernel_argument(handle, i, &arguments[i]);
            if (arguments[i].need == HONE_REQUIRED || arguments[i].need == HONE_OPTIONAL)
                positional.push_back(i);
        }
    }

    std::size_t find(const char *name) const
    {
        std::size_t i = 0;
        while (i < arguments.size() && (*arguments[i].name != *name || std::strcmp(arguments[i].name, name) != 0))
            ++i;
        return i;
    }
};

/* The arguments of one launch, on the stack: what hone_launch takes, in the config's order. */
template <std::size_t N> class call {
public:
    explicit call(const kernel_state &state, bool check) : state_(state), check_(check) {}

    template <typename T> bool add(T &&thing, hone_error &err)
    {
        if constexpr (is_named<plain<T>>) {
            const std::size_t place = state_.find(thing.name);
            if (place == state_.arguments.size())
                return fail(refuse(err, "argument '%s': %s has none of that name", thing.name, kernel_name()));
            return put(place, thing.value, err);
        } else {
            if (next_ == state_.positional.size())
                return fail(refuse(err, "%s takes %zu arguments by their places, found more: what follows from the "
                                   "problem is given by its name, or left out", kernel_name(), next_));
            return put(state_.positional[next_++], thing, err);
        }
    }

    hone_status launch(CUstream stream, hone_error &err)
    {
        if (!sorted_)
            sort();
        return hone_launch(state_.handle, stream, arguments_, count_, &err);
    }

    hone_status status() const { return status_; }

private:
    const char *kernel_name() const { return hone_kernel_info(state_.handle)->kernel; }

    bool fail(hone_status status)
    {
        status_ = status;
        return false;
    }

    template <typename T> bool put(std::size_t place, T &thing, hone_error &err)
    {
        static_assert(!is_host_container<plain<T>>, "memory of the host; a launch takes memory of the device");
        static_assert(!std::is_array_v<plain<T>>, "an array of the host; a launch takes memory of the device");
        static_assert(is_memory<T> || std::is_trivially_copyable_v<plain<T>>, "no scalar, and no plain structure");
        const hone_argument_info &info = state_.arguments[place];
        if (check_)
            if (const char *found = complaint(info, describe<T>()))
                return fail(refuse(err, "argument '%s' of %s is given as %s, expected %s", info.name, kernel_name(),
                                   found, info.kind == HONE_TEXTURE ? "a texture" : info.type));
        hone_argument &argument = arguments_[count_];
        argument.name = info.name;
        argument.kind = info.kind;
        argument.bytes = 0;
        argument.as.bits = 0;
        if constexpr (is_memory<T>) {
            if constexpr (works<size_of, T>)
                if (thing.size() * sizeof(element<T>) < info.bytes)
                    return fail(refuse(err, "argument '%s' of %s has %zu bytes, expected %llu at least", info.name,
                                       kernel_name(), thing.size() * sizeof(element<T>),
                                       static_cast<unsigned long long>(info.bytes)));
            argument.as.buffer = reinterpret_cast<CUdeviceptr>(address_of(thing));
        } else if (info.kind == HONE_BYTES) {
            argument.bytes = static_cast<std::uint32_t>(sizeof(T));
            argument.as.host = &thing;
        } else if constexpr (sizeof(T) <= sizeof argument.as)
            std::memcpy(&argument.as, &thing, sizeof(T));
        sorted_ = sorted_ && (count_ == 0 || places_[count_ - 1] < place);
        places_[count_++] = place;
        return true;
    }

    void sort()
    {
        for (std::size_t i = 1; i < count_; ++i)
            for (std::size_t k = i; k > 0 && places_[k] < places_[k - 1]; --k) {
                std::swap(places_[k], places_[k - 1]);
                std::swap(arguments_[k], arguments_[k - 1]);
            }
    }

    const kernel_state &state_;
    hone_argument arguments_[N + 1];
    std::size_t places_[N + 1];
    std::size_t count_ = 0, next_ = 0;
    bool check_, sorted_ = true;
    hone_status status_ = HONE_OK;
};

/* Contents of a symbol: memory of the device, or an object of the host that is copied as it is. */
template <typename T> hone_argument symbol(const named<T> &contents)
{
    using object = std::remove_reference_t<T>;
    if constexpr (is_memory<object> && !is_host_container<plain<T>>)
        return hone_buffer(contents.name, reinterpret_cast<CUdeviceptr>(address_of(contents.value)));
    else {
        static_assert(std::is_trivially_copyable_v<object>, "its bytes are not its contents");
        return hone_bytes(contents.name, &contents.value, static_cast<std::uint32_t>(sizeof(object)));
    }
}

} // namespace detail

class error : public std::runtime_error {
public:
    error(hone_status status, const hone_error &err)
        : std::runtime_error(err.message), status_(status), cuda_(err.cuda) {}
    hone_status status() const noexcept { return status_; }
    CUresult cuda() const noexcept { return cuda_; } /* of HONE_CUDA; else CUDA_SUCCESS */

private:
    hone_status status_;
    CUresult cuda_;
};

#ifdef HONE_NO_EXCEPTIONS
inline namespace results {

/* Nothing, or why it could not be done. */
template <typename T> class [[nodiscard]] result;
template <> class [[nodiscard]] result<void> {
public:
    result() = default;
    result(hone_status status, const hone_error &err) : error_(new hone::error(status, err)) {}
    explicit operator bool() const noexcept { return error_ == nullptr; }
    bool has_value() const noexcept { return error_ == nullptr; }
    const hone::error &error() const noexcept { return *error_; } /* only where there is no value */

private:
    std::unique_ptr<hone::error> error_;
};

/* A T, or why there is none. */
template <typename T> class [[nodiscard]] result : public result<void> {
public:
    using result<void>::result;
    result(T value) : value_(std::move(value)) {}
    T &value() noexcept { return *value_; } /* only where there is one */
    T &operator*() noexcept { return *value_; }
    T *operator->() noexcept { return &*value_; }

private:
    std::optional<T> value_;
};

template <typename T> using outcome = result<T>;

template <typename T> outcome<T> fail_as(hone_status status, const hone_error &err) { return {status, err}; }
#else
inline namespace exceptions {

template <typename T> using outcome = T;

template <typename T> [[noreturn]] outcome<T> fail_as(hone_status status, const hone_error &err)
{
    throw hone::error(status, err);
}
#endif

/* A kernel for one problem. Copies are the same kernel; it may be launched by several threads at once. */
class kernel {
public:
    /* Queues a launch: hone_launch. Arguments stand in the config's order, those left out that follow from the problem
     * and those that the library owns; or by their names, in any order, after those without. A launch of other types
     * than the one before is checked against the signature: type, number, and that no output is const. Sizes are
     * checked where the argument tells its own. Nothing is allocated, but by the library for scratch memory. */
    template <typename... A> outcome<void> operator()(CUstream stream, A &&...arguments) const
    {
        hone_error err;
        const void *shape = &detail::shape<std::remove_reference_t<A>...>;
        const bool check = state_->checked.load(std::memory_order_relaxed) != shape;
        detail::call<sizeof...(A)> call(*state_, check);
        const bool good = (call.add(std::forward<A>(arguments), err) && ...);
        const hone_status status = good ? call.launch(stream, err) : call.status();
        if (status != HONE_OK)
            return fail_as<void>(status, err);
        if (check)
            state_->checked.store(shape, std::memory_order_relaxed);
        return outcome<void>();
    }

    /* What the first launch on a stream would allocate: hone_prepare. */
    outcome<void> prepare(CUstream stream) const
    {
        hone_error err;
        const hone_status status = hone_prepare(state_->handle, stream, &err);
        return status == HONE_OK ? outcome<void>() : fail_as<void>(status, err);
    }

    /* hone_set_symbols, each by its name: memory of the device, or an object of the host of the symbol's size. */
    template <typename... A> outcome<void> set_symbols(CUstream stream, named<A>... contents) const
    {
        hone_error err;
        const hone_argument arguments[] = {detail::symbol(contents)...};
        const hone_status status = hone_set_symbols(state_->handle, stream, arguments, sizeof...(A), &err);
        return status == HONE_OK ? outcome<void>() : fail_as<void>(status, err);
    }

    /* Lives as long as the kernel, and so does the handle, with which all of hone.h can be used. */
    const hone_info &info() const noexcept { return *hone_kernel_info(state_->handle); }
    hone_kernel *get() const noexcept { return state_->handle; }
    /* What a launch takes, in the config's order. */
    const std::vector<hone_argument_info> &arguments() const noexcept { return state_->arguments; }

private:
    friend class cache;
    explicit kernel(std::shared_ptr<detail::kernel_state> state) : state_(std::move(state)) {}
    std::shared_ptr<detail::kernel_state> state_;
};

/* An open cache: hone_open. It closes when it and all its kernels are gone. */
class cache {
public:
    /* path: as of hone_open; NULL for the cache that `hone` uses. */
    static outcome<cache> open(const char *path = nullptr)
    {
        hone_error err;
        hone_cache *opened = nullptr;
        const hone_status status = hone_open(path, &opened, &err);
        if (status != HONE_OK)
            return fail_as<cache>(status, err);
        return cache(opened);
    }
    static outcome<cache> open(const std::string &path) { return open(path.c_str()); }
#ifndef HONE_NO_EXCEPTIONS
    explicit cache(const char *path = nullptr) : cache(open(path)) {}
    explicit cache(const std::string &path) : cache(open(path)) {}
#endif

    /* The kernel for a problem, all of whose values are given: hone_get. Keep it: it has what a launch needs. */
    outcome<hone::kernel> kernel(const char *name, std::initializer_list<value> problem = {},
                                 const hone_options &options = hone_options()) const
    {
        return kernel(name, problem.begin(), problem.size(), options);
    }
    outcome<hone::kernel> kernel(const char *name, const hone_value *problem, std::size_t count,
                                 const hone_options &options = hone_options()) const
    {
        hone_error err;
        hone_kernel *handle = nullptr;
        const hone_status status = hone_get(cache_.get(), name, problem, count, &options, &handle, &err);
        if (status != HONE_OK)
            return fail_as<hone::kernel>(status, err);
        return hone::kernel(std::make_shared<detail::kernel_state>(cache_, handle));
    }

    hone_cache *get() const noexcept { return cache_.get(); }

private:
    explicit cache(hone_cache *opened) : cache_(opened, hone_close) {}
    std::shared_ptr<hone_cache> cache_;
};

} // namespace results or exceptions
} // namespace hone

#endif // C++17
#endif
