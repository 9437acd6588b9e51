#include "network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace train {
namespace {

std::string poem() {
  std::string text;
  while (text.size() < 12'000) text += "the quick brown fox jumps over the lazy dog; ";
  return text;
}

Shape smallShape(const Corpus& corpus) {
  return {corpus.alphabet(), 6, 4, {12, 8}};
}

/// A network with gradients of its own.
struct Fixture {
  explicit Fixture(uint64_t seed)
      : corpus(poem()),
        shape(smallShape(corpus)),
        memory(static_cast<Eigen::Index>(Network::floats(shape))),
        network(shape, seed, {memory.data(), Network::floats(shape)}),
        random(seed) {
    memory.setZero();
  }
  Corpus corpus;
  Shape shape;
  Eigen::VectorXf memory;
  Network network;
  std::mt19937_64 random;
};

TEST(Corpus, HeldOutTextIsNeverDrawnForTraining) {
  std::string text(20'000, 'a');
  std::fill(text.begin() + 18'000, text.end(), 'b');
  const Corpus corpus(text);
  std::mt19937_64 random(3);
  const Batch drawn = corpus.draw(2000, 8, random);
  EXPECT_EQ(std::count(drawn.next.begin(), drawn.next.end(), 0), 2000);
  const Batch held = corpus.heldOut(100, 8);
  EXPECT_EQ(std::count(held.next.begin(), held.next.end(), 1), 100);
}

TEST(Corpus, TooShortATextIsRefusedWithTheSizeNeeded) {
  EXPECT_THROW(Corpus("short"), std::runtime_error);
}

TEST(Network, GradientsAgreeWithDifferencesOfTheLoss) {
  Fixture f(5);
  const Batch before = f.corpus.draw(5, f.shape.context, f.random);
  f.network.forward(before);
  f.network.backward(before, [](int) {});  // its gradients must not stay
  const Batch batch = f.corpus.draw(7, f.shape.context, f.random);
  f.network.forward(batch);
  f.network.backward(batch, [](int) {});
  size_t begin = 0;
  for (int bucket = 0; bucket < f.network.buckets(); ++bucket) {
    const std::span<float> gradient = f.network.gradient(bucket);
    double difference = 0, size = 0;
    for (size_t i = 0; i < gradient.size(); i += 3) {
      float& w = f.network.weights()[begin + i];
      const float kept = w, h = 1e-3f;
      w = kept + h;
      const double above = f.network.forward(batch);
      w = kept - h;
      const double below = f.network.forward(batch);
      w = kept;
      difference += std::pow((above - below) / (2 * h) - gradient[i], 2);
      size += std::pow(gradient[i], 2);
    }
    EXPECT_GT(size, 0) << "bucket " << bucket;
    EXPECT_LT(std::sqrt(difference / size), 0.02) << "bucket " << bucket;
    begin += gradient.size();
  }
}

TEST(Network, BackwardFinishesEveryBucketOnceFromTheLastToTheFirst) {
  Fixture f(6);
  const Batch batch = f.corpus.draw(4, f.shape.context, f.random);
  f.network.forward(batch);
  std::vector<int> order;
  std::vector<float> atReady;
  f.network.backward(batch, [&](int bucket) {
    order.push_back(bucket);
    atReady.push_back(f.network.gradient(bucket)[0]);
  });
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(atReady[i], f.network.gradient(order[i])[0]);
}

TEST(Network, TrainingLearnsARepeatedSentence) {
  Fixture f(7);
  double first = 0, last = 0;
  for (int step = 1; step <= 300; ++step) {
    const Batch batch = f.corpus.draw(16, f.shape.context, f.random);
    last = f.network.forward(batch);
    if (step == 1) first = last;
    f.network.backward(batch, [](int) {});
    for (int b = 0; b < f.network.buckets(); ++b) f.network.update(b, step, 0.01f);
  }
  EXPECT_GT(first, 2.0);
  EXPECT_LT(last, 0.5);
}

TEST(Network, EqualSeedsGiveEqualBits) {
  Fixture one(8), other(8);
  for (Fixture* f : {&one, &other})
    for (int step = 1; step <= 5; ++step) {
      const Batch batch = f->corpus.draw(9, f->shape.context, f->random);
      f->network.forward(batch);
      f->network.backward(batch, [](int) {});
      for (int b = 0; b < f->network.buckets(); ++b) f->network.update(b, step, 0.01f);
    }
  EXPECT_TRUE(std::equal(one.network.weights().begin(), one.network.weights().end(),
                         other.network.weights().begin()));
}

}  // namespace
}  // namespace train
