# SPDX-License-Identifier: MIT
# What makes an error that is left in Hone harder to use: the caches and recordings that it reads may be anybody's.
# tests/library/test_package.py looks for all of it in the installed files.
include(CheckCCompilerFlag)
if(HONE_SANITIZE)
  # The checks of sanitizers have tables of 5 MB with 200,000 addresses: fixed, they cost each start a fifth less.
  target_link_options(hone_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
else()
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
endif()

foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER HONE_HAS${flag} has)
  check_c_compiler_flag(${flag} ${has})
  target_compile_options(hone_flags INTERFACE $<$<BOOL:${${has}}>:${flag}>)
endforeach()
target_link_options(hone_flags INTERFACE -Wl,-z,relro -Wl,-z,now)

if(HONE_SANITIZE OR HONE_FUZZ)
  # Sanitizers see more than the C library's checks do, and a build that looks for errors runs its asserts.
  target_compile_options(hone_flags INTERFACE -UNDEBUG)
else()
  # Works only where the compiler optimises. Older compilers and libraries take 3 as 2.
  target_compile_options(hone_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
endif()
