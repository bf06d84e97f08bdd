// The arguments of an FFI handler, and the threads that it may use.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "pass_arguments.h"
#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;

// Calls task(0) ... task(n - 1), each once, on the threads of the pool and on this one. This thread takes all tasks that
// the others have not begun, so it need not wait for a pool that is busy with something else.
template <class Task>
void parallel_for(ffi::ThreadPool& pool, Index n, const Task& task) {
  struct Progress {
    std::atomic<Index> begun{0}, done{0};
  };
  const auto progress = std::make_shared<Progress>();
  const auto work = [progress, n, &task] {
    // A thread that finds no task left touches only the counters, which it keeps alive.
    for (Index i; (i = progress->begun.fetch_add(1)) < n;) {
      task(i);
      progress->done.fetch_add(1, std::memory_order_release);
    }
  };
  for (Index i = 1; i < std::min<Index>(n, pool.num_threads()); ++i) pool.Schedule(std::function<void()>(work));
  work();
  while (progress->done.load(std::memory_order_acquire) < n) std::this_thread::yield();
}

// The arguments of an FFI handler: arrays in order, results by number, attributes by name.
class Arguments {
 public:
  Arguments(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary attributes)
      : pool(pool), arrays_(arrays), results_(results), attributes_(attributes) {}

  ffi::ThreadPool pool;

  // The next array; `dimension` then gives the dimensions of this one.
  template <class T = void>
  const T* next() {
    const ffi::AnyBuffer array = *arrays_.get<ffi::AnyBuffer>(number_++);
    dimensions_ = array.dimensions().begin();
    return static_cast<const T*>(array.untyped_data());
  }
  Index dimension(std::size_t axis) const { return dimensions_[axis]; }
  bool has_more() const { return number_ < arrays_.size(); }
  ffi::AnyBuffer result(std::size_t number) const { return **results_.get<ffi::AnyBuffer>(number); }
  template <class T = void>
  T* out(std::size_t number) const {
    return static_cast<T*>(result(number).untyped_data());
  }
  // Bytes per number of the results.
  Index itemsize() const { return result(0).element_type() == ffi::F32 ? 4 : 8; }
  std::size_t n_results() const { return results_.size(); }
  Index operator[](const char* name) const { return *attributes_.get<std::int64_t>(name); }

 private:
  ffi::RemainingArgs arrays_;
  ffi::RemainingRets results_;
  ffi::Dictionary attributes_;
  const std::int64_t* dimensions_ = nullptr;
  std::size_t number_ = 0;
};

}  // namespace swmodel
