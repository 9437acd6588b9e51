// What is wrong or doubtful in a description of a host: for people who are about to rely on it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "topo/host.h"

namespace autoccl::topo {

/// What a rule looks at: a host, the file it is from, and the GPUs of the job (indices into
/// Host::gpus; all where the job is not known), which a subgroup makes fewer.
struct LintInput {
  const Host& host;
  std::string file;
  std::vector<int> gpus;

  [[nodiscard]] std::string at(int line) const;  // "file:line", or "file"
};

/// A rule adds what it finds. Rules are pure.
struct LintRule {
  std::string_view name;
  void (*look)(const LintInput& input, std::vector<Finding>& findings);
};
[[nodiscard]] std::span<const LintRule> lintRules();

/// All rules over one host. `gpus` empty: all of them.
[[nodiscard]] std::vector<Finding> lintHost(const Host& host, const std::string& file,
                                            std::vector<int> gpus = {});

/// Whether the GPUs of several hosts of one job have their NICs on the same rails: a rail is the
/// NIC's `rail` where it is given, else its place among the host's NICs in the order of bus ids.
[[nodiscard]] std::vector<Finding> lintRails(
    const std::vector<std::pair<std::string, const Host*>>& hosts);

// Rules of lint_links.cc and lint_nics.cc.
void lintLinkSpeeds(const LintInput& input, std::vector<Finding>& findings);
void lintSlowSwitches(const LintInput& input, std::vector<Finding>& findings);
void lintGpuLinks(const LintInput& input, std::vector<Finding>& findings);
void lintRedirects(const LintInput& input, std::vector<Finding>& findings);
void lintSharedUplinks(const LintInput& input, std::vector<Finding>& findings);
void lintNicOrder(const LintInput& input, std::vector<Finding>& findings);
void lintNicsPerGpu(const LintInput& input, std::vector<Finding>& findings);
void lintNicFacts(const LintInput& input, std::vector<Finding>& findings);
void lintSubnets(const LintInput& input, std::vector<Finding>& findings);

}  // namespace autoccl::topo
