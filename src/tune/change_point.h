// Has the time of a served config changed for good? A two-sided cumulative sum.
#pragma once

#include <cstddef>
#include <vector>

namespace autoccl {

/// Page's test (Biometrika 41, 1954) on medians of blocks of 8 calls, in log units against the
/// median of the first 16 blocks. Shifts below the slack (8 %, or one block deviation) are the
/// weather and leave no trace; a shift of 25 % is seen after about 4 blocks. A straggler moves one
/// block by little. Thread-compatible; put is O(1).
class ChangePoint {
 public:
  /// One call's microseconds. True once the sum has crossed the threshold; then call reset().
  bool put(double us);
  void reset();
  /// False while the reference is still being collected.
  [[nodiscard]] bool armed() const { return blocks_.size() >= kReferenceBlocks; }
  /// The smallest lasting shift that would be seen, as a log ratio; 0 while not armed.
  [[nodiscard]] double slack() const { return armed() ? slack_ : 0; }

 private:
  static constexpr size_t kBlock = 8;
  static constexpr size_t kReferenceBlocks = 16;
  void arm();

  std::vector<double> block_, blocks_;
  double reference_ = 0, slack_ = 0, limit_ = 0, up_ = 0, down_ = 0;
};

}  // namespace autoccl
