// NCCL's graphs (NCCL_GRAPH_DUMP_FILE): the channels that its search found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl::topo {

/// A channel: GPUs in their order, between the NIC it comes in by and the one it leaves by.
struct GraphChannel {
  std::vector<std::string> gpus;  // "dev" as written, with the host where there is one
  std::vector<std::string> nets;
};

struct NcclGraphs {
  struct Graph {
    int id = -1, pattern = -1, crossNic = -1;
    int channels = -1;  // as stated
    double intraGBps = 0, interGBps = 0;
    std::string intraClass, interClass;
    std::vector<GraphChannel> found;
    int line = 0;
  };
  int version = 0;
  std::vector<Graph> graphs;
};

/// Throws Error "file:line: reason" for no XML, another root, or a channel count that is not the
/// number of channels.
[[nodiscard]] NcclGraphs readNcclGraphs(std::string_view text, const std::string& file);

/// "ring", "balanced tree", …; "pattern 9" where it is not known.
[[nodiscard]] std::string patternText(int pattern);

}  // namespace autoccl::topo
