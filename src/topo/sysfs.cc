#include "topo/sysfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "topo/words.h"

namespace autoccl::topo {
namespace {
constexpr size_t kMost = 64 << 10;
}  // namespace

std::string SysTree::bytes(const std::string& path) const {
  std::ifstream file(root_ + path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(kMost));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::string SysTree::text(const std::string& path) const {
  return std::string(trimmed(bytes(path)));
}

int64_t SysTree::number(const std::string& path, int64_t otherwise) const {
  return wholeNumber(text(path)).value_or(otherwise);
}

std::vector<std::string> SysTree::names(const std::string& folder) const {
  std::vector<std::string> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root_ + folder, error), end; !error && at != end;
       at.increment(error))
    all.push_back(at->path().filename().string());
  std::ranges::sort(all);
  return all;
}

std::string SysTree::target(const std::string& link) const {
  std::error_code error;
  const std::string whole = std::filesystem::canonical(root_ + link, error).string();
  if (error) return "";
  if (root_.empty()) return whole;
  const std::string root = std::filesystem::canonical(root_, error).string();
  return !error && whole.starts_with(root) ? whole.substr(root.size()) : "";
}

bool isBusId(std::string_view name) noexcept {
  constexpr std::string_view kForm = "hhhh:hh:hh.h";
  if (name.size() != kForm.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (kForm[i] == 'h' ? !hex : c != kForm[i]) return false;
  }
  return true;
}

}  // namespace autoccl::topo
