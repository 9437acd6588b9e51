// What the fuzz targets share. A target is a property that must hold for every input; libFuzzer
// keeps the input that breaks it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/error.h"

namespace autoccl::fuzz {

inline void must(bool holds) {
  if (!holds) std::abort();
}

inline std::string textOf(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// What a reader gives; nothing where it refuses with Error. Any other exception ends the target.
template <class Read>
auto accepted(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Whatever the text, `read` throws Error or gives a value; that value's text is read back as the
/// same value. Returns it.
template <class Read, class Write>
auto readBack(const Read& read, const Write& write, const std::string& text) {
  const auto value = accepted([&] { return read(text); });
  if (value) {
    const std::string written = write(*value);
    must(write(read(written)) == written);
  }
  return value;
}

/// A file of this process that holds the input of the moment, for readers that take a path.
/// Mode 0600; gone at the end unless the process crashes.
class InputFile {
 public:
  InputFile() : fd_(mkstemp(path_.data())) { must(fd_ >= 0); }
  ~InputFile() {
    close(fd_);
    unlink(path_.c_str());
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& holding(const uint8_t* bytes, size_t size) {
    must(ftruncate(fd_, 0) == 0);
    must(pwrite(fd_, bytes, size, 0) == static_cast<ssize_t>(size));
    return path_;
  }

 private:
  std::string path_ = "/tmp/autoccl-fuzz-XXXXXX";
  int fd_;
};

}  // namespace autoccl::fuzz
