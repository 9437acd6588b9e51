// Moving and combining runs of words: what all kernels do between their waits.
#pragma once

#include "direct/kernels/arguments.h"
#include "direct/kernels/lane.h"
#include "direct/kernels/numbers.h"

namespace autoccl::direct {

/// kWords x 4 bytes that one thread handles at once.
template <int kWords>
struct Words {
  uint32_t w[kWords];
};

template <class Number>
using StoredOf = typename Number::Stored;

template <class Number, int kWords>
ACCL_BOTH StoredOf<Number> elementOf(const Words<kWords>& from, int i) {
  StoredOf<Number> element;
  memcpy(&element, reinterpret_cast<const char*>(from.w) + i * int{sizeof element}, sizeof element);
  return element;
}
template <class Number, int kWords>
ACCL_BOTH void setElement(Words<kWords>& in, int i, StoredOf<Number> element) {
  memcpy(reinterpret_cast<char*>(in.w) + i * int{sizeof element}, &element, sizeof element);
}
template <class Number, int kWords>
inline constexpr int kElements = kWords * 4 / int{sizeof(StoredOf<Number>)};

/// The widest access that divides the unit: 16 bytes, else 8.
template <int kWords>
struct Wide {
#if defined(__CUDACC__)
  using Access = std::conditional_t<kWords % 4 == 0, uint4, uint2>;
#else
  struct alignas(kWords % 4 == 0 ? 16 : 8) Access {
    uint32_t w[kWords % 4 == 0 ? 4 : 2];
  };
#endif
  static constexpr int kCount = kWords * 4 / int{sizeof(Access)};
};

template <int kWords>
ACCL_BOTH void loadWide(Words<kWords>& to, const char* from) {
  using Access = typename Wide<kWords>::Access;
  ACCL_UNROLL
  for (int i = 0; i < Wide<kWords>::kCount; ++i) {
    const Access part = reinterpret_cast<const Access*>(from)[i];
    memcpy(reinterpret_cast<char*>(to.w) + i * int{sizeof part}, &part, sizeof part);
  }
}
template <int kWords>
ACCL_BOTH void storeWide(char* to, const Words<kWords>& from) {
  using Access = typename Wide<kWords>::Access;
  ACCL_UNROLL
  for (int i = 0; i < Wide<kWords>::kCount; ++i) {
    Access part;
    memcpy(&part, reinterpret_cast<const char*>(from.w) + i * int{sizeof part}, sizeof part);
    reinterpret_cast<Access*>(to)[i] = part;
  }
}

/// The unit at `from`, of which `left` bytes are there; `wide`: the address suits one wide access.
template <class Number, int kWords>
ACCL_BOTH Words<kWords> load(const char* from, uint64_t left, bool wide) {
  Words<kWords> unit;
  if (wide && left >= kWords * 4) {
    loadWide(unit, from);
    return unit;
  }
  constexpr int kEach = sizeof(StoredOf<Number>);
  ACCL_UNROLL
  for (int i = 0; i < kWords; ++i) unit.w[i] = 0;
  ACCL_UNROLL
  for (int i = 0; i < kElements<Number, kWords>; ++i)
    if (uint64_t(i + 1) * kEach <= left)
      setElement<Number>(unit, i, reinterpret_cast<const StoredOf<Number>*>(from)[i]);
  return unit;
}
template <class Number, int kWords>
ACCL_BOTH void store(char* to, const Words<kWords>& unit, uint64_t left, bool wide) {
  if (wide && left >= kWords * 4) return storeWide(to, unit);
  constexpr int kEach = sizeof(StoredOf<Number>);
  ACCL_UNROLL
  for (int i = 0; i < kElements<Number, kWords>; ++i)
    if (uint64_t(i + 1) * kEach <= left)
      reinterpret_cast<StoredOf<Number>*>(to)[i] = elementOf<Number>(unit, i);
}

/// Values being combined: one rank's unit after the other, in rank order, so that every path and
/// every rank comes to the same bits.
template <class Number, int kWords>
class Combining {
 public:
  ACCL_BOTH void start(const Words<kWords>& unit) {
    ACCL_UNROLL
    for (int i = 0; i < kCount; ++i) values_[i] = Number::load(elementOf<Number>(unit, i));
  }
  ACCL_BOTH void add(ReduceOp op, const Words<kWords>& unit) {
    switch (op) {
      case ReduceOp::kProd:
        return addAs<ReduceOp::kProd>(unit);
      case ReduceOp::kMax:
        return addAs<ReduceOp::kMax>(unit);
      case ReduceOp::kMin:
        return addAs<ReduceOp::kMin>(unit);
      default:
        return addAs<ReduceOp::kSum>(unit);
    }
  }
  [[nodiscard]] ACCL_BOTH Words<kWords> result(ReduceOp op, uint32_t nRanks) const {
    Words<kWords> unit;
    ACCL_UNROLL
    for (int i = 0; i < kCount; ++i)
      setElement<Number>(unit, i, Number::store(finished(op, values_[i], nRanks)));
    return unit;
  }

 private:
  using Value = typename Number::Value;
  static constexpr int kCount = kElements<Number, kWords>;

  template <ReduceOp kOp>
  ACCL_BOTH void addAs(const Words<kWords>& unit) {
    ACCL_UNROLL
    for (int i = 0; i < kCount; ++i)
      values_[i] = combine<kOp>(values_[i], Number::load(elementOf<Number>(unit, i)));
  }
  Value values_[kCount] = {};
};

template <class Number, int kWords>
ACCL_BOTH Words<kWords> ownUnit(const Exchange& e, const char* from, uint64_t left, bool wide) {
  Words<kWords> unit = load<Number, kWords>(from, left, wide);
  if constexpr (!kMovedOnly<Number>) {
    if (e.op == ReduceOp::kScaledSum) {
      ACCL_UNROLL
      for (int i = 0; i < kElements<Number, kWords>; ++i)
        setElement<Number>(unit, i, scaled<Number>(e.op, elementOf<Number>(unit, i), e.scale));
    }
  }
  return unit;
}

}  // namespace autoccl::direct
