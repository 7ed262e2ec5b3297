/* SPDX-License-Identifier: MIT */
/* size_t, ptrdiff_t and NULL are the compiler's. */
#ifndef HONE_STDDEF_H
#define HONE_STDDEF_H
#ifndef offsetof
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type *)0)->member)))
#endif
typedef struct {
    alignas(16) char bytes[16];
} max_align_t;
namespace std {
using ::max_align_t;
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
enum class byte : unsigned char {};
} // namespace std
#endif
