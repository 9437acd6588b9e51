#include "fuzz/fuzz.h"
#include "topo/any_file.h"
#include "topo/lint.h"
#include "topo/lspci.h"
#include "topo/nccl_check.h"
#include "topo/nccl_complete.h"
#include "topo/nccl_graphs.h"
#include "topo/nccl_xml.h"
#include "topo/summary.h"

// Topology files: any bytes are read or refused with a reason. What is read can be checked; what is
// completed and written is read back as the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const std::string text = fuzz::textOf(bytes, size);
  (void)topo::ncclRefusals(text, "f");
  (void)topo::lspciFindings(text, "f");
  (void)fuzz::accepted([&] { return topo::readNcclGraphs(text, "f"); });
  auto host = fuzz::accepted([&] { return topo::readHost(text, "f"); });
  if (!host || host->gpus.size() + host->nics.size() > 64) return 0;
  (void)topo::lintHost(*host, "f");
  (void)topo::summaryOf(*host);
  (void)topo::shapeKey(*host);
  const auto dialect = host->xmlVersion == 2 ? topo::XmlDialect::kRccl : topo::XmlDialect::kNccl;
  const auto said = fuzz::accepted([&] {
    return topo::completeForNccl(*host, "f", topo::CpuFacts{"arm64", "", -1, -1}, dialect);
  });
  if (!said) return 0;
  const std::string once = topo::writeNcclXml(*host, dialect);
  fuzz::must(topo::writeNcclXml(topo::readNcclXml(once, "f"), dialect) == once);
  return 0;
}
