// SPDX-License-Identifier: MIT
// The host's side of an emulated plan: buffers that end at a page that cannot be touched, their contents, and the
// comparison with what the reference left in a file.
#pragma once

#include "device.hpp"

#include <sys/mman.h>

#include <string>
#include <vector>

namespace emulator
{
inline uint64_t random_state;

inline double random_real()
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

// A buffer passed as whatever pointer a kernel takes.
struct any_pointer {
    void *address;
    template <typename T> operator T *() const { return (T *)address; }
};

// The contents of a buffer passed as whatever structure a kernel takes by value.
struct any_value {
    const void *address;
    template <typename T> operator T() const
    {
        T value;
        std::memcpy(&value, address, sizeof value);
        return value;
    }
};

// The last byte lies before a page without access, the first at a multiple of 16.
inline unsigned char *allocate(size_t bytes)
{
    const size_t page = 4096, room = (bytes + 15) / 16 * 16, pages = (room + page - 1) / page;
    auto *start = (unsigned char *)mmap(nullptr, (pages + 2) * page, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        fail("out of memory");
    mprotect(start, page, PROT_NONE);
    mprotect(start + (pages + 1) * page, page, PROT_NONE);
    std::memset(start + page, 0xA7, pages * page);
    return start + (pages + 1) * page - room;
}

// Whether the bytes that round a buffer up to 16 are as they were.
inline void check_slack(const unsigned char *data, size_t bytes, const char *name)
{
    for (size_t i = bytes; i % 16 != 0; ++i)
        if (data[i] != 0xA7)
            fail((std::string("a write behind the end of ") + name).c_str());
}

template <typename T> void fill_uniform(T *data, size_t count, double low, double high)
{
    for (size_t i = 0; i < count; ++i)
        data[i] = std::is_integral_v<T> ? (T)std::floor(low + random_real() * (high - low + 1))
                                        : (T)(low + random_real() * (high - low));
}

template <typename T> void fill_normal(T *data, size_t count, double mean, double deviation)
{
    for (size_t i = 0; i < count; ++i)
        data[i] = (T)(mean + deviation * std::sqrt(-2 * std::log(1 - random_real())) * std::cos(6.283185307179586 * random_real()));
}

template <typename T> void fill_iota(T *data, size_t count, double start, double step)
{
    for (size_t i = 0; i < count; ++i)
        data[i] = (T)(start + step * (double)i);
}

template <typename T> void fill_permutation(T *data, size_t count)
{
    fill_iota(data, count, 0, 1);
    for (size_t i = count; i > 1; --i)
        std::swap(data[i - 1], data[(size_t)(random_real() * (double)i)]);
}

template <typename T> void fill_skewed(T *data, size_t count, double n, double share)
{
    for (size_t i = 0; i < count; ++i)
        data[i] = random_real() < share ? 0 : (T)(random_real() * n);
}

// What lies between rows belongs to nobody.
template <typename T> void pad_rows(T *data, size_t width, size_t height, size_t pitch)
{
    for (size_t row = 0; row < height; ++row)
        std::memset((unsigned char *)data + row * pitch + width * sizeof(T), 0x7F, pitch - width * sizeof(T));
}

inline void save(const char *path, const void *data, size_t bytes)
{
    FILE *file = std::fopen(path, "wb");
    if (file == nullptr || std::fwrite(data, 1, bytes, file) != bytes || std::fclose(file) != 0)
        fail("a result cannot be written");
}

template <typename T> std::vector<T> load(const char *path, size_t count)
{
    std::vector<T> data(count);
    FILE *file = std::fopen(path, "rb");
    if (file == nullptr || std::fread(data.data(), sizeof(T), count, file) != count)
        fail("a reference cannot be read");
    std::fclose(file);
    return data;
}

template <typename T>
void compare(const char *name, const T *found, std::vector<T> expected, size_t length, double relative, double absolute,
             bool multiset)
{
    std::vector<T> own(found, found + length);
    expected.resize(length);
    if (multiset) {
        std::sort(own.begin(), own.end());
        std::sort(expected.begin(), expected.end());
    }
    double largest = 0;
    for (T value : expected)
        largest = std::max(largest, std::fabs((double)value));
    for (size_t i = 0; i < length; ++i)
        if (!(std::fabs((double)own[i] - (double)expected[i]) <= absolute + relative * largest) &&
            std::memcmp(&own[i], &expected[i], sizeof(T)) != 0) {
            std::printf("%s[%zu] is %.9g; expected %.9g\n", name, i, (double)own[i], (double)expected[i]);
            std::exit(1);
        }
}
} // namespace emulator
