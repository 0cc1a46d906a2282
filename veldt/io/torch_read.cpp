// Reads PyTorch's two formats: finds the pickle, has it say which storages there are, and fills each once.
#include <algorithm>
#include <map>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/magic.h"
#include "veldt/io/pickle.h"
#include "veldt/io/torch_file.h"
#include "veldt/io/torch_globals.h"
#include "veldt/io/torch_loader.h"
#include "veldt/io/zip.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{1} << 30;
// 0x1950a86a20f9469cfc6c, the first value of a legacy file, as PickleKind::large has it.
constexpr std::string_view kTorchMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\0\0\0\0\0\0", 16);
constexpr std::int64_t kTorchProtocol = 1001;

IoError malformed_torch(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read " + path, why, "save, copy or download the file again"};
}

IoError refused_torch(const std::string& path, const std::string& why, const std::string& fix) {
  return {IoError::Kind::malformed, path + " holds no tensors that can be read alone", why, fix};
}

[[noreturn]] void refuse_globals(const std::string& path, const std::vector<std::string>& names) {
  std::string others;
  for (std::size_t i = 1; i < names.size(); ++i) others += (i == 1 ? "; it also names " : ", ") + names[i];
  const bool is_module = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("torch.nn.modules.") || name.starts_with("torchvision.models.");
  });
  throw IoError(
      IoError::Kind::malformed, str(path, " is refused: its pickle names ", names.front()),
      (is_module ? "a whole module was saved, which is code and not tensors, and Veldt runs none"
                 : "a pickle can run any program; Veldt runs none, and knows only what tensors need") +
          others,
      "save the tensors alone, in Python: torch.save(model.state_dict(), PATH)");
}

// A pickle that names nothing but what the table has, or the caller passes over.
Pickle read_checked(PickleInput& input, const LoadOptions& options) {
  const std::set<std::string, std::less<>> passed(options.pass_over.begin(), options.pass_over.end());
  Pickle pickle = read_pickle(input, [&](std::string_view name) {
    return torch_global(name).role != TorchRole::unknown || passed.contains(name);
  });
  if (!pickle.unknown.empty()) refuse_globals(input.name(), pickle.unknown);
  return pickle;
}

// ---- the zip format ----

// The members of PyTorch's archives are in one folder, of any name.
class TorchArchive {
 public:
  explicit TorchArchive(const std::string& path) : path_(path), archive_(path) {
    for (const ZipEntry& entry : archive_.entries()) by_name_[entry.name] = &entry;
    folder_ = folder();
  }

  LoadedState read(const LoadOptions& options) {
    const ZipEntry& entry = need("data.pkl");
    if (entry.bytes > kMaxPickleBytes)
      throw malformed_torch(
          path_, str("its pickle has ", entry.bytes, " bytes, and ", kMaxPickleBytes, " are read"));
    ZipMember member(archive_, entry);
    PickleInput input(path_, entry.bytes, [&](void* to, std::size_t bytes) { member.read(to, bytes); });
    const Pickle pickle = read_checked(input, options);
    if (input.left() > 0) throw malformed_torch(path_, "its pickle ends before its member does");
    if (entry.crc != 0) member.finish();  // 0: PyTorch was told to compute none
    TorchLoader loader(pickle, entry.bytes, path_, options);
    fill(loader);
    return loader.finish("PyTorch, zip");
  }

 private:
  const ZipEntry* find(const std::string& name) const {
    const auto found = by_name_.find(folder_ + "/" + name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const ZipEntry& need(const std::string& name) const {
    const ZipEntry* entry = find(name);
    if (entry == nullptr) throw malformed_torch(path_, str("its archive has no member ", folder_, "/", name));
    return *entry;
  }

  std::string folder() const {
    for (const auto& [name, entry] : by_name_) {
      const std::size_t end = name.find('/');
      const std::string_view rest = end == std::string::npos ? "" : std::string_view(name).substr(end + 1);
      if (rest == "constants.pkl" || rest.starts_with("code/"))
        throw refused_torch(
            path_, "it is a program of TorchScript",
            "save its tensors, in Python: torch.save(torch.jit.load(PATH).state_dict(), OTHER)");
      if (rest == "archive_format" || rest.starts_with("models/"))
        throw refused_torch(
            path_, "it is a program of torch.export",
            "save its tensors, in Python: torch.save(torch.export.load(PATH).state_dict, OTHER)");
    }
    for (const auto& [name, entry] : by_name_)
      if (const std::size_t end = name.find('/'); end != std::string::npos && name.substr(end) == "/data.pkl")
        return name.substr(0, end);
    throw refused_torch(path_, "it is a zip archive without PyTorch's data.pkl",
                        "give a file that torch.save wrote");
  }

  bool is_big_endian() {
    const ZipEntry* entry = find("byteorder");
    if (entry == nullptr) return false;  // before 2.1 only little-endian machines could read them
    std::string order(std::min<std::uint64_t>(entry->bytes, 16), '\0');
    ZipMember(archive_, *entry).read(order.data(), order.size());
    if (order != "little" && order != "big")
      throw malformed_torch(path_, str("its byte order is '", order, "'"));
    return order == "big";
  }

  // In the order of the file.
  void fill(TorchLoader& loader) {
    const bool big_endian = is_big_endian();
    std::vector<std::pair<const ZipEntry*, TorchLoader::Key>> order;
    for (const auto& [key, storage] : loader.needed()) {
      const ZipEntry& entry = need("data/" + key.first);
      if (entry.bytes != storage.bytes())
        throw malformed_torch(path_, str("storage ", key.first, " has ", entry.bytes,
                                         " bytes, and should have ", storage.bytes()));
      order.emplace_back(&entry, key);
    }
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.first->begin < b.first->begin; });
    for (const auto& [entry, key] : order) {
      ZipMember member(archive_, *entry);
      loader.fill(key, big_endian, [&](void* to, std::size_t bytes) { member.read(to, bytes); });
      if (entry->crc != 0) member.finish();
    }
  }

  std::string path_;
  ZipReader archive_;
  std::map<std::string, const ZipEntry*> by_name_;
  std::string folder_;
};

// ---- the legacy format ----

// Five pickles one after the other: the magic number, the protocol, facts of the machine, the object, and the
// keys of the storages; then these in that order, each its number of elements in eight bytes and the
// elements. All numbers are little-endian, on any machine.
class LegacyTorchFile {
 public:
  explicit LegacyTorchFile(const std::string& path) : path_(path), file_(path) {}

  LoadedState read(const LoadOptions& options) {
    const Pickle magic = next({});
    if (magic.top().kind != PickleKind::large || magic.top().text != kTorchMagic)
      throw refused_torch(path_, "it is a pickle of Python's, and none that torch.save wrote",
                          "save its tensors with torch.save, or NumPy's arrays with numpy.savez");
    const Pickle protocol = next({});
    if (protocol.top().kind != PickleKind::integer || protocol.top().integer != kTorchProtocol)
      throw malformed_torch(path_, "its protocol is not 1001, which is the only one there was");
    next({});
    const std::uint64_t before = position_;
    const Pickle object = next(options);
    TorchLoader loader(object, position_ - before, path_, options);
    fill(loader, storages_of(object), next({}));
    return loader.finish("PyTorch, legacy");
  }

 private:
  Pickle next(const LoadOptions& options) {
    file_.seek(position_);
    PickleInput input(path_, file_.size() - position_,
                      [&](void* to, std::size_t bytes) { file_.read_exactly(to, bytes); });
    Pickle pickle = read_checked(input, options);
    position_ += input.taken();
    return pickle;
  }

  // All that the pickle names, so that those that are not needed can be passed over.
  std::map<std::string, TorchStorage> storages_of(const Pickle& pickle) const {
    const TorchPickle torch(pickle, path_);
    std::map<std::string, TorchStorage> all;
    for (const PickleValue& value : pickle.values) {
      if (value.kind != PickleKind::persistent) continue;
      TorchStorage storage = torch.storage(value);
      const std::string key = storage.key;
      const TorchStorage& known = all.try_emplace(key, std::move(storage)).first->second;
      if (known.bytes() != torch.storage(value).bytes())
        throw malformed_torch(path_, str("storage ", key, " is of two sizes at once"));
    }
    return all;
  }

  void fill(TorchLoader& loader, const std::map<std::string, TorchStorage>& all, const Pickle& keys) {
    std::set<std::string> filled;
    for (const PickleRef ref : keys.top().items) {
      const std::string& key = keys[ref].text;
      const auto described = all.find(key);
      if (described == all.end() || !filled.insert(key).second)
        throw malformed_torch(path_,
                              str("it lists a storage ", key, " that its pickle does not name, or twice"));
      file_.seek(position_);
      std::uint64_t numel = 0;
      file_.read_exactly(&numel, sizeof numel);
      position_ += sizeof numel;
      const std::uint64_t bytes = described->second.bytes();
      if (numel != described->second.numel || bytes > file_.size() - position_)
        throw malformed_torch(
            path_, str("storage ", key, " should have ", described->second.numel, " elements, and ", numel,
                       " are announced, ", file_.size() - position_, " bytes before the end"));
      for (auto wanted = loader.needed().lower_bound({key, {}});
           wanted != loader.needed().end() && wanted->first.first == key; ++wanted) {
        file_.seek(position_);
        loader.fill(wanted->first, false,
                    [&](void* to, std::size_t count) { file_.read_exactly(to, count); });
      }
      position_ += bytes;
    }
    for (const auto& [key, storage] : loader.needed())
      if (!filled.contains(key.first))
        throw malformed_torch(path_, str("it does not have storage ", key.first));
  }

  std::string path_;
  InputFile file_;
  std::uint64_t position_ = 0;
};

std::string first_bytes(const std::string& path, std::size_t count) {
  InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), count), '\0');
  file.read_exactly(head.data(), head.size());
  return head;
}

}  // namespace

LoadedState read_torch(const std::string& path, const LoadOptions& options) {
  const std::string head = first_bytes(path, 512);
  if (head.starts_with("PK")) return TorchArchive(path).read(options);
  if (head.size() >= 262 && head.substr(257, 5) == "ustar")
    throw refused_torch(path, "it is in the tar format of PyTorch before 0.1.10",
                        "save it anew, in Python: torch.save(torch.load(PATH, weights_only=False), OTHER)");
  if (head.empty() || !known_content(head).empty())
    throw IoError(IoError::Kind::malformed, path + " is no file of PyTorch's", seems_to_be(head),
                  "give a file that torch.save wrote");
  return LegacyTorchFile(path).read(options);
}

}  // namespace veldt::io
