#include <array>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/nccl_costs.h"
#include "cli/output.h"
#include "model/config.h"
#include "report/text_table.h"
#include "sim/nccl_cluster.h"
#include "store/nccl/choice.h"
#include "topo/fabric.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string as, gpu = "h200", cpu = "intel", collective, fabric, json;
  std::vector<std::string> check;
  std::vector<std::string> sizes;
  sim::UniformCluster cluster;
};

constexpr uint64_t kLow = 1024, kHigh = uint64_t{1} << 30;

std::string pairText(const sim::NcclChoice& choice) {
  if (choice.algorithm < 0) return "nothing possible";
  return std::string(nccl::kAlgorithms[static_cast<size_t>(choice.algorithm)]) + "/" +
         std::string(nccl::kProtocols[static_cast<size_t>(choice.protocol)]);
}

int functionNamed(const std::string& name) {
  std::string known;
  for (size_t f = 0; f < nccl::kFunctionWords.size(); ++f) {
    if (nccl::kFunctionWords[f] == name) return static_cast<int>(f);
    known += (known.empty() ? "" : ", ") + std::string(nccl::kFunctionWords[f]);
  }
  throw Error(ErrorCode::kUsage, "--collective: '" + name + "' is not one of NCCL's choices",
              "allowed are " + known);
}

/// All functions, or the one asked for.
std::vector<int> functionsOf(const Options& o) {
  if (!o.collective.empty()) return {functionNamed(o.collective)};
  return {4, 2, 3, 0, 1};
}

struct Row {
  int function;
  uint64_t bytes;
  sim::NcclChoice choice;
};

std::vector<Row> rowsOf(const Options& o, const sim::NcclModel& model) {
  std::vector<Row> rows;
  for (const int f : functionsOf(o)) {
    if (o.sizes.empty())
      for (const auto& c : sim::crossovers(model, f, kLow, kHigh))
        rows.push_back({f, c.fromBytes, c.choice});
    for (const std::string& size : o.sizes) {
      const uint64_t bytes = parseBytes(size, "--sizes");
      rows.push_back({f, bytes, model.choice(f, bytes)});
    }
  }
  return rows;
}

std::string head(const sim::NcclCluster& cluster) {
  const sim::NcclGraph& ring = cluster.graphs[1];
  return "simulated: what NCCL 2.22 to 2.30 would choose, by its own cost model\n" +
         std::to_string(cluster.nodes) + (cluster.nodes == 1 ? " node, " : " nodes, ") +
         std::to_string(cluster.ranks) + " ranks; rings of " + std::to_string(ring.channels) +
         " channels at " + figure(ring.intraGBps) + " GB/s\n\n";
}

std::string percent(double share) {
  return figure(100 * share) + " %";
}

/// The model against what a real NCCL told its tuner.
std::string checkText(const std::string& path) {
  const RecordedCosts costs = readRecordedCosts(readInput(path), path);
  const CostError error = compare(costs);
  return "\nagainst NCCL " + costs.nccl + ", " + costs.machine + ", " + costs.date + ": " +
         std::to_string(error.sameChoices) + " of " + std::to_string(error.choices) +
         " choices alike; error of " + std::to_string(error.entries) + " times: median " +
         percent(error.median) + ", largest " + percent(error.largest) + "\n";
}

/// Hosts, GPUs, NICs and their speed of a fabric file.
void takeFabric(const std::string& path, sim::UniformCluster& cluster) {
  const topo::Fabric fabric = topo::readFabric(readInput(path), path);
  cluster.nodes = fabric.hosts;
  cluster.gpusPerNode = fabric.gpusPerHost;
  cluster.nicsPerNode = fabric.hosts > 1 ? fabric.nicsPerHost : 0;
  if (fabric.nic.GBps > 0) cluster.nicGbps = fabric.nic.GBps * 8;
}

void asNccl(const Options& o) {
  sim::UniformCluster described = o.cluster;
  if (!o.fabric.empty()) takeFabric(o.fabric, described);
  described.gpu = sim::gpuKindNamed(o.gpu);
  described.cpu = o.cpu == "amd" ? sim::CpuVendor::kAmd : sim::CpuVendor::kIntel;
  const sim::NcclCluster cluster = sim::describe(described);
  const std::vector<Row> rows = rowsOf(o, sim::NcclModel(cluster));
  TextTable table(
      {{"collective"}, {o.sizes.empty() ? "from" : "size", true}, {"model us", true}, {"choice"}});
  Json list = Json::list();
  for (const Row& row : rows) {
    const std::string_view name = nccl::kFunctions[static_cast<size_t>(row.function)];
    table.row(
        {std::string(name), bytesText(row.bytes), figure(row.choice.us), pairText(row.choice)});
    Json object = Json::object();
    object.add("collective", name).add("bytes", row.bytes);
    object.add("choice", pairText(row.choice)).add("model_us", row.choice.us);
    list.add(std::move(object));
  }
  if (!o.json.empty()) writeJson(Json::object().add("rows", std::move(list)), o.json);
  if (o.json != "-") writeText(head(cluster) + table.text(terminalWidth()), "-");
  if (o.json != "-")
    for (const std::string& path : o.check) writeText(checkText(path), "-");
}

/// Whose choices are simulated.
struct Simulated {
  std::string_view name;
  void (*run)(const Options& options);
};
constexpr std::array<Simulated, 1> kSimulated = {{{"nccl", asNccl}}};

void run(const Options& o) {
  std::string known;
  for (const Simulated& s : kSimulated) {
    if (s.name == o.as) return s.run(o);
    known += (known.empty() ? "" : ", ") + std::string(s.name);
  }
  throw Error(ErrorCode::kUsage, "--as: '" + o.as + "' is not known", "known are " + known);
}

}  // namespace

void addSim(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--as", o->as, "Whose choices: nccl.")->required()->type_name("WHO");
  CLI::Option* nodes =
      app.add_option("--nodes", o->cluster.nodes, "Nodes, all alike.")->capture_default_str();
  app.add_option("--fabric", o->fabric,
                 "A fabric file instead of --nodes, --gpus, --nics and --nic-gbps (docs/topo.md).")
      ->excludes(nodes)
      ->type_name("FILE");
  app.add_option("--gpus", o->cluster.gpusPerNode, "GPUs of a node.")->capture_default_str();
  app.add_option("--gpu", o->gpu,
                 "Their kind: v100, a100, a800, h100, h200, h800, b200, l40s, rtx4090.")
      ->capture_default_str();
  app.add_option("--nics", o->cluster.nicsPerNode, "NICs of a node.")->capture_default_str();
  app.add_option("--nic-gbps", o->cluster.nicGbps, "Gbit/s of a NIC.")->capture_default_str();
  app.add_option("--cpu", o->cpu, "intel or amd.")
      ->capture_default_str()
      ->check(CLI::IsMember({"intel", "amd"}));
  app.add_flag("--nvls", o->cluster.nvls, "NVLink multicast is in use.");
  app.add_option("--collective", o->collective, "One collective. Default: all five.")
      ->type_name("NAME");
  app.add_option("--sizes", o->sizes, "Sizes, such as 64K,1M. Default: where the choice changes.")
      ->delimiter(',')
      ->type_name("SIZE");
  app.add_option("--check", o->check,
                 "Recorded cost tables of a real NCCL: prints how far the model is from them.")
      ->type_name("FILE");
  app.add_option("--json", o->json, "Writes the rows as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
