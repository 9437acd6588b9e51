// NCCL's formats: any bytes are read or refused with a reason, never worse.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/rules.h"
#include "store/nccl/selection.h"

namespace {

template <class Work>
void refusable(Work work) {
  try {
    work();
  } catch (const autoccl::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autoccl::nccl;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  refusable([&] { (void)lintRules(readRules(text, "f"), "f"); });
  refusable([&] { (void)selected(text); });
  (void)readLog(text, "f");
  Sources sources;
  sources.all = readConf(text, "f");
  for (const int version : {22304, 22809, 23102}) (void)lintSettings(sources, version);
  return 0;
}
