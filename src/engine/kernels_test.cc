#include "engine/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/testing/allocations.h"
#include "engine/kernels_reference_test.h"
#include "engine/kernels_table.h"

namespace autoccl {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<const KernelTable*> variants() {
  std::vector<const KernelTable*> all{plainKernels()};
  for (const KernelTable* table : {avx2Kernels(), avx512Kernels()})
    if (table != nullptr) all.push_back(table);
  return all;
}

std::vector<DataType> allTypes() {
  std::vector<DataType> types;
  types.reserve(kDataTypes);
  for (int t = 0; t < kDataTypes; ++t) types.push_back(static_cast<DataType>(t));
  return types;
}

std::vector<ReduceOp> allOps() {
  std::vector<ReduceOp> ops;
  ops.reserve(kReduceOps);
  for (int o = 0; o < kReduceOps; ++o) ops.push_back(static_cast<ReduceOp>(o));
  return ops;
}

/// Random patterns; in every eighth element only the exponent's bits and the sign, which makes
/// infinities, NaNs, zeros and subnormals common in every float format.
Bytes randomBytes(size_t count, DataType type, std::mt19937_64& random) {
  const size_t size = sizeOf(type);
  Bytes bytes(count * size);
  for (auto& b : bytes) b = static_cast<uint8_t>(random());
  for (size_t i = 0; i < count; i += 8) {
    const uint64_t kind = random() % 3;
    uint8_t* top = &bytes[i * size + size - 1];
    std::memset(&bytes[i * size], kind == 0 ? 0xff : 0, size);
    *top = static_cast<uint8_t>((kind == 1 ? 0x7f : 0x00) | (random() & 0x80));
    if (kind == 1 && size > 1)
      *(top - 1) = type == DataType::kFloat16 || type == DataType::kBfloat16 ? 0x80 : 0xf0;
    if (kind == 2) bytes[i * size] |= 1;
  }
  return bytes;
}

/// Sources and destinations of one call, each at its own misalignment, with guard bytes around.
struct Scene {
  static constexpr size_t kGuard = 96;
  Scene(DataType t, int nSrc, int nDst, size_t n, uint64_t seed) : type(t), count(n) {
    std::mt19937_64 random(seed);
    for (int s = 0; s < nSrc; ++s) {
      const size_t shift = random() % 65;
      Bytes bytes(shift, 0);
      const Bytes body = randomBytes(n, t, random);
      bytes.insert(bytes.end(), body.begin(), body.end());
      sources.push_back(std::move(bytes));
      src.push_back(sources.back().data() + shift);
      scales.push_back(static_cast<double>(random() % 64) / 8 - 4);
    }
    for (int d = 0; d < nDst; ++d) {
      destinations.emplace_back(2 * kGuard + n * sizeOf(t), 0xa5);
      offsets.push_back(kGuard / 2 + random() % (kGuard / 2));
      dst.push_back(destinations.back().data() + offsets.back());
    }
  }

  [[nodiscard]] Reduction call(ReduceOp op, int divisor, bool nonTemporal = false) const {
    return {src.data(), static_cast<int>(src.size()),
            dst.data(), static_cast<int>(dst.size()),
            count,      type,
            op,         scales.data(),
            divisor,    nonTemporal};
  }

  [[nodiscard]] Bytes expected(ReduceOp op, int divisor) const {
    const ElementReference reference(type, op, scales.data(), divisor);
    Bytes out(count * sizeOf(type));
    std::vector<const void*> element(src.size());
    for (size_t i = 0; i < count; ++i) {
      for (size_t s = 0; s < src.size(); ++s)
        element[s] = static_cast<const uint8_t*>(src[s]) + i * sizeOf(type);
      reference(element, &out[i * sizeOf(type)]);
    }
    return out;
  }

  [[nodiscard]] Bytes result(size_t d) const {
    const auto from = destinations[d].begin() + static_cast<std::ptrdiff_t>(offsets[d]);
    return {from, from + static_cast<std::ptrdiff_t>(count * sizeOf(type))};
  }

  [[nodiscard]] bool guardsIntact() const {
    for (size_t d = 0; d < destinations.size(); ++d)
      for (size_t i = 0; i < destinations[d].size(); ++i)
        if ((i < offsets[d] || i >= offsets[d] + count * sizeOf(type)) &&
            destinations[d][i] != 0xa5)
          return false;
    return true;
  }

  DataType type;
  size_t count;
  std::vector<Bytes> sources, destinations;
  std::vector<const void*> src;
  std::vector<void*> dst;
  std::vector<size_t> offsets;
  std::vector<double> scales;
};

std::string nameOf(const KernelTable& table, const Scene& scene, ReduceOp op) {
  return std::string(table.name) + " " + std::string(toText(scene.type)) + " " +
         std::string(toText(op)) + " " + std::to_string(scene.src.size()) + " -> " +
         std::to_string(scene.dst.size()) + " x " + std::to_string(scene.count);
}

/// Runs one scene on one variant; empty when all destinations hold `want` and nothing else moved.
std::string mismatch(const KernelTable& table, Scene& scene, ReduceOp op, int divisor,
                     const Bytes& want, bool nonTemporal = false) {
  for (auto& d : scene.destinations) std::fill(d.begin(), d.end(), 0xa5);
  reduceWith(table, scene.call(op, divisor, nonTemporal));
  if (!scene.guardsIntact()) return nameOf(table, scene, op) + ": wrote outside its destination";
  for (size_t d = 0; d < scene.dst.size(); ++d)
    if (scene.result(d) != want)
      return nameOf(table, scene, op) + ": wrong bits in destination " + std::to_string(d);
  return "";
}

TEST(Kernels, EveryVariantGivesTheReferencesBitsForEveryTypeAndOp) {
  uint64_t seed = 1;
  for (const DataType type : allTypes())
    for (const ReduceOp op : allOps())
      for (const int nSrc : {1, 2, 3, 8, kMaxFan})
        for (const int divisor : {0, 3, 4}) {
          Scene scene(type, nSrc, nSrc % 4 + 1, 331, ++seed);
          const Bytes want = scene.expected(op, divisor);
          for (const KernelTable* table : variants())
            ASSERT_EQ(mismatch(*table, scene, op, divisor, want), "");
        }
}

TEST(Kernels, EverySizeFrom0To200GivesTheReferencesBitsAtAnyAlignment) {
  uint64_t seed = 1000;
  for (const DataType type : allTypes())
    for (size_t count = 0; count <= 200; ++count) {
      const auto op = static_cast<ReduceOp>(count % kReduceOps);
      Scene scene(type, 2 + static_cast<int>(count % 3), 1 + static_cast<int>(count % 2), count,
                  ++seed);
      const Bytes want = scene.expected(op, 2);
      for (const KernelTable* table : variants()) {
        ASSERT_EQ(mismatch(*table, scene, op, 2, want), "");
        ASSERT_EQ(mismatch(*table, scene, op, 2, want, true), "") << "with stream stores";
      }
    }
}

TEST(Kernels, EveryFanOfTheSumsOfTrainingGivesTheReferencesBits) {
  uint64_t seed = 5000;
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kBfloat16, DataType::kFloat16})
    for (int nSrc = 1; nSrc <= 9; ++nSrc)
      for (int nDst = 1; nDst <= 9; ++nDst) {
        Scene scene(type, nSrc, nDst, 517, ++seed);
        const Bytes want = scene.expected(ReduceOp::kSum, 0);
        for (const KernelTable* table : variants()) {
          ASSERT_EQ(mismatch(*table, scene, ReduceOp::kSum, 0, want), "");
          ASSERT_EQ(mismatch(*table, scene, ReduceOp::kSum, 0, want, true), "")
              << "with stream stores";
        }
      }
}

TEST(Kernels, EveryPairOfFloat8CodesIsWidenedCombinedAndRoundedOnce) {
  Bytes first(65536), second(65536);
  for (size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<uint8_t>(i), second[i] = static_cast<uint8_t>(i >> 8);
  for (const DataType type : {DataType::kFloat8e4m3, DataType::kFloat8e5m2})
    for (const ReduceOp op : allOps()) {
      Scene scene(type, 2, 1, first.size(), 1);
      scene.src = {first.data(), second.data()};
      const Bytes want = scene.expected(op, 3);
      for (const KernelTable* table : variants())
        ASSERT_EQ(mismatch(*table, scene, op, 3, want), "");
    }
}

TEST(Kernels, EveryCodeOf16BitFloatsIsWidenedExactlyAndRoundedToNearestEven) {
  std::vector<uint16_t> all(65536), other(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::mt19937_64 random(7);
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16})
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kAvg})
      // 1 and 3 ulp of 1 make ties when multiplied, a neighbour of the code makes ties when added.
      for (int partner = 0; partner < 6; ++partner) {
        for (size_t i = 0; i < all.size(); ++i) {
          const uint32_t one = formatOf(type).encode(1.0f),
                         tie = static_cast<uint32_t>(i) - (partner << 9);
          other[i] = static_cast<uint16_t>(partner < 2 ? one * (op == ReduceOp::kProd) + 2 * partner
                                           : partner < 5 ? tie
                                                         : random());
        }
        Scene scene(type, 2, 1, all.size(), 1);
        scene.src = {all.data(), other.data()};
        const Bytes want = scene.expected(op, 3);
        for (const KernelTable* table : variants())
          ASSERT_EQ(mismatch(*table, scene, op, 3, want), "");
      }
}

TEST(Kernels, DestinationsMayBeTheSourcesThemselves) {
  for (const DataType type : allTypes())
    for (const int n : {2, 3, 8, kMaxFan}) {
      Scene scene(type, n, n, 777, static_cast<uint64_t>(n));
      const Bytes want = scene.expected(ReduceOp::kSum, 0);
      for (const KernelTable* table : variants()) {
        Scene own(type, n, n, 777, static_cast<uint64_t>(n));
        for (size_t i = 0; i < own.src.size(); ++i) own.dst[i] = const_cast<void*>(own.src[i]);
        reduceWith(*table, own.call(ReduceOp::kSum, 0));
        for (void* d : own.dst)
          ASSERT_EQ(std::memcmp(d, want.data(), want.size()), 0)
              << nameOf(*table, own, ReduceOp::kSum);
      }
    }
}

TEST(Kernels, FactorsOfIntegersAreTruncatedAndClamped) {
  const std::array<int32_t, 2> values{1, 1};
  const std::array<const void*, 2> src{&values[0], &values[1]};
  for (const auto& [factor, want] : {std::pair{2.9, 2},
                                     {-2.9, -2},
                                     {1e300, INT32_MAX},
                                     {-1e300, INT32_MIN},
                                     {std::nan(""), INT32_MIN},
                                     {2147483647.0, INT32_MAX}}) {
    const std::array<double, 2> scale{factor, 0};
    for (const KernelTable* table : variants()) {
      int32_t out = 0;
      void* dst = &out;
      reduceWith(*table, {src.data(), 2, &dst, 1, 1, DataType::kInt32, ReduceOp::kScaledSum,
                          scale.data(), 0, false});
      EXPECT_EQ(out, want) << table->name << " " << factor;
    }
  }
}

TEST(Kernels, CopiesReachEveryDestinationAtAnySizeAndAlignment) {
  for (const size_t bytes : {0, 1, 15, 63, 64, 65, 200, 4097, 40000})
    for (const int nDst : {1, 2, 5}) {
      Scene scene(DataType::kUint8, 1, nDst, bytes, bytes + static_cast<size_t>(nDst));
      const Bytes want(static_cast<const uint8_t*>(scene.src[0]),
                       static_cast<const uint8_t*>(scene.src[0]) + bytes);
      for (const KernelTable* table : variants())
        for (const bool nonTemporal : {false, true}) {
          for (auto& d : scene.destinations) std::fill(d.begin(), d.end(), 0xa5);
          copyBytesWith(*table, scene.dst.data(), nDst, scene.src[0], bytes, nonTemporal);
          ASSERT_TRUE(scene.guardsIntact());
          for (size_t d = 0; d < scene.dst.size(); ++d)
            ASSERT_EQ(scene.result(d), want) << table->name << " " << bytes;
        }
    }
}

TEST(Kernels, AllocateNothing) {
  for (const DataType type : allTypes()) {
    Scene scene(type, 3, 2, 1000, 1);
    const Reduction r = scene.call(ReduceOp::kSum, 0, true);
    const uint64_t before = testing::allocationsOfThisThread();
    reduce(r);
    copyBytes(scene.dst.data(), 2, scene.src[0], 1000, true);
    EXPECT_EQ(testing::allocationsOfThisThread(), before);
  }
}

TEST(Kernels, AVariantIsTakenByNameAndNeverAWiderOne) {
  EXPECT_EQ(kernelsNamed("plain").name, "plain");
  EXPECT_NE(kernelsNamed("avx2").name, "avx512");
  EXPECT_EQ(&kernelsNamed("auto"), variants().back());
  EXPECT_EQ(&kernelsNamed("avx512"), variants().back());
}

}  // namespace
}  // namespace autoccl
