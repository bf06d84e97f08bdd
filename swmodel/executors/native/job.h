// The arguments of a compiled step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swmodel {

using Index = std::ptrdiff_t;

constexpr long ABI_VERSION = 12;  // of Job and of the foreign call; as in __init__.py
constexpr Index GROUP_COLUMNS = 16;     // columns per flag
constexpr std::uint8_t ALL_WATER = 1 + 2 + 4 + 8 * 4;  // a cell without land around, see vector.h
// Of a group: no land within reach; some land; skipped. UNWRITTEN, added to the first two: computed only for rows further north.
enum Flag : std::uint8_t { WATER, COAST, SKIPPED, UNWRITTEN = 4 };
constexpr int BREAKING_OR_THIN = 1, FLOWS = 2;  // of a cell, see sweep.h

// What one call computes. Fields are planes, `plane_size` numbers apart, each [rows, stride], with column 0 after `row_padding` others;
// `planes` [3, fields] are those from which a field is read, to which it is written, and from which neighbours get it;
// `exceeds_cache` says that they do not stay in the cache. Static fields, mask_bits and flags have `margin` rows around the block.
// The block is the first [ny, nx] of [rows, columns]. Halos and edges are as in calls.py.
struct Job {
  Index ny, nx, rows, columns, stride, static_stride, row_padding, plane_size, margin;
  Index halo, halo_per_level, levels, scalars_per_level;
  void* fields;
  const void *west, *east, *south, *north, *scalars, *row_statics, *statics;
  void *edge_west, *edge_east, *edge_south, *edge_north;
  const std::uint8_t *mask_bits, *flags;
  const std::int32_t* planes;
  double slip;
  bool exceeds_cache;
};

}  // namespace swmodel
