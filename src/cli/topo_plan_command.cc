#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "model/config.h"
#include "report/text_table.h"
#include "topo/any_file.h"
#include "topo/launch.h"
#include "topo/plan_cost.h"
#include "topo/platform.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string file, sysRoot, platform, fabric, bytes = "128M", launcher = "torchrun", script,
                                               rankFile, json;
  int hosts = 0;
  double nicGbps = 0;
  bool oneVisible = false;
};

constexpr std::array<std::pair<std::string_view, topo::Launcher>, 4> kLaunchers = {
    {{"local", topo::Launcher::kLocal},
     {"torchrun", topo::Launcher::kTorchrun},
     {"slurm", topo::Launcher::kSlurm},
     {"openmpi", topo::Launcher::kOpenMpi}}};

topo::Launcher launcherNamed(const std::string& name) {
  std::string known;
  for (const auto& [word, launcher] : kLaunchers) {
    if (word == name) return launcher;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw Error(ErrorCode::kUsage, "--launcher: '" + name + "' is not known", "known are " + known);
}

/// Hosts by a fabric file, or as many as asked for with one leaf a rail.
topo::Fabric fabricOf(const Options& o, const topo::Host& host) {
  if (!o.fabric.empty()) return topo::readFabric(readInput(o.fabric), o.fabric);
  double gbps = o.nicGbps;
  for (const topo::Nic& nic : host.nics)
    if (gbps <= 0 && nic.mbps > 0) gbps = static_cast<double>(nic.mbps) / 1000;
  const int hosts = std::max(1, o.hosts);
  if (hosts > 1 && gbps <= 0)
    throw Error(ErrorCode::kUsage, "the speed of the NICs is not in the topology",
                "give --nic-gbps, or --fabric");
  return topo::railFabric(hosts, static_cast<int>(host.gpus.size()),
                          static_cast<int>(host.nics.size()), std::max(gbps, 0.001));
}

topo::Job jobOf(const Options& o) {
  std::string file = o.file, platform = o.platform;
  if (file.empty() && platform.empty() && !o.fabric.empty()) {
    const topo::Fabric named = topo::readFabric(readInput(o.fabric), o.fabric);
    file = named.hostFile;
    platform = named.platform;
  }
  topo::Host host = !file.empty()       ? topo::readHost(readInput(file), file)
                    : !platform.empty() ? topo::hostOf(topo::platformNamed(platform))
                                        : liveHost(o.sysRoot);
  if (host.gpus.empty())
    throw Error(ErrorCode::kInput, (file.empty() ? "this machine" : file) + ": has no GPU",
                "give a topology with GPUs: a dump of NCCL, or nvidia-smi topo -m");
  topo::Fabric fabric = fabricOf(o, host);
  return topo::jobOf(std::move(host), std::move(fabric));
}

std::string gpuOrder(const topo::Job& job, const topo::RingChannel& ring) {
  std::string out;
  const auto add = [&](const std::string& name) { out += (out.empty() ? "" : " ") + name; };
  if (ring.nicIn >= 0) add(nameOf(job.host, job.host.nics[static_cast<size_t>(ring.nicIn)]));
  for (const int g : ring.gpus) add(nameOf(job.host, job.host.gpus[static_cast<size_t>(g)]));
  if (ring.overPeer)
    add("(" + nameOf(job.host, job.host.gpus[static_cast<size_t>(ring.gpus.front())]) + ")");
  if (ring.nicOut >= 0) add(nameOf(job.host, job.host.nics[static_cast<size_t>(ring.nicOut)]));
  return out;
}

std::string hostOrder(const topo::Job& job, const topo::RingChannel& ring) {
  constexpr size_t kMost = 6;
  std::string out;
  for (size_t i = 0; i < ring.hosts.size() && i < kMost; ++i)
    out += (i ? " " : "") + job.fabric.hostNames[static_cast<size_t>(ring.hosts[i])];
  if (ring.hosts.size() > kMost) out += " … " + std::to_string(ring.hosts.size()) + " in all";
  return out;
}

std::string costText(const topo::PlanCost& before, const topo::PlanCost& after) {
  TextTable table({{"link"},
                   {"hops before", true},
                   {"after", true},
                   {"busiest before MB", true},
                   {"after", true},
                   {"ms before", true},
                   {"after", true},
                   {"busiest after"}});
  for (size_t i = 0; i < topo::kLinkLevels; ++i) {
    const topo::LevelCost &b = before.levels[i], &a = after.levels[i];
    if (b.hops == 0 && a.hops == 0) continue;
    table.row({toText(static_cast<topo::LinkLevel>(i)), std::to_string(b.hops),
               std::to_string(a.hops), figure(b.busiestBytes / 1e6), figure(a.busiestBytes / 1e6),
               figure(b.seconds() * 1e3), figure(a.seconds() * 1e3), a.busiest});
  }
  const auto pairs = [](const topo::PlanCost& c) {
    return std::to_string(c.nicsUsed) + " of " + std::to_string(c.nics) + " NICs of a host used, " +
           std::to_string(c.crossRailPairs) + " pairs cross rails, " +
           std::to_string(c.leafCrossings) + " hops leave a leaf\n";
  };
  return table.text() + "before: " + pairs(before) + "after:  " + pairs(after);
}

std::string treesText(const topo::Job& job) {
  if (job.hosts() < 3) return "";
  constexpr size_t kMost = 6;
  const topo::HostTrees trees = topo::hostTrees(job.hosts());
  const auto line = [&](const std::vector<int>& tree) {
    std::string out;
    for (size_t h = 0; h < tree.size() && h < kMost; ++h)
      out += (h ? ", " : "") + job.fabric.hostNames[h] + " under " +
             (tree[h] < 0 ? "none" : job.fabric.hostNames[static_cast<size_t>(tree[h])]);
    return out + (tree.size() > kMost ? ", …" : "") + "\n";
  };
  return "\ntrees of hosts on every rail, half of the data each\n  " + line(trees.first) + "  " +
         line(trees.second);
}

std::string waysText(const topo::Job& job, uint64_t bytes) {
  const topo::TwoWays ways = allReduceSeconds(job, static_cast<double>(bytes));
  if (ways.flat <= 0 || job.hosts() == 1) return "";
  const bool two = ways.twoDimensional < ways.flat;
  return "\nAllReduce of " + bytesText(bytes) + " by the model: flat rings " +
         figure(ways.flat * 1e3) + " ms, in two dimensions (inside, along the rails, inside) " +
         figure(ways.twoDimensional * 1e3) +
         " ms: " + (two ? "two dimensions win" : "flat rings win") + "\n";
}

std::string planText(const topo::Job& job, const std::vector<topo::RingChannel>& rings,
                     uint64_t bytes) {
  const double size = static_cast<double>(bytes);
  std::string out = std::to_string(job.ranks()) + " ranks on " + std::to_string(job.hosts()) +
                    (job.hosts() == 1 ? " host" : " hosts") + ", AllReduce of " + bytesText(bytes) +
                    "\n\n";
  for (size_t i = 0; i < rings.size(); ++i)
    out += "ring " + std::to_string(i) + ": " + gpuOrder(job, rings[i]) + "\n        " +
           hostOrder(job, rings[i]) + "\n";
  out += "\n" + costText(ringCost(job, naiveRings(job), size), ringCost(job, rings, size));
  if (job.hosts() > 1)
    out += "a ring's lower bound for the busiest NIC: " + figure(ringLowerBound(job, size) / 1e6) +
           " MB\n";
  const bool links =
      std::ranges::any_of(job.host.gpus, [](const topo::Gpu& g) { return !g.links.empty(); });
  if (!links && job.host.stated.empty())
    out += "the topology tells of no NVLink or xGMI: rings go over PCIe\n";
  return out + treesText(job) + waysText(job, bytes);
}

Json numbers(const std::vector<int>& all) {
  Json list = Json::list();
  for (const int n : all) list.add(n);
  return list;
}

Json costJson(const topo::PlanCost& cost) {
  Json levels = Json::list();
  for (size_t i = 0; i < topo::kLinkLevels; ++i) {
    const topo::LevelCost& l = cost.levels[i];
    if (l.hops == 0) continue;
    Json object = Json::object();
    object.add("link", toText(static_cast<topo::LinkLevel>(i))).add("hops", l.hops);
    object.add("bytes", l.bytes).add("busiest", l.busiest).add("busiest_bytes", l.busiestBytes);
    if (l.GBps > 0) object.add("GBps", l.GBps);
    levels.add(std::move(object));
  }
  Json object = Json::object();
  object.add("links", std::move(levels)).add("cross_rail_pairs", cost.crossRailPairs);
  object.add("leaf_crossings", cost.leafCrossings);
  return object.add("nics_used", cost.nicsUsed).add("nics", cost.nics);
}

Json planJson(const topo::Job& job, const std::vector<topo::RingChannel>& rings, uint64_t bytes) {
  const double size = static_cast<double>(bytes);
  Json list = Json::list();
  for (const topo::RingChannel& ring : rings) {
    Json object = Json::object();
    object.add("gpus", numbers(ring.gpus)).add("hosts", numbers(ring.hosts));
    if (ring.nicIn >= 0) object.add("nic_in", ring.nicIn).add("nic_out", ring.nicOut);
    list.add(object.add("over_peer", ring.overPeer));
  }
  const topo::HostTrees trees = topo::hostTrees(job.hosts());
  const topo::TwoWays ways = allReduceSeconds(job, size);
  Json document = Json::object();
  document.add("ranks", job.ranks()).add("hosts", job.hosts()).add("bytes", bytes);
  document.add("rings", std::move(list));
  document.add("trees", Json::list().add(numbers(trees.first)).add(numbers(trees.second)));
  document.add("before", costJson(ringCost(job, naiveRings(job), size)));
  document.add("after", costJson(ringCost(job, rings, size)));
  document.add("lower_bound_bytes", ringLowerBound(job, size));
  if (ways.flat > 0)
    document.add("flat_seconds", ways.flat).add("two_dimensional_seconds", ways.twoDimensional);
  return document;
}

void run(const Options& o) {
  const topo::Launcher launcher = launcherNamed(o.launcher);
  const uint64_t bytes = parseBytes(o.bytes, "--bytes");
  const topo::Job job = jobOf(o);
  const std::vector<topo::RingChannel> rings = railRings(job);
  if (!o.script.empty()) {
    writeText(launchScript(job, launcher, o.oneVisible), o.script);
    if (o.script != "-" && chmod(o.script.c_str(), 0700) != 0)
      throw Error(ErrorCode::kSystem, o.script + ": cannot be made executable");
  }
  if (!o.rankFile.empty()) writeText(rankFile(job, launcher), o.rankFile);
  if (!o.json.empty()) writeJson(planJson(job, rings, bytes), o.json);
  if (o.json != "-" && o.script != "-" && o.rankFile != "-")
    writeText(planText(job, rings, bytes), "-");
}

void addOutputs(CLI::App* sub, Options& o) {
  sub->add_option("--launcher", o.launcher,
                  "For --script and --rank-file: local, torchrun, slurm, openmpi.")
      ->capture_default_str()
      ->type_name("WHO");
  sub->add_option(
         "--script", o.script,
         "Writes a script that starts one process per GPU, bound to the CPUs and memory next "
         "to it (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->add_option("--rank-file", o.rankFile,
                  "Writes the launcher's rank file (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->add_flag("--one-visible", o.oneVisible,
                "In the script: each process sees its own GPU alone.");
  sub->add_option("--json", o.json, "Writes the plan as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
}

}  // namespace

void addTopoPlan(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "plan", "Plan rings, trees and rails of a job on equal hosts; write scripts that start it.");
  const auto o = std::make_shared<Options>();
  sub->add_option(
         "FILE", o->file,
         "The topology of one host, as for show. Default: what the fabric names, else this "
         "machine.")
      ->type_name("FILE");
  sub->add_option("--hosts", o->hosts, "Hosts, all alike, one leaf a rail. Default: 1.")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  sub->add_option("--nic-gbps", o->nicGbps, "Gbit/s of a NIC. Default: as in the topology.")
      ->check(CLI::Range(0.001, 100000.0))
      ->type_name("G");
  sub->add_option("--platform", o->platform,
                  "A known platform instead of FILE (autoccl topo platforms).")
      ->excludes("FILE")
      ->type_name("NAME");
  sub->add_option("--fabric", o->fabric,
                  "A fabric file instead: hosts, leaves, spines (docs/topo.md).")
      ->excludes("--hosts")
      ->type_name("FILE");
  sub->add_option("--bytes", o->bytes, "Size of the AllReduce whose cost is shown.")
      ->capture_default_str()
      ->type_name("SIZE");
  sub->add_option("--sys-root", o->sysRoot,
                  "Reads /sys and /proc of another machine, saved below DIR.")
      ->type_name("DIR");
  addOutputs(sub, *o);
  sub->callback([o] { run(*o); });
}

}  // namespace autoccl::cli
