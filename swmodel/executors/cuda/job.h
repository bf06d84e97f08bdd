// The arguments of a kernel, which the foreign call fills in: only numbers and pointers, so that the compilers for the
// CPU and for the GPU agree on the layout.
#pragma once

namespace swmodel {

// Fields are planes of `memory`, `plane_size` numbers apart, with at least `halo` rows and columns around the block; `origin` is
// the index of cell (0, 0) in a plane. Static fields and mask_bits have `margin` rows around the block, and `static_origin` is the
// index of their cell (0, 0). `planes` [3, fields] are the planes that the pass reads, writes, and sends to the neighbours. If
// `wraps`, the block is its own neighbour; otherwise halos come from `west`, ... and edges go to `edge_west`, ...
struct Job {
  void* memory;
  void* constants;    // what `fill_constants` writes for the constant memory of the pass
  void* temporaries;  // planes of values that one kernel of a pass computes for another
  const void *scalars, *slip, *row_statics, *statics;
  const unsigned char *mask_bits, *flags;
  const int *planes, *extent;
  const void *west, *east, *south, *north;
  void *edge_west, *edge_east, *edge_south, *edge_north;
  long long plane_size;
  int rows, columns, stride, origin, halo, static_rows, static_stride, static_origin, margin, fields, wraps;
};

}  // namespace swmodel
