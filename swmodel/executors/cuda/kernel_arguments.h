// The arguments of a kernel, which the FFI handler fills in: only numbers and pointers, so that the compilers for the
// CPU and for the GPU agree on the layout.
#pragma once

namespace swmodel {

// Columns and rows of threads in a block that computes cells (BLOCK_THREADS in kernels.py), and threads in a block of
// fill_halo and pack_edges.
constexpr int BLOCK_COLUMNS = 32, BLOCK_ROWS = 4, HALO_THREADS = 128;

// Fields are planes of memory, plane_size numbers apart, each with at least halo rows and columns around the block;
// origin is the index of cell (0, 0) in a plane. Static fields and mask_bits have static_halo rows around the block;
// static_origin is the index of their cell (0, 0). planes [3, n_fields]: the planes that the pass reads, writes, and
// sends to neighbours. near_land: for each block of threads, whether land is within reach. If is_own_neighbour, halos
// are copied from the block; otherwise they come from west, ..., and edges go to edge_west, ...
struct KernelArguments {
  void* memory;
  void* constants;    // what fill_constants writes; it is copied into the constant memory of the pass
  void* temporaries;  // planes of values that one kernel of a pass computes for another
  const void *scalars, *slip, *row_statics, *statics;
  const unsigned char *mask_bits, *near_land;
  const int *planes, *extent;
  const void *west, *east, *south, *north;
  void *edge_west, *edge_east, *edge_south, *edge_north;
  long long plane_size;
  int rows, columns, stride, origin, halo, static_rows, static_stride, static_origin, static_halo, n_fields, is_own_neighbour;
};

}  // namespace swmodel
