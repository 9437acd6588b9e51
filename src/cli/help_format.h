// How `--help` looks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace autoccl::cli {

/// CLI11's help with one short word for an option's value, and its range and default as sentences
/// behind the description, which is wrapped at 100 columns.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace autoccl::cli
