#include "plan/fuse.h"

#include "base/error.h"
#include "plan/blocks.h"

namespace autoccl {
namespace {

using Read = Action::Read;
using Store = Action::Store;

bool overlap(BlockRange a, BlockRange b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

// One flow's steps as a list of actions. Each block is held where `held_` says; all blocks of one
// message are held alike, since algorithms narrow or widen ranges as a whole.
class Fuser {
 public:
  Fuser(Collective c, Seat t, int nBlocks)
      : c_(c), t_(t), held_(static_cast<size_t>(nBlocks), Read::kSource) {}

  std::vector<Action> run(const Flow& flow) {
    for (const Step& s : flow.steps) {
      if (s.send.count > 0 && s.recv.count > 0 && s.sendTo == t_.me && s.recvFrom == t_.me) {
        place(s.recv);
        continue;
      }
      if (s.send.count > 0) send(s.sendTo, s.send);
      if (s.recv.count > 0) receive(s.recvFrom, s.recv, s.op);
    }
    dropUnreadStores();
    return std::move(actions_);
  }

 private:
  Action* open(BlockRange blocks) {
    if (actions_.empty() || actions_.back().blocks != blocks) return nullptr;
    return &actions_.back();
  }

  void place(BlockRange blocks) {
    Action a;
    a.blocks = blocks;
    a.read = Read::kSource;
    a.store = Store::kOut;
    a.last = true;
    actions_.push_back(a);
    hold(blocks, Read::kOut);
  }

  void send(int to, BlockRange blocks) {
    Action* a = open(blocks);
    const bool joins = a && a->nTo < a->to.size() && (forwards(c_) || a->nFrom == 0);
    if (!joins) {
      Action fresh;
      fresh.blocks = blocks;
      fresh.read = forwards(c_) ? heldOf(blocks) : Read::kSource;
      actions_.push_back(fresh);
      a = &actions_.back();
    }
    a->to[a->nTo++] = static_cast<uint8_t>(to);
  }

  void receive(int from, BlockRange blocks, RecvOp op) {
    const bool reduce = op != RecvOp::kCopy;
    Action* a = open(blocks);
    const bool joins = reduce && a && a->nFrom > 0 && a->nFrom < a->from.size() && a->nTo == 0 &&
                       a->read != Read::kNone;
    if (!joins) {
      Action fresh;
      fresh.blocks = blocks;
      fresh.read = reduce ? heldOf(blocks) : Read::kNone;
      actions_.push_back(fresh);
      a = &actions_.back();
    }
    a->from[a->nFrom++] = static_cast<uint8_t>(from);
    a->last = op == RecvOp::kReduceLast;
    a->store = op == RecvOp::kReduce ? Store::kAccum : Store::kOut;
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b)
      held_[static_cast<size_t>(b)] =
          a->store == Store::kOut && isOutput(c_, t_, b) ? Read::kOut : Read::kAccum;
  }

  void hold(BlockRange blocks, Read where) {
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b)
      held_[static_cast<size_t>(b)] = where;
  }

  [[nodiscard]] Read heldOf(BlockRange blocks) const {
    const Read where = held_[static_cast<size_t>(blocks.first)];
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b)
      ACCL_CHECK(held_[static_cast<size_t>(b)] == where);
    return where;
  }

  // A stored message counts if a later action reads it from memory, or if it is a final value of
  // this rank's output.
  void dropUnreadStores() {
    for (size_t i = 0; i < actions_.size(); ++i) {
      Action& a = actions_[i];
      if (a.nFrom > 0 && a.store != Store::kNone && !isRead(i)) a.store = Store::kNone;
    }
  }
  [[nodiscard]] bool isRead(size_t i) const {
    const BlockRange blocks = actions_[i].blocks;
    if (actions_[i].store == Store::kOut && outputs(blocks)) return true;
    for (size_t j = i + 1; j < actions_.size(); ++j) {
      if (!overlap(actions_[j].blocks, blocks)) continue;
      if (actions_[j].read == Read::kAccum || actions_[j].read == Read::kOut) return true;
      if (actions_[j].nFrom > 0) return false;  // replaced
    }
    return false;
  }
  [[nodiscard]] bool outputs(BlockRange blocks) const {
    for (int b = blocks.first; b < blocks.first + blocks.count; ++b)
      if (isOutput(c_, t_, b)) return true;
    return false;
  }

  Collective c_;
  Seat t_;
  std::vector<Read> held_;
  std::vector<Action> actions_;
};

}  // namespace

Program fuse(const Plan& plan, Collective c, Seat t) {
  Program program{plan.nBlocks, plan.rails, false, {}};
  for (const Flow& flow : plan.flows) {
    program.strands.push_back({flow.rail, Fuser(c, t, plan.nBlocks).run(flow)});
    for (const Action& a : program.strands.back().actions)
      program.accumulates |= a.store == Store::kAccum;
  }
  return program;
}

const char* nameOf(const Action& a) noexcept {
  const bool receives = a.nFrom > 0, sends = a.nTo > 0, stores = a.store != Store::kNone;
  if (!receives) return stores ? (sends ? "copySend" : "copy") : "send";
  if (a.read == Read::kNone) return sends ? (stores ? "recvCopySend" : "recvSend") : "recv";
  if (!sends) return "recvReduceCopy";
  return stores ? "recvReduceCopySend" : "recvReduceSend";
}

}  // namespace autoccl
