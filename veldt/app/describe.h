// What files hold, as JSON objects for `veldt info`.
// Tests: tests/app/verbs_test.cpp, tests/app/sound_test.cpp, tests/app/pictures_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "veldt/field/options.h"
#include "veldt/tensor/tensor.h"

namespace veldt::app {

// "2-128-128-1": the sizes of a network's layers, input and output too.
std::string layers_in_words(const field::FieldOptions& options);

// `verify` reads the file through; then "verified" is true in what is returned. All throw IoError.
nlohmann::ordered_json describe_picture(const std::string& path, bool verify, std::int64_t max_pixels);
nlohmann::ordered_json describe_sound(const std::string& path, bool verify, std::int64_t max_pixels);
nlohmann::ordered_json describe_table(const std::string& path, std::int64_t max_pixels);
// A model of Veldt's, or any other file of tensors. Numbers that are not finite make a model corrupt;
// elsewhere they are counted ("not_finite").
nlohmann::ordered_json describe_safetensors(const std::string& path, bool verify);
// A checkpoint, a directory of checkpoints, or the folder of a run of `veldt train`, which is described by
// its network. Checkpoints are always read through; a damaged one among several is described ("damage")
// rather than thrown.
nlohmann::ordered_json describe_directory(const std::string& path, bool verify);

// How many of its numbers are infinite or NaN; 0 for whole numbers.
std::int64_t count_not_finite(const Tensor& tensor);

// Throws IoError corrupt if a description reports damage.
void require_whole(const nlohmann::ordered_json& description);

}  // namespace veldt::app
