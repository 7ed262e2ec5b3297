# SPDX-License-Identifier: MIT
# Run by cpack on what is about to be packed: what Debian wants other than `cmake --install` leaves it.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(documents ${root}/share/doc/hone)

file(MAKE_DIRECTORY ${root}/share/zsh/vendor-completions)
file(RENAME ${root}/share/zsh/site-functions/_hone ${root}/share/zsh/vendor-completions/_hone)
file(REMOVE_RECURSE ${root}/share/zsh/site-functions)
file(RENAME ${documents}/LICENSE ${documents}/copyright)
file(RENAME ${documents}/CHANGELOG.md ${documents}/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${documents}/changelog.Debian "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packed by cpack.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

find_program(gzip gzip REQUIRED)
file(GLOB compressed ${root}/share/man/man1/*.1 ${documents}/changelog*)
execute_process(COMMAND ${gzip} -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
