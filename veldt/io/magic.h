// What a file seems to be, from its first bytes: for choosing a reader, and for errors that name the kind of
// the input.
// Tests: tests/io/picture_formats_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "veldt/io/image.h"

namespace veldt::io {

inline constexpr std::size_t kMagicBytes = 64;  // how many of them the functions below use

// "a JPEG", "a zip archive" ...; "" for bytes of no known kind, such as text.
std::string_view known_content(std::string_view first_bytes);

// The format of a picture that Veldt reads.
std::optional<ImageFormat> picture_format(std::string_view first_bytes);

// Whether they belong to a sound that libsndfile may read.
bool is_sound(std::string_view first_bytes);

// Whether they look like an ONNX model, which begins with no word of its own: a small version of the format,
// then the name of what wrote it or the graph.
bool is_onnx(std::string_view first_bytes);

// A clause for an error: "it seems to be a PDF", "the file is empty", "it seems to be text".
std::string seems_to_be(std::string_view first_bytes);

}  // namespace veldt::io
