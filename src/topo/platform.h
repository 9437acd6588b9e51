// Machines that many people have: what they should look like, and what to check on them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "topo/host.h"

namespace autoccl::topo {

/// One file of data/platforms, made part of the program by the build: a new one needs no code.
/// Format: docs/topo.md, schema autoccl-platform/1.
struct Platform {
  std::string name, title, source;
  std::string product;              // beginning of the firmware's product name; empty: not known
  std::vector<std::string> checks;  // sentences: what is right on this machine
  int numa = 0, gpus = 0, links = 0, nics = 0;
  std::string cpu, gpu;  // "x86_64,AuthenticAMD,25,1"; part of the GPU's name
  int computeCapability = -1;
  LinkKind link = LinkKind::kNvlink;
  double nicGbps = 0;
  struct Variable {
    std::string name, value, why;
  };
  std::vector<Variable> variables;
};

/// Strict: Error "file:line: reason".
[[nodiscard]] Platform readPlatform(std::string_view text, const std::string& file);

/// Those built in, by name.
[[nodiscard]] const std::vector<Platform>& platforms();
/// Throws Error (kUsage) that lists the known ones.
[[nodiscard]] const Platform& platformNamed(const std::string& name);

/// A host of that shape: a switch for each NIC or GPU, whichever are fewer, with its share of both,
/// spread evenly over the NUMA nodes; all GPUs joined (a switch for NVLink, pair by pair for xGMI).
[[nodiscard]] Host hostOf(const Platform& platform);

/// Where a host has less than its platform: GPUs, links of a GPU, NICs, their speed, NUMA nodes.
[[nodiscard]] std::vector<Finding> lintPlatform(const Host& host, const Platform& platform,
                                                const std::string& file);

}  // namespace autoccl::topo
