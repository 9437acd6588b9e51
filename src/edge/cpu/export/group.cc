#include "group.h"

#include <algorithm>

#include "edge/session/exposure.h"

namespace autoccl {
namespace {

struct Group {
  int depth = 0;
  std::vector<UserCall> calls;
  std::vector<acclComm_t> starting;
};

Group& group() {
  thread_local Group g;
  return g;
}

acclResult_t brokenResult(acclComm_t comm) {
  return refuse(comm->health(), comm->failureText());
}

// ---- one call ----

/// Where the caller does not wait: issue now, execute there.
void runLater(const UserCall& user, Stream& stream) {
  Communicator& engine = user.comm->engine();
  const Communicator::Issue issue = user.isLetter ? engine.issueMail() : engine.issue(user.call);
  // Arrays of an uneven call travel by a pointer of their own: stream work is trivially copyable.
  auto* arrays = user.arrays ? new std::shared_ptr<std::vector<size_t>>(user.arrays) : nullptr;
  if (user.isLetter) {
    stream.enqueue([&engine, letter = user.letter, issue] {
      uint8_t state = 0;
      engine.executeMail({&letter, 1}, {&state, 1}, issue);
    });
    return;
  }
  stream.enqueue([&engine, call = user.call, issue, arrays] {
    engine.execute(call, issue);
    delete arrays;
  });
}

acclResult_t runNow(const UserCall& user) {
  const Exposure::Wait wait;
  Communicator& engine = user.comm->engine();
  uint8_t state = 0;
  const bool done = user.isLetter
                        ? engine.executeMail({&user.letter, 1}, {&state, 1}, engine.issueMail())
                        : engine.execute(user.call, engine.issue(user.call));
  return done ? acclSuccess : brokenResult(user.comm);
}

acclResult_t dispatch(const UserCall& user) {
  if (user.stream != nullptr) {
    runLater(user, user.stream->stream);
    return acclSuccess;
  }
  if (user.comm->blocking) return runNow(user);
  runLater(user, user.comm->lane());
  return acclInProgress;
}

// ---- a group ----

/// A group's calls on one communicator: its letters go together, where the first of them stood.
struct Bundle {
  acclComm_t comm = nullptr;
  struct Step {
    const UserCall* call = nullptr;  // null: the letters
    Communicator::Issue issue;
  };
  std::vector<Step> steps;
  std::vector<Letter> letters;
  std::vector<uint8_t> state;

  void add(const UserCall& user) {
    Communicator& engine = comm->engine();
    if (!user.isLetter) {
      steps.push_back({&user, engine.issue(user.call)});
      return;
    }
    if (letters.empty()) steps.push_back({nullptr, engine.issueMail()});
    letters.push_back(user.letter);
  }

  void run() noexcept {
    for (const Step& step : steps) {
      if (step.call != nullptr)
        comm->engine().execute(step.call->call, step.issue);
      else
        comm->engine().executeMail(letters, state, step.issue);
    }
  }
};

/// What a group leaves for one stream. Lives until the stream has run it.
struct Batch {
  std::vector<UserCall> calls;
  std::vector<Bundle> bundles;

  void prepare() {
    for (const UserCall& user : calls) {
      auto found = std::find_if(bundles.begin(), bundles.end(),
                                [&](const Bundle& b) { return b.comm == user.comm; });
      if (found == bundles.end()) {
        bundles.emplace_back().comm = user.comm;
        found = bundles.end() - 1;
      }
      found->add(user);
    }
    for (Bundle& bundle : bundles) bundle.state.assign(bundle.letters.size(), 0);
  }

  /// Communicators run side by side: they may be the ranks of one group, held by one thread.
  void run() noexcept {
    for (size_t i = 1; i < bundles.size(); ++i)
      bundles[i].comm->lane().enqueue([bundle = &bundles[i]] { bundle->run(); });
    bundles[0].run();
    for (size_t i = 1; i < bundles.size(); ++i) bundles[i].comm->lane().synchronize();
  }
};

acclResult_t runBatch(std::unique_ptr<Batch> batch, acclStream_t stream) {
  batch->prepare();
  if (stream != nullptr) {
    stream->stream.enqueue([raw = batch.release()] {
      raw->run();
      delete raw;
    });
    return acclSuccess;
  }
  batch->run();
  for (const Bundle& bundle : batch->bundles)
    if (bundle.comm->engine().broken()) return brokenResult(bundle.comm);
  return acclSuccess;
}

acclResult_t endGroup(Group& g) {
  std::vector<UserCall> calls = std::exchange(g.calls, {});
  const std::vector<acclComm_t> starting = std::exchange(g.starting, {});
  acclResult_t result = acclSuccess;
  for (acclComm_t comm : starting) {
    const acclResult_t started = comm->blocking ? comm->awaitStart() : acclInProgress;
    if (started != acclSuccess) result = started;
  }
  if (result != acclSuccess && result != acclInProgress) return result;
  // One batch per stream, in the order of first use.
  while (!calls.empty()) {
    const acclStream_t stream = calls.front().stream;
    auto batch = std::make_unique<Batch>();
    const auto rest = std::stable_partition(calls.begin(), calls.end(),
                                            [&](const UserCall& c) { return c.stream == stream; });
    batch->calls.assign(calls.begin(), rest);
    calls.erase(calls.begin(), rest);
    const acclResult_t ran = runBatch(std::move(batch), stream);
    if (ran != acclSuccess) result = ran;
  }
  return result;
}

}  // namespace

bool groupOpen() noexcept {
  return group().depth > 0;
}
void groupAddStart(acclComm_t comm) {
  group().starting.push_back(comm);
}

acclResult_t submit(const UserCall& user) {
  if (!groupOpen()) return dispatch(user);
  group().calls.push_back(user);
  return acclSuccess;
}

}  // namespace autoccl

using namespace autoccl;

extern "C" acclResult_t acclGroupStart(void) {
  ++group().depth;
  return acclSuccess;
}

extern "C" acclResult_t acclGroupEnd(void) {
  Group& g = group();
  if (g.depth == 0) return refuse(acclInvalidUsage, "acclGroupEnd without acclGroupStart");
  if (--g.depth > 0) return acclSuccess;
  return guarded([&] { return endGroup(g); });
}
