# The warnings that all of Pawl's own code is clean under. Third-party headers are SYSTEM.

add_library(pawl_warnings INTERFACE)

set(warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough -Wcast-align -Wformat=2 -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wnull-dereference is left out: g++ 12 raises it inside std::variant and std::optional.
  list(APPEND warnings -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
else()
  list(APPEND warnings -Wthread-safety)
endif()
if(PAWL_WERROR)
  list(APPEND warnings -Werror)
endif()

foreach(warning IN LISTS warnings)
  target_compile_options(pawl_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${warning}>)
endforeach()
target_link_libraries(pawl_flags INTERFACE pawl_warnings)
