// The cost table that NCCL shows to a tuner.
#pragma once

#include "edge/nccl/abi/tuner.h"
#include "edge/nccl/pairs.h"

namespace autoccl::nccl {

/// View of predicted microseconds per (algorithm, protocol). Owns nothing.
/// Shape: declared float**, passed as contiguous float[nAlgos][nProtos], of which the first 7 x 3
/// are read; a null table or no rows is an empty one. An entry below zero or NaN is not possible
/// and is never written: NCCL would run it all the same, into a missing kernel or wrong data.
/// HOT: all functions O(entries), no memory of their own. Thread-compatible.
/// Source: enqueue.cc (2.22 to 2.30), tuning/ (2.31): the least entry wins, ties go to the lower
/// index.
class CostTable {
 public:
  CostTable(CostRows rows, int nAlgos, int nProtos) noexcept
      : first_(reinterpret_cast<float*>(rows)),
        nAlgos_(rows == nullptr || nAlgos < 0 ? 0 : nAlgos),
        nProtos_(nProtos < 0 ? 0 : nProtos) {}

  [[nodiscard]] PairSet possible() const noexcept {
    PairSet set = 0;
    forEach([&](Pair p, float us) {
      if (us >= 0) set |= bitOf(p);
    });
    return set;
  }
  [[nodiscard]] float us(Pair p) const noexcept { return inside(p) ? at(p) : kEntryIgnored; }
  /// What NCCL chooses when the table stays as it is; undefined where nothing is possible.
  [[nodiscard]] Pair least() const noexcept {
    Pair best;
    float bestUs = 0;
    forEach([&](Pair p, float us) {
      if (us >= 0 && (best.algo < 0 || us < bestUs)) best = p, bestUs = us;
    });
    return best;
  }
  /// Makes the pair the one that is chosen. False, and no write, where it is not possible.
  [[nodiscard]] bool force(Pair p) noexcept {
    if (!inside(p) || !(at(p) >= 0)) return false;
    for (int i = 0; i < nAlgos_ * nProtos_; ++i)
      if (first_[i] == 0) first_[i] = kFarAway;  // or it would tie with ours
    at(p) = 0;
    return true;
  }

 private:
  static constexpr float kFarAway = 1e30F;  // -1 would win in 2.31

  [[nodiscard]] bool inside(Pair p) const noexcept {
    return p.algo >= 0 && p.algo < nAlgos_ && p.proto >= 0 && p.proto < nProtos_;
  }
  [[nodiscard]] float& at(Pair p) const noexcept { return first_[p.algo * nProtos_ + p.proto]; }
  template <class Visit>
  void forEach(Visit visit) const noexcept {
    for (int a = 0; a < nAlgos_ && a < kAlgos; ++a)
      for (int p = 0; p < nProtos_ && p < kProtos; ++p) visit(Pair{a, p}, at({a, p}));
  }

  float* first_;
  int nAlgos_;
  int nProtos_;
};

}  // namespace autoccl::nccl
