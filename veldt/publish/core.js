// The field in plain JavaScript, in doubles: unpacks its numbers, computes levels, paints pixels. A page runs this
// itself, and in workers, where it answers messages (the end of this file).
'use strict';

// A zlib stream (RFC 1950, 1951) of `size` bytes in the end.
function inflated(source, size) {
  const out = new Uint8Array(size);
  let at = 2, bit = 0, end = 0;
  const bits = n => {
    let value = 0;
    for (let i = 0; i < n; ++i) {
      value |= (source[at] >> bit & 1) << i;
      if (++bit === 8) bit = 0, ++at;
    }
    return value;
  };
  // A canonical Huffman code: how many codes of each length there are, and the symbols in order.
  const code = lengths => {
    const count = new Uint16Array(16), start = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
    for (const n of lengths) ++count[n];
    count[0] = 0;
    for (let n = 1; n < 16; ++n) start[n] = start[n - 1] + count[n - 1];
    lengths.forEach((n, symbol) => { if (n) symbols[start[n]++] = symbol; });
    return {count, symbols};
  };
  const symbol = ({count, symbols}) => {
    let value = 0, first = 0, index = 0;
    for (let n = 1; n < 16; ++n) {
      value |= source[at] >> bit & 1;
      if (++bit === 8) bit = 0, ++at;
      if (value - count[n] < first) return symbols[index + value - first];
      index += count[n];
      first = first + count[n] << 1;
      value <<= 1;
    }
    throw new Error('the numbers of this page are damaged');
  };
  const extra = (n, base, step) => Array.from({length: n}, (_, i) => {
    const length = Math.max(0, Math.floor(i / step) - 1), from = base;
    base += 1 << length;
    return [from, length];
  });
  const lengths = extra(28, 3, 4).concat([[258, 0]]), distances = extra(30, 1, 2);
  for (let last = 0; !last;) {
    last = bits(1);
    const type = bits(2);
    if (type === 0) {
      if (bit) bit = 0, ++at;
      const count = source[at] | source[at + 1] << 8;
      out.set(source.subarray(at + 4, at + 4 + count), end);
      at += 4 + count;
      end += count;
      continue;
    }
    let literal, distance;
    if (type === 1) {
      literal = code(Array.from({length: 288}, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
      distance = code(new Array(30).fill(5));
    } else {
      const literals = bits(5) + 257, all = literals + bits(5) + 1, n = bits(4) + 4, short = new Array(19).fill(0);
      const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
      for (let i = 0; i < n; ++i) short[order[i]] = bits(3);
      const shorts = code(short), long = [];
      while (long.length < all) {
        const s = symbol(shorts);
        if (s < 16) long.push(s);
        else {
          const value = s === 16 ? long[long.length - 1] : 0;
          for (let i = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7); i > 0; --i) long.push(value);
        }
      }
      literal = code(long.slice(0, literals));
      distance = code(long.slice(literals, all));
    }
    for (let s = symbol(literal); s !== 256; s = symbol(literal)) {
      if (s < 256) {
        out[end++] = s;
        continue;
      }
      const [base, more] = lengths[s - 257], count = base + bits(more);
      const [near, further] = distances[symbol(distance)], back = near + bits(further);
      for (let i = 0; i < count; ++i, ++end) out[end] = out[end - back];
    }
  }
  return out;
}

// {name: Float32Array} of the runs that veldt/publish/packed.h describes.
function tensorsOf(facts, text) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const size = facts.runs.reduce((sum, run) => sum + run.count * run.bits / 8, 0), bytes = inflated(packed, size);
  const totals = {}, filled = {}, out = {};
  for (const run of facts.runs) totals[run.name] = (totals[run.name] || 0) + run.count;
  let at = 0;
  for (const {name, count, bits, step} of facts.runs) {
    const into = out[name] = out[name] || new Float32Array(totals[name]);
    const word = new DataView(new ArrayBuffer(4)), first = filled[name] || 0;
    for (let i = 0; i < count; ++i) {
      if (bits === 8) into[first + i] = (bytes[at + i] << 24 >> 24) * step;
      else if (bits === 16) into[first + i] = ((bytes[at + i] | bytes[at + count + i] << 8) << 16 >> 16) * step;
      else {
        for (let k = 0; k < 4; ++k) word.setUint8(k, bytes[at + k * count + i]);
        into[first + i] = word.getFloat32(0, true);
      }
    }
    filled[name] = first + count;
    at += count * bits / 8;
  }
  return out;
}

const heads = {
  clamp: y => Math.min(1, Math.max(0, y * 0.5 + 0.5)),
  sigmoid: y => 1 / (1 + Math.exp(-y)),
  ink: y => 1 - 1 / (1 + Math.exp(-y)),
  plain: y => y,
};

const activations = {
  siren: (z, omega) => Math.sin(omega * z),
  finer: (z, omega) => Math.sin(omega * (Math.abs(z) + 1) * z),
  relu: z => z > 0 ? z : 0,
  tanh: z => Math.tanh(z),
  gauss: (z, omega) => Math.exp(-omega * z * (omega * z)),
  wire: (z, omega, scale) => Math.cos(omega * z) * Math.exp(-scale * z * (scale * z)),
};

// output(c): the network's numbers at these coordinates, in an array that the next call overwrites.
function networkOf(facts, tensors) {
  const act = activations[facts.activation], layers = facts.layers.map((layer, i) => ({
    ...layer, weight: tensors['w' + i], bias: tensors['b' + i],
    omega: i === 0 ? facts.first_omega : facts.omega, values: new Float64Array(layer.out),
  }));
  const features = new Float64Array(layers[0].in);
  const cell = new Int32Array(2), vertex = new Int32Array(4), along = new Float64Array(2), share = new Float64Array(4);
  const encode = c => {
    if (facts.encodings.length === 0) {
      c.forEach((x, i) => features[i] = x);
      if (facts.constant_input) features[c.length] = 1;
      return;
    }
    let next = 0;
    facts.encodings.forEach((e, index) => {
      const numbers = tensors['e' + index];
      if (e.kind === 'identity') for (const x of c) features[next++] = x;
      if (e.kind === 'frequency')
        for (const wave of [Math.sin, Math.cos])
          for (let k = 0; k < e.octaves; ++k) for (const x of c) features[next++] = wave(Math.PI * 2 ** k * x);
      if (e.kind === 'fourier')
        for (const wave of [Math.sin, Math.cos])
          for (let k = 0; k < e.frequencies; ++k) {
            let sum = 0;
            for (let i = 0; i < c.length; ++i) sum += numbers[k * c.length + i] * c[i];
            features[next++] = wave(2 * Math.PI * sum);
          }
      if (e.kind === 'grid')
        for (let l = 0; l < e.levels.length; ++l) {
          const {cells, hashed, step, first, entries} = e.levels[l], corners = c.length > 1 ? 4 : 2;
          for (let i = 0; i < c.length; ++i) {
            const at = Math.min(1, Math.max(0, c[i] * 0.5 + 0.5)) * cells, t = at - (cell[i] = Math.min(Math.floor(at), cells - 1));
            along[i] = e.smooth ? t * t * (3 - 2 * t) : t;
          }
          for (let i = 0; i < corners; ++i) {
            const a = cell[0] + (i & 1), b = corners > 2 ? cell[1] + (i >> 1) : 0;
            vertex[i] = first + (hashed ? (a ^ Math.imul(b, step)) & entries - 1 : a + b * step);
            share[i] = (i & 1 ? along[0] : 1 - along[0]) * (corners < 4 ? 1 : i >> 1 ? along[1] : 1 - along[1]);
          }
          for (let f = 0; f < e.features; ++f) {
            let sum = 0;
            for (let i = 0; i < corners; ++i) sum += share[i] * numbers[vertex[i] * e.features + f];
            features[next++] = sum;
          }
        }
    });
  };
  return c => {
    encode(c);
    let from = features;
    layers.forEach((layer, index) => {
      const {weight, bias, values, omega} = layer, n = layer.in, isLast = index + 1 === layers.length;
      // Four rows at a time: their sums do not wait for each other.
      let o = 0;
      for (; o + 4 <= layer.out; o += 4) {
        const second = n, third = 2 * n, fourth = 3 * n;
        let a = 0, b = 0, c = 0, d = 0;
        for (let j = 0, w = o * n; j < n; ++j, ++w) {
          const x = from[j];
          a += weight[w] * x;
          b += weight[w + second] * x;
          c += weight[w + third] * x;
          d += weight[w + fourth] * x;
        }
        values[o] = a;
        values[o + 1] = b;
        values[o + 2] = c;
        values[o + 3] = d;
      }
      for (; o < layer.out; ++o) {
        let sum = 0;
        for (let j = 0, w = o * n; j < n; ++j, ++w) sum += weight[w] * from[j];
        values[o] = sum;
      }
      for (o = 0; o < layer.out; ++o) {
        const sum = bias ? values[o] + bias[o] : values[o];
        values[o] = isLast ? sum : act(sum, omega, facts.scale);
      }
      from = values;
    });
    return from;
  };
}

// How the pixels of a drawing at `scale` pixels for each fitted one are sampled: Field::render_bands(). samples: along
// each side of a pixel; 0: those of the fit that it covers.
function samplingFor(facts, scale) {
  const over = covered => Math.min(64, Math.max(1, Math.ceil(covered - 1e-6)));
  const hasAlpha = facts.channels % 2 === 0, even = over(facts.footprint / scale);
  const takesFitted = facts.squares ? facts.closing > 0 || over(1 / (scale * facts.period)) < 64
                                    : facts.footprint === 1 && even > 1 && even < 64;
  return {
    samples: takesFitted ? 0 : even,
    gain: facts.two_tone && facts.head === 'clamp' && scale > 1 ? (1 + scale) / 2 : 1,
    weighs: hasAlpha && (takesFitted || scale < 1 - 1e-9),
  };
}

// Whether each pixel of the view is a fitted one.
function isOwnSize(view) {
  return Math.abs(view.scale - 1) < 1e-9 && [view.x, view.y].every(x => Math.abs(x - Math.round(x)) < 1e-6);
}

// paint(view, row, end): rows of a view {x, y, scale, width, height}, whose upper left corner is the place x, y in fitted
// pixels: RGBA in a Uint8ClampedArray, clear outside the picture.
function painterOf(facts, tensors) {
  const network = networkOf(facts, tensors), head = heads[facts.head], channels = facts.channels;
  const columns = facts.width / facts.period, rows = facts.height / facts.period, closing = tensors.closing;
  const taps = t => {
    const u = 1 - t;
    return [-0.5 * t * u * u, 1 - t * t * (2.5 - 1.5 * t), 1 - u * u * (2.5 - 1.5 * u), -0.5 * u * t * t];
  };
  const within = (x, n) => Math.min(n - 1, Math.max(0, x));
  const close = (level, x, y) => {
    const fx = Math.floor(x - 0.5), fy = Math.floor(y - 0.5), across = taps(x - 0.5 - fx), down = taps(y - 0.5 - fy);
    const own = rows * columns + within(Math.floor(y), rows) * columns + within(Math.floor(x), columns);
    for (let c = 0; c < channels; ++c) {
      const second = facts.closing > 1 ? closing[own * channels + c] : 0;
      if (second < -12) {
        level[c] = Math.min(1, Math.max(0, -second / 16 - 1));
        continue;
      }
      let sum = second;
      for (let b = 0; b < 4; ++b) {
        const row = within(fy - 1 + b, rows) * columns;
        for (let a = 0; a < 4; ++a)
          sum += down[b] * across[a] * closing[(row + within(fx - 1 + a, columns)) * channels + c];
      }
      level[c] = Math.min(1, Math.max(0, level[c] + sum));
    }
  };
  const level = new Float64Array(channels), point = [0, 0], count = rows * columns * channels;
  // Samples of the fit are asked for again and again.
  const known = count <= 1 << 22 ? new Float32Array(count).fill(NaN) : null;
  const fitted = (x, y) => {
    const at = (Math.floor(y) * columns + Math.floor(x)) * channels;
    if (!known) return levels(x, y, 1);
    if (isNaN(known[at])) known.set(levels(x, y, 1), at);
    return known.subarray(at, at + channels);
  };
  const levels = (x, y, gain) => {
    point[0] = facts.x_scale * x / columns + facts.x_shift;
    point[1] = facts.y_scale * y / rows + facts.y_shift;
    const output = network(point);
    for (let c = 0; c < channels; ++c) level[c] = head(gain * output[c]);
    if (facts.closing > 0) close(level, x, y);
    return level;
  };
  // The places of a pixel's samples along one side, and their weights.
  const samplesOf = (begin, step, n, samples) => {
    if (samples > 0) return Array.from({length: samples}, (_, i) => [begin + (i + 0.5) / samples * step, 1]);
    const out = [], end = begin + step, first = within(Math.floor(begin + 1e-6), n);
    const last = Math.min(n, Math.max(first + 1, Math.ceil(end - 1e-6)));
    for (let i = first; i < last; ++i)
      out.push([i + 0.5, Math.max(0, (i + 1 === n ? end : Math.min(end, i + 1)) - (i === 0 ? begin : Math.max(begin, i)))]);
    return out;
  };
  return (view, row, end) => {
    const {samples, gain, weighs} = view.sampling || samplingFor(facts, view.scale), width = view.width;
    const out = new Uint8ClampedArray(4 * width * (end - row)), step = 1 / (view.scale * facts.period);
    const isOwn = facts.tones.length > 0 && isOwnSize(view);
    const across = Array.from({length: width}, (_, i) => {
      const begin = view.x / facts.period + i * step, middle = begin + step / 2;
      return middle < 0 || middle >= columns ? [] : samplesOf(begin, step, columns, samples);
    });
    const sums = new Float64Array(channels), weighed = new Float64Array(channels);
    for (let y = row, put = 0; y < end; ++y) {
      const begin = view.y / facts.period + y * step, middle = begin + step / 2;
      const down = middle < 0 || middle >= rows ? [] : samplesOf(begin, step, rows, samples);
      for (let x = 0; x < width; ++x, put += 4) {
        if (down.length === 0 || across[x].length === 0) continue;
        let all = 0;
        sums.fill(0);
        weighed.fill(0);
        for (const [py, wy] of down)
          for (const [px, wx] of across[x]) {
            const at = samples > 0 ? levels(px, py, gain) : fitted(px, py), weight = wx * wy;
            for (let c = 0; c < channels; ++c) {
              sums[c] += weight * at[c];
              weighed[c] += weight * at[c] * at[channels - 1];
            }
            all += weight;
          }
        const alpha = sums[channels - 1];
        for (let c = 0; c < channels; ++c)
          sums[c] = weighs && alpha > 0 && c + 1 < channels ? weighed[c] / alpha : sums[c] / all;
        if (isOwn) {
          const far = facts.tones.map(tone => tone.reduce((sum, t, c) => sum + (sums[c] - t) ** 2, 0));
          facts.tones[far[1] < far[0] ? 1 : 0].forEach((t, c) => sums[c] = t);
        }
        for (let c = 0; c < 3; ++c) out[put + c] = Math.floor(255 * sums[channels < 3 ? 0 : c] + 0.5);
        out[put + 3] = channels % 2 === 0 ? Math.floor(255 * sums[channels - 1] + 0.5) : 255;
      }
    }
    return out;
  };
}

// Frames first .. end - 1 of a sound: a Float32Array for each channel.
function soundOf(facts, tensors) {
  const network = networkOf(facts, tensors), head = heads[facts.head], {channels, height} = facts;
  return (first, end) => {
    const out = Array.from({length: channels}, () => new Float32Array(end - first));
    for (let i = first; i < end; ++i) {
      const output = network([facts.y_scale * (i + 0.5) / height + facts.y_shift]);
      for (let c = 0; c < channels; ++c) {
        let sum = head(output[c]);
        for (let k = 0; k < facts.closing; ++k) sum += tensors.closing[(k * height + i) * channels + c];
        out[c][i - first] = sum * facts.peak;
      }
    }
    return out;
  };
}

// Works through what it is told a slice at a time, so that a newer request is heard. tell(answer, buffers) sends.
function workerOf(facts, text, tell) {
  const tensors = tensorsOf(facts, text), isSound = facts.rate > 0;
  const paint = isSound ? null : painterOf(facts, tensors), play = isSound ? soundOf(facts, tensors) : null;
  let newest = 0;
  const pictures = ({id, view, share, of}) => {
    // A coarse picture first: each pixel stands for `step` x `step`.
    const passes = [32, 8, 1].map(step => ({step, view: {
      ...view, scale: view.scale / step, width: Math.ceil(view.width / step), height: Math.ceil(view.height / step),
      sampling: step > 1 && !facts.squares ? {...samplingFor(facts, view.scale), samples: 1} : undefined,
    }}));
    let pass = 0, row = share;
    const slice = () => {
      if (id !== newest) return;
      const {step, view: part} = passes[pass], until = performance.now() + 30;
      while (row < part.height && performance.now() < until) {
        const pixels = paint(part, row, row + 1);
        tell({id, step, row, pixels}, [pixels.buffer]);
        row += of;
      }
      if (row >= part.height) ++pass, row = share;
      if (pass < passes.length) setTimeout(slice);
      else tell({id, done: true}, []);
    };
    slice();
  };
  const sounds = ({id, first, end}) => {
    const slice = () => {
      if (id !== newest || first >= end) return;
      const to = Math.min(end, first + 4096), frames = play(first, to);
      tell({id, first, frames}, frames.map(f => f.buffer));
      first = to;
      setTimeout(slice);
    };
    slice();
  };
  return request => {
    newest = request.id;
    (isSound ? sounds : pictures)(request);
  };
}

// In a worker: the first message has the field, the others are requests.
if (typeof document === 'undefined') {
  let work = null;
  self.onmessage = ({data}) => {
    if (work) work(data);
    else work = workerOf(data.facts, data.text, (answer, buffers) => self.postMessage(answer, buffers));
  };
}
