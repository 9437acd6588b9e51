#include "edge/preload/init_gate.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "base/clock.h"
#include "edge/nccl/identity.h"

namespace autoccl::preload {
namespace {

/// An environment of ours: the pointers, and the texts that are not the program's.
struct Copy {
  std::deque<std::string> texts;
  std::vector<char*> pointers;
};

bool isOneOf(const char* entry, const NcclVariables& variables) {
  for (const auto& [name, value] : variables)
    if (std::strncmp(entry, name.c_str(), name.size()) == 0 && entry[name.size()] == '=')
      return true;
  return false;
}

char** copyWith(const NcclVariables& variables) {
  static auto* const kept = new std::deque<Copy>;  // for good: see the class comment
  Copy& copy = kept->emplace_back();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (!isOneOf(*entry, variables)) copy.pointers.push_back(*entry);
  for (const auto& [name, value] : variables)
    copy.pointers.push_back(copy.texts.emplace_back(name + "=" + value).data());
  copy.pointers.push_back(nullptr);
  return copy.pointers.data();
}

void point(char** at) noexcept {
  __atomic_store_n(&environ, at, __ATOMIC_RELEASE);
}

}  // namespace

InitGate& InitGate::ofProcess() noexcept {
  static auto* const gate = new InitGate;
  return *gate;
}

void InitGate::nap() noexcept {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool InitGate::begin(const NcclVariables& variables, int64_t deadlineNs) {
  while (!tryBegin(variables)) {
    if (nowNs() >= deadlineNs) return false;
    nap();
  }
  return true;
}

bool InitGate::tryBegin(const NcclVariables& variables) {
  const std::lock_guard lock(mutex_);
  if (ours_ > 0 && inForce_ != variables) return false;
  if (ours_ == 0) {
    if (nccl::usersInitUnderWay()) return false;
    inForce_ = variables;
    swapIn();
  }
  ++ours_;
  return true;
}

void InitGate::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (--ours_ == 0) swapOut();
}

void InitGate::swapIn() {
  before_.clear();
  hadBefore_.clear();
  for (const auto& [name, value] : inForce_) {
    const char* text = std::getenv(name.c_str());
    before_.emplace_back(name, text != nullptr ? text : "");
    hadBefore_.push_back(text != nullptr);
  }
  program_ = environ;
  swapped_ = copyWith(inForce_);
  point(swapped_);
}

void InitGate::swapOut() noexcept {
  if (environ == swapped_) return point(program_);
  for (size_t i = 0; i < before_.size(); ++i)  // somebody has written: what he wrote stays
    if (hadBefore_[i])
      setenv(before_[i].first.c_str(), before_[i].second.c_str(), 1);
    else
      unsetenv(before_[i].first.c_str());
}

}  // namespace autoccl::preload
