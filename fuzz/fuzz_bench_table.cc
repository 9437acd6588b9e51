#include "fuzz/fuzz.h"
#include "report/bandwidth_advice.h"
#include "store/hccl/lint.h"
#include "store/nccl/bench_table.h"

// Tables of nccl-tests and HCCL's settings: read or refused with a reason; what is read is judged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const std::string text = fuzz::textOf(bytes, size);
  (void)hccl::lintSettings({{"HCCL_ALGO", text, "f"}, {"HCCL_BUFFSIZE", text, "f"}});
  const auto table = fuzz::accepted([&] { return nccl::readBenchTable(text, "f"); });
  if (!table) return 0;
  (void)tableFindings(*table, {100, 0.7, 4096, ""});
  (void)scalingFinding(*table, *table);
  return 0;
}
