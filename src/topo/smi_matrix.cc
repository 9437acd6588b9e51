#include "topo/smi_matrix.h"

#include <algorithm>
#include <array>

#include "base/lines.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr std::array<std::pair<std::string_view, PathClass>, 7> kCells = {
    {{"X", PathClass::kSelf},
     {"PIX", PathClass::kPix},
     {"PXB", PathClass::kPxb},
     {"PHB", PathClass::kPhb},
     {"NODE", PathClass::kNode},
     {"SOC", PathClass::kSys},
     {"SYS", PathClass::kSys}}};

constexpr size_t kMostDevices = 1024;

/// Without colour and underline sequences.
std::string plain(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return out;
}

bool isGpuName(std::string_view name) {
  return name.starts_with("GPU") && wholeNumber(name.substr(3)).has_value();
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Host run(std::string_view text) {
    eachLine(text, [&](std::string_view raw, int number) { line(plain(raw), number); });
    if (devices_ == 0) refuse(file_, 0, "has no matrix of nvidia-smi topo -m");
    if (rows_ < devices_)
      refuse(file_, lastLine_,
             "the matrix has " + std::to_string(rows_) + " of " + std::to_string(devices_) +
                 " rows: it is cut off");
    checkSymmetry();
    for (size_t i = 0; i < host_.nics.size(); ++i) placeNic(i);
    host_.format = "nvidia-smi topo -m";
    return std::move(host_);
  }

 private:
  void line(const std::string& text, int number) {
    lastLine_ = number;
    const std::string_view shown = trimmed(text);
    if (devices_ == 0) return shown.empty() ? void() : head(text, number);
    if (rows_ < devices_) {
      if (shown.empty()) refuse(file_, number, "an empty line inside the matrix");
      return row(text, number);
    }
    legend(shown);
  }

  void head(const std::string& text, int number) {
    for (const std::string_view cell : split(text, '\t')) {
      const std::string_view name = trimmed(cell);
      if (!name.empty()) heads_.emplace_back(name);
    }
    if (heads_.size() > kMostDevices)
      refuse(file_, number, "more than " + std::to_string(kMostDevices) + " columns");
    while (devices_ < heads_.size() && heads_[devices_].find(' ') == std::string::npos) {
      const std::string& name = heads_[devices_];
      if (isGpuName(name)) {
        if (!host_.nics.empty()) refuse(file_, number, name + " stands behind a NIC");
        Gpu gpu;
        gpu.index = static_cast<int>(*wholeNumber(std::string_view(name).substr(3)));
        gpu.line = number;
        host_.gpus.push_back(std::move(gpu));
      } else {
        Nic nic;
        nic.name = name;
        nic.rdma = true;
        nic.line = number;
        host_.nics.push_back(std::move(nic));
      }
      ++devices_;
    }
    if (host_.gpus.empty()) refuse(file_, number, "no head of a matrix: 'GPU0' is not in it");
    host_.stated.assign(devices_, std::vector<StatedPath>(devices_));
  }

  void row(const std::string& text, int number) {
    const std::vector<std::string_view> cells = split(text, '\t');
    if (trimmed(cells[0]) != heads_[rows_])
      refuse(file_, number,
             "row '" + std::string(trimmed(cells[0])) + "' where " + heads_[rows_] + " is due");
    if (cells.size() < devices_ + 1)
      refuse(file_, number,
             heads_[rows_] + " has " + std::to_string(cells.size() - 1) + " cells of " +
                 std::to_string(devices_));
    for (size_t i = 0; i < devices_; ++i)
      host_.stated[rows_][i] = cell(trimmed(cells[i + 1]), number);
    if (rows_ < host_.gpus.size()) affinity(cells, number);
    ++rows_;
  }

  StatedPath cell(std::string_view text, int number) const {
    if (text.starts_with("NV"))
      if (const auto links = wholeNumber(text.substr(2)); links && *links > 0 && *links < 1000)
        return {PathClass::kNvlink, static_cast<int>(*links)};
    for (const auto& [word, path] : kCells)
      if (word == text) return {path, 0};
    refuse(file_, number,
           "cell '" + std::string(text) + "'; known are X, NV#, PIX, PXB, PHB, NODE, SYS");
  }

  /// Columns behind the matrix, by their heads. A cell may be empty.
  void affinity(const std::vector<std::string_view>& cells, int number) {
    Gpu& gpu = host_.gpus[rows_];
    CpuSet cpus;
    int node = -1;
    for (size_t i = devices_; i < heads_.size() && i + 1 < cells.size(); ++i) {
      const std::string_view value = trimmed(cells[i + 1]);
      if (heads_[i] == "CPU Affinity") {
        const auto set = CpuSet::fromList(value);
        if (!set) refuse(file_, number, "'" + std::string(value) + "' is no list of CPUs");
        cpus = *set;
      } else if (heads_[i] == "NUMA Affinity") {
        node = static_cast<int>(wholeNumber(value).value_or(-1));
      }
    }
    gpu.numa = numaOf(node, cpus, number);
  }

  int numaOf(int id, const CpuSet& cpus, int number) {
    if (id < 0 && cpus.empty()) return -1;
    for (size_t i = 0; i < host_.numa.size(); ++i)
      if (host_.numa[i].id == id && host_.numa[i].cpus == cpus) return static_cast<int>(i);
    NumaNode node;
    node.id = id;
    node.cpus = cpus;
    node.line = number;
    host_.numa.push_back(std::move(node));
    return static_cast<int>(host_.numa.size()) - 1;
  }

  void legend(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == text.npos) return;
    for (Nic& nic : host_.nics)
      if (nic.name == text.substr(0, colon)) {
        nic.name = trimmed(text.substr(colon + 1));
        return;
      }
  }

  /// Whatever is nearer than SYS is in the same NUMA node.
  void placeNic(size_t nic) {
    const auto& paths = host_.stated[host_.gpus.size() + nic];
    for (size_t g = 0; g < host_.gpus.size(); ++g)
      if (paths[g].path < PathClass::kSys) host_.nics[nic].numa = host_.gpus[g].numa;
  }

  void checkSymmetry() {
    for (size_t i = 0; i < devices_; ++i)
      for (size_t j = i + 1; j < devices_; ++j) {
        const StatedPath &a = host_.stated[i][j], &b = host_.stated[j][i];
        if (a.path != b.path || a.links != b.links)
          host_.notes.push_back(file_ + ": " + heads_[i] + " to " + heads_[j] + " is not what " +
                                heads_[j] + " to " + heads_[i] + " is");
      }
  }

  const std::string& file_;
  Host host_;
  std::vector<std::string> heads_;
  size_t devices_ = 0, rows_ = 0;
  int lastLine_ = 0;
};

}  // namespace

Host readSmiMatrix(std::string_view text, const std::string& file) {
  return Reader(file).run(text);
}

bool looksLikeSmiMatrix(std::string_view text) {
  bool found = false, decided = false;
  eachLine(text.substr(0, std::min<size_t>(text.size(), 65536)), [&](std::string_view raw, int) {
    const std::string line = plain(raw);
    if (decided || trimmed(line).empty()) return;
    decided = true;
    found = line.find('\t') != line.npos && trimmed(line).starts_with("GPU");
  });
  return found;
}

}  // namespace autoccl::topo
