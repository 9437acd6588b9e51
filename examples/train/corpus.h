// The text that the model learns: characters as small numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace train {

/// A batch of examples: for each, the characters before a place and the one that stands there.
struct Batch {
  int size = 0;
  int context = 0;
  std::vector<uint8_t> before;  // [size][context]
  std::vector<uint8_t> next;    // [size]

  /// The k-th character before place i.
  [[nodiscard]] uint8_t at(int i, int k) const {
    return before[static_cast<size_t>(i) * static_cast<size_t>(context) + static_cast<size_t>(k)];
  }
};

/// Text over an alphabet of the bytes that occur in it. The last tenth is held out for validation.
/// Throws std::runtime_error when there is no text.
class Corpus {
 public:
  /// All regular files of a folder in the order of their names, or one file.
  static Corpus read(const std::string& path);
  explicit Corpus(const std::string& text);

  [[nodiscard]] int alphabet() const { return alphabet_; }
  [[nodiscard]] size_t size() const { return text_.size(); }

  /// Random places of the training part. The same generator state gives the same batch.
  [[nodiscard]] Batch draw(int size, int context, std::mt19937_64& random) const;
  /// `size` places spread evenly over the part held out.
  [[nodiscard]] Batch heldOut(int size, int context) const;

 private:
  void append(Batch& batch, size_t place) const;

  std::vector<uint8_t> text_;
  size_t trainingSize_ = 0;
  int alphabet_ = 0;
};

}  // namespace train
