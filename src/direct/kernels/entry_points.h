// Every kernel by name: what the GPU's image and the double's table both list.
#pragma once

#include "direct/kernels/direct_body.h"
#include "direct/kernels/lines_body.h"
#include "direct/kernels/two_shot_body.h"

namespace autoccl::direct {

template <class Number>
using LLBody = LinesBody<Number, LineLL>;
template <class Number>
using LL128Body = LinesBody<Number, LineLL128>;

/// X(body, call, Body, name, Number): kernel autoccl_<body>_<name> runs Body<Number> on a `call`.
/// Its text is entryName() in the host's code.
#define ACCL_DIRECT_REDUCING(X, name, ...)               \
  X(ll, LinesCall, LLBody, name, __VA_ARGS__)            \
  X(ll128, LinesCall, LL128Body, name, __VA_ARGS__)      \
  X(staged, StagedCall, StagedBody, name, __VA_ARGS__)   \
  X(twoshot, StagedCall, TwoShotBody, name, __VA_ARGS__) \
  X(direct, DirectCall, DirectBody, name, __VA_ARGS__)
#define ACCL_DIRECT_MOVING(X, name, ...)               \
  X(ll, LinesCall, LLBody, name, __VA_ARGS__)          \
  X(ll128, LinesCall, LL128Body, name, __VA_ARGS__)    \
  X(staged, StagedCall, StagedBody, name, __VA_ARGS__) \
  X(direct, DirectCall, DirectBody, name, __VA_ARGS__)

}  // namespace autoccl::direct
