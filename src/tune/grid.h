// Index arithmetic on a space: points, neighbours, the nearest point of a config.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/space.h"

namespace autoccl {

enum Axis : int { kAxisChannels = 0, kAxisThreads = 1, kAxisChunk = 2 };
inline constexpr int kAxes = 3;

/// A place on a subspace's grids. The chunk keeps its index when channels or threads change.
struct Point {
  size_t subspace = 0;
  std::array<int, kAxes> at{};
  friend bool operator==(const Point&, const Point&) = default;
};

/// The part of a space that a search may enter: subspaces that the options admit, points that
/// Space::valid accepts. Keeps a copy of the space. Thread-compatible. Moves are O(1).
class Grid {
 public:
  /// `deterministic` admits only subspaces of the default's numerical class.
  Grid(const Space& space, bool deterministic);

  [[nodiscard]] const Space& space() const { return space_; }
  [[nodiscard]] size_t subspaces() const { return space_.subspaces.size(); }
  [[nodiscard]] int length(size_t subspace, int axis) const;
  [[nodiscard]] Config config(const Point& p) const;
  [[nodiscard]] bool valid(const Point& p) const { return space_.valid(config(p)); }
  /// All valid points of a subspace, in index order.
  [[nodiscard]] std::vector<Point> points(size_t subspace) const;
  /// The valid point closest to the config in its subspace (ratios count), if there is one.
  [[nodiscard]] std::optional<Point> nearest(const Config& c) const;
  /// The valid point of the subspace closest to these fractions (0..1) of the three grids.
  [[nodiscard]] std::optional<Point> nearFraction(size_t subspace,
                                                  std::array<double, kAxes> f) const;
  /// The point moved by whole index steps, clipped to the grids; nothing if it did not move or is
  /// not valid.
  [[nodiscard]] std::optional<Point> moved(const Point& p, std::array<int, kAxes> by) const;

 private:
  [[nodiscard]] std::optional<Point> closestTo(const Point& wanted) const;
  Space space_;
};

/// True if a is to be preferred when both are equally fast: fewer channels, then fewer threads.
[[nodiscard]] bool cheaper(const Config& a, const Config& b) noexcept;

}  // namespace autoccl
