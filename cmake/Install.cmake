# SPDX-License-Identifier: MIT
# Installs the command, its manual page, the templates, the configs, which name them relatively, and the recorded tunings, in
# the folders that they have in the sources: what examples and manual name is there.
include(GNUInstallDirs)

install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY templates configs DESTINATION ${CMAKE_INSTALL_DATADIR}/hone
  FILES_MATCHING PATTERN "*.cu" PATTERN "*.cuh" PATTERN "*.yaml")
install(FILES cmake/HoneTunedHeader.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
install(DIRECTORY cache/recorded DESTINATION ${CMAKE_INSTALL_DATADIR}/hone/cache)
include(InstallLibrary)
file(GLOB HONE_MANUAL_PAGES ${PROJECT_SOURCE_DIR}/docs/*.1)
install(FILES ${HONE_MANUAL_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
