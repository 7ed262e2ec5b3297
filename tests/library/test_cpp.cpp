// SPDX-License-Identifier: MIT
// hone.hpp from a program's side, with exceptions and, compiled once more with HONE_NO_EXCEPTIONS, with results.
#include <hone.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int failures = 0;
thread_local long allocations = -1; // negative: not counted

void check(bool good, int line, const char *what)
{
    if (good)
        return;
    std::printf("test_cpp.cpp:%d: %s\n", line, what);
    ++failures;
}
#define CHECK(condition) check(condition, __LINE__, #condition)
#define CHECK_CUDA(call) check((call) == CUDA_SUCCESS, __LINE__, #call)

// What thrust's vectors look like.
template <typename T> struct fancy_pointer {
    T *pointer;
    T *get() const { return pointer; }
};

template <typename T> class device_vector {
public:
    explicit device_vector(const std::vector<T> &contents) : count_(contents.size())
    {
        CHECK_CUDA(cuMemAlloc(&address_, count_ * sizeof(T)));
        CHECK_CUDA(cuMemcpyHtoD(address_, contents.data(), count_ * sizeof(T)));
    }
    device_vector(const device_vector &) = delete;
    device_vector &operator=(const device_vector &) = delete;
    ~device_vector() { CHECK_CUDA(cuMemFree(address_)); }
    fancy_pointer<T> data() { return {raw()}; }
    fancy_pointer<const T> data() const { return {raw()}; }
    std::size_t size() const { return count_; }
    CUdeviceptr address() const { return address_; }
    T *raw() const { return reinterpret_cast<T *>(address_); }
    void fill(T number) { set(std::vector<T>(count_, number)); }
    void set(const std::vector<T> &contents)
    {
        CHECK_CUDA(cuMemcpyHtoD(address_, contents.data(), count_ * sizeof(T)));
    }
    std::vector<T> get() const
    {
        std::vector<T> contents(count_);
        CHECK_CUDA(cuCtxSynchronize());
        CHECK_CUDA(cuMemcpyDtoH(contents.data(), address_, count_ * sizeof(T)));
        return contents;
    }

private:
    CUdeviceptr address_ = 0;
    std::size_t count_;
};

struct failure {
    hone_status status;
    std::string message;
};

// What a call comes to, however it tells of failure.
template <typename F> failure outcome_of(F run)
{
#ifdef HONE_NO_EXCEPTIONS
    auto result = run();
    static_assert(!std::is_same_v<decltype(result), void>, "");
    return result ? failure{HONE_OK, ""} : failure{result.error().status(), result.error().what()};
#else
    try {
        run();
        return {HONE_OK, ""};
    } catch (const hone::error &error) {
        return {error.status(), error.what()};
    }
#endif
}

#ifdef HONE_NO_EXCEPTIONS
template <typename T> T must(hone::result<T> result)
{
    if (!result) {
        std::printf("%s\n", result.error().what());
        std::exit(1);
    }
    return std::move(*result);
}
#else
template <typename T> T must(T thing) { return thing; }
#endif

hone::cache open_cache() { return must(hone::cache::open(std::getenv("HONE_TEST_CACHE"))); }

bool is_scaled(const std::vector<float> &x, const std::vector<float> &y, float a)
{
    bool good = true;
    for (std::size_t i = 0; i < x.size(); ++i)
        good = good && y[i] - a * x[i] < 1e-4f && a * x[i] - y[i] < 1e-4f;
    return good;
}

std::vector<float> numbers(std::size_t count)
{
    std::vector<float> made(count);
    for (std::size_t i = 0; i < count; ++i)
        made[i] = static_cast<float>(i % 100) / 100;
    return made;
}

constexpr hone::name X{"x"}, Y{"y"}, A{"a"}, N{"n"};
constexpr int COUNT = 5000;

#define EXPECT(call, expected, part)                                                                                   \
    do {                                                                                                               \
        const failure found = outcome_of([&] { return call; });                                                        \
        check(found.status == (expected) && found.message.find(part) != std::string::npos, __LINE__,                   \
              (found.message + "\n  of " #call).c_str());                                                              \
    } while (false)

void arguments_in_order_and_by_name()
{
    const hone::cache cache = open_cache();
    const hone::kernel scale = must(cache.kernel("scale", {{"n", COUNT}}));
    const std::vector<float> host = numbers(COUNT);
    device_vector<float> x(host), y(host);
    const device_vector<float> &constant = x;
    float a = 3;
    CHECK(std::string(scale.info().kernel) == "scale");
    CHECK(scale.arguments().size() == 4);
    const auto expect = [&](const failure &found, float factor, int line) {
        check(found.status == HONE_OK, line, found.message.c_str());
        check(is_scaled(host, y.get(), factor), line, "the result is wrong");
        y.fill(-1);
    };
#define LAUNCH(factor, ...) expect(outcome_of([&] { return scale(__VA_ARGS__); }), factor, __LINE__)
    LAUNCH(3, nullptr, x, y, 3.0f);
    LAUNCH(2.5f, nullptr, x, y); // the config's constant
    LAUNCH(3, nullptr, x.raw(), y.raw(), a);
    LAUNCH(3, nullptr, x.address(), y.address(), a);
    LAUNCH(3, nullptr, constant, y.data(), a);
    LAUNCH(3, nullptr, static_cast<const void *>(x.raw()), static_cast<void *>(y.raw()), a);
    LAUNCH(3, nullptr, hone::buffer{x.raw(), COUNT}, y, 3.0f);
    LAUNCH(3, nullptr, X = x, Y = y, A = 3.0f);
    LAUNCH(3, nullptr, A = a, Y = y, X = constant);
    LAUNCH(3, nullptr, x, N = COUNT, A = 3.0f, Y = y.raw());
    LAUNCH(3, nullptr, Y = y, X = x, hone::name("a") = a);
#undef LAUNCH
}

void wrong_arguments_are_refused()
{
    const hone::cache cache = open_cache();
    const hone::kernel scale = must(cache.kernel("scale", {{"n", COUNT}}));
    const std::vector<float> host = numbers(COUNT);
    device_vector<float> x(host), y(host);
    const device_vector<float> constant(host), small(numbers(COUNT - 1));
    int *integers = reinterpret_cast<int *>(x.raw());
    y.fill(-1);
    // A good launch before, so that what is refused is refused for its own types.
    EXPECT(scale(nullptr, x, y, 3.0f), HONE_OK, "");
    y.fill(-1);
    EXPECT(scale(nullptr, x, y, 3.0), HONE_INVALID, "argument 'a' of scale is given as float64, expected float32");
    EXPECT(scale(nullptr, x, y, 3), HONE_INVALID, "'a' of scale is given as int32, expected float32");
    EXPECT(scale(nullptr, integers, y, 3.0f), HONE_INVALID, "'x' of scale is given as int32, expected float32");
    EXPECT(scale(nullptr, x, constant, 3.0f), HONE_INVALID, "'y' of scale is given as a pointer to const");
    EXPECT(scale(nullptr, x, y, y), HONE_INVALID, "'a' of scale is given as a device pointer, expected float32");
    EXPECT(scale(nullptr, x, y, 3.0f, COUNT), HONE_INVALID, "takes 3 arguments by their places");
    EXPECT(scale(nullptr, x), HONE_INVALID, "argument 'y' of scale is missing");
    EXPECT(scale(nullptr, x, X = x, Y = y), HONE_INVALID, "found argument 'x' where scale takes 'y'");
    EXPECT(scale(nullptr, x, y, hone::name("b") = 3.0f), HONE_INVALID, "argument 'b': scale has none of that name");
    EXPECT(scale(nullptr, x, y, N = COUNT + 1), HONE_INVALID, "is not what it is for the problem");
    EXPECT(scale(nullptr, small, y), HONE_INVALID, "'x' of scale has 19996 bytes, expected 20000 at least");
    EXPECT(scale(nullptr, hone::buffer{x.raw(), 7}, y), HONE_INVALID, "has 28 bytes");
    CHECK(y.get()[0] < -0.5f);
    EXPECT(cache.kernel("nothing"), HONE_NOT_FOUND, "nothing");
    EXPECT(cache.kernel("scale", {{"m", 1}}), HONE_INVALID, "m");
    EXPECT(hone::cache::open("/nowhere/tuned.db"), HONE_NOT_FOUND, "/nowhere/tuned.db");
}

void kernels_outlive_their_cache()
{
    const std::vector<float> host = numbers(COUNT);
    device_vector<float> x(host), y(host);
    hone_options options{};
    options.on_miss = HONE_MISS_DEFAULT;
    const hone::kernel scale = must(open_cache().kernel("scale", {{"n", COUNT}}, options));
    const hone::kernel copy = scale;
    CHECK(copy.get() == scale.get());
    CHECK(copy.info().grade == HONE_GRADE_DEFAULT);
    EXPECT(copy(nullptr, x, y, 2.0f), HONE_OK, "");
    CHECK(is_scaled(host, y.get(), 2));
}

void what_the_library_owns_is_left_out()
{
    const hone::cache cache = open_cache();
    for (const char *name : {"sum_two_pass", "sum_last_block"}) {
        const hone::kernel sum = must(cache.kernel(name, {{"n", 4096}}));
        device_vector<int> x(std::vector<int>(4096, 3)), result(std::vector<int>(1, -1));
        EXPECT(sum.prepare(nullptr), HONE_OK, "");
        EXPECT(sum(nullptr, x, result), HONE_OK, "");
        CHECK(result.get()[0] == 3 * 4096);
    }
}

void symbols_and_structures()
{
    const hone::cache cache = open_cache();
    const hone::kernel look_up = must(cache.kernel("look_up", {{"n", COUNT}}));
    std::vector<int> host(COUNT);
    for (int i = 0; i < COUNT; ++i)
        host[static_cast<std::size_t>(i)] = i;
    device_vector<int> x(host), y(host), weights(std::vector<int>(16, 7));
    const std::array<int, 4> offsets{1, 2, 3, 4};
    EXPECT(look_up(nullptr, x, weights, y), HONE_INVALID, "call hone_set_symbols");
    EXPECT(look_up.set_symbols(nullptr, hone::name("weights") = weights, hone::name("offsets") = offsets), HONE_OK, "");
    EXPECT(look_up(nullptr, x, weights, y), HONE_OK, "");
    CHECK(y.get()[6] == 3 * 7 + 3);

    struct table {
        int numbers[8];
    };
    const hone::kernel inputs = must(cache.kernel("inputs", {{"n", COUNT}, {"BINS", 40}}));
    device_vector<float> array({0, 1, 2, 3, 4, 5});
    device_vector<short> bytes({7, 8, 9, 10});
    const table by_value{{1, 10, 100, 1000, 10000, 5, 50, 500}};
    EXPECT(inputs(nullptr, Y = y, hone::name("order") = x, hone::name("array") = array, hone::name("bytes") = bytes,
                  hone::name("by_value") = by_value),
           HONE_OK, "");
    CHECK(y.get()[3] == 1000 + 3 + 10 + 3);
    EXPECT(inputs(nullptr, hone::name("order") = x, hone::name("array") = array, hone::name("bytes") = bytes,
                  hone::name("by_value") = offsets.front(), Y = y),
           HONE_INVALID, "'by_value' of inputs is given as int32");
}

void a_launch_allocates_nothing()
{
    const hone::cache cache = open_cache();
    const hone::kernel scale = must(cache.kernel("scale", {{"n", COUNT}}));
    const std::vector<float> host = numbers(COUNT);
    device_vector<float> x(host), y(host);
    bool good = outcome_of([&] { return scale(nullptr, x, y, 3.0f); }).status == HONE_OK;
    allocations = 0;
    for (int i = 0; i < 100; ++i) {
        good = good && outcome_of([&] { return scale(nullptr, x, y, 3.0f); }).status == HONE_OK;
        good = good && outcome_of([&] { return scale(nullptr, A = 3.0f, Y = y, X = x); }).status == HONE_OK;
    }
    const long counted = allocations;
    allocations = -1;
    CHECK(good);
    CHECK(counted == 0);
}

} // namespace

#ifndef __SANITIZE_ADDRESS__
extern "C" void *__libc_malloc(std::size_t size);
extern "C" void *malloc(std::size_t size)
{
    allocations += allocations >= 0;
    return __libc_malloc(size);
}
#endif

int main()
{
    CUdevice device;
    CUcontext context;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS)
        return 77;
    CHECK_CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CHECK_CUDA(cuCtxSetCurrent(context));
    arguments_in_order_and_by_name();
    wrong_arguments_are_refused();
    kernels_outlive_their_cache();
    what_the_library_owns_is_left_out();
    symbols_and_structures();
    a_launch_allocates_nothing();
    CHECK_CUDA(cuDevicePrimaryCtxRelease(device));
    return failures != 0;
}
