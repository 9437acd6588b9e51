#include "cli/nccl_costs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "store/json.h"
#include "store/nccl/choice.h"

namespace autoccl::cli {
namespace {

constexpr const char* kSchema = "autoccl-nccl-costs/1";

template <size_t N>
size_t indexOf(JsonFields& fields, std::string_view key,
               const std::array<std::string_view, N>& words) {
  const std::string word = fields.text(key);
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) fields.fail(key, "'" + word + "' is not known");
  return static_cast<size_t>(found - words.begin());
}

bool flag(JsonFields& fields, const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr || value->kind() != Json::Kind::kBool)
    fields.fail(key, "must be true or false");
  return value->flag();
}

void readGraph(const Json& object, const std::string& file, sim::NcclCluster& cluster) {
  JsonFields fields(object, "graph", file);
  sim::NcclGraph& graph = cluster.graphs[indexOf(fields, "algorithm", nccl::kAlgorithmWords)];
  graph.channels = static_cast<int>(fields.count("channels", 64));
  graph.intraGBps = fields.number("intra_GBps");
  graph.interGBps = fields.number("inter_GBps");
  graph.nvlink = flag(fields, object, "nvlink");
  graph.sameChannels = flag(fields, object, "same_channels");
  graph.ll128 = flag(fields, object, "ll128");
}

RecordedCosts::Row readRow(const Json& object, const std::string& file) {
  JsonFields fields(object, "row", file);
  RecordedCosts::Row row;
  row.function = static_cast<int>(indexOf(fields, "function", nccl::kFunctionWords));
  row.bytes = fields.count("bytes");
  const std::vector<Json>& list = fields.list("us");
  if (list.size() != sim::kNcclAlgorithms * sim::kNcclProtocols)
    fields.fail("us", "must have 21 numbers: 7 algorithms of 3 protocols");
  for (size_t i = 0; i < list.size(); ++i) row.us[i / 3][i % 3] = list[i].number();
  fields.done();
  return row;
}

}  // namespace

RecordedCosts readRecordedCosts(const std::string& text, const std::string& fileName) {
  const Json document = parseJson(text, fileName);
  JsonFields fields(document, "recorded costs", fileName);
  if (fields.text("schema") != kSchema) fields.fail("schema", std::string("must be ") + kSchema);
  RecordedCosts costs;
  costs.nccl = fields.text("nccl");
  costs.machine = fields.text("machine");
  costs.date = fields.text("date");
  costs.cluster.nodes = static_cast<int>(fields.count("nodes", 1 << 20));
  costs.cluster.ranks = static_cast<int>(fields.count("ranks", 1 << 24));
  if (costs.cluster.nodes < 1 || costs.cluster.ranks < std::max(2, costs.cluster.nodes))
    fields.fail("ranks", "must be two or more, and at least one a node");
  costs.cluster.computeCapability = static_cast<int>(fields.count("compute_capability", 999));
  costs.cluster.cpu = fields.text("cpu") == "amd" ? sim::CpuVendor::kAmd : sim::CpuVendor::kIntel;
  costs.cluster.simpleTree = flag(fields, document, "simple_tree");
  for (const Json& graph : fields.list("graphs")) readGraph(graph, fileName, costs.cluster);
  for (const Json& row : fields.list("rows")) costs.rows.push_back(readRow(row, fileName));
  return costs;
}

CostError compare(const RecordedCosts& costs) {
  const sim::NcclModel model(costs.cluster);
  CostError error;
  std::vector<double> relative;
  for (const RecordedCosts::Row& row : costs.rows) {
    const sim::NcclTimes ours = model.times(row.function, row.bytes);
    for (size_t a = 0; a < ours.size(); ++a)
      for (size_t p = 0; p < ours[a].size(); ++p) {
        const bool here = ours[a][p] >= 0, there = row.us[a][p] >= 0;
        error.presence += here != there ? 1 : 0;
        if (here && there) relative.push_back(std::fabs(ours[a][p] / row.us[a][p] - 1));
      }
    const sim::NcclChoice mine = sim::smallest(ours), theirs = sim::smallest(row.us);
    ++error.choices;
    if (samePair(mine, theirs)) ++error.sameChoices;
  }
  error.entries = static_cast<int>(relative.size());
  std::ranges::sort(relative);
  if (!relative.empty()) {
    error.median = relative[relative.size() / 2];
    error.largest = relative.back();
  }
  return error;
}

}  // namespace autoccl::cli
