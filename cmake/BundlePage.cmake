# SPDX-License-Identifier: MIT
# cmake -DFOLDER=<folder> -DSCRIPTS=<a.js,b.js,...> -DOUTPUT=<page.html> -P BundlePage.cmake
# Puts FOLDER/report.html, report.css and the modules into one page. The modules, in an order in which each comes after
# those that it imports from, become one script: each a function that gives what it exports, so that their names do not
# meet. They keep to one form: `import {a, b} from "./name.js";` on a line, `export` before a function, class or const.
# The page's content security policy names the script by its hash, so that a browser runs no other, and forbids any
# connection.
file(READ ${FOLDER}/report.html page)
file(READ ${FOLDER}/report.css style)
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(script "\"use strict\";\n")
foreach(name IN LISTS SCRIPTS)
  file(READ ${FOLDER}/${name} text)
  string(REGEX REPLACE "\\.js$" "" module ${name})
  string(REGEX MATCHALL "\nexport (async )?(function|class|const) [A-Za-z_]+" exports "${text}")
  list(TRANSFORM exports REPLACE ".* " "")
  list(JOIN exports ", " exports)
  string(REGEX REPLACE "\nimport ({[^}]*}) from \"./([a-z_]+).js\"" "\nconst \\1 = module_\\2" text "${text}")
  string(REGEX REPLACE "\nexport " "\n" text "${text}")
  string(APPEND script "\nconst module_${module} = (() => {\n${text}\nreturn {${exports}};\n})();\n")
endforeach()
set(script "(() => {\n${script}})();\n")

# The base64 text of the SHA-256 of the script: CMake has the hash as hexadecimal digits.
string(SHA256 digits "${script}")
set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
set(hash)
foreach(position RANGE 0 63 6)
  string(SUBSTRING "${digits}0000" ${position} 6 part)
  math(EXPR bits "0x${part}")
  foreach(shift 18 12 6 0)
    math(EXPR index "(${bits} >> ${shift}) & 63")
    string(SUBSTRING ${alphabet} ${index} 1 letter)
    string(APPEND hash ${letter})
  endforeach()
endforeach()
string(SUBSTRING ${hash} 0 43 hash)

string(REPLACE "@HONE_STYLE@" "${style}" page "${page}")
string(REPLACE "@HONE_SCRIPT_HASH@" "sha256-${hash}=" page "${page}")
string(REPLACE "@HONE_SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUTPUT} "${page}")
