#include "fuzz/fuzz.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/rules.h"
#include "store/nccl/selection.h"

// NCCL's formats: any bytes are read or refused with a reason, never worse.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const std::string text = fuzz::textOf(bytes, size);
  const auto read = [](const std::string& t) { return nccl::readRules(t, "f"); };
  if (const auto rules = fuzz::readBack(read, nccl::writeRules, text))
    (void)nccl::lintRules(*rules, "f");
  (void)fuzz::accepted([&] { return nccl::selected(text); });
  (void)nccl::readLog(text, "f");
  nccl::Sources sources;
  sources.all = nccl::readConf(text, "f");
  for (const int version : {22304, 22809, 23102}) (void)nccl::lintSettings(sources, version);
  return 0;
}
