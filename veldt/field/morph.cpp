// Draws what is between two fields.
#include "veldt/field/morph.h"

#include <algorithm>
#include <string>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// Without what is not the network's.
FieldOptions open_options(FieldOptions o) {
  o.closing = 0;
  o.tones.clear();
  o.bits = 8;
  return o;
}

std::string form_in_words(const FieldOptions& o) {
  std::string text = str(name_of(model_of(o)), " of ", o.width, "x", o.height, ", ", o.channels,
                         o.channels == 1 ? " channel" : " channels", ", layers of");
  for (const std::int64_t width : o.widths) text += str(' ', width);
  return o.widths.empty() ? text + " none" : text;
}

// What to do so that both have the form of the first; each was tried.
std::string how_to_match(const FieldOptions& a, const FieldOptions& b) {
  const std::string again = "fit the second picture again with --init FIRST";
  const auto has_alpha = [](const FieldOptions& o) { return o.channels % 2 == 0; };
  const auto is_grey = [](const FieldOptions& o) { return o.channels < 3; };
  if (a.channels != b.channels) {
    const bool lays = has_alpha(a) != has_alpha(b), colours = is_grey(a) != is_grey(b);
    std::string text;
    if (lays)
      text =
          "lay the picture with alpha over a colour (veldt resize IN -o OUT --scale 1 --background white), ";
    if (colours) text += str("save the grey picture as ", lays || !has_alpha(a) ? "RGB" : "RGBA", ", ");
    const bool first_too = (lays && has_alpha(a)) || (colours && is_grey(a));
    return str(text, first_too ? "fit the first again, and " : "and ", again);
  }
  if (a.width != b.width || a.height != b.height)
    return str("bring the second picture to that size (veldt resize IN -o OUT --size ", a.width, 'x',
               a.height, "), and ", again);
  if (a.squares != b.squares || a.period != b.period || a.two_tone != b.two_tone)
    return "fit both with --style photo, the second with --init FIRST";
  // Each model has footprints of its own.
  return a.footprint == b.footprint || model_of(a) != model_of(b)
             ? again
             : "fit both with the same --source, the second with --init FIRST";
}

void check_form(const ImageField& from, const ImageField& to) {
  const FieldOptions a = open_options(from.options()), b = open_options(to.options());
  if (a.is_clip() || b.is_clip())
    throw ConfigError("a clip cannot be morphed", "it moves by itself", "draw it as an animation");
  if (!(a == b)) {
    const std::string one = form_in_words(a), other = form_in_words(b);
    throw ConfigError("these fields have different forms",
                      one == other
                          ? str("both are ", one, ", but their grids, frequencies, styles or sources differ")
                          : str("one is ", one, ", and the other ", other),
                      how_to_match(a, b));
  }
}

// The whole drawing of a field.
Tensor drawn(const ImageField& field, Size size, const RenderOptions& how) { return field.render(size, how); }

ImageField open(const ImageField& field) {
  ImageField out(open_options(field.options()), 0);
  out.network().load_state_dict(field.network().state_dict());
  out.to(field.device());
  return out;
}

}  // namespace

ImageField field_between(const ImageField& from, const ImageField& to, double share) {
  check_form(from, to);
  NoGrad off;
  ImageField out(open_options(from.options()), 0);
  out.to(from.device());
  const auto a = from.network().state_dict(), b = to.network().state_dict();
  const auto into = out.network().state_dict();
  for (std::size_t i = 0; i < into.size(); ++i) {
    // What is not trained must be the same, or the trained weights mean something else.
    const bool is_fixed = into[i].name.ends_with("frequencies");
    if (is_fixed && sum(abs(a[i].tensor - b[i].tensor)).item() != 0)
      throw ConfigError("these fields have different forms", "their random frequencies differ",
                        "fit the second picture with --init FIRST");
    Tensor tensor = into[i].tensor;
    tensor.assign(is_fixed ? a[i].tensor : affine(a[i].tensor, 1 - share, 0) + affine(b[i].tensor, share, 0));
  }
  return out;
}

Morph::Morph(const ImageField& from, const ImageField& to, Size size, const RenderOptions& how)
    : from_(from), to_(to), size_(size), how_(how) {
  check_form(from, to);
  NoGrad off;
  const auto adds = [&](const ImageField& field) {
    const FieldOptions& o = field.options();
    if (o.closing == 0 && o.tones.empty()) return Tensor();
    return drawn(field, size, how) - drawn(open(field), size, how);
  };
  from_adds_ = adds(from);
  to_adds_ = adds(to);
}

Tensor Morph::picture(double share) const {
  NoGrad off;
  Tensor out = drawn(field_between(from_, to_, share), size_, how_);
  if (from_adds_.defined()) out = out + affine(from_adds_, 1 - share, 0);
  if (to_adds_.defined()) out = out + affine(to_adds_, share, 0);
  return clamp(out, 0, 1);
}

}  // namespace veldt::field
