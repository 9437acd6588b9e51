#include "store/nccl/lint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <optional>

#include "base/error.h"
#include "model/config.h"
#include "store/nccl/choice.h"
#include "store/nccl/lint_values.h"

namespace autoccl::nccl {
namespace {

constexpr int kNewest = 99999;

/// An integer setting and what it may be.
struct IntegerRule {
  std::string_view name;
  int64_t low, high;
  bool powerOfTwo;
  std::string_view otherwise;  // what follows from another value
};
constexpr int64_t kAny = int64_t{1} << 40;
constexpr std::array<IntegerRule, 17> kIntegers = {{
    {"NCCL_BUFFSIZE", 64 << 10, 16 << 20, true,
     "chunks stop dividing the buffer: wrong sums have been seen, and a small buffer ends the job"},
    {"NCCL_LL_BUFFSIZE", 0, kAny, false, ""},
    {"NCCL_LL128_BUFFSIZE", 0, kAny, false, ""},
    {"NCCL_NTHREADS", 64, 512, true,
     "NCCL takes its maximum instead; with 480, wrong sums have been seen"},
    {"NCCL_LL128_NTHREADS", 160, 640, false, "below 160 NCCL takes 160"},
    {"NCCL_MIN_NCHANNELS", 1, 64, false, "NCCL refuses it and goes on with its own number"},
    {"NCCL_MAX_NCHANNELS", 1, 64, false, "NCCL refuses it and goes on with its own number"},
    {"NCCL_MIN_CTAS", 1, 64, false, "NCCL clamps it"},
    {"NCCL_MAX_CTAS", 1, 64, false, "NCCL clamps it"},
    {"NCCL_MIN_P2P_NCHANNELS", 1, 64, false, "NCCL clamps it"},
    {"NCCL_MAX_P2P_NCHANNELS", 1, 64, false, "NCCL clamps it"},
    {"NCCL_NCHANNELS_PER_NET_PEER", 1, 64, false, "NCCL clamps it"},
    {"NCCL_NVLS_CHUNKSIZE", 0, kAny, false, ""},
    {"NCCL_P2P_NET_CHUNKSIZE", 0, kAny, false, ""},
    {"NCCL_IB_QPS_PER_CONNECTION", 1, 128, false, "NCCL clamps it"},
    {"NCCL_SOCKET_NTHREADS", 1, 16, false, "NCCL clamps it"},
    {"NCCL_NSOCKS_PERTHREAD", 1, 64, false, "NCCL clamps it"},
}};

/// Two settings of which the first must not exceed the second.
struct OrderRule {
  std::string_view low, high, consequence;
};
constexpr std::array<OrderRule, 3> kOrders = {{
    {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "the minimum wins: more channels than you allow"},
    {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "the minimum wins: more channels than you allow"},
    {"NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS",
     "the minimum wins: send/recv use more channels than you allow"},
}};

/// Switches that are dangerous where they are on (any number but 0).
struct SwitchRule {
  std::string_view name, consequence, fix;
};
constexpr std::array<SwitchRule, 3> kDangerous = {{
    {"NCCL_P2P_USE_CUDA_MEMCPY", "peers copy through the copy engines in a mode that can deadlock",
     "unset it"},
    {"NCCL_IGNORE_NET_MISMATCH",
     "ranks with different network plugins no longer fail at start: they hang later",
     "unset it and give all ranks the same plugin"},
    {"NCCL_IGNORE_DISABLED_P2P", "a GPU pair whose peer access is broken is used without a word",
     "unset it and repair peer access (IOMMU, ACS)"},
}};

class Linter {
 public:
  Linter(const Sources& sources, int version)
      : sources_(sources), version_(version == 0 ? kNewest : version) {}

  std::vector<Finding> run() {
    for (const Setting& s : sources_.all) {
      spelling(s);
      if (sources_.inForce(s.name) != &s) {
        overridden(s);
        continue;
      }
      integer(s);
      dangerous(s);
      plugin(s);
    }
    for (const OrderRule& rule : kOrders) order(rule);
    lists();
    return std::move(findings_);
  }

 private:
  void add(const std::string& where, std::string what, std::string consequence, std::string fix) {
    findings_.push_back({where, std::move(what), std::move(consequence), std::move(fix)});
  }

  void spelling(const Setting& s) {
    std::string right;
    for (const unsigned char c : s.name)
      if (std::isspace(c) == 0) right += static_cast<char>(std::toupper(c));
    if (right != s.name)
      add(s.where, "the name '" + s.name + "'",
          "NCCL looks for names in capitals without blanks: this one has no effect",
          "write " + right + "=" + s.value);
    if (!s.value.empty() && (std::isspace(static_cast<unsigned char>(s.value.front())) != 0 ||
                             std::isspace(static_cast<unsigned char>(s.value.back())) != 0))
      add(s.where, s.name + " has blanks at an end of its value '" + s.value + "'",
          "NCCL takes them as part of the value", "remove them; no blanks round '='");
  }

  void overridden(const Setting& s) {
    const Setting& winner = *sources_.inForce(s.name);
    if (winner.value == s.value) return;
    add(s.where, s.name + "=" + s.value, "has no effect: " + winner.where + " says " + winner.value,
        "remove one of the two");
  }

  void integer(const Setting& s) {
    const auto rule = std::ranges::find(kIntegers, s.name, &IntegerRule::name);
    if (rule == kIntegers.end() || s.value.empty()) return;
    const int64_t read = integerAsRead(s.value);
    const int64_t meant = meantBytes(s.value, read);
    if (!isPlainDecimal(s.value) && meant != read) {
      add(s.where, s.name + "=" + s.value, "NCCL reads this as " + std::to_string(read),
          "write " + s.name + "=" + std::to_string(meant));
      return;
    }
    const bool power = !rule->powerOfTwo || std::has_single_bit(static_cast<uint64_t>(read));
    if (read < rule->low || read > rule->high || !power)
      add(s.where, s.name + "=" + s.value, std::string(rule->otherwise),
          std::string("use ") + (rule->powerOfTwo ? "a power of two " : "") + "from " +
              std::to_string(rule->low) + " to " + std::to_string(rule->high) + ", or unset it");
  }

  void dangerous(const Setting& s) {
    const auto rule = std::ranges::find(kDangerous, s.name, &SwitchRule::name);
    if (rule == kDangerous.end() || integerAsRead(s.value) == 0) return;
    add(s.where, s.name + "=" + s.value, std::string(rule->consequence), std::string(rule->fix));
  }

  void plugin(const Setting& s) {
    if (!s.name.ends_with("_PLUGIN") || s.value.find('/') == std::string::npos) return;
    if (s.value[0] != '/')
      add(s.where, s.name + "=" + s.value,
          "the file is looked for from each rank's working directory", "write the absolute path");
    else if (version_ >= 22602 && version_ < 22705 && s.name != "NCCL_NET_PLUGIN")
      add(s.where, s.name + "=" + s.value,
          "releases 2.26.2 to 2.27.3 do not take paths here (nccl issue 1732): the plugin is not "
          "found",
          "put the folder into LD_LIBRARY_PATH and write the bare file name");
  }

  void order(const OrderRule& rule) {
    const Setting* low = sources_.inForce(rule.low);
    const Setting* high = sources_.inForce(rule.high);
    if (low == nullptr || high == nullptr) return;
    if (integerAsRead(low->value) <= integerAsRead(high->value)) return;
    add(low->where,
        low->name + "=" + low->value + " with " + high->name + "=" + high->value + " (" +
            high->where + ")",
        std::string(rule.consequence), "lower the minimum or raise the maximum");
  }

  void lists() {
    const Setting* algo = sources_.inForce("NCCL_ALGO");
    const Setting* proto = sources_.inForce("NCCL_PROTO");
    for (const Setting* s : {algo, proto}) pipe(s);
    const std::optional<Enabled> left = enabled(algo, proto);
    const Setting* shown = algo != nullptr ? algo : proto;
    if (!left || shown == nullptr) return;
    std::string off;
    for (int f = 0; f < static_cast<int>(kFunctions.size()); ++f)
      if (!left->usable(f))
        off += (off.empty() ? "" : ", ") + std::string(kFunctions[static_cast<size_t>(f)]);
    if (!off.empty())
      add(shown->where, together(algo, proto),
          "nothing is left for " + off +
              (version_ >= kStrictLists ? ": such a call fails" : ": NCCL falls back in silence"),
          "begin with an entry for all functions, for example NCCL_ALGO=ring,tree;allreduce:tree");
    if (proto != nullptr && forcesLl128(*left))
      add(proto->where, "NCCL_PROTO=" + proto->value + " forces LL128",
          "where a path does not keep 128-byte stores whole, data is corrupted without an error",
          "write LL,Simple or ^LL128, or unset it: then NCCL uses LL128 where it is safe");
  }

  void pipe(const Setting* s) {
    if (s != nullptr && s->value.find('|') != std::string::npos)
      add(s->where, s->name + "=" + s->value, "'|' separates nothing in NCCL's lists",
          "separate with commas");
  }

  std::optional<Enabled> enabled(const Setting* algo, const Setting* proto) {
    try {
      return enabledBy(algo != nullptr ? algo->value : "", proto != nullptr ? proto->value : "",
                       version_);
    } catch (const Error& error) {
      const std::string text = error.what();
      const Setting* guilty = text.starts_with("NCCL_PROTO") ? proto : algo;
      add(guilty->where, guilty->name + "=" + guilty->value + ": " + text,
          version_ >= kStrictLists ? "every communicator fails to start"
                                   : "NCCL warns and uses its own choice",
          "correct the list");
      return std::nullopt;
    }
  }

  static std::string together(const Setting* algo, const Setting* proto) {
    std::string text;
    for (const Setting* s : {algo, proto})
      if (s != nullptr) text += (text.empty() ? "" : " ") + s->name + "=" + s->value;
    return text;
  }

  static bool forcesLl128(const Enabled& left) {
    return std::ranges::any_of(left.ll128Forced, [](bool forced) { return forced; });
  }

  const Sources& sources_;
  int version_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> lintSettings(const Sources& sources, int version) {
  std::vector<Finding> findings = Linter(sources, version).run();
  for (Finding& f : findings) f.rule = "nccl-setting";
  for (Finding& f : lintValues(sources)) findings.push_back(std::move(f));
  return findings;
}

}  // namespace autoccl::nccl
