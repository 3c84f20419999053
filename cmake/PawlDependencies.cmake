# Every library that Pawl links, found once. docs/third-party.md says why each is here and which
# module wraps it.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(SQLite3 REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
endif()
if(BUILD_TESTING OR PAWL_FUZZ)
  find_package(nlohmann_json REQUIRED)
endif()
