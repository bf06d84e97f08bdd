// The arguments of a kernel, which the foreign call fills in: numbers and pointers alone, so that the compilers of the
// processor and of the GPU agree on its layout.
#pragma once

namespace swmodel {

// Fields lie in planes of `memory`, `plane_size` numbers apart, with at least `halo` rows and columns around the block; `origin`
// is the cell (0, 0) of a plane. Static fields and mask_bits have `margin` rows around, and `static_origin` is their cell (0, 0).
// `planes` [3, fields] are the planes that the pass reads, writes, and hands to the neighbours. Where `wraps`, the
// block is its own neighbour; elsewhere halos come from the strips, and edges go to those of the neighbours.
struct Job {
  void* memory;
  void* constants;    // what `fill_constants` writes for the constant memory of the pass
  void* temporaries;  // planes of values that one kernel of a pass computes for another
  const void *values, *slip, *lines, *statics;
  const unsigned char *mask_bits, *flags;
  const int *planes, *extent;
  const void *west, *east, *south, *north;
  void *edge_west, *edge_east, *edge_south, *edge_north;
  long long plane_size;
  int rows, columns, stride, origin, halo, static_rows, static_stride, static_origin, margin, fields, wraps;
};

}  // namespace swmodel
