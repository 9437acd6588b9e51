# A room is a folder under src/: every .cc that is not a *_test.cc goes into the static library
# room_<name>, every x_test.cc into one test program <name>_test. A new file needs no line here.
# COUNTED: the tests count allocations (base/testing/allocations.h).
find_package(Threads REQUIRED)
if(AUTOCCL_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

add_library(autoccl_flags INTERFACE)
target_compile_options(autoccl_flags INTERFACE -Wall -Wextra -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(autoccl_flags INTERFACE -Wno-restrict)  # false on std::string's operator+, GCC bug 105651
endif()
target_include_directories(autoccl_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(autoccl_flags INTERFACE Threads::Threads)
if(AUTOCCL_SANITIZE)
  target_compile_options(autoccl_flags INTERFACE -fsanitize=${AUTOCCL_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all
                                                 -Wno-maybe-uninitialized)  # false beside them, says GCC's manual
  target_link_options(autoccl_flags INTERFACE -fsanitize=${AUTOCCL_SANITIZE})
  target_compile_definitions(autoccl_flags INTERFACE AUTOCCL_SANITIZED=1)
endif()

function(autoccl_room path)
  cmake_parse_arguments(ROOM "COUNTED" "" "DEPS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${path}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$|/export/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ROOM_DEPS PREPEND room_)
  list(TRANSFORM ROOM_DEPS REPLACE "/" "_")
  if(sources)
    add_library(room_${name} STATIC EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(room_${name} PUBLIC autoccl_flags ${ROOM_DEPS})
  else()
    add_library(room_${name} INTERFACE)
    target_link_libraries(room_${name} INTERFACE autoccl_flags ${ROOM_DEPS})
  endif()
  if(AUTOCCL_TESTS AND tests AND path MATCHES "^(${AUTOCCL_TEST_ROOMS})$")
    if(ROOM_COUNTED)
      list(APPEND tests ${CMAKE_SOURCE_DIR}/src/base/testing/allocations_test.cc)
    endif()
    autoccl_test(${name}_test SOURCES ${tests} DEPS room_${name})
  endif()
endfunction()

# One test program; its cases are found when ctest runs. TIMEOUT is per case, in seconds. SERIAL: no
# other test beside it.
function(autoccl_test name)
  cmake_parse_arguments(T "SERIAL" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(NOT T_LABEL)
    set(T_LABEL unit)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_DEPS} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
                       PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS ${T_LABEL} RUN_SERIAL ${T_SERIAL})
endfunction()
