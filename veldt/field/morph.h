// From one picture to another: the fields between two whose networks have the same form, weights between
// weights. All of them are pictures between a field and one that began with it (FitOptions::init), and
// between two that began with the same seed; between others the middle is noise, because their networks say
// the same in different ways.
// Tests: tests/field/clip_test.cpp, tests/app/film_test.cpp
#pragma once

#include "veldt/core/size.h"
#include "veldt/field/image_field.h"

namespace veldt::field {

class Morph {
 public:
  // Draws both at this size. Throws ConfigError for fields of other forms, which differ in anything but
  // weights, closing, tones and training, and for clips; and as render_bands().
  Morph(const ImageField& from, const ImageField& to, Size size, const RenderOptions& how = {});

  // The picture at this share of the way, 0..1: f32 [height, width, channels] in 0..1. Its ends are the
  // pictures of the two fields themselves. What a closing adds to a field is added by the share of that
  // field.
  Tensor picture(double share) const;

 private:
  ImageField from_, to_;
  Size size_;
  RenderOptions how_;
  Tensor from_adds_, to_adds_;  // what closing and tones add to each; undefined: nothing
};

// The field with weights between theirs, and no closing. Throws ConfigError as Morph.
ImageField field_between(const ImageField& from, const ImageField& to, double share);

}  // namespace veldt::field
