// NCCL's settings as NCCL itself reads them: environment, the user's file, /etc/nccl.conf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autoccl::nccl {

/// A setting and where it stands: "environment" or "file:line".
struct Setting {
  std::string name;
  std::string value;
  std::string where;

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The lines of a nccl.conf the way NCCL takes them: '#' is a comment in the first column only,
/// blanks belong to the name or the value, a line without '=' says nothing. Any bytes are accepted.
/// Source: NCCL 2.30, misc/param.cc.
[[nodiscard]] std::vector<Setting> readConf(std::string_view text, const std::string& fileName);

/// All settings there are, and for each name which one is in force: the environment first, then the
/// file of NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf; the first of a file wins.
struct Sources {
  std::vector<Setting> all;  // in order of precedence

  [[nodiscard]] const Setting* inForce(std::string_view name) const;
  /// The value in force, or nothing.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

/// Variables of `environment` ("NAME=value") that begin with NCCL_ in any case, then the files.
/// Files that cannot be read are left out, as NCCL does. `root` is put before the paths (tests).
[[nodiscard]] Sources readSources(const char* const* environment, const std::string& root = "");

/// An integer variable as NCCL reads it: base 0 ("010" is 8), text after the number ignored ("4M"
/// is 4), text without a number is 0.
[[nodiscard]] int64_t integerAsRead(const std::string& value);

/// The same number in plain decimal, so that there is nothing to misread.
[[nodiscard]] bool isPlainDecimal(std::string_view value);

/// What somebody meant who wrote "4M", "64KiB", "1G": bytes; nothing where it is no such text.
[[nodiscard]] int64_t meantBytes(std::string_view value, int64_t otherwise);

}  // namespace autoccl::nccl
