// Decodes a packed photograph (docs/formats.md) as veldt/codec does: sums of 32 bits wrap around, so that each
// pixel is the same here.
'use strict';
const unpacker = (() => {
const kLevels = 7, kWide = 16, kHidden = 24, kColours = 3, kDetail = 4, kScales = 97, kLargest = 511;
const kModelNumbers = [256, 16, 256, 16, 32, 2, 32], kSynthesisNumbers = [168, 24, 72, 3, 21, 108, 4, 108, 3, 24];
const clamp = (v, low, high) => v < low ? low : v > high ? high : v;

class RangeDecoder {
  constructor(bytes) {
    this.bytes = bytes;
    this.next = this.code = 0;
    this.range = 0xffffffff;
    for (let i = 0; i < 4; ++i) this.code = (this.code << 8 | this.byte()) >>> 0;
  }
  byte() { return this.next < this.bytes.length ? this.bytes[this.next++] : 0; }
  peek(bits) {
    this.range >>>= bits;
    return Math.min(Math.floor(this.code / this.range), 2 ** bits - 1);
  }
  take(start, size) {
    this.code = (this.code - start * this.range) >>> 0;
    this.range *= size;
    while (this.range < 0x1000000) {
      this.code = (this.code << 8 | this.byte()) >>> 0;
      this.range = (this.range << 8) >>> 0;
    }
  }
  bits(count) {
    let value = 0;
    for (; count > 0; count -= 8) {
      const now = Math.min(count, 8), part = this.peek(now);
      this.take(part, 1);
      value = value * 2 ** now + part;
    }
    return value;
  }
  golomb() {
    let length = 0;
    while (length < 32 && this.bits(1) === 1) ++length;
    return Math.min(2 ** length + this.bits(length) - 1, 0xffffffff);
  }
}

// The tails of the Laplace distributions, 31 fractional bits: see laplace.cpp.
const kEighths = [2147483648n, 1969251188n, 1805811301n, 1655936265n, 1518500250n, 1392470869n, 1276901417n, 1170923762n];
const times = (a, b) => a * b >> 31n;
const expMinus = x => {
  const small = x >> 6n;
  let term = 1n << 31n, plus = 1n << 31n, minus = 0n;
  for (let n = 1n; n < 8n; ++n) {
    term = times(term, small) / n;
    if (n % 2n === 0n) plus += term;
    else minus += term;
  }
  let value = plus - minus;
  for (let i = 0; i < 6; ++i) value = times(value, value);
  return value;
};
const scales = [];
const scaleAt = s => {
  s = clamp(s, 0, kScales - 1);
  if (scales[s]) return scales[s];
  const octave = BigInt(s + 7 >> 3), reach = Number((kEighths[(8 - s % 8) % 8] * 11n << octave) >> 37n) + 3;
  const factor = expMinus(kEighths[s % 8] * 4n >> BigInt(s >> 3)), tail = new Uint32Array(16 * (reach + 1) + 1);
  let left = 1n << 30n;
  for (let i = 0; i < tail.length; ++i) {
    tail[i] = Number(left);
    left = times(left, factor);
  }
  return scales[s] = {reach, tail, shared: 65536 - (2 * reach + 2)};
};
const laplace = (coder, mean16, s) => {
  const {reach, tail, shared} = scaleAt(s), middle = mean16 + 8 >> 4, offset = mean16 - 16 * middle;
  const found = coder.peek(16);
  if (found === 0) {
    coder.take(0, 1);
    const negative = coder.bits(1) === 1, k = coder.golomb() + reach + 1;
    return clamp(middle + (negative ? -k : k), -2147483648, 2147483647);
  }
  const start = k => {
    if (k <= -reach) return 1;
    if (k > reach) return 65536;
    const n = 16 * k - 8 - offset, below = n < 0 ? tail[-n] : 2147483648 - tail[n];
    return 1 + k + reach + Math.floor(below * shared / 2147483648);
  };
  let low = -reach, high = reach;
  while (low < high) {
    const half = low + high + 1 >> 1;
    if (start(half) <= found) low = half;
    else high = half - 1;
  }
  const begin = start(low);
  coder.take(begin, start(low + 1) - begin);
  return middle + low;
};

// The numbers of all networks, changed by what the bytes say.
const changed = (base, bytes) => {
  const coder = new RangeDecoder(bytes), numbers = base.slice(), groups = [];
  for (let m = 0; m < 5; ++m) groups.push(...kModelNumbers);
  groups.push(...kSynthesisNumbers);
  let at = 0;
  for (const count of groups) {
    if (coder.bits(1) === 1) {
      const shift = coder.bits(4), scale = coder.bits(7);
      for (let i = at; i < at + count; ++i) numbers[i] += laplace(coder, 0, scale) << shift;
    }
    at += count;
  }
  return numbers;
};
const parts = (numbers, at, sizes) => sizes.map(size => numbers.subarray(at, at += size));
const turned = matrix => {  // [out][in] to [in][out]
  const out = new Int32Array(kWide * kWide);
  for (let o = 0; o < kWide; ++o) for (let i = 0; i < kWide; ++i) out[i * kWide + o] = matrix[o * kWide + i];
  return out;
};
const networksOf = numbers => {
  const size = kModelNumbers.reduce((a, b) => a + b), models = [];
  for (let m = 0; m < 5; ++m) {
    const model = parts(numbers, m * size, kModelNumbers);
    model[0] = turned(model[0]);
    model[2] = turned(model[2]);
    models.push(model);
  }
  return {models, synthesis: parts(numbers, 5 * size, kSynthesisNumbers)};
};

const sums = new Int32Array(kWide);
const layer = (x, weights, bias, out) => {
  for (let o = 0; o < kWide; ++o) sums[o] = bias[o] + (x[o] << 10);
  for (let i = 0; i < kWide; ++i) {
    const v = x[i];
    if (v !== 0) for (let o = 0; o < kWide; ++o) sums[o] += Math.imul(weights[i * kWide + o], v);
  }
  for (let o = 0; o < kWide; ++o) out[o] = sums[o] > 0 ? sums[o] >> 10 : 0;
};
const x = new Int32Array(kWide), h = new Int32Array(kWide), g = new Int32Array(kWide);
// Row by row: each step decodes one.
const decodeTile = function* (coder, grids, l, tile, [first, firstBias, second, secondBias, last, lastBias, skip]) {
  const grid = grids[l], kBorder = 3, stride = tile.x1 - tile.x0 + 2 * kBorder, row = () => new Int32Array(stride);
  let own = [row(), row(), row(), row()];
  const above = [row(), row(), row()], coarsest = row();
  const lookUp = (from, y, shift, to) => {
    if (!from) return;
    for (let at = tile.x0 - 1; at <= tile.x1; ++at)
      to[at - tile.x0 + kBorder] = y >= 0 && y < grid.height && at >= 0 && at < grid.width ?
        from.values[(y >> shift) * from.width + (at >> shift)] : 0;
  };
  for (let y = tile.y0; y < tile.y1; ++y) {
    own = [own[3].fill(0), own[0], own[1], own[2]];
    for (let d = -1; d <= 1; ++d) lookUp(grids[l + 1], y + d, 1, above[d + 1]);
    lookUp(grids[l + 2], y, 2, coarsest);
    const [a, b, c, d] = own;
    for (let at = tile.x0; at < tile.x1; ++at) {
      const i = at - tile.x0 + kBorder;
      x[0] = a[i - 1] << 6, x[1] = b[i] << 6, x[2] = b[i - 1] << 6, x[3] = b[i + 1] << 6, x[4] = a[i - 2] << 6;
      x[5] = c[i] << 6, x[6] = d[i] << 6, x[7] = a[i - 3] << 6, x[8] = b[i - 2] << 6, x[9] = c[i + 1] << 6;
      x[10] = above[1][i] << 6, x[11] = above[0][i] << 6, x[12] = above[2][i] << 6;
      x[13] = above[1][i - 1] << 6, x[14] = above[1][i + 1] << 6, x[15] = coarsest[i] << 6;
      layer(x, first, firstBias, h);
      layer(h, second, secondBias, g);
      let mean = lastBias[0], scale = lastBias[1];
      for (let k = 0; k < kWide; ++k) {
        mean = mean + Math.imul(last[k], g[k]) + Math.imul(skip[k], x[k]) | 0;
        scale = scale + Math.imul(last[kWide + k], g[k]) + Math.imul(skip[kWide + k], x[k]) | 0;
      }
      const value = laplace(coder, clamp((mean >> 12) + (mean >> 11 & 1), -16384, 16384),
                            clamp((scale >> 16) + (scale >> 15 & 1), 0, kScales - 1));
      a[i] = grid.values[y * grid.width + at] = clamp(value, -kLargest, kLargest);
    }
    yield;
  }
};

// Rows y0 to y1 of all columns of a grid.
const plane = (width, y0, y1) => ({width, y0, y1, values: new Int32Array(width * (y1 - y0))});
const upsampled = (coarse, height, width, y0, y1, [wFar, wNear, wHere, wOther]) => {
  const between = (far, near, here, other) =>
    Math.imul(wFar, far) + Math.imul(wNear, near) + Math.imul(wHere, here) + Math.imul(wOther, other) + 512 >> 10;
  const out = plane(width, y0, y1), from = coarse.width, line = new Int32Array(from);
  const begin = y => (clamp(y, 0, height - 1) - coarse.y0) * from;
  for (let y = y0; y < y1; ++y) {
    const i = y >> 1, side = y % 2 === 0 ? -1 : 1, v = coarse.values;
    const far = begin(i + 2 * side), near = begin(i + side), here = begin(i), other = begin(i - side);
    for (let at = 0; at < from; ++at) line[at] = between(v[far + at], v[near + at], v[here + at], v[other + at]);
    const column = at => line[clamp(at, 0, from - 1)];
    for (let at = 0; at < width; ++at) {
      const j = at >> 1, beside = at % 2 === 0 ? -1 : 1;
      out.values[(y - y0) * width + at] = between(column(j + 2 * beside), column(j + beside), column(j), column(j - beside));
    }
  }
  return out;
};
const features = (grids, y0, y1, filters) => {
  const rows = [[y0, y1]];
  for (let l = 1; l < grids.length; ++l) {
    const [a, b] = rows[l - 1];
    rows.push([Math.max((a >> 1) - 2, 0), Math.min((b - 1 >> 1) + 3, grids[l].height)]);
  }
  let stack = [];
  for (let l = grids.length - 1; l >= 0; --l) {
    const {width, values} = grids[l], [a, b] = rows[l], own = plane(width, a, b);
    stack = stack.map(p => upsampled(p, grids[l + 1].height, width, a, b, filters.subarray(4 * l, 4 * l + 4)));
    for (let i = 0; i < own.values.length; ++i) own.values[i] = values[a * width + i] << 8;
    stack.unshift(own);
  }
  return stack;
};
const coloursOf = (stack, [hidden, hiddenBias, colour, colourBias, skip]) => {
  const {width, y0, y1} = stack[0], out = [0, 1, 2].map(() => plane(width, y0, y1)), f = new Int32Array(kLevels);
  for (let i = 0; i < out[0].values.length; ++i) {
    let r = colourBias[0], green = colourBias[1], blue = colourBias[2];
    for (let l = 0; l < kLevels; ++l) {
      const v = f[l] = stack[l].values[i];
      r = r + Math.imul(skip[l] << 2, v) | 0;
      green = green + Math.imul(skip[kLevels + l] << 2, v) | 0;
      blue = blue + Math.imul(skip[2 * kLevels + l] << 2, v) | 0;
    }
    for (let u = 0; u < kHidden; ++u) {
      let sum = hiddenBias[u];
      for (let l = 0; l < kLevels; ++l) sum = sum + Math.imul(hidden[u * kLevels + l], f[l]) | 0;
      if (sum <= 0) continue;
      sum >>= 10;
      r = r + Math.imul(colour[u], sum) | 0;
      green = green + Math.imul(colour[kHidden + u], sum) | 0;
      blue = blue + Math.imul(colour[2 * kHidden + u], sum) | 0;
    }
    out[0].values[i] = r >> 12;
    out[1].values[i] = green >> 12;
    out[2].values[i] = blue >> 12;
  }
  return out;
};
// A convolution of 3 x 3 for rows y0 to y1, the edges repeated; use(sum, place, output).
const convolve = (inputs, height, y0, y1, weights, bias, use) => {
  const {width} = inputs[0], count = inputs.length, line = new Int32Array(width);
  for (let y = y0; y < y1; ++y)
    for (let o = 0; o < bias.length; ++o) {
      line.fill(bias[o]);
      for (let i = 0; i < count; ++i)
        for (let dy = 0; dy < 3; ++dy) {
          const w = (o * count + i) * 9 + 3 * dy, a = weights[w], b = weights[w + 1], c = weights[w + 2];
          const v = inputs[i].values, begin = (clamp(y + dy - 1, 0, height - 1) - inputs[i].y0) * width;
          for (let at = 0; at < width; ++at)
            line[at] += Math.imul(a, v[begin + Math.max(at - 1, 0)]) + Math.imul(b, v[begin + at]) +
                        Math.imul(c, v[begin + Math.min(at + 1, width - 1)]);
        }
      for (let at = 0; at < width; ++at) use(line[at], (y - y0) * width + at, o);
    }
};
const synthesise = (grids, l, y0, y1, n, axes, grey, rgba) => {
  const {width, height} = grids[0];
  const wide = by => [Math.max(y0 - by, 0), Math.min(y1 + by, height)];
  const colours = coloursOf(features(grids, ...wide(2), n[9]), n), beside = wide(1);
  const detail = [0, 1, 2, 3].map(() => plane(width, ...beside));
  convolve(colours, height, ...beside, n[5], n[6], (sum, i, o) => { detail[o].values[i] = sum > 0 ? sum >> 12 : 0; });
  const skipped = (y0 - colours[0].y0) * width;
  const out = colours.map(() => plane(width, y0, y1));
  convolve(detail, height, y0, y1, n[7], n[8], (sum, i, o) => {
    out[o].values[i] = colours[o].values[skipped + i] + (sum >> 12);
  });
  finish(out, axes, grey, rgba);
};
const finish = (numbers, axes, grey, rgba) => {
  for (let i = 0; i < numbers[0].values.length; ++i)
    for (let c = 0; c < kColours; ++c) {
      let sum = 32;
      for (let k = 0; k < kColours; ++k)
        sum = sum + Math.imul(axes[3 * c + k] << 24 >> 24, numbers[k].values[i] - 1840) | 0;
      const level = clamp((axes[9 + c] << 4) + (sum >> 6) | 0, 0, 4096);
      rgba[4 * i + c] = level * 255 + 2048 >> 12;
    }
  for (let i = 3; i < rgba.length; i += 4) {
    if (grey) rgba[i - 2] = rgba[i - 1] = rgba[i - 3];
    rgba[i] = 255;
  }
};
// Rows of the picture at the size of level l, before finer levels are known: as if they were zeros, and without the
// convolutions, which correct single pixels.
const preview = (grids, l, y0, y1, n, axes, grey, rgba) => {
  const stack = features(grids.slice(l), y0, y1, n[9].subarray(4 * l));
  while (stack.length < kLevels) stack.unshift(plane(grids[l].width, y0, y1));
  finish(coloursOf(stack, n), axes, grey, rgba);
};

// Reads the file: run(rows, progress) calls rows(rgba, from, to, l) with rows of the picture at 2^-l of its size, first
// a preview of each level, then of l = 0 the picture, as soon as they are known; and progress(share) now and then, and
// awaits it.
return (file, base) => {
  let at = 6;  // after magic, version, family and channels
  const channels = file[5] >> 4;
  const integer = () => {
    for (let sum = 0, unit = 1;; unit *= 128) {
      const byte = file[at++];
      sum += (byte & 127) * unit;
      if (byte < 128) return sum;
    }
  };
  const bytes = length => file.subarray(at, at += length);
  const width = integer(), height = integer();
  integer();  // the body's length
  if (channels % 2 === 0) bytes(integer());  // alpha
  const plan = file[at++], side = 2 ** ((plan >> 4) + 4), axes = bytes(12);
  const {models, synthesis} = networksOf(changed(changed(new Int32Array(3585), base), bytes(integer())));
  const grids = [], tiles = [];
  for (let l = 0; l < kLevels; ++l) {
    const across = Math.ceil(width / 2 ** l), down = Math.ceil(height / 2 ** l);
    grids.push({width: across, height: down, values: new Int16Array(across * down)});
  }
  for (let l = kLevels - 1; l >= 0; --l)
    for (let y0 = 0; y0 < grids[l].height; y0 += side)
      for (let x0 = 0; x0 < grids[l].width; x0 += side)
        tiles.push({l, x0, y0, x1: Math.min(x0 + side, grids[l].width), y1: Math.min(y0 + side, grids[l].height)});
  for (const tile of tiles) tile.length = integer();
  for (const tile of tiles) tile.bytes = bytes(tile.length);
  return {width, height, run: async (rows, progress) => {
    const all = grids.reduce((sum, {values}) => sum + values.length, 0);
    let decoded = 0, drawn = 0;  // latents, and rows of the level
    const tell = l => progress(0.6 * decoded / all + (l === 0 ? 0.4 * drawn / height : 0));
    const draw = async (make, l, known) => {
      const {width, height} = grids[l];
      for (let end; (end = Math.min(drawn + 32, height)) <= known && drawn < end; drawn = end, await tell(l)) {
        const rgba = new Uint8ClampedArray(4 * width * (end - drawn));
        make(grids, l, drawn, end, synthesis, axes, channels < 3, rgba);
        rows(rgba, drawn, end, l);
      }
    };
    for (let l = kLevels - 1; l >= 0; --l) {
      const {width, height} = grids[l];
      drawn = 0;
      for (let y0 = 0; y0 < height; y0 += side) {
        const row = tiles.filter(tile => tile.l === l && tile.y0 === y0)
          .map(tile => decodeTile(new RangeDecoder(tile.bytes), grids, l, tile, models[Math.min(l, 4)]));
        for (let y = y0; y < Math.min(y0 + side, height); ++y) {
          row.forEach(tile => tile.next());
          decoded += width;
          await tell(l);
          if (l === 0) await draw(synthesise, 0, y + 1 < height ? y - 1 : height);  // a pixel looks at two rows more
        }
      }
      if (l > 0) await draw(preview, l, height);
    }
  }};
};
})();
