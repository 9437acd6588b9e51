// NCCL_ALGO and NCCL_PROTO: what each collective may still use under them, release by release.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace autoccl::nccl {

// In NCCL's own order, which its plugins and tables share.
inline constexpr std::array<std::string_view, 5> kFunctions = {"Broadcast", "Reduce", "AllGather",
                                                               "ReduceScatter", "AllReduce"};
inline constexpr std::array<std::string_view, 7> kAlgorithms = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
inline constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};

// The same in rule files and recorded tables.
inline constexpr std::array<std::string_view, 5> kFunctionWords = {
    "broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
inline constexpr std::array<std::string_view, 7> kAlgorithmWords = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
inline constexpr std::array<std::string_view, 3> kProtocolWords = {"ll", "ll128", "simple"};

/// Releases as NCCL_VERSION_CODE counts them: 2.24.0 is 22400.
inline constexpr int kStrictLists = 22400;  // unknown words fail init; "function:list" is known
inline constexpr int kPrefixLeavesRest = 23100;  // from here a list of prefixes alone disables the
                                                 // functions that it does not name

/// What is left per function: [function][algorithm], [function][protocol].
struct Enabled {
  std::array<std::array<bool, 7>, 5> algorithms{};
  std::array<std::array<bool, 3>, 5> protocols{};
  /// LL128 is on for the function because the list says so, by naming it or by excluding others:
  /// then NCCL uses it where it is not safe too. Unset, NCCL decides.
  std::array<bool, 5> ll128Forced{};

  /// The function has an algorithm that NCCL implements for it and a protocol of that algorithm.
  [[nodiscard]] bool usable(int function) const;
};

/// Reads both lists (empty: unset). Grammar: "list;function:list;…", a list is words separated by
/// commas, '^' before it excludes them, case does not matter, blanks are part of a word; only the
/// first entry may lack a function. Throws Error (kInput) with what the given release says no to.
/// Source: NCCL 2.30 graph/tuning.cc; the change in 2.31 as reported in vllm#58179.
[[nodiscard]] Enabled enabledBy(std::string_view algo, std::string_view proto, int version);

/// Whether NCCL has that pair for the function on any machine: Tree and Ring with every protocol
/// for AllReduce, Ring only for Broadcast and Reduce, the others with Simple.
[[nodiscard]] bool implemented(int function, int algorithm, int protocol);

}  // namespace autoccl::nccl
