#include "edge/nccl/variant_table.h"

#include <algorithm>

#include "base/error.h"

namespace autoccl::nccl {
namespace {

constexpr int kFirstUncached = 22907;
constexpr int kTreeThreadsFixed = 3;  // of 2.22: from here Tree always has all threads
constexpr int kFirstTuner = 21900;
constexpr uint64_t kMiB = 1 << 20;
constexpr const char* kQueuePairs = "NCCL_IB_QPS_PER_CONNECTION";

const std::vector<VariantRow> kRows{
    {Variant::kFewThreads,
     "threads",
     {{"NCCL_THREAD_THRESHOLDS", "65536 65536 65536 65536 65536 65536"}},
     Reread::kEveryInit,
     "64 to 96 threads a channel (Ring; Tree before 2.22)"},
    {Variant::kAllThreads,
     "threads",
     {{"NCCL_THREAD_THRESHOLDS", "0 0 0 0 0 0"}},
     Reread::kEveryInit,
     "all threads for every size (Ring; Tree before 2.22)"},
    {Variant::kSmallBuffers,
     "buffers",
     {{"NCCL_BUFFSIZE", "1048576"}},
     Reread::kUncached,
     "chunks of Simple a quarter as long"},
    {Variant::kLargeBuffers,
     "buffers",
     {{"NCCL_BUFFSIZE", "16777216"}},
     Reread::kUncached,
     "chunks of Simple four times as long"},
    {Variant::kShm,
     "transport",
     {{"NCCL_P2P_DISABLE", "1"}},
     Reread::kNever,
     "shared memory of the host in place of peer-to-peer copies"},
    {Variant::kNet,
     "transport",
     {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}},
     Reread::kNever,
     "the network inside a host too"},
    {Variant::kFourQueuePairs,
     "infiniband",
     {{kQueuePairs, "4"}},
     Reread::kNever,
     "four queue pairs for each connection"},
    {Variant::kSplitOverPairs,
     "infiniband",
     {{kQueuePairs, "4"}, {"NCCL_IB_SPLIT_DATA_ON_QPS", "1"}},
     Reread::kNever,
     "four queue pairs, each message cut over them"},
    {Variant::kDirectAnywhere,
     "infiniband",
     {{"NCCL_NET_GDR_LEVEL", "SYS"}},
     Reread::kNever,
     "GPUDirect RDMA to every adapter, near or far"},
    {Variant::kDirectNowhere,
     "infiniband",
     {{"NCCL_NET_GDR_LEVEL", "LOC"}},
     Reread::kNever,
     "no GPUDirect RDMA"},
    {Variant::kSocketThreads,
     "sockets",
     {{"NCCL_SOCKET_NTHREADS", "4"}, {"NCCL_NSOCKS_PERTHREAD", "1"}},
     Reread::kNever,
     "four threads for each TCP connection"},
    {Variant::kManySockets,
     "sockets",
     {{"NCCL_SOCKET_NTHREADS", "4"}, {"NCCL_NSOCKS_PERTHREAD", "4"}},
     Reread::kNever,
     "four threads with four sockets each"},
    {Variant::kRingLL,
     "",
     {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}},
     Reread::kEveryInit,
     "Ring with LL (2.18)"},
    {Variant::kRingSimple,
     "",
     {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}},
     Reread::kEveryInit,
     "Ring with Simple (2.18)"},
    {Variant::kTreeLL,
     "",
     {{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL"}},
     Reread::kEveryInit,
     "Tree with LL (2.18)"},
    {Variant::kTreeSimple,
     "",
     {{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}},
     Reread::kEveryInit,
     "Tree with Simple (2.18)"}};

std::vector<std::string_view> wordsOf(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t at = text.find(separator);
    if (at != 0) words.push_back(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return words;
}

bool names(std::string_view list, std::string_view name) {
  const auto words = wordsOf(list, ',');
  return list == "ALL" || std::find(words.begin(), words.end(), name) != words.end();
}

uint64_t simpleBuffer(Variant v) noexcept {
  if (v == Variant::kSmallBuffers) return kMiB;
  return v == Variant::kLargeBuffers ? 16 * kMiB : 4 * kMiB;
}

std::string rereadText(Reread reread) {
  if (reread == Reread::kEveryInit) return "no";
  return reread == Reread::kUncached ? "before 2.29.7" : "yes";
}

}  // namespace

const std::vector<VariantRow>& variantRows() {
  return kRows;
}

VariantSet variantsNamed(std::string_view words, int ncclVersion) {
  if (const std::string_view word = unknownVariantWord(words); !word.empty())
    throw Error(ErrorCode::kUsage, "AUTOCCL_VARIANTS: '" + std::string(word) + "' is no variant",
                "allowed, between commas: " + std::string(kVariantWords));
  const auto asked = wordsOf(words, ',');
  VariantSet set = 0;
  for (const VariantRow& row : kRows)
    if (row.word.empty() ? !asked.empty() && ncclVersion < kFirstTuner
                         : std::find(asked.begin(), asked.end(), row.word) != asked.end())
      set |= bitOf(row.variant);
  return set;
}

bool needsCopy(const VariantRow& row, int ncclVersion, const char* uncached) {
  if (row.reread != Reread::kUncached) return row.reread == Reread::kNever;
  if (ncclVersion < kFirstUncached || uncached == nullptr) return true;
  return !std::all_of(row.variables.begin(), row.variables.end(),
                      [&](const auto& v) { return names(uncached, v.first); });
}

std::optional<Pair> pairOf(Variant variant) noexcept {
  switch (variant) {
    case Variant::kRingLL:
      return Pair{kAlgoRing, kProtoLL};
    case Variant::kRingSimple:
      return Pair{kAlgoRing, kProtoSimple};
    case Variant::kTreeLL:
      return Pair{kAlgoTree, kProtoLL};
    case Variant::kTreeSimple:
      return Pair{kAlgoTree, kProtoSimple};
    default:
      return std::nullopt;
  }
}

bool changes(Variant variant, Pair pair, int tunerVersion) noexcept {
  if (const auto only = pairOf(variant)) return *only == pair;
  const bool ring = pair.algo == kAlgoRing;
  if (!ring && pair.algo != kAlgoTree) return false;
  if (variant == Variant::kFewThreads || variant == Variant::kAllThreads)
    return ring || tunerVersion < kTreeThreadsFixed;
  if (variant == Variant::kSmallBuffers || variant == Variant::kLargeBuffers)
    return pair.proto == kProtoSimple;
  return variant != Variant::kOwn;
}

uint64_t estimatedBytes(Variant variant, int channels) noexcept {
  constexpr uint64_t kConnections = 1 + 3;  // a channel's: its ring's and its tree's
  constexpr uint64_t kLL = kMiB / 2, kLL128 = 4800 << 10, kRest = 16 * kMiB;
  return static_cast<uint64_t>(channels) * kConnections * (kLL + kLL128 + simpleBuffer(variant)) +
         kRest;
}

std::string variantsMarkdown() {
  std::string text =
      "| variant | asked for by | NCCL's settings | what it is | needs a copy of the library |\n"
      "|---|---|---|---|---|\n";
  for (const VariantRow& r : kRows) {
    text += "| " + std::string(toText(r.variant)) + " | " +
            (r.word.empty() ? "any, on 2.18" : std::string(r.word)) + " |";
    for (const auto& [name, value] : r.variables)
      text += " `" + std::string(name) + "=" + value + "`";
    text += " | " + std::string(r.effect) + " | " + rereadText(r.reread) + " |\n";
  }
  return text;
}

}  // namespace autoccl::nccl
