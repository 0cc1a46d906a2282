// One byte of the plan, the axes, the networks, the lengths of the pieces, the pieces.
#include "veldt/codec/photograph.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "veldt/codec/base_networks.h"
#include "veldt/codec/packed_file.h"
#include "veldt/codec/synthesis.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

const ContextModel<std::int32_t>& model_at(const Networks<std::int32_t>& networks, int level) {
  return networks.models[static_cast<std::size_t>(model_of(level))];
}

Region joined(const Region& a, const Region& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

// Whole tiles around a region.
Region tiles_around(const Region& r, const Tiles& tiles) {
  const auto down = [&](std::int64_t v) { return v >> tiles.tile_log2 << tiles.tile_log2; };
  const auto up = [&](std::int64_t v, std::int64_t end) { return std::min(down(v + tiles.side() - 1), end); };
  return {down(r.x0), down(r.y0), up(r.x1, tiles.level.width), up(r.y1, tiles.level.height)};
}

}  // namespace

std::string write_photograph(const Pyramid& pyramid, const Networks<std::int32_t>& networks,
                             const Shifts& shifts, PhotographPlan plan) {
  const Size picture = pyramid[0].level();
  std::vector<std::string> pieces;
  for (int l = kLevels - 1; l >= 0; --l) {
    const Tiles tiles{level_size(picture, l), plan.tile_log2};
    const std::size_t first = pieces.size();
    pieces.resize(first + static_cast<std::size_t>(tiles.count()));
    parallel_for(tiles.count(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        RangeEncoder out;
        encode_tile(out, pyramid, l, tiles[t], model_at(networks, l));
        pieces[first + static_cast<std::size_t>(t)] = out.finish();
      }
    });
  }
  std::string body(1, static_cast<char>(plan.base | (plan.tile_log2 - kLeastTile) << 4));
  body.append(reinterpret_cast<const char*>(&plan.axes), kAxesBytes);
  RangeEncoder numbers;
  encode_networks(numbers, base_networks(plan.base), networks, shifts);
  const std::string changes = numbers.finish();
  put_integer(body, changes.size());
  body += changes;
  for (const std::string& piece : pieces) put_integer(body, piece.size());
  for (const std::string& piece : pieces) body += piece;
  return body;
}

PhotographReader::PhotographReader(std::string_view body, Size picture, std::string name, bool partial)
    : picture_(picture) {
  const auto refuse = [&](const std::string& why) {
    return IoError(IoError::Kind::malformed, "cannot read " + name, why,
                   "pack the picture again, or fetch the file again");
  };
  if (body.size() < 1 + kAxesBytes) throw refuse("it ends before its networks");
  // The most probable latent takes 1.5e-4 bits.
  if (const std::int64_t least = picture.width * picture.height >> 16; !partial && least > std::ssize(body))
    throw refuse(str("it is ", body.size(), " bytes, and a picture of its size takes ", least, " or more"));
  const auto plan = static_cast<unsigned char>(body[0]);
  plan_ = {plan & 0xf, (plan >> 4) + kLeastTile, {}};
  if (plan_.base >= kBaseNetworks)
    throw refuse(str("it begins with networks ", plan_.base, ", and this Veldt has ", kBaseNetworks));
  body.remove_prefix(1);
  std::memcpy(&plan_.axes, body.data(), kAxesBytes);
  body.remove_prefix(kAxesBytes);
  std::int64_t length = 0;
  if (!take_integer(body, length) || static_cast<std::uint64_t>(length) > body.size())
    throw refuse("it ends before its networks do");
  RangeDecoder numbers(body.substr(0, static_cast<std::size_t>(length)));
  networks_ = decode_networks(numbers, base_networks(plan_.base));
  body.remove_prefix(static_cast<std::size_t>(length));
  const std::uint64_t count = piece_count();
  if (count > body.size()) throw refuse(str("it ends before the lengths of its ", count, " pieces do"));
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!take_integer(body, length))
      throw refuse(str("it ends before the lengths of its ", count, " pieces do"));
    lengths.push_back(static_cast<std::uint64_t>(length));
  }
  const auto there = static_cast<double>(body.size());
  for (const std::uint64_t bytes : lengths) {
    last_is_cut_ = bytes > body.size();
    pieces_.push_back(body.substr(0, bytes));
    body.remove_prefix(pieces_.back().size());
    if (last_is_cut_) break;
  }
  if (last_is_cut_) {
    if (!partial) throw refuse(str("it ends in piece ", pieces_.size(), " of ", count));
    share_ = there / std::accumulate(lengths.begin(), lengths.end(), 0.0);
    return;
  }
  if (!body.empty()) throw refuse(str("it has ", body.size(), " bytes more than its pieces"));
}

std::uint64_t PhotographReader::piece_count() const {
  std::uint64_t count = 0;
  for (int l = 0; l < kLevels; ++l) count += static_cast<std::uint64_t>(tiles(l).count());
  return count;
}

Pyramid PhotographReader::latents(const Region& region) const {
  // From fine to coarse: what the pixels need, and what the models of the tiles of finer levels do.
  std::array<Region, kLevels> needed;
  Region samples = synthesis_needs(region, picture_);
  needed[0] = tiles_around(samples, tiles(0));
  for (int l = 1; l < kLevels; ++l) {
    const Size level = level_size(picture_, l);
    const Region& finer = needed[static_cast<std::size_t>(l - 1)];
    samples = upsampling_needs(samples, level);
    const Region contexts = {
        std::max<std::int64_t>((finer.x0 - 1) >> 1, 0), std::max<std::int64_t>((finer.y0 - 1) >> 1, 0),
        std::min((finer.x1 >> 1) + 1, level.width), std::min((finer.y1 >> 1) + 1, level.height)};
    needed[static_cast<std::size_t>(l)] = tiles_around(joined(samples, contexts), tiles(l));
  }
  Pyramid pyramid;
  for (std::size_t l = 0; l < kLevels; ++l)
    pyramid[l] = Latents(level_size(picture_, static_cast<int>(l)), needed[l]);
  std::size_t first = 0;
  for (int l = kLevels - 1; l >= 0; --l) {
    const Tiles all = tiles(l);
    std::vector<std::int64_t> some;
    for (std::int64_t t = 0; t < all.count(); ++t)
      if (needed[static_cast<std::size_t>(l)].contains(all[t].x0, all[t].y0) &&
          first + static_cast<std::size_t>(t) < pieces_.size())
        some.push_back(t);
    parallel_for(static_cast<std::int64_t>(some.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t t = some[static_cast<std::size_t>(i)];
        const std::size_t piece = first + static_cast<std::size_t>(t);
        RangeDecoder in(pieces_[piece]);
        decode_tile(in, pyramid, l, all[t], model_at(networks_, l),
                    last_is_cut_ && piece + 1 == pieces_.size());
      }
    });
    first += static_cast<std::size_t>(all.count());
  }
  return pyramid;
}

std::vector<std::uint8_t> PhotographReader::pixels(const Region& region) const {
  return synthesise(latents(region), region, networks_.synthesis, plan_.axes);
}

}  // namespace veldt::codec
