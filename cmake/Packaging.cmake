# SPDX-License-Identifier: MIT
# Installs what belongs to the command beside the binary (completions, manual, examples), and makes packages of all that is
# installed: CONTRIBUTING.md says how.
include(GNUInstallDirs)

install(FILES completions/hone.bash RENAME hone DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_hone DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# The manual as it lies in the sources, so that links between its pages hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
# Beside the templates that they include.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/hone PATTERN .gitignore EXCLUDE)

set(CPACK_PACKAGE_NAME hone)
set(CPACK_PACKAGE_VENDOR "the Hone developers")
set(CPACK_PACKAGE_CONTACT "${HONE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "autotuner of CUDA kernels")
set(CPACK_PACKAGE_DESCRIPTION "hone searches the variants of a CUDA kernel that a YAML file describes.
It compiles each with NVRTC, verifies and times it through the CUDA driver,
keeps what it learnt, and exports the best as a C header. libhone launches
tuned kernels from programs.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

# The driver and NVRTC are loaded at run time, and commands that need neither work without them. NVRTC: NVIDIA's packages, or
# Debian's.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cuda-nvrtc-13-0 | cuda-nvrtc-13-1 | cuda-nvrtc-12-9 | cuda-nvrtc-12-8 | libnvrtc12, libclang1")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit, bash-completion, libpq5")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libhone ${PROJECT_VERSION_MAJOR} hone (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers;${PROJECT_BINARY_DIR}/debian/shlibs")
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianLayout.cmake)
include(CPack)
