// The door between XLA and compiled steps: foreign functions that take and give the arrays listed in calls.py.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "job.h"
#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;

// Calls task(0) ... task(n - 1), each once, on the threads of the pool and on this one. This thread takes all that the
// others have not begun: it need not wait for a pool that is busy with something else.
template <class Task>
void in_parallel(ffi::ThreadPool& pool, Index n, const Task& task) {
  struct Progress {
    std::atomic<Index> begun{0}, done{0};
  };
  const auto progress = std::make_shared<Progress>();
  const auto work = [progress, n, &task] {
    // A thread that comes too late for a task touches only the counters, which live as long as it needs them.
    for (Index i; (i = progress->begun.fetch_add(1)) < n;) {
      task(i);
      progress->done.fetch_add(1, std::memory_order_release);
    }
  };
  for (Index i = 1; i < std::min<Index>(n, pool.num_threads()); ++i) pool.Schedule(std::function<void()>(work));
  work();
  while (progress->done.load(std::memory_order_acquire) < n) std::this_thread::yield();
}

// The arguments of a foreign function: arrays in their order, results, and numbers by name.
class Given {
 public:
  Given(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers)
      : pool(pool), arrays_(arrays), results_(results), numbers_(numbers) {}

  ffi::ThreadPool pool;

  // The next array; `dimension` is then one of its dimensions.
  template <class T = void>
  const T* next() {
    const ffi::AnyBuffer array = *arrays_.get<ffi::AnyBuffer>(number_++);
    dimensions_ = array.dimensions().begin();
    return static_cast<const T*>(array.untyped_data());
  }
  Index dimension(std::size_t axis) const { return dimensions_[axis]; }
  bool more() const { return number_ < arrays_.size(); }
  ffi::AnyBuffer result(std::size_t number) const { return **results_.get<ffi::AnyBuffer>(number); }
  template <class T = void>
  T* out(std::size_t number) const {
    return static_cast<T*>(result(number).untyped_data());
  }
  // Bytes of a number of the results.
  Index item() const { return result(0).element_type() == ffi::F32 ? 4 : 8; }
  std::size_t results() const { return results_.size(); }
  Index operator[](const char* name) const { return *numbers_.get<std::int64_t>(name); }

 private:
  ffi::RemainingArgs arrays_;
  ffi::RemainingRets results_;
  ffi::Dictionary numbers_;
  const std::int64_t* dimensions_ = nullptr;
  std::size_t number_ = 0;
};

using Call = std::size_t (*)(const Job*, int, int, Index, Index, void*);
using Gentle = bool (*)(const void*, Index, const void*, Index, double, double);

// Memory of this thread to work in: at least so many bytes, from the beginning of a cache line on.
void* workspace(std::size_t bytes) {
  static thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One pass of a step. Arrays: memory; planes [3, fields]; west, east, south, north; extent; values [levels, n]; slip;
// lines; statics; cells; flags. Results: memory, where it is; edges west, east, south, north.
ffi::Error step(Given given) {
  Job job{};
  job.fields = const_cast<void*>(given.next());
  if (given.out(0) != job.fields) return ffi::Error::Internal("the fields of the native step were copied");
  job.planes = given.next<std::int32_t>();
  job.west = given.next();
  job.rows = given.dimension(1);
  job.halo = given.dimension(2);
  job.east = given.next();
  job.south = given.next();
  job.columns = given.dimension(2) - 2 * job.halo;
  job.north = given.next();
  const auto* extent = given.next<std::int32_t>();
  job.ny = extent[0];
  job.nx = extent[1];
  job.values = given.next();
  job.levels = given.dimension(0);
  job.values_per_level = given.dimension(1);
  job.width = job.halo / job.levels;
  const void* slip = given.next();
  job.slip = given.item() == 4 ? *static_cast<const float*>(slip) : *static_cast<const double*>(slip);
  job.lines = given.next();
  job.statics = given.next();
  job.cells = given.next<std::uint8_t>();
  job.margin = (given.dimension(0) - job.rows) / 2;
  job.static_stride = given.dimension(1);
  job.flags = given.next<std::uint8_t>();
  job.large = given["large"];
  job.lead = given["lead"];
  job.stride = given["stride"];
  job.plane = given["plane"];
  std::size_t number = 1;
  for (auto* edge : {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north}) *edge = given.out(number++);

  const auto call = reinterpret_cast<Call>(given["function"]);
  const int pass = given["pass"];
  const Index threads = given["threads"], most = threads ? threads : std::max<Index>(1, given.pool.num_threads());
  const Index blocks = std::clamp<Index>(job.ny / std::max<Index>(8 * job.halo, 8), 1, most);
  const std::size_t bytes = (call(&job, pass, 0, 0, 0, nullptr) + 63) / 64 * 64;
  auto* const space = static_cast<std::byte*>(workspace(blocks * bytes));
  const auto each = [&](int phase) {
    return [&, phase](Index b) { call(&job, pass, phase, b * job.ny / blocks, (b + 1) * job.ny / blocks, space + b * bytes); };
  };
  for (Index b = 0; b < blocks; ++b) each(1)(b);
  in_parallel(given.pool, blocks, each(2));
  return ffi::Error::Success();
}

// Copies the rows of the fields [ny, nx] into the memory in which they are advanced, or back.
template <class Copy>
void for_rows(ffi::ThreadPool& pool, Index fields, Index rows, const Copy& copy) {
  const Index blocks = std::clamp<Index>(rows / 8, 1, std::max<Index>(1, pool.num_threads()));
  in_parallel(pool, blocks, [&](Index b) {
    for (Index f = 0; f < fields; ++f) {
      for (Index r = b * rows / blocks; r < (b + 1) * rows / blocks; ++r) copy(f, r);
    }
  });
}

// Asks for large pages, where the system has them.
void ask_for_large_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t PAGE = 1 << 21;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + PAGE - 1) / PAGE * PAGE;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / PAGE * PAGE;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// Arrays: the plane of each field, the fields, and the memory if there is one. Result: the memory with the fields.
ffi::Error put(Given given) {
  const auto* planes = given.next<std::int32_t>();
  const Index count = given.dimension(0), item = given.item();
  std::vector<const std::byte*> fields;
  for (Index f = 0; f < count; ++f) fields.push_back(given.next<std::byte>());
  const Index rows = count ? given.dimension(0) : 0, columns = count ? given.dimension(1) : 0;
  auto* const memory = given.out<std::byte>(0);
  if (!given.more()) {
    ask_for_large_pages(memory, given.result(0).size_bytes());
  } else if (given.next() != memory) {
    return ffi::Error::Internal("the memory of the native step was copied");
  }
  const Index lead = given["lead"], stride = given["stride"], plane = given["plane"];
  for_rows(given.pool, count, rows, [&](Index f, Index r) {
    std::memcpy(memory + (planes[f] * plane + r * stride + lead) * item, fields[f] + r * columns * item, columns * item);
  });
  return ffi::Error::Success();
}

// Copies a row, with 0 for each -0: on land the sign of a zero depends on which cells were left out.
template <class T>
void copy_row(const void* from, Index n, void* to) {
  for (Index i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] + T(0);
}

// Arrays: the memory; the plane of each field. Results: the fields.
ffi::Error get(Given given) {
  const auto* memory = given.next<std::byte>();
  const auto* planes = given.next<std::int32_t>();
  const auto shape = given.result(0).dimensions();
  const Index item = given.item(), rows = shape[0], columns = shape[1];
  const Index lead = given["lead"], stride = given["stride"], plane = given["plane"];
  for_rows(given.pool, given.results(), rows, [&](Index f, Index r) {
    const auto copy = item == 4 ? copy_row<float> : copy_row<double>;
    copy(memory + (planes[f] * plane + r * stride + lead) * item, columns, given.out<std::byte>(f) + r * columns * item);
  });
  return ffi::Error::Success();
}

using Marks = std::vector<std::uint8_t>;

// Rows and columns to the sides of a group.
struct Window {
  Index south, north, west, east;
};

// For every group, whether a cell in the window around it is marked.
template <class Marked>
Marks near(const std::uint8_t* cells, Index rows, Index columns, const Window& window, const Marked& marked) {
  const Index groups = (columns + GROUP - 1) / GROUP;
  Marks in_row(rows * groups), found(rows * groups, 0);
  std::vector<Index> before(columns + 1, 0);  // marked cells to the west
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < columns; ++i) before[i + 1] = before[i] + marked(cells[r * columns + i]);
    for (Index g = 0; g < groups; ++g) {
      const Index first = std::max<Index>(g * GROUP - window.west, 0);
      const Index last = std::min((g + 1) * GROUP + window.east, columns);
      in_row[r * groups + g] = before[last] > before[first];
    }
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index s = std::max<Index>(r - window.south, 0); s <= std::min(r + window.north, rows - 1); ++s) {
      for (Index g = 0; g < groups; ++g) found[r * groups + g] |= in_row[s * groups + g];
    }
  }
  return found;
}

// The Flag of every group of columns: COAST if land is in its window; with `leave_out`, DRY if no water is.
ffi::Error flag(Given given) {
  const auto* cells = given.next<std::uint8_t>();
  const Index rows = given.dimension(0), columns = given.dimension(1);
  const auto window = [&](const std::string& name) {
    const auto reach = [&](const char* side) { return given[(name + side).c_str()]; };
    return Window{reach("_south"), reach("_north"), reach("_west"), reach("_east")};
  };
  const Marks land = near(cells, rows, columns, window("land"), [](std::uint8_t cell) { return cell != ALL_WATER; });
  auto* const flags = given.out<std::uint8_t>(0);
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = land[n] ? COAST : WATER;
  if (!given["leave_out"] || std::memchr(land.data(), 1, land.size()) == nullptr) return ffi::Error::Success();
  const Marks water = near(cells, rows, columns, window("water"), [](std::uint8_t cell) { return cell & 1; });
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = water[n] ? flags[n] : DRY;
  return ffi::Error::Success();
}

// A field of a block at row r and column i, which may lie in the halo. Strips: west, east, south, north of the field.
template <class T>
struct Around {
  const T* plane;  // row 0, column 0
  const T *west, *east, *south, *north;
  Index ny, nx, halo, stride, across;

  T at(Index r, Index i) const {
    if (r < 0) return south[(r + halo) * across + i + halo];
    if (r >= ny) return north[(r - ny) * across + i + halo];
    if (i < 0) return west[r * halo + i + halo];
    return i < nx ? plane[r * stride + i] : east[r * halo + i - nx];
  }
};

// Flags for the pass over the rest, and for that over the gentle sea, [2, rows, groups]: a group belongs to the rest if the
// sea is not gentle within `reach` cells. Each pass leaves out what the other writes, except UNWRITTEN rows that it needs.
// Arrays: memory; planes [3, fields]; west, east, south, north; extent; depth; cells; flags; limits of the thickness, m, and of the bend.
template <class T>
ffi::Error rough_in(Given& given) {
  const T* memory = given.next<T>();
  const auto* planes = given.next<std::int32_t>();
  const void* strips[4];
  for (auto& strip : strips) strip = given.next();
  const auto* extent = given.next<std::int32_t>();
  const T* depth = given.next<T>();
  const auto* cells = given.next<std::uint8_t>();
  const Index all_rows = given.dimension(0), static_stride = given.dimension(1);
  const auto* flags = given.next<std::uint8_t>();
  const T* limits = given.next<T>();
  const T thin = limits[0], bend = limits[1];
  const auto is_gentle = reinterpret_cast<Gentle>(given["is_gentle"]);
  const Index halo = given["halo"], margin = given["margin"], lead = given["lead"], ny = extent[0], nx = extent[1];
  const Index item = given["strip"], across = given["columns"] + 2 * halo, rows = given["rows"];
  const T* plane = memory + planes[given["field"]] * given["plane"] + lead;
  const auto strip = [&](int side, Index size) { return static_cast<const T*>(strips[side]) + item * size; };
  const Around<T> h{plane, strip(0, rows * halo), strip(1, rows * halo), strip(2, across * halo), strip(3, across * halo),
                    ny, nx, halo, given["stride"], across};
  const Index groups = (static_stride + GROUP - 1) / GROUP, reach = halo, tall = ny + 2 * halo;
  // Columns of a group within the block and its halo.
  const auto begin_of = [&](Index g) { return std::clamp(g * GROUP - lead, -halo, nx + halo); };
  // Of row r, column i of the block.
  const auto place = [&](Index r, Index i) { return (r + margin) * static_stride + i + lead; };
  // Whether `ocean.drying.share_of` may be above zero in a cell that is not beside the end of the halo.
  const auto is_rough = [&](Index r, Index i) {
    const auto jump = [&](Index r, Index i, Index up, Index right, std::uint8_t open) {
      const T H = depth[place(r, i)], next = depth[place(r + up, i + right)], z = -std::min(H, next);
      if (!(cells[place(r, i)] & open)) return T(0);
      return std::max(z, h.at(r + up, i + right) - next) - std::max(z, h.at(r, i) - H);
    };
    const T here = h.at(r, i), across = jump(r, i, 0, 1, 2) - jump(r, i - 1, 0, 1, 2);
    const T along = jump(r, i, 1, 0, 4) - jump(r - 1, i, 1, 0, 4);
    return cells[place(r, i)] & 1 && !(here > thin && std::abs(across) < bend * here && std::abs(along) < bend * here);
  };
  std::vector<Index> first(tall * groups, 1), last(tall * groups, 0);  // rough columns of each row of a group
  const Index blocks = std::clamp<Index>(tall / 8, 1, std::max<Index>(1, given.pool.num_threads()));
  in_parallel(given.pool, blocks, [&](Index b) {
    for (Index r = std::max(b * tall / blocks - halo, 1 - halo); r < std::min((b + 1) * tall / blocks - halo, ny + halo - 1); ++r) {
      for (Index g = 0; g < groups; ++g) {
        const Index begin = std::max(begin_of(g), 1 - halo), end = std::min(begin_of(g + 1), nx + halo - 1);
        if (begin >= end) continue;
        T copy[3][GROUP + 2];
        const T* around = &copy[1][1];
        Index up = GROUP + 2;
        if (r > 0 && r < ny - 1 && begin > 0 && begin + GROUP < nx) {
          around = &plane[r * h.stride + begin];
          up = h.stride;
        } else {
          for (Index n = 0; n < 3 * up; ++n) copy[n / up][n % up] = h.at(r + n / up - 1, std::min(begin + n % up, nx + halo) - 1);
        }
        if (is_gentle(around, up, &depth[place(r, begin)], static_stride, thin, bend)) continue;
        const Index at = (r + halo) * groups + g;
        for (Index i = begin; i < end; ++i) {
          if (!is_rough(r, i)) continue;
          if (first[at] > last[at]) first[at] = i;
          last[at] = i;
        }
      }
    }
  });
  Marks rest(all_rows * groups, 0);
  for (Index r = 0; r < tall; ++r) {
    Marks found(groups, 0);
    bool some = false;
    for (Index at = r * groups; at < (r + 1) * groups; ++at) {
      if (first[at] > last[at]) continue;
      const Index begin = std::max<Index>(first[at] + lead - reach, 0) / GROUP;
      std::fill(&found[begin], &found[std::min((last[at] + lead + reach) / GROUP, groups - 1)] + 1, 1);
      some = true;
    }
    const Index f = r + margin - halo;  // the row of the flags
    for (Index s = std::max<Index>(f - reach, 0); some && s <= std::min(f + reach, all_rows - 1); ++s) {
      for (Index g = 0; g < groups; ++g) rest[s * groups + g] |= found[g];
    }
  }
  const auto mark = [&](std::uint8_t* found, std::uint8_t ours, Index warm) {
    for (Index g = 0; g < groups; ++g) {
      Index last = -1;  // the southernmost row of ours from here on to the north, if it is near enough
      for (Index f = all_rows; f-- > 0;) {
        const Index at = f * groups + g;
        if (rest[at] == ours) last = f;
        const bool needed = last >= 0 && last - f <= warm;
        found[at] = flags[at] == DRY || !needed ? std::uint8_t(DRY) : std::uint8_t(flags[at] + (rest[at] == ours ? 0 : UNWRITTEN));
      }
    }
  };
  mark(given.out<std::uint8_t>(0), 1, given["warm_rest"]);
  mark(given.out<std::uint8_t>(0) + all_rows * groups, 0, given["warm_gentle"]);
  return ffi::Error::Success();
}

ffi::Error rough(Given given) { return given["item"] == 4 ? rough_in<float>(given) : rough_in<double>(given); }

template <ffi::Error (*FUNCTION)(Given)>
ffi::Error called(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers) {
  return FUNCTION(Given(pool, arrays, results, numbers));
}

auto arguments() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets().Attrs(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_step, called<step>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_put, called<put>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_get, called<get>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_flag, called<flag>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_rough, called<rough>, arguments());

// See Built in __init__.py.
extern "C" {
extern const long swmodel_convention = CONVENTION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
}

}  // namespace swmodel
