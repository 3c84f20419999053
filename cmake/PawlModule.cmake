# How modules, programs and tests are declared, so that all of them get the same flags.
#
#   pawl_module(name SOURCES a.cc ... [TESTS a_test.cc ...] [DEPS base os ...]
#               [PRIVATE_DEPS OpenSSL::Crypto ...] [TEST_DEPS ...])
#     Static library pawl_<name> (alias pawl::<name>), included as "name/header.h", and, when there
#     are TESTS, the program pawl_<name>_test with all of them (ctest label: unit).
#   pawl_program(name SOURCES ... [DEPS ...])
#     A program in bin/.
#   pawl_test(name SOURCES ... [DEPS ...] [LABELS integration ...] [TIMEOUT seconds])
#     A GoogleTest program in bin/, each of its tests known to ctest.
#   pawl_fuzz(name SOURCES ... [DEPS ...])
#     With PAWL_FUZZ a libFuzzer program in bin/, part of the target fuzz_programs. With BUILD_TESTING
#     the same code as the test fuzz_corpus.<name>, run once over fuzz/corpus/<name>.
#
# DEPS name modules ("os"), lab or third-party targets.

set(PAWL_MODULES base os store measure campaign run worker judge memory propose loop report serve cli)

function(pawl_resolve_deps out)
  set(resolved)
  foreach(dep IN LISTS ARGN)
    if(dep IN_LIST PAWL_MODULES)
      list(APPEND resolved pawl_${dep})
    else()
      string(REGEX REPLACE "^pawl::" "pawl_" dep "${dep}")
      list(APPEND resolved ${dep})
    endif()
  endforeach()
  set(${out} ${resolved} PARENT_SCOPE)
endfunction()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/empty.cc CONTENT "")

# The listed sources that exist. A missing one is an error for ./dev (-Werror=dev) and a warning
# for a plain cmake, so that one unfinished module does not keep the others from being built.
function(pawl_existing out)
  set(found)
  foreach(source IN LISTS ARGN)
    if(IS_ABSOLUTE ${source} OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      list(APPEND found ${source})
    else()
      message(AUTHOR_WARNING "${CMAKE_CURRENT_SOURCE_DIR}/${source} is listed and does not exist")
    endif()
  endforeach()
  if(NOT found)
    set(found ${CMAKE_BINARY_DIR}/pch/empty.cc)
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

if(PAWL_PCH)
  add_library(pawl_pch OBJECT ${CMAKE_BINARY_DIR}/pch/empty.cc)
  target_link_libraries(pawl_pch PRIVATE pawl_flags fmt::fmt)
  target_precompile_headers(pawl_pch PRIVATE
    <fmt/format.h> <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <utility> <variant> <vector>)
  if(BUILD_TESTING)
    add_library(pawl_test_pch OBJECT ${CMAKE_BINARY_DIR}/pch/empty.cc)
    target_link_libraries(pawl_test_pch PRIVATE pawl_flags fmt::fmt GTest::gtest)
    target_precompile_headers(pawl_test_pch PRIVATE
      <fmt/format.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem> <functional> <map> <memory>
      <optional> <span> <string> <string_view> <utility> <variant> <vector>)
  endif()
endif()

function(pawl_set_up target pch)
  target_link_libraries(${target} PRIVATE pawl_flags)
  if(PAWL_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

function(pawl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPS;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  pawl_resolve_deps(deps ${arg_DEPS})
  pawl_existing(sources ${arg_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${deps} GTest::gtest_main rapidcheck rapidcheck_gtest)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE PAWL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  pawl_set_up(${name} pawl_test_pch)
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

function(pawl_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TESTS;DEPS;PRIVATE_DEPS;TEST_DEPS")
  pawl_resolve_deps(deps ${arg_DEPS})
  pawl_resolve_deps(private_deps ${arg_PRIVATE_DEPS})
  pawl_existing(sources ${arg_SOURCES})
  add_library(pawl_${name} STATIC ${sources})
  add_library(pawl::${name} ALIAS pawl_${name})
  target_include_directories(pawl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(pawl_${name} PUBLIC ${deps} PRIVATE ${private_deps})
  pawl_set_up(pawl_${name} pawl_pch)
  if(BUILD_TESTING AND arg_TESTS)
    pawl_test(pawl_${name}_test SOURCES ${arg_TESTS} DEPS pawl_${name} ${arg_TEST_DEPS} LABELS unit)
  endif()
endfunction()

function(pawl_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  pawl_resolve_deps(deps ${arg_DEPS})
  pawl_existing(sources ${arg_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${deps})
  pawl_set_up(${name} pawl_pch)
endfunction()

function(pawl_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  if(PAWL_FUZZ)
    pawl_program(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_programs ${name})
  endif()
  if(BUILD_TESTING)
    pawl_program(${name}_corpus SOURCES ${arg_SOURCES} corpus_main.cc DEPS ${arg_DEPS} os)
    add_test(NAME fuzz_corpus.${name}
      COMMAND ${name}_corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(fuzz_corpus.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
  endif()
endfunction()
