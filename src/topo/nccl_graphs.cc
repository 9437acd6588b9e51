#include "topo/nccl_graphs.h"

#include <array>
#include <cstdlib>

#include "topo/attributes.h"

namespace autoccl::topo {
namespace {

/// NCCL 2.30 wrote "speedintra", 2.19 "bwintra" and newer ones; both are GB/s of one channel.
double speed(AttributeTaker& a, const char* name, const char* other) {
  std::string text;
  if (!a.text(name, text)) a.text(other, text);
  return std::strtod(text.c_str(), nullptr);
}

GraphChannel channelOf(const XmlElement& element, const std::string& file) {
  GraphChannel channel;
  for (const XmlElement& child : element.children) {
    AttributeTaker a(child, file);
    std::string dev;
    if (!a.text("dev", dev)) refuse(file, child.line, "<" + child.name + "> without dev");
    (child.name == "gpu" ? channel.gpus : channel.nets).push_back(dev);
  }
  return channel;
}

NcclGraphs::Graph graphOf(const XmlElement& element, const std::string& file) {
  NcclGraphs::Graph g;
  g.line = element.line;
  AttributeTaker a(element, file);
  a.number("id", g.id);
  a.number("pattern", g.pattern);
  a.number("crossnic", g.crossNic);
  a.number("nchannels", g.channels);
  g.intraGBps = speed(a, "speedintra", "bwintra");
  g.interGBps = speed(a, "speedinter", "bwinter");
  a.text("typeintra", g.intraClass);
  a.text("typeinter", g.interClass);
  for (const XmlElement& child : element.children)
    if (child.name == "channel") g.found.push_back(channelOf(child, file));
  if (g.channels >= 0 && g.channels != static_cast<int>(g.found.size()))
    refuse(file, element.line,
           "nchannels is " + std::to_string(g.channels) + " and there are " +
               std::to_string(g.found.size()));
  return g;
}

}  // namespace

NcclGraphs readNcclGraphs(std::string_view text, const std::string& file) {
  const XmlElement root = parseXml(text, file);
  if (root.name != "graphs")
    refuse(file, root.line, "the root is <" + root.name + ">; NCCL's graphs begin with <graphs>");
  NcclGraphs all;
  AttributeTaker(root, file).number("version", all.version);
  for (const XmlElement& child : root.children)
    if (child.name == "graph") all.graphs.push_back(graphOf(child, file));
  return all;
}

std::string patternText(int pattern) {
  constexpr std::array<const char*, 7> kNames = {nullptr, "balanced tree", "split tree",    "tree",
                                                 "ring",  "NVLS",          "CollNet direct"};
  if (pattern > 0 && pattern < static_cast<int>(kNames.size()))
    return kNames[static_cast<size_t>(pattern)];
  return "pattern " + std::to_string(pattern);
}

}  // namespace autoccl::topo
