# SPDX-License-Identifier: MIT
# Installs libhone: headers, both libraries, hone.pc, and the package that find_package(hone) reads.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
set(library_dir ${PROJECT_SOURCE_DIR}/runtime/libhone)
get_property(HONE_PRIVATE_LIBS TARGET hone_static PROPERTY HONE_PRIVATE_LIBS)

install(TARGETS hone_shared EXPORT hone-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hone_interposer LIBRARY DESTINATION lib/hone)
install(FILES $<TARGET_PROPERTY:hone_static,HONE_ARCHIVE> DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL) # scripts/wheel makes none
install(FILES ${library_dir}/hone.h ${library_dir}/hone.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT hone-targets NAMESPACE hone:: DESTINATION ${package_dir})

# So that the installed tree can be moved.
file(RELATIVE_PATH HONE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" HONE_PC_PREFIX "${HONE_PC_PREFIX}")
configure_file(${library_dir}/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(${library_dir}/hone-config.cmake.in ${PROJECT_BINARY_DIR}/hone-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hone-config.cmake ${PROJECT_BINARY_DIR}/hone-config-version.cmake
  DESTINATION ${package_dir})
