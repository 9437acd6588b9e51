// The tuner seen from the program.
#include <algorithm>
#include <cstring>
#include <optional>

#include "handle.h"

namespace autoccl {
namespace {

acclResult_t copyText(const std::string& text, char* to, size_t size) {
  if (to == nullptr || size == 0)
    return refuse(acclInvalidArgument, "the text's place is NULL or empty");
  const size_t n = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
  return acclSuccess;
}

std::string spaceText(const Space& space) {
  std::string text;
  for (const Subspace& s : space.subspaces)
    for (size_t nc = 0; nc < s.channels.size(); ++nc)
      for (size_t nt = 0; nt < s.threads.size(); ++nt)
        for (size_t c = 0; c < s.chunks.size(); ++c)
          if (const Config config = s.at(nc, nt, c); space.valid(config))
            text += toText(config) + "\n";
  return text;
}

}  // namespace

}  // namespace autoccl

using namespace autoccl;

extern "C" {

acclResult_t acclCommPinConfig(acclComm_t comm, const char* spec) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    comm->engine().pin(spec != nullptr ? std::optional(parseConfig(spec)) : std::nullopt);
    return acclSuccess;
  });
}

acclResult_t acclCommLastConfig(acclComm_t comm, char* spec, size_t size) {
  return guarded([&] {
    if (comm == nullptr || comm->state() == acclComm::State::kStarting ||
        comm->state() == acclComm::State::kFailed)
      return usable(comm);
    return copyText(toText(comm->engine().lastConfig()), spec, size);
  });
}

acclResult_t acclCommSpace(acclComm_t comm, const char* collective, size_t bytes, char* text,
                           size_t size, size_t* needed) {
  return guarded([&] {
    if (const acclResult_t state = usable(comm); state != acclSuccess) return state;
    const auto which = fromText<Collective>(collective != nullptr ? collective : "");
    if (!which) {
      std::string allowed;
      for (int i = 0; i < kCollectives; ++i)
        allowed += (i ? ", " : "") + std::string(toText(static_cast<Collective>(i)));
      throw Error(
          ErrorCode::kUsage,
          "unknown collective '" + std::string(collective != nullptr ? collective : "") + "'",
          "allowed: " + allowed);
    }
    Task task;
    task.collective = *which;
    task.dtype = DataType::kFloat32;
    task.nRanks = comm->nRanks;
    task.bytes = bytes;
    const std::string all = spaceText(comm->engine().spaceFor(task));
    if (needed != nullptr) *needed = all.size() + 1;
    return text == nullptr && needed != nullptr ? acclSuccess : copyText(all, text, size);
  });
}

acclResult_t acclCommTuned(acclComm_t comm, int* tuned) {
  return guarded([&] {
    if (comm == nullptr || tuned == nullptr)
      return refuse(acclInvalidArgument, "an argument is NULL");
    *tuned = comm->tuning() == nullptr || comm->tuning()->settled() ? 1 : 0;
    return acclSuccess;
  });
}

acclResult_t acclStepMark(acclComm_t comm) {
  return guarded([&] {
    const acclResult_t result = usable(comm);
    if (result == acclSuccess && comm->tuning() != nullptr) comm->tuning()->stepMark();
    return result;
  });
}

}  // extern "C"
