// One factory per policy; policy_table.cc names them.
#pragma once

#include <memory>

#include "tune/policy.h"

namespace autoccl {

using PolicyFactory = std::unique_ptr<Policy> (*)(const Space& space, const PolicyOptions& options);

std::unique_ptr<Policy> makeSubspaceRace(const Space& space, const PolicyOptions& options);
std::unique_ptr<Policy> makePaperDescent(const Space& space, const PolicyOptions& options);
std::unique_ptr<Policy> makeArtifactDescent(const Space& space, const PolicyOptions& options);
std::unique_ptr<Policy> makeExhaustive(const Space& space, const PolicyOptions& options);
std::unique_ptr<Policy> makeRandom(const Space& space, const PolicyOptions& options);
std::unique_ptr<Policy> makeAnneal(const Space& space, const PolicyOptions& options);

}  // namespace autoccl
