#include "store/nccl/bench_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/lines.h"

namespace autoccl::nccl {
namespace {

using Words = std::vector<std::string_view>;

Words wordsOf(std::string_view line) {
  Words words;
  for (size_t at = line.find_first_not_of(" \t"); at != line.npos;) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return words;
}

/// The header behind its '#', wherever that stands: "size count type … time algbw busbw #wrong".
std::string_view headerOf(std::string_view line) {
  for (size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
    const std::string_view rest = line.substr(at + 1);
    const size_t word = rest.find_first_not_of(" \t");
    if (word == rest.npos || !rest.substr(word).starts_with("size")) continue;
    if (rest.find("busbw") != rest.npos && rest.find("time") != rest.npos) return rest;
  }
  return {};
}

template <class T>
std::optional<T> numberOf(std::string_view word) {
  T value{};
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

struct ProgramName {
  std::string_view part;
  Collective collective;
};
constexpr std::array<ProgramName, 7> kPrograms = {
    {{"all_reduce_perf", Collective::kAllReduce},
     {"all_gather_perf", Collective::kAllGather},
     {"reduce_scatter_perf", Collective::kReduceScatter},
     {"broadcast_perf", Collective::kBroadcast},
     {"alltoall_perf", Collective::kAllToAll},
     {"sendrecv_perf", Collective::kSendRecv},
     {"reduce_perf", Collective::kReduce}}};

class Reader {
 public:
  explicit Reader(const std::string& file) { table_.file = file; }

  void line(std::string_view text, size_t number) {
    if (const std::string_view header = headerOf(text); !header.empty()) return columns(header);
    if (columns_.empty()) return before(text);
    if (text.find('#') != text.npos || text.find_first_not_of(" \t") == text.npos)
      return summary(text);
    row(text, number);
  }

  BenchTable take() {
    if (columns_.empty())
      throw Error(ErrorCode::kInput, table_.file + ": has no header of nccl-tests",
                  "give the whole output, with the line '#  size  count  type …'");
    table_.hosts = static_cast<int>(hosts_.size());
    if (!table_.collective) table_.collective = byFactor();
    return std::move(table_);
  }

 private:
  void columns(std::string_view header) {
    columns_ = wordsOf(header);
    table_.countsWrong = std::ranges::find(columns_, "error") == columns_.end();
  }

  /// "#  Rank  3 Group 0 Pid 12 on host1 device 3 [0x84] NVIDIA H100", and the command line.
  void before(std::string_view text) {
    for (const ProgramName& program : kPrograms)
      if (!table_.collective && text.find(program.part) != text.npos)
        table_.collective = program.collective;
    const size_t at = text.find(" Rank ");
    if (at == text.npos || text.find('#') == text.npos || text.find("device") == text.npos) return;
    const Words words = wordsOf(text.substr(at));
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "on") hosts_.emplace(words[i + 1]);
    ++table_.ranks;
    const size_t model = text.find("] ");
    if (table_.gpu.empty() && model != text.npos) table_.gpu = text.substr(model + 2);
  }

  void summary(std::string_view text) {
    constexpr std::string_view kAverage = "Avg bus bandwidth";
    const size_t at = text.find(kAverage);
    if (at == text.npos) return;
    const Words words = wordsOf(text.substr(at + kAverage.size()));
    if (words.size() > 1) table_.statedAverage = numberOf<double>(words[1]).value_or(0);
  }

  /// The last words of the line, as many as there are columns: a launcher's prefix comes before.
  void row(std::string_view text, size_t number) {
    Words words = wordsOf(text);
    if (words.size() < columns_.size()) {
      ++table_.foreignLines;
      return;
    }
    words.erase(words.begin(), words.end() - static_cast<long>(columns_.size()));
    const auto bytes = numberOf<uint64_t>(words[0]);
    if (!bytes) {
      ++table_.foreignLines;
      return;
    }
    BenchRow row;
    row.bytes = *bytes;
    row.line = number;
    int times = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      if (columns_[i] == "type") row.type = words[i];
      if (columns_[i] == "redop") row.op = words[i];
      times += columns_[i] == "time" ? 1 : 0;
      if (times > 0) value(columns_[i], words[i], times == 1 ? row.out : row.in, number);
    }
    if (row.bytes == 0)
      ++table_.zeroRows;
    else
      table_.rows.push_back(std::move(row));
  }

  void value(std::string_view column, std::string_view word, BenchHalf& half, size_t number) const {
    const auto read = numberOf<double>(word);
    if ((!read || !std::isfinite(*read)) && word != "N/A" && word != "-")
      throw Error(ErrorCode::kInput, table_.file + ":" + std::to_string(number) + ": " +
                                         std::string(column) + " is '" + std::string(word) +
                                         "', which is no number");
    const double v = read.value_or(-1);
    if (column == "time") half.us = v;
    if (column == "algbw") half.algbw = v;
    if (column == "busbw") half.busbw = v;
    if (column == "#wrong" || column == "error") half.wrong = v;
  }

  /// busbw/algbw tells AllReduce, which alone goes above 1.
  [[nodiscard]] std::optional<Collective> byFactor() const {
    for (const BenchRow& row : table_.rows) {
      if (row.out.algbw < 1 || table_.ranks < 2) continue;
      const double factor = row.out.busbw / row.out.algbw;
      const double expected = busFactor(Collective::kAllReduce, table_.ranks);
      if (table_.ranks > 2 && std::fabs(factor / expected - 1) < 0.02)
        return Collective::kAllReduce;
    }
    return std::nullopt;
  }

  BenchTable table_;
  Words columns_;
  std::set<std::string, std::less<>> hosts_;
};

}  // namespace

BenchTable readBenchTable(std::string_view text, const std::string& file) {
  Reader reader(file);
  eachLine(text, [&](std::string_view line, int number) {
    reader.line(line, static_cast<size_t>(number));
  });
  return reader.take();
}

bool looksLikeBenchTable(std::string_view text) {
  bool found = false;
  eachLine(text, [&](std::string_view line, int) { found = found || !headerOf(line).empty(); });
  return found;
}

}  // namespace autoccl::nccl
