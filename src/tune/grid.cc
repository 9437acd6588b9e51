#include "tune/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace autoccl {
namespace {

template <class T>
int closestIndex(const std::vector<T>& grid, double value) {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < grid.size(); ++i) {
    const double away = std::abs(std::log(double(grid[i]) / std::max(1.0, value)));
    if (away < least) least = away, best = static_cast<int>(i);
  }
  return best;
}

}  // namespace

Grid::Grid(const Space& space, bool deterministic) : space_(space) {
  if (!deterministic) return;
  std::erase_if(space_.subspaces,
                [&](const Subspace& s) { return s.numericalClass != space_.fallbackClass; });
}

int Grid::length(size_t subspace, int axis) const {
  const Subspace& s = space_.subspaces[subspace];
  if (axis == kAxisChannels) return static_cast<int>(s.channels.size());
  return static_cast<int>(axis == kAxisThreads ? s.threads.size() : s.chunks.size());
}

Config Grid::config(const Point& p) const {
  return space_.subspaces[p.subspace].at(size_t(p.at[0]), size_t(p.at[1]), size_t(p.at[2]));
}

std::vector<Point> Grid::points(size_t subspace) const {
  std::vector<Point> all;
  for (int i = 0; i < length(subspace, 0); ++i)
    for (int j = 0; j < length(subspace, 1); ++j)
      for (int k = 0; k < length(subspace, 2); ++k)
        if (const Point p{subspace, {i, j, k}}; valid(p)) all.push_back(p);
  return all;
}

std::optional<Point> Grid::closestTo(const Point& wanted) const {
  if (valid(wanted)) return wanted;
  std::optional<Point> best;
  int least = std::numeric_limits<int>::max();
  for (const Point& p : points(wanted.subspace)) {
    int away = 0;
    for (int a = 0; a < kAxes; ++a) away += std::abs(p.at[size_t(a)] - wanted.at[size_t(a)]);
    if (away < least) least = away, best = p;
  }
  return best;
}

std::optional<Point> Grid::nearest(const Config& c) const {
  for (size_t s = 0; s < subspaces(); ++s) {
    const Subspace& sub = space_.subspaces[s];
    if (!sub.holds(c)) continue;
    return closestTo({s,
                      {closestIndex(sub.channels, c.channels), closestIndex(sub.threads, c.threads),
                       closestIndex(sub.chunks, c.chunk)}});
  }
  return std::nullopt;
}

std::optional<Point> Grid::nearFraction(size_t subspace, std::array<double, kAxes> f) const {
  Point p{subspace, {}};
  for (int a = 0; a < kAxes; ++a)
    p.at[size_t(a)] = static_cast<int>(std::lround(f[size_t(a)] * (length(subspace, a) - 1)));
  return closestTo(p);
}

std::optional<Point> Grid::moved(const Point& p, std::array<int, kAxes> by) const {
  Point q = p;
  for (int a = 0; a < kAxes; ++a)
    q.at[size_t(a)] = std::clamp(p.at[size_t(a)] + by[size_t(a)], 0, length(p.subspace, a) - 1);
  if (q == p || !valid(q)) return std::nullopt;
  return q;
}

bool cheaper(const Config& a, const Config& b) noexcept {
  return a.channels != b.channels ? a.channels < b.channels : a.threads < b.threads;
}

}  // namespace autoccl
