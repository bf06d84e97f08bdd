// The arguments of a pass of a compiled step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swmodel {

using Index = std::ptrdiff_t;

constexpr long ABI_VERSION = 13;  // of PassArguments and the FFI handlers; as in __init__.py
constexpr Index GROUP_COLUMNS = 16;     // columns per flag
constexpr std::uint8_t ALL_WATER = 1 + 2 + 4 + 8 * 4;  // the mask bits of a cell without land around it; see vector.h
// Of a group: no land within reach; some land; skipped. UNWRITTEN, added to the first two: computed only for rows further north.
enum Flag : std::uint8_t { WATER, COAST, SKIPPED, UNWRITTEN = 4 };
constexpr int BREAKING_OR_THIN = 1, FLOWS = 2;  // marks of a cell, see mark_cells in sweep.h
enum Phase { WORKSPACE_BYTES, SAVE_ROWS, COMPUTE };  // see run_phase in sweep.h

// Fields are planes of memory, plane_size numbers apart, each [rows, stride]; column 0 follows row_padding others. planes
// [3, fields]: the planes from which a field is read, to which it is written, and whose edges neighbours get. exceeds_cache:
// the fields do not stay in the cache. Static fields, mask_bits and flags have static_halo rows around the block, which is the
// first [ny, nx] of [rows, columns]. Halos and edges are as in calls.py.
struct PassArguments {
  Index ny, nx, rows, columns, stride, static_stride, row_padding, plane_size, static_halo;
  Index halo, halo_per_step, n_steps, scalars_per_step;
  void* memory;
  const void *west, *east, *south, *north, *scalars, *row_statics, *statics;
  void *edge_west, *edge_east, *edge_south, *edge_north;
  const std::uint8_t *mask_bits, *flags;
  const std::int32_t* planes;
  double slip;
  bool exceeds_cache;
};

}  // namespace swmodel
