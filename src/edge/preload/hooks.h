// What a wrapper does around its call. Included by the generated wrappers alone.
#pragma once

#include "edge/preload/watcher.h"

namespace autoccl::preload {

/// The watcher, where there is one and the call is not NCCL's own. HOT: one or two loads.
inline Watcher* watcherOfCall() noexcept {
  Watcher* watcher = Watcher::get();
  return watcher != nullptr && threadState.inside == 0 ? watcher : nullptr;
}

/// HOT. Forwards without a trace.
template <class Forward>
int passOn(Symbol symbol, const void* caller, const Forward& forward) {
  void* real = targets.of(symbol, caller);
  return real != nullptr ? forward(real) : missingTarget(symbol);
}

template <class Forward>
int collectiveCall(Symbol symbol, const void* caller, const CallFacts& facts,
                   const Forward& forward) {
  const auto onOwn = [&](void* real) { return forward(real, facts.comm); };
  Watcher* watcher = watcherOfCall();
  if (watcher == nullptr) return passOn(symbol, caller, onOwn);
  CallWatch watch(*watcher, facts);
  const Route& route = watch.route();
  if (route.refused) return watch.after(kRemoteError);
  if (route.onGpus)
    if (const auto result = runOnGpus(route, facts)) return watch.after(*result);
  if (route.library != nullptr) return watch.after(forward(route.library->of(symbol), route.comm));
  return watch.after(passOn(symbol, caller, [&](void* real) { return forward(real, route.comm); }));
}

template <class Forward>
int p2pCall(Symbol symbol, const void* caller, const CallFacts& facts, const Forward& forward) {
  Watcher* watcher = watcherOfCall();
  if (watcher == nullptr) return passOn(symbol, caller, forward);
  const P2pWatch watch(*watcher, facts);
  return passOn(symbol, caller, forward);
}

template <class Forward>
int groupCall(Symbol symbol, const void* caller, const Forward& forward) {
  Watcher* watcher = watcherOfCall();
  if (watcher == nullptr) return passOn(symbol, caller, forward);
  GroupWatch watch(*watcher, symbol);
  return watch.after(passOn(symbol, caller, forward));
}

template <class Forward>
int initCall(Symbol symbol, const void* caller, const InitFacts& facts, const Forward& forward) {
  // Asks the loader each time: who uses a second library makes a communicator with it first.
  void* real = targets.lookUp(symbol, caller);
  if (real == nullptr) return missingTarget(symbol);
  Watcher* watcher = Watcher::get();
  if (watcher == nullptr) return forward(real);
  InitWatch watch(*watcher, symbol, facts);
  return watch.after(forward(real));
}

template <class Forward>
int destroyCall(Symbol symbol, const void* caller, Comm comm, const Forward& forward) {
  if (Watcher* watcher = watcherOfCall()) beforeEnd(*watcher, symbol, comm);
  return passOn(symbol, caller, forward);
}

template <class Forward>
int queryCall(Symbol symbol, const void* caller, const QueryFacts& facts, const Forward& forward) {
  const int result = passOn(symbol, caller, forward);
  if (Watcher* watcher = watcherOfCall()) addOurError(*watcher, facts, result);
  return result;
}

template <class Forward>
int registerCall(Symbol symbol, const void* caller, const Forward& forward) {
  if (Watcher* watcher = watcherOfCall())
    watcher->registrations.fetch_add(1, std::memory_order_relaxed);
  return passOn(symbol, caller, forward);
}

}  // namespace autoccl::preload
