#include "store/hccl/lint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/lines.h"

namespace autoccl::hccl {
namespace {

constexpr const char* kNoSuch = "HCCL has no such variable: it is read by nobody";

/// Names that are not HCCL's.
struct Invented {
  std::string_view name, way;
};
constexpr std::array<Invented, 4> kInvented = {
    {{"HCCL_ALGO_THRESHOLD",
      "HCCL_ALGO chooses by level (level0:NA;level1:ring, NHR, …); there is no threshold of ranks "
      "or bytes"},
     {"HCCL_CHUNK_SIZE",
      "HCCL_BUFFSIZE (MB) bounds what is sent at once; chunks of gradients are the "
      "framework's (DDP: bucket_cap_mb)"},
     {"HCCL_ENABLE_MSG_MERGE",
      "messages are merged by the framework: DDP's bucket_cap_mb, MindSpore's comm_fusion"},
     {"HCCL_OP_NONBLOCKING",
      "every call is enqueued on a stream and returns; wait with the stream, nothing has to be "
      "set"}}};

constexpr std::array<std::string_view, 9> kLevel1 = {
    "ring", "H-D_R", "NHR", "NHR_V1", "NB", "AHC", "AHC_BROKE", "pipeline", "pairwise"};
constexpr std::array<std::string_view, 5> kLevel2 = {"ring", "H-D_R", "NHR", "NB", "pipeline"};

template <class List>
bool isOf(std::string_view word, const List& list) {
  return std::ranges::find(list, word) != std::end(list);
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "level0:NA;level1:ring;level2:NHR"; what is wrong, or nothing.
std::string levelsFault(std::string_view text) {
  std::string fault;
  eachPart(text, ';', [&](std::string_view part) {
    const size_t colon = part.find(':');
    const std::string_view level = part.substr(0, colon);
    const std::string_view word = colon == part.npos ? std::string_view() : part.substr(colon + 1);
    const bool right = (level == "level0" && word == "NA") ||
                       (level == "level1" && isOf(word, kLevel1)) ||
                       (level == "level2" && isOf(word, kLevel2));
    if (!right && fault.empty()) fault = "'" + std::string(part) + "' is not taken";
  });
  return fault;
}

/// One list for all, or "allreduce=…/allgather=…".
std::string algoFault(std::string_view text) {
  if (text.find('=') == text.npos) return levelsFault(text);
  constexpr std::array<std::string_view, 8> kOps = {"allreduce", "allgather", "reducescatter",
                                                    "broadcast", "reduce",    "scatter",
                                                    "alltoall",  "others"};
  std::string fault;
  eachPart(text, '/', [&](std::string_view part) {
    const size_t equals = part.find('=');
    if (!fault.empty()) return;
    if (equals == part.npos || !isOf(part.substr(0, equals), kOps))
      fault = "'" + std::string(part) + "' names no collective of HCCL's";
    else
      fault = levelsFault(part.substr(equals + 1));
  });
  return fault;
}

struct Choices {
  std::string_view name, allowed;  // separated by blanks
};
constexpr std::array<Choices, 6> kChoices = {
    {{"HCCL_OP_EXPANSION_MODE", "HOST HOST_TS AI_CPU AICPU_TS AIV CCU_MS CCU_SCHED"},
     {"HCCL_DETERMINISTIC", "false true strict"},
     {"HCCL_INTRA_PCIE_ENABLE", "0 1"},
     {"HCCL_INTRA_ROCE_ENABLE", "0 1"},
     {"HCCL_INTER_HCCS_DISABLE", "TRUE FALSE true false"},
     {"HCCL_SOCKET_FAMILY", "AF_INET AF_INET6"}}};

struct Range {
  std::string_view name;
  int64_t low, high;
  std::string_view unit;
};
constexpr std::array<Range, 7> kRanges = {{{"HCCL_BUFFSIZE", 1, 1 << 20, "MB"},
                                           {"HCCL_CONNECT_TIMEOUT", 120, 7200, "s"},
                                           {"HCCL_EXEC_TIMEOUT", 0, 2147483647, "s"},
                                           {"HCCL_RDMA_QPS_PER_CONNECTION", 1, 32, "queue pairs"},
                                           {"HCCL_MULTI_QP_THRESHOLD", 1, 8192, "KB"},
                                           {"HCCL_RDMA_TC", 0, 255, ""},
                                           {"HCCL_RDMA_SL", 0, 7, ""}}};

class Linter {
 public:
  explicit Linter(const std::vector<Setting>& settings) : settings_(settings) {}

  std::vector<Finding> run() {
    for (const Setting& s : settings_) one(s);
    both("HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE");
    return std::move(findings_);
  }

 private:
  void add(const Setting& s, const std::string& consequence, const std::string& fix,
           const char* rule) {
    findings_.push_back({s.where, s.name + "=" + s.value, consequence, fix, rule});
  }

  void one(const Setting& s) {
    for (const Invented& i : kInvented)
      if (i.name == s.name) return add(s, kNoSuch, std::string(i.way), "hccl-no-such-name");
    if (s.name == "HCCL_ALGO") return algo(s);
    for (const Choices& c : kChoices)
      if (c.name == s.name) return choice(s, c);
    for (const Range& r : kRanges)
      if (r.name == s.name) return range(s, r);
  }

  void algo(const Setting& s) {
    const std::string fault = algoFault(s.value);
    if (!fault.empty())
      return add(s, fault + ": the communicator does not start, or the setting has no effect",
                 "write level0:NA;level1:A;level2:B with A of ring, H-D_R, NHR, NB, AHC, pipeline, "
                 "pairwise; or "
                 "allreduce=…/allgather=…",
                 "hccl-value");
    add(s, "HCCL's own choice by size and ranks is off",
        "unset it unless a measurement of your sizes says otherwise", "hccl-forced");
  }

  void choice(const Setting& s, const Choices& c) {
    bool known = false;
    eachPart(c.allowed, ' ', [&](std::string_view word) { known = known || word == s.value; });
    if (!known)
      add(s, "HCCL does not take this value", "allowed are " + std::string(c.allowed),
          "hccl-value");
  }

  void range(const Setting& s, const Range& r) {
    const auto value = number(s.value);
    if (value && *value >= r.low && *value <= r.high) return;
    add(s, "HCCL does not take this value",
        "write a whole number from " + std::to_string(r.low) + " to " + std::to_string(r.high) +
            (r.unit.empty() ? "" : " (" + std::string(r.unit) + ")"),
        "hccl-value");
  }

  void both(std::string_view a, std::string_view b) {
    const auto on = [&](std::string_view name) {
      const auto at = std::ranges::find(settings_, name, &Setting::name);
      return at != settings_.end() && at->value == "1" ? &*at : nullptr;
    };
    const Setting *first = on(a), *second = on(b);
    if (first == nullptr || second == nullptr) return;
    add(*first, "it contradicts " + second->name + "=1: a server's cards talk over one of the two",
        "set one of them to 0", "hccl-contradiction");
  }

  const std::vector<Setting>& settings_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Setting> settingsOf(const char* const* environment) {
  std::vector<Setting> all;
  for (const char* const* e = environment; *e != nullptr; ++e) {
    const char* at = std::strchr(*e, '=');
    if (at == nullptr || std::strncmp(*e, "HCCL_", 5) != 0) continue;
    all.push_back({std::string(*e, at), at + 1, "environment"});
  }
  return all;
}

std::vector<Finding> lintSettings(const std::vector<Setting>& settings) {
  return Linter(settings).run();
}

}  // namespace autoccl::hccl
