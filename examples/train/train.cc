// A data-parallel trainer of a character language model on AutoCCL: see README.md beside it.
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus.h"
#include "network.h"
#include "ranks.h"

namespace train {
namespace {

struct Options {
  int steps = 300;
  int batch = 32;
  int every = 1;
  float learningRate = 1e-3f;
  uint64_t seed = 1;
  std::string text = "/usr/share/common-licenses";
  std::string json;
  bool ordinary = false;
  bool ranksCheck = false;
};

double milliseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What one run leaves behind, for the summary and for --json.
struct Record {
  std::vector<double> losses;  // mean over the ranks, each step
  std::vector<double> stepMs;
  std::vector<double> waitMs;  // of a step, spent waiting for averages
  double validationLoss = 0;
};

class Trainer {
 public:
  Trainer(const Options& options, const Corpus& corpus)
      : options_(options),
        corpus_(corpus),
        shape_{corpus.alphabet()},
        gradients_(Network::floats(shape_), !options.ordinary),
        network_(shape_, options.seed, gradients_.span()),
        ranks_(network_.buckets()),
        random_(options.seed * 1'000'003 + static_cast<uint64_t>(ranks_.rank())) {
    ranks_.broadcast(network_.weights());
  }

  Record run() {
    if (leads())
      std::printf("# %d ranks, %zu weights, %zu characters of %d kinds, batch %d a rank\n",
                  ranks_.size(), network_.weights().size(), corpus_.size(), corpus_.alphabet(),
                  options_.batch);
    for (int step = 1; step <= options_.steps; ++step) trainStep(step);
    record_.validationLoss = network_.forward(corpus_.heldOut(1024, shape_.context));
    if (options_.ranksCheck) checkRanks();
    return record_;
  }

  [[nodiscard]] bool leads() const { return ranks_.rank() == 0; }
  [[nodiscard]] int nRanks() const { return ranks_.size(); }
  [[nodiscard]] size_t weights() { return network_.weights().size(); }

 private:
  using Clock = std::chrono::steady_clock;

  void trainStep(int step) {
    const auto begun = Clock::now();
    ranks_.markStep();
    const Batch batch = corpus_.draw(options_.batch, shape_.context, random_);
    const double loss = network_.forward(batch);
    // A bucket's average is under way while the next one is still being computed.
    network_.backward(batch,
                      [&](int bucket) { ranks_.beginAverage(bucket, network_.gradient(bucket)); });
    Clock::duration waited{};
    for (int bucket = network_.buckets() - 1; bucket >= 0; --bucket) {
      const auto from = Clock::now();
      ranks_.wait(bucket);
      waited += Clock::now() - from;
      network_.update(bucket, step, options_.learningRate);
    }
    record_.losses.push_back(ranks_.average(loss));
    record_.stepMs.push_back(milliseconds(Clock::now() - begun));
    record_.waitMs.push_back(milliseconds(waited));
    report(step);
  }

  void report(int step) const {
    if (!leads() || (step % options_.every != 0 && step != 1 && step != options_.steps)) return;
    const double ms = record_.stepMs.back();
    std::printf("step %d loss %.9g tokens/s %.0f ms %.2f\n", step, record_.losses.back(),
                options_.batch * ranks_.size() / ms * 1e3, ms);
    std::fflush(stdout);
  }

  /// All ranks must hold the same weights, bit for bit.
  void checkRanks() {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const float w : network_.weights()) {
      uint32_t bits = 0;
      std::memcpy(&bits, &w, sizeof bits);
      hash = (hash ^ bits) * 1099511628211u;
    }
    const std::vector<uint64_t> all = ranks_.gather(hash);
    for (size_t r = 1; r < all.size(); ++r)
      if (all[r] != all[0])
        throw std::runtime_error("the weights of rank " + std::to_string(r) +
                                 " differ from rank 0's");
    if (leads())
      std::printf("# all ranks hold the same weights: %016llx\n",
                  static_cast<unsigned long long>(all[0]));
  }

  const Options& options_;
  const Corpus& corpus_;
  Shape shape_;
  FloatBuffer gradients_;
  Network network_;
  Ranks ranks_;
  std::mt19937_64 random_;
  Record record_;
};

void writeJson(const Options& options, const Record& record, int nRanks, size_t weights) {
  const double stepMs = median(record.stepMs);
  const nlohmann::json json{{"ranks", nRanks},
                            {"steps", options.steps},
                            {"batch", options.batch},
                            {"seed", options.seed},
                            {"weights", weights},
                            {"ordinary", options.ordinary},
                            {"losses", record.losses},
                            {"step_ms", record.stepMs},
                            {"wait_ms", record.waitMs},
                            {"step_ms_median", stepMs},
                            {"wait_ms_median", median(record.waitMs)},
                            {"tokens_per_s", options.batch * nRanks / stepMs * 1e3},
                            {"validation_loss", record.validationLoss}};
  if (options.json == "-") {
    std::cout << json.dump(2) << std::endl;
    return;
  }
  std::ofstream out(options.json);
  out << json.dump(2) << '\n';
  if (!out) throw std::runtime_error("cannot write " + options.json);
}

void addOptions(CLI::App& app, Options& o) {
  app.add_option("--steps", o.steps, "Training steps.")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--batch", o.batch, "Examples of one rank in a step.")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--learning-rate", o.learningRate, "Of Adam.")
      ->check(CLI::Range(1e-7f, 1.0f))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Of weights and batches.")->capture_default_str();
  app.add_option("--text", o.text, "File or folder to learn from.")
      ->check(CLI::ExistingPath)
      ->capture_default_str();
  app.add_option("--every", o.every, "Prints one step in so many.")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--json", o.json, "Writes all losses and times into FILE (- is stdout).")
      ->type_name("FILE");
  app.add_flag("--ordinary", o.ordinary, "Gradients in memory of malloc, not of acclMemAlloc.");
  app.add_flag("--ranks-check", o.ranksCheck, "At the end, all ranks must hold the same weights.");
}

int trainMain(const Options& options) {
  const Corpus corpus = Corpus::read(options.text);
  Trainer trainer(options, corpus);
  const Record record = trainer.run();
  if (!trainer.leads()) return 0;
  std::printf(
      "# loss %.9g, on text held out %.9g; median step %.2f ms, of it %.2f ms waiting for "
      "gradients\n",
      record.losses.back(), record.validationLoss, median(record.stepMs), median(record.waitMs));
  if (!options.json.empty()) writeJson(options, record, trainer.nRanks(), trainer.weights());
  return 0;
}

/// Adam's averages of gradients that have become zero decay into subnormal numbers, on which the
/// CPU is many times slower; to this thread they are zero.
void flushTinyNumbers() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
  train::flushTinyNumbers();
  train::Options options;
  CLI::App app("Trains a small character language model, data-parallel over the ranks of a job.",
               "autoccl-train");
  train::addOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return train::trainMain(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "autoccl-train: %s\n", e.what());
    return 1;
  }
}
