#include <algorithm>
#include <array>

#include "base/error.h"
#include "cli/doctor.h"
#include "report/bandwidth_advice.h"
#include "report/text_table.h"
#include "sim/nccl_cluster.h"
#include "store/nccl/choice.h"
#include "topo/bandwidth.h"
#include "topo/paths.h"
#include "topo/words.h"

namespace autoccl::cli {
namespace {

/// Bus bandwidth that a host of this shape can carry: of one host its narrowest GPU's links, of
/// several all NICs of a host; 0: unknown.
double limitOf(const DoctorFiles& files, const nccl::BenchTable& table) {
  if (files.hosts.empty()) return 0;
  const topo::Host& host = files.hosts.front();
  double limit = 0;
  if (table.hosts > 1) {
    for (int nic = 0; nic < static_cast<int>(host.nics.size()); ++nic) limit += nicWidth(host, nic);
    return limit;
  }
  for (int gpu = 0; gpu < static_cast<int>(host.gpus.size()); ++gpu) {
    double width = linksOf(host, gpu).GBps;
    const int pci = host.gpus[static_cast<size_t>(gpu)].pci;
    if (width <= 0 && pci >= 0) {
      const topo::PciDevice& slot = host.pci[static_cast<size_t>(pci)];
      if (const auto speed = topo::gigatransfers(slot.linkSpeed))
        width = topo::pciGBps(*speed, slot.linkWidth);
    }
    limit = limit > 0 ? std::min(limit, width) : width;
  }
  return limit;
}

/// Index into NCCL's functions, or -1 where its model has none.
int functionOf(const nccl::BenchTable& table) {
  if (!table.collective) return -1;
  const std::string_view word = toText(*table.collective);
  const auto at = std::ranges::find(nccl::kFunctionWords, word);
  return at == nccl::kFunctionWords.end() ? -1
                                          : static_cast<int>(at - nccl::kFunctionWords.begin());
}

const sim::GpuKind* kindOf(const std::string& model) {
  const std::string name = topo::lower(model);
  for (const sim::GpuKind& kind : sim::gpuKinds())
    if (name.find(kind.name) != name.npos) return &kind;
  return nullptr;
}

/// The three best pairs by NCCL's documented model, with their times; empty where it knows nothing.
std::string candidatesOf(const DoctorFiles& files, const nccl::BenchTable& table) try {
  const int function = functionOf(table);
  const sim::GpuKind* kind = kindOf(table.gpu);
  if (function < 0 || kind == nullptr || table.ranks < 2 || table.rows.empty()) return "";
  sim::UniformCluster cluster;
  cluster.gpu = *kind;
  cluster.nodes = std::max(1, table.hosts);
  cluster.gpusPerNode = table.ranks / cluster.nodes;
  if (cluster.nodes > 1) {
    if (files.hosts.empty() || files.hosts.front().nics.empty()) return "";
    cluster.nicsPerNode = static_cast<int>(files.hosts.front().nics.size());
    cluster.nicGbps = nicWidth(files.hosts.front(), 0) * 8;
  }
  const uint64_t bytes = table.rows.back().bytes;
  const sim::NcclTimes times = sim::NcclModel(sim::describe(cluster)).times(function, bytes);
  std::vector<std::pair<double, std::string>> order;
  for (size_t a = 0; a < times.size(); ++a)
    for (size_t p = 0; p < times[a].size(); ++p)
      if (times[a][p] > 0)
        order.emplace_back(times[a][p], std::string(nccl::kAlgorithms[a]) + "/" +
                                            std::string(nccl::kProtocols[p]));
  std::ranges::sort(order);
  std::string out;
  for (size_t i = 0; i < order.size() && i < 3; ++i)
    out += (i ? ", " : "") + order[i].second + " " + amount(order[i].first / 1000) + " ms";
  return out;
} catch (const Error&) {
  return "";  // a shape that the model does not know
}

}  // namespace

void lookAtTables(const DoctorInput& input, const DoctorFiles& files, DoctorReport& report) {
  for (const nccl::BenchTable& table : files.tables) {
    BandwidthQuestion question;
    question.limitGBps = input.limitGBps > 0 ? input.limitGBps : limitOf(files, table);
    question.enough = input.enoughPercent / 100;
    question.messageBytes = input.messageBytes;
    question.candidates = candidatesOf(files, table);
    report.add(tableFindings(table, question));
    if (const auto fit = fitOf(table))
      report.text += table.file + ": alpha " + amount(fit->alphaUs) + " us, " + amount(fit->GBps) +
                     " GB/s, half of it at " + amount(fit->halfBytes / 1024) + " KiB\n";
  }
  for (size_t i = 0; i < files.tables.size(); ++i)
    for (size_t j = i + 1; j < files.tables.size(); ++j)
      if (const auto finding = scalingFinding(files.tables[i], files.tables[j]))
        report.findings.push_back(*finding);
}

}  // namespace autoccl::cli
