#include "plan_on_fake.h"

#include <algorithm>
#include <map>
#include <random>

#include "plan/blocks.h"
#include "transport/fake/fake_wire.h"

namespace autoccl {
namespace {

using Words = std::vector<uint64_t>;

// One flow of one rank at work: where it is, and what it holds of each block's present slice.
struct Runner {
  int rank = 0;
  const Flow* flow = nullptr;
  size_t step = 0;
  int round = 0;
  bool sentThisStep = false;
  size_t sentWords = 0;
  int depth = 0, depthAtStep = 0;
  uint64_t serial = 0, steps = 0, reduced = 0;
  std::map<int, Words> held;
  std::map<int, Words> outputs;
};

class Simulation {
 public:
  Simulation(std::vector<Plan> plans, const std::vector<CallShape>& shapes,
             const std::vector<Words>& send, const std::vector<size_t>& recvLength,
             const FakeOptions& options)
      : plans_(std::move(plans)),
        shapes_(shapes),
        send_(send),
        options_(options),
        wire_(static_cast<int>(plans_.size()), plans_[0].rails, options.capacity),
        random_(options.seed) {
    for (size_t r = 0; r < plans_.size(); ++r) {
      run_.recv.emplace_back(recvLength[r], kUntouched);
      for (const Flow& flow : plans_[r].flows) {
        Runner runner;
        runner.rank = static_cast<int>(r);
        runner.flow = &flow;
        runners_.push_back(runner);
      }
    }
  }

  FakeRun run() {
    while (turn()) {
    }
    for (const Runner& f : runners_)
      if (!done(f)) fail(f, "is stuck");
    if (run_.fault.empty() && !wire_.empty()) run_.fault = "a message was never received";
    tally();
    return run_;
  }

 private:
  [[nodiscard]] bool done(const Runner& f) const {
    return f.flow->steps.empty() || f.round == options_.rounds;
  }

  // Lets every flow try one step, or one random flow that can. False when nobody could.
  bool turn() {
    std::vector<size_t> order(runners_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (options_.seed != 0) std::shuffle(order.begin(), order.end(), random_);
    for (Runner& f : runners_) f.depthAtStep = f.depth;
    bool moved = false;
    for (const size_t i : order) {
      const bool stepped = !done(runners_[i]) && tryStep(runners_[i]);
      moved |= stepped;
      if (stepped && options_.seed != 0) break;
    }
    return moved;
  }

  // Sends if that is still to do, then receives if the message is there. True if it did anything.
  bool tryStep(Runner& f) {
    const Step& s = f.flow->steps[f.step];
    if (s.send.count > 0 && s.recv.count > 0 && s.sendTo == f.rank && s.recvFrom == f.rank) {
      place(f, s);
      advance(f);
      return true;
    }
    const bool sends = !f.sentThisStep && s.send.count > 0;
    if (sends && !trySend(f, s)) return false;
    size_t received = 0;
    if (s.recv.count > 0 && lengthOf(f, s.recv) > 0) {
      if (!wire_.canReceive(f.rank, s.recvFrom, f.flow->rail)) return sends;
      const FakeMessage message = wire_.receive(f.rank, s.recvFrom, f.flow->rail);
      received = message.words.size();
      take(f, s, message);
    }
    f.serial += std::max(f.sentWords, received);
    f.steps += f.round == 0 ? 1 : 0;
    advance(f);
    return true;
  }

  bool trySend(Runner& f, const Step& s) {
    Words words = gather(f, s.send);
    f.sentWords = words.size();
    if (!words.empty()) {
      if (!wire_.canSend(f.rank, s.sendTo, f.flow->rail)) return false;
      wire_.send(f.rank, s.sendTo, f.flow->rail, {std::move(words), f.depthAtStep});
    }
    f.sentThisStep = true;
    return true;
  }

  void advance(Runner& f) {
    f.sentThisStep = false;
    f.sentWords = 0;
    if (++f.step < f.flow->steps.size()) return;
    flush(f);
    f.step = 0;
    f.round += 1;
  }

  // The words of this round's slice of a range of whole words.
  [[nodiscard]] ByteRange slice(const Runner& f, ByteRange block) const {
    const ByteRange in = part(block.bytes, f.round, options_.rounds, 8);
    return {(block.offset + in.offset) / 8, in.bytes / 8};
  }
  [[nodiscard]] BlockMap map(const Runner& f) const {
    const auto r = static_cast<size_t>(f.rank);
    return {shapes_[r], f.rank, plans_[r].nBlocks};
  }

  Words source(const Runner& f, int block) {
    const ByteRange at = slice(f, map(f).source(block));
    if (at.bytes == 0) return {};
    const Words& from = send_[static_cast<size_t>(f.rank)];
    if (at.offset + at.bytes > from.size()) {
      fail(f, "reads beyond its send buffer");
      return Words(at.bytes);
    }
    return {from.begin() + static_cast<long>(at.offset),
            from.begin() + static_cast<long>(at.offset + at.bytes)};
  }
  Words own(const Runner& f, int block) {
    const auto held = f.held.find(block);
    if (held != f.held.end() && forwards(shapes_[0].collective)) return held->second;
    return source(f, block);
  }
  Words gather(const Runner& f, BlockRange blocks) {
    Words words;
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b) {
      const Words w = own(f, b);
      words.insert(words.end(), w.begin(), w.end());
    }
    return words;
  }
  size_t lengthOf(const Runner& f, BlockRange blocks) {
    size_t length = 0;
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b)
      length += slice(f, map(f).out(b)).bytes;
    return length;
  }

  void place(Runner& f, const Step& s) {
    for (int b = s.recv.first; b < s.recv.first + s.recv.count; ++b) {
      f.held[b] = source(f, b);
      f.outputs[b] = f.held[b];
    }
  }

  void take(Runner& f, const Step& s, const FakeMessage& message) {
    f.depth = std::max(f.depth, message.depth);
    if (message.words.size() != lengthOf(f, s.recv)) return fail(f, "received a wrong length");
    size_t at = 0;
    for (int b = s.recv.first; b < s.recv.first + s.recv.count; ++b) {
      Words mine = s.op == RecvOp::kCopy ? Words() : own(f, b);
      mine.resize(slice(f, map(f).out(b)).bytes);
      for (uint64_t& w : mine) w += message.words[at++];
      if (s.op != RecvOp::kCopy) f.reduced += mine.size();
      f.held[b] = mine;
      if (s.op != RecvOp::kReduce) f.outputs[b] = mine;
    }
  }

  // At the end of a round, final values go to the receive buffer, each word once.
  void flush(Runner& f) {
    const auto r = static_cast<size_t>(f.rank);
    const Seat seat{f.rank, static_cast<int>(plans_.size()), shapes_[r].root};
    for (const auto& [block, words] : f.outputs) {
      if (!isOutput(shapes_[r].collective, seat, block)) continue;
      const ByteRange at = slice(f, map(f).out(block));
      for (size_t i = 0; i < words.size(); ++i) {
        uint64_t& out = run_.recv[r].at(at.offset + i);
        if (out != kUntouched) fail(f, "writes a word twice");
        out = words[i];
      }
    }
    f.outputs.clear();
    f.held.clear();
  }

  void fail(const Runner& f, const std::string& what) {
    if (!run_.fault.empty()) return;
    run_.fault = "rank " + std::to_string(f.rank) + " " + what + " at step " +
                 std::to_string(f.step) + " of round " + std::to_string(f.round);
  }

  void tally() {
    std::vector<uint64_t> reduced(plans_.size());
    for (const Runner& f : runners_) {
      const auto r = static_cast<size_t>(f.rank);
      const auto& t = wire_.tally(f.rank);
      reduced[r] += f.reduced;
      run_.serial = std::max(run_.serial, f.serial);
      run_.steps = std::max(run_.steps, f.steps);
      run_.depth = std::max(run_.depth, t.depth);
      run_.sent = std::max(run_.sent, t.sentWords);
      run_.received = std::max(run_.received, t.receivedWords);
      run_.reduced = std::max(run_.reduced, reduced[r]);
    }
  }

  std::vector<Plan> plans_;
  const std::vector<CallShape>& shapes_;
  const std::vector<Words>& send_;
  FakeOptions options_;
  FakeWire wire_;
  std::mt19937_64 random_;
  std::vector<Runner> runners_;
  FakeRun run_;
};

}  // namespace

FakeRun runOnFakeWire(const std::function<Plan(Seat)>& make, const std::vector<CallShape>& shapes,
                      const std::vector<std::vector<uint64_t>>& send,
                      const std::vector<size_t>& recvLength, const FakeOptions& options) {
  std::vector<Plan> plans;
  const auto n = static_cast<int>(shapes.size());
  for (int r = 0; r < n; ++r) plans.push_back(make({r, n, shapes[static_cast<size_t>(r)].root}));
  return Simulation(std::move(plans), shapes, send, recvLength, options).run();
}

}  // namespace autoccl
