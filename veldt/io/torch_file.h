// PyTorch's files of tensors, .pt, .pth and .bin: what torch.save writes of a state_dict or a
// checkpoint, and a file that torch.load takes. A pickle is in them, which is a program; Veldt runs
// none (io/pickle.h), and knows only what tensors need.
// Tests: tests/io/torch_file_test.cpp, tests/io/peers_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <string>

#include "veldt/io/loaded_state.h"

namespace veldt::io {

// Both of PyTorch's formats, the zip archive of 1.6 and later and the legacy one, in either byte order, all
// protocols of pickles. The state is the dict under "state_dict", "model" or another conventional key, or
// else all of the file (LoadedState::taken); what is beside it is listed in LoadedState::left_out. Names of
// dicts and lists in it are joined by dots.
//
// Tensors that share memory in PyTorch share it here: each storage is read once, straight into the memory of
// its tensors, which are views of it (contiguous() or clone() makes others). int8, int16, uint16, uint32 and
// uint64 become i64, float8_e4m3fn and float8_e5m2 f32, as LoadedState::converted says. NumPy's arrays are
// tensors too. Nothing requires a gradient.
//
// Throws IoError missing; malformed for a file that breaks the format, and for what is refused: a pickle that
// names anything else, with that name ("os.system", or the class of a whole module); programs of TorchScript;
// PyTorch's tar format before 0.1.10; tensors that are complex, quantised or sparse; a uint64 beyond i64;
// more than kMaxRank dimensions. ConfigError if LoadOptions::take is not there.
LoadedState read_torch(const std::string& path, const LoadOptions& options = {});

// A zip archive of a dict of these tensors, in their order, that torch.load(path, weights_only=True) takes.
// All or nothing; the same tensors give the same bytes, aligned so that they can be mapped. Throws
// ConfigError for an empty or repeated name, or one that is not plain text in UTF-8; IoError unwritable.
void write_torch(const std::string& path, const NamedTensors& tensors);

}  // namespace veldt::io
