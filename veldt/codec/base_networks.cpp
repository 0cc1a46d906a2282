// base64 of the changes from networks of zeros, as networks_code.h writes them.
#include "veldt/codec/base_networks.h"

#include <array>
#include <string_view>

#include "veldt/codec/networks_code.h"
#include "veldt/core/base64.h"

namespace veldt::codec {

extern const std::array<std::string_view, kBaseNetworks> kBaseTexts;  // base_networks_texts.cpp

const Networks<std::int32_t>& base_networks(int which) {
  static const auto all = [] {
    std::array<Networks<std::int32_t>, kBaseNetworks> networks{};
    for (std::size_t i = 0; i < networks.size(); ++i) {
      const std::string bytes = from_base64(kBaseTexts[i]).value();
      RangeDecoder in(bytes);
      networks[i] = decode_networks(in, Networks<std::int32_t>{});
    }
    return networks;
  }();
  return all[static_cast<std::size_t>(which)];
}

}  // namespace veldt::codec
