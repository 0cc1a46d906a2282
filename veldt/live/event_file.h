// Files that TensorBoard reads: scalars, histograms, pictures and texts of a run, by step.
//   live::EventFile events("runs/mnist/tensorboard");
//   events.add_scalar("loss", 100, 0.25);
// The format is TensorFlow's: records of Event messages (event.proto, summary.proto), each with its CRC-32C.
// Tests: tests/live/event_file_test.cpp
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::live {

class EventFile {
 public:
  // A new file in the directory, which is made if it is not there. `step`: where the run begins; TensorBoard
  // then forgets what an earlier file has of later steps. Throws IoError unwritable; Error in a build without
  // protozero.
  explicit EventFile(const std::string& directory, std::int64_t step = 0);

  // Each throws IoError unwritable. What was added can be read after flush(), and once the object is gone.
  void add_scalar(std::string_view tag, std::int64_t step, double value);
  // The distribution of all values of a tensor of floats (as f32), in 64 buckets; those that are not finite
  // are left out.
  void add_histogram(std::string_view tag, std::int64_t step, const Tensor& values);
  // A PNG of that size and number of channels.
  void add_picture(std::string_view tag, std::int64_t step, std::string_view png, Size size, int channels);
  // Shown as Markdown.
  void add_text(std::string_view tag, std::int64_t step, std::string_view text);
  void flush();

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(const std::string& event);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// CRC-32C (Castagnoli) of bytes, as iSCSI and TensorFlow have it.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace veldt::live
