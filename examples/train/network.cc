#include "network.h"

#include <cmath>
#include <random>

namespace train {
namespace {

constexpr size_t kLine = 16;  // floats of a cache line

std::vector<int> widthsOf(const Shape& shape) {
  std::vector<int> widths{shape.context * shape.embedding};
  widths.insert(widths.end(), shape.hidden.begin(), shape.hidden.end());
  widths.push_back(shape.alphabet);
  return widths;
}

/// Where each bucket begins, in floats, and where the last ends.
std::vector<size_t> beginsOf(const Shape& shape) {
  const std::vector<int> width = widthsOf(shape);
  std::vector<size_t> begins{0};
  const auto add = [&](size_t n) {
    begins.push_back(begins.back() + (n + kLine - 1) / kLine * kLine);
  };
  add(static_cast<size_t>(shape.embedding) * static_cast<size_t>(shape.alphabet));
  for (size_t l = 1; l < width.size(); ++l)
    add(static_cast<size_t>(width[l]) * (static_cast<size_t>(width[l - 1]) + 1));
  return begins;
}

}  // namespace

/// He's scale keeps the spread of activations through max(0, x). A quiet last layer begins with all
/// characters about equally likely.
float Network::spread(int bucket, float inputs) const {
  if (bucket == 0) return 1;
  return bucket == layers() ? 0.1f / std::sqrt(inputs) : std::sqrt(2 / inputs);
}

size_t Network::floats(const Shape& shape) {
  return beginsOf(shape).back();
}

Network::Network(const Shape& shape, uint64_t seed, std::span<float> gradients)
    : shape_(shape), width_(widthsOf(shape)), begin_(beginsOf(shape)), gradients_(gradients) {
  const auto n = static_cast<Eigen::Index>(begin_.back());
  storage_ = mean_ = square_ = Eigen::VectorXf::Zero(n);
  weights_ = {storage_.data(), begin_.back()};
  output_.resize(width_.size());
  std::mt19937_64 random(seed);
  for (int b = 0; b < buckets(); ++b) {
    MatrixMap w = matrix(weights_, b);
    std::normal_distribution<float> normal(0, spread(b, static_cast<float>(w.cols())));
    for (Eigen::Index i = 0; i < w.size(); ++i) w.data()[i] = normal(random);
  }
}

std::span<float> Network::piece(std::span<float> all, int bucket) const {
  const auto b = static_cast<size_t>(bucket);
  return all.subspan(begin_[b], begin_[b + 1] - begin_[b]);
}

Network::MatrixMap Network::matrix(std::span<float> all, int bucket) const {
  float* at = piece(all, bucket).data();
  if (bucket == 0) return {at, shape_.embedding, shape_.alphabet};
  const auto l = static_cast<size_t>(bucket);
  return {at, width_[l], width_[l - 1]};
}

Network::VectorMap Network::bias(std::span<float> all, int bucket) const {
  const MatrixMap m = matrix(all, bucket);
  return {const_cast<float*>(m.data()) + m.size(), m.rows()};
}

void Network::embed(const Batch& batch) {
  const MatrixMap table = matrix(weights_, 0);
  Matrix& joined = output_[0];
  joined.resize(width_[0], batch.size);
  for (int i = 0; i < batch.size; ++i)
    for (int k = 0; k < batch.context; ++k)
      joined.col(i).segment(k * shape_.embedding, shape_.embedding) = table.col(batch.at(i, k));
}

double Network::forward(const Batch& batch) {
  embed(batch);
  for (int l = 1; l <= layers(); ++l) {
    Matrix& out = output_[static_cast<size_t>(l)];
    out.noalias() = matrix(weights_, l) * output_[static_cast<size_t>(l - 1)];
    out.colwise() += bias(weights_, l);
    if (l < layers()) out = out.cwiseMax(0.0f);
  }
  Matrix& probability = output_.back();
  double loss = 0;
  for (int i = 0; i < batch.size; ++i) {
    auto column = probability.col(i);
    column = (column.array() - column.maxCoeff()).exp();
    column /= column.sum();
    loss -= std::log(static_cast<double>(column(batch.next[static_cast<size_t>(i)])) + 1e-30);
  }
  return loss / batch.size;
}

void Network::backward(const Batch& batch, const std::function<void(int)>& ready) {
  Matrix delta = output_.back();  // of the loss by a layer's output, before max(0, x)
  for (int i = 0; i < batch.size; ++i) delta(batch.next[static_cast<size_t>(i)], i) -= 1.0f;
  delta /= static_cast<float>(batch.size);
  for (int l = layers(); l >= 1; --l) {
    const Matrix& input = output_[static_cast<size_t>(l - 1)];
    matrix(gradients_, l).noalias() = delta * input.transpose();
    bias(gradients_, l) = delta.rowwise().sum();
    ready(l);
    Matrix before = matrix(weights_, l).transpose() * delta;
    if (l > 1) before = before.cwiseProduct((input.array() > 0.0f).cast<float>().matrix());
    delta = std::move(before);
  }
  embeddingGradient(batch, delta);
  ready(0);
}

void Network::embeddingGradient(const Batch& batch, const Matrix& inputGradient) {
  MatrixMap table = matrix(gradients_, 0);
  table.setZero();
  for (int i = 0; i < batch.size; ++i)
    for (int k = 0; k < batch.context; ++k)
      table.col(batch.at(i, k)) +=
          inputGradient.col(i).segment(k * shape_.embedding, shape_.embedding);
}

void Network::update(int bucket, int step, float learningRate) {
  // Kingma & Ba, "Adam: a method for stochastic optimization", 2015, with its default constants.
  constexpr float kKeepMean = 0.9f, kKeepSquare = 0.999f, kTiny = 1e-8f;
  const auto at = static_cast<Eigen::Index>(begin_[static_cast<size_t>(bucket)]);
  const std::span<float> g = gradient(bucket);
  const auto n = static_cast<Eigen::Index>(g.size());
  const auto gradient = Eigen::Map<Eigen::ArrayXf>(g.data(), n);
  auto mean = mean_.segment(at, n).array();
  auto square = square_.segment(at, n).array();
  mean = kKeepMean * mean + (1 - kKeepMean) * gradient;
  square = kKeepSquare * square + (1 - kKeepSquare) * gradient.square();
  const float meanBias = 1 - std::pow(kKeepMean, static_cast<float>(step));
  const float squareBias = 1 - std::pow(kKeepSquare, static_cast<float>(step));
  storage_.segment(at, n).array() -=
      (learningRate / meanBias) * mean / ((square / squareBias).sqrt() + kTiny);
}

}  // namespace train
