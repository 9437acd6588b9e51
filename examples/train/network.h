// The model: a multi-layer perceptron that guesses the next character from the ones before it.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "corpus.h"

namespace train {

struct Shape {
  int alphabet = 0;
  int context = 16;    // characters seen
  int embedding = 32;  // numbers a character becomes
  std::vector<int> hidden{1024, 768, 256};
};

/// Characters are embedded, joined, and sent through dense layers with max(0, x) between them;
/// softmax and cross entropy at the end. One example a column.
///
/// The weights of a layer and their gradients are one contiguous piece, a *bucket*, which is what
/// the ranks average together: bucket 0 is the embedding, bucket l the l-th layer (matrix, then
/// bias). backward() finishes them from the last to the first.
/// One thread. The same calls give the same bits: all sums are taken in a fixed order.
class Network {
 public:
  /// Floats of all buckets, each begun on a cache line: the size of `gradients`.
  [[nodiscard]] static size_t floats(const Shape& shape);

  /// Weights are drawn from `seed`. `gradients` is memory of the caller's, of floats(shape), cache
  /// line aligned, that outlives the network.
  Network(const Shape& shape, uint64_t seed, std::span<float> gradients);

  [[nodiscard]] int buckets() const { return static_cast<int>(begin_.size()) - 1; }
  [[nodiscard]] std::span<float> gradient(int bucket) { return piece(gradients_, bucket); }
  [[nodiscard]] std::span<float> weights() { return weights_; }

  /// Mean cross entropy of the batch in nats; keeps what backward() needs.
  double forward(const Batch& batch);
  /// The gradients of the last forward(). Calls ready(bucket) as soon as that bucket is complete,
  /// so that its average can be under way while the rest is computed.
  void backward(const Batch& batch, const std::function<void(int)>& ready);
  /// One step of Adam for one bucket, from gradient(bucket). `step` counts from 1.
  void update(int bucket, int step, float learningRate);

 private:
  using Matrix = Eigen::MatrixXf;
  using MatrixMap = Eigen::Map<Matrix, Eigen::Aligned16>;
  using VectorMap = Eigen::Map<Eigen::VectorXf>;

  [[nodiscard]] std::span<float> piece(std::span<float> all, int bucket) const;
  [[nodiscard]] MatrixMap matrix(std::span<float> all, int bucket) const;
  [[nodiscard]] VectorMap bias(std::span<float> all, int bucket) const;
  [[nodiscard]] int layers() const { return buckets() - 1; }
  [[nodiscard]] float spread(int bucket, float inputs) const;
  void embed(const Batch& batch);
  void embeddingGradient(const Batch& batch, const Matrix& inputGradient);

  Shape shape_;
  std::vector<int> width_;     // of the joined embeddings, then of each layer's output
  std::vector<size_t> begin_;  // of each bucket in floats, and the end
  std::span<float> gradients_;
  Eigen::VectorXf storage_, mean_, square_;  // weights; Adam's averages of gradient and square
  std::span<float> weights_;
  std::vector<Matrix>
      output_;  // [0] the joined embeddings, [l] of layer l; the last: probabilities
};

}  // namespace train
