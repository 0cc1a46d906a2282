// A pixel of the view: the mean of its samples, as Field::render_bands() takes them. Before it stand the constants of
// the field (FIELD_CHANNELS ..) and levels().
uniform vec2 placeHigh, placeLow, placeStep;  // pixel q begins at place high + (low + q step), in fitted pixels
uniform vec2 cHigh, cLow, cStep;              // and enters the network as that: two floats are nearly a double
uniform vec2 cScale, cShift;                  // the same of a place: scale place + shift
uniform vec2 size;                            // of what is drawn, in pixels
uniform vec2 lattice;                         // the columns and rows that it was fitted to
uniform int samples;                          // along each side of a pixel; 0: those of the fit that it covers
uniform float gain;
uniform bool weighs;                          // colours by alpha
uniform bool isOwn;                           // drawn pixel on fitted pixel: two tones are told apart
uniform vec4 toneA, toneB;
out vec4 colour;

void main() {
  vec2 q = vec2(gl_FragCoord.x - 0.5, size.y - 0.5 - gl_FragCoord.y);
  vec2 begin = placeHigh + (placeLow + q * placeStep), end = placeHigh + (placeLow + (q + 1.0) * placeStep);
  vec2 middle = placeHigh + (placeLow + (q + 0.5) * placeStep);
  colour = vec4(0.0);
  if (any(lessThan(middle, vec2(0.0))) || any(greaterThanEqual(middle, lattice))) return;
  vec2 first = clamp(floor(begin), vec2(0.0), lattice - 1.0), last = clamp(ceil(end), first + 1.0, lattice);
  ivec2 count = samples > 0 ? ivec2(samples) : ivec2(last - first);
  vec4 sum = vec4(0.0), weighed = vec4(0.0);
  float all = 0.0;
  for (int b = 0; b < count.y; ++b)
    for (int a = 0; a < count.x; ++a) {
      vec2 at = vec2(a, b), place, c;
      float weight = 1.0;
      if (samples > 0) {
        vec2 within = q + (at + 0.5) / float(samples);
        place = placeHigh + (placeLow + within * placeStep);
        c = cHigh + (cLow + within * cStep);
      } else {
        vec2 from = first + at, to = from + 1.0;
        vec2 low = mix(max(begin, from), begin, equal(from, vec2(0.0)));
        vec2 high = mix(min(end, to), end, equal(to, lattice));
        vec2 inside = max(high - low, 0.0);
        weight = inside.x * inside.y;
        place = from + 0.5;
        c = cScale * place + cShift;
      }
      vec4 level = levels(c, place, gain);
      sum += weight * level;
      weighed += weight * level[FIELD_CHANNELS - 1] * level;
      all += weight;
    }
  vec4 mean = sum / all;
  if (weighs && sum[FIELD_CHANNELS - 1] > 0.0) {
    float alpha = mean[FIELD_CHANNELS - 1];
    mean = weighed / sum[FIELD_CHANNELS - 1];
    mean[FIELD_CHANNELS - 1] = alpha;
  }
  if (isOwn) {
    vec4 toA = mean - toneA, toB = mean - toneB;
    mean = dot(toB, toB) < dot(toA, toA) ? toneB : toneA;
  }
#if FIELD_CHANNELS == 1
  colour = vec4(mean.xxx, 1.0);
#elif FIELD_CHANNELS == 2
  colour = vec4(mean.xxx, mean.y);
#elif FIELD_CHANNELS == 3
  colour = vec4(mean.xyz, 1.0);
#else
  colour = mean;
#endif
}
