// The page of a field: what is seen, by whom it is drawn (the GPU through WebGL2, else workers in JavaScript), and how
// it is moved. core.js stands before this and has the field itself.
'use strict';

const byId = id => document.getElementById(id);
const facts = JSON.parse(byId('facts').textContent), numbers = byId('numbers').textContent.trim();
const stage = byId('stage'), canvas = byId('view'), asked = new URLSearchParams(location.hash.slice(1));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Workers with the field, or, where a page may start none or one fails, the same on this thread. hear(answer).
function helpersOf(count, hear) {
  let address = null, here = null;
  const onThisThread = request => {
    here ??= workerOf(facts, numbers, hear);
    here(request);
  };
  try {
    address = URL.createObjectURL(new Blob([byId('core').textContent], {type: 'text/javascript'}));
  } catch {
    return [onThisThread];
  }
  const helper = () => {
    let asked = null, worker = null;  // what has no whole answer yet
    const fallBack = () => {
      worker = null;
      if (asked) onThisThread(asked);
    };
    try {
      worker = new Worker(address);
      worker.onmessage = ({data}) => {
        if (data.done) asked = null;
        hear(data);
      };
      // A policy that forbids workers is told by this event in some browsers, by an exception in others.
      worker.onerror = event => {
        event.preventDefault();
        if (worker) worker.terminate();
        fallBack();
      };
      worker.postMessage({facts, text: numbers});
    } catch {
      fallBack();
    }
    return request => {
      asked = request;
      if (worker) worker.postMessage(request);
      else onThisThread(request);
    };
  };
  return Array.from({length: count}, helper);
}

function save(blob, ending) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = facts.title.replace(/[^\p{L}\p{N} ._-]/gu, '_') + ending;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// The field on the GPU. Throws an Error that says why if there is none that can.
class Gpu {
  constructor(gl) {
    this.gl = gl;
    if (!gl) throw new Error('no WebGL2');
    const tensors = tensorsOf(facts, numbers), weights = this.weightsOf(tensors);
    const inBlock = weights.length * 4 <= Math.min(65536, gl.getParameter(gl.MAX_UNIFORM_BLOCK_SIZE));
    const text = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
#define FIELD_CHANNELS ${facts.channels}
uniform vec3 kTurn;
${inBlock ? `layout(std140) uniform Weights { vec4 weights[${weights.length / 4}]; };
#define W(i) weights[i]` : `uniform sampler2D weights;
#define W(i) texelFetch(weights, ivec2((i) & 2047, (i) >> 11), 0)`}
uniform sampler2D table, closing;
#define T(i) texelFetch(table, ivec2((i) & 2047, (i) >> 11), 0)
#define C(i) texelFetch(closing, ivec2((i) & 2047, (i) >> 11), 0)
${byId('shader').textContent}`;
    this.program = this.programOf('#version 300 es\nin vec2 at;\nvoid main() { gl_Position = vec4(at, 0, 1); }', text);
    gl.useProgram(this.program);
    this.where = name => gl.getUniformLocation(this.program, name);
    if (inBlock) {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.UNIFORM_BUFFER, buffer);
      gl.bufferData(gl.UNIFORM_BUFFER, weights, gl.STATIC_DRAW);
      gl.bindBufferBase(gl.UNIFORM_BUFFER, 0, buffer);
    } else {
      this.texture(0, 'weights', weights, 4);
    }
    const tables = facts.encodings.flatMap((e, i) => e.kind === 'grid' ? [[tensors['e' + i], e.features]] : []);
    const most = Math.max(0, ...tables.map(([, features]) => features));
    if (most > 0) {
      const wide = most <= 2 ? most : 4 * Math.ceil(most / 4);
      const rows = tables.map(([table, features]) => this.widened(table, features, wide));
      this.texture(1, 'table', rows.length === 1 ? rows[0] : Float32Array.from(rows.flatMap(row => [...row])), Math.min(4, wide));
    }
    if (facts.closing > 0) this.texture(2, 'closing', this.widened(tensors.closing, facts.channels, facts.channels === 3 ? 4 : facts.channels), facts.channels === 3 ? 4 : facts.channels);
    // 3.140625 and the rest of pi in two parts of few bits each.
    gl.uniform3f(this.where('kTurn'), 3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.whole = this.frame();
    this.coarse = this.frame();
    this.rate = 0;  // seconds a sample
    // A driver may compile at the first drawing: that is not to count as time.
    const first = {x: -2, y: -2, scale: 1, width: 1, height: 1}, warm = () => {
      const start = performance.now();
      this.draw(this.coarse, first, samplingFor(facts, 1), [0, 0, 1, 1]);
      return this.finished(start);
    };
    warm();
    this.overhead = Math.min(warm(), warm());  // seconds of a drawing of nothing
    // Browsers name what draws, where they do not take that for a secret.
    const told = gl.getExtension('WEBGL_debug_renderer_info');
    const name = String(gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    this.software = (/SwiftShader|llvmpipe|softpipe|SwiftPipe|Basic Render|WARP/i.exec(name) || [''])[0];
    // 60 frames a second; a processor that plays a GPU needs longer for anything, and for each frame that is shown.
    this.frameTime = Math.max(this.software ? 0.1 : 0.011, 5 * this.overhead);
  }

  // As glsl_weights() of veldt/publish/glsl.h.
  weightsOf(tensors) {
    const out = [], fours = n => Math.ceil(n / 4), dimensions = facts.constant_input ? 3 : 2;
    facts.encodings.forEach((e, i) => {
      if (e.kind === 'fourier') out.push(...this.widened(tensors['e' + i], dimensions, 4));
    });
    facts.layers.forEach((layer, i) => {
      const weight = tensors['w' + i], bias = tensors['b' + i];
      for (let o = 0; o < 4 * fours(layer.out); ++o) out.push(bias && o < layer.out ? bias[o] : 0);
      for (let o = 0; o < fours(layer.out); ++o)
        for (let column = 0; column < 4 * fours(layer.in); ++column)
          for (let row = 4 * o; row < 4 * o + 4; ++row)
            out.push(row < layer.out && column < layer.in ? weight[row * layer.in + column] : 0);
    });
    return Float32Array.from(out);
  }

  widened(numbers, from, to) {
    if (from === to) return numbers;
    const out = new Float32Array(numbers.length / from * to);
    for (let i = 0; i < numbers.length; ++i) out[Math.floor(i / from) * to + i % from] = numbers[i];
    return out;
  }

  programOf(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
        throw new Error('the shader does not compile: ' + gl.getShaderInfoLog(shader));
    }
    gl.bindAttribLocation(program, 0, 'at');
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
      throw new Error('the shader does not link: ' + gl.getProgramInfoLog(program));
    return program;
  }

  // Numbers in rows of 2048 texels of `parts` numbers.
  texture(unit, name, values, parts) {
    const gl = this.gl, rows = Math.max(1, Math.ceil(values.length / parts / 2048));
    if (rows > gl.getParameter(gl.MAX_TEXTURE_SIZE)) throw new Error('the numbers do not fit into a texture');
    const padded = new Float32Array(rows * 2048 * parts);
    padded.set(values);
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, [0, gl.R32F, gl.RG32F, 0, gl.RGBA32F][parts], 2048, rows, 0,
                  [0, gl.RED, gl.RG, 0, gl.RGBA][parts], gl.FLOAT, padded);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.NEAREST);
    gl.uniform1i(this.where(name), unit);
  }

  frame() {
    const gl = this.gl, texture = gl.createTexture(), frame = gl.createFramebuffer();
    return {frame, texture, width: 0, height: 0};
  }

  resize(target, width, height) {
    if (target.width === width && target.height === height) return;
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE7);
    gl.bindTexture(gl.TEXTURE_2D, target.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target.texture, 0);
    Object.assign(target, {width, height});
  }

  // Draws a part, left, top, width, height in pixels, of a view into a target of the view's size.
  draw(target, view, sampling, [left, top, width, height]) {
    const gl = this.gl, columns = facts.width / facts.period, rows = facts.height / facts.period;
    this.resize(target, view.width, view.height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.viewport(0, 0, view.width, view.height);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(left, view.height - top - height, width, height);
    const two = (name, x, y) => {
      gl.uniform2f(this.where(name + 'High'), Math.fround(x), Math.fround(y));
      gl.uniform2f(this.where(name + 'Low'), x - Math.fround(x), y - Math.fround(y));
    };
    const x = view.x / facts.period, y = view.y / facts.period, step = 1 / (view.scale * facts.period);
    const sx = facts.x_scale / columns, sy = facts.y_scale / rows;
    two('place', x, y);
    two('c', sx * x + facts.x_shift, sy * y + facts.y_shift);
    gl.uniform2f(this.where('placeStep'), step, step);
    gl.uniform2f(this.where('cStep'), sx * step, sy * step);
    gl.uniform2f(this.where('cScale'), sx, sy);
    gl.uniform2f(this.where('cShift'), facts.x_shift, facts.y_shift);
    gl.uniform2f(this.where('size'), view.width, view.height);
    gl.uniform2f(this.where('lattice'), columns, rows);
    gl.uniform1i(this.where('samples'), sampling.samples);
    gl.uniform1f(this.where('gain'), sampling.gain);
    gl.uniform1i(this.where('weighs'), sampling.weighs);
    gl.uniform1i(this.where('isOwn'), facts.tones.length > 0 && isOwnSize(view));
    facts.tones.forEach((tone, i) => gl.uniform4fv(this.where('tone' + 'AB'[i]), [...tone, 0, 0, 0].slice(0, 4)));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.disable(gl.SCISSOR_TEST);
  }

  // Waits for the GPU; returns the seconds since `start`.
  finished(start) {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
    return (performance.now() - start) / 1000;
  }

  // Each pixel of the coarse picture `step` times as large, into the whole one.
  enlarge(step) {
    const gl = this.gl, from = this.coarse, to = this.whole, height = from.height * step;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, from.frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, to.frame);
    gl.blitFramebuffer(0, 0, from.width, from.height, 0, to.height - height, from.width * step, to.height,
                       gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }

  // RGBA rows from `row` on, made elsewhere.
  put(pixels, row, width, height) {
    const gl = this.gl, flipped = new Uint8Array(pixels.length);
    for (let y = 0; y < height; ++y)
      flipped.set(pixels.subarray(4 * width * y, 4 * width * (y + 1)), 4 * width * (height - 1 - y));
    gl.activeTexture(gl.TEXTURE7);
    gl.bindTexture(gl.TEXTURE_2D, this.whole.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, this.whole.height - row - height, width, height, gl.RGBA, gl.UNSIGNED_BYTE, flipped);
  }

  show() {
    const gl = this.gl, {frame, width, height} = this.whole;
    if (width === 0) return;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }

  pixels() {
    const gl = this.gl, {frame, width, height} = this.whole, up = new Uint8Array(4 * width * height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, up);
    const out = new Uint8ClampedArray(up.length);
    for (let y = 0; y < height; ++y) out.set(up.subarray(4 * width * y, 4 * width * (y + 1)), 4 * width * (height - 1 - y));
    return out;
  }
}

// The same without a GPU: a canvas that rows are put on.
class Plain {
  constructor(surface) {
    this.context = surface.getContext('2d');
  }
  resize(_, width, height) {
    if (this.image && this.image.width === width && this.image.height === height) return;
    this.image = this.context.createImageData(width, height);
  }
  put(pixels, row) {
    this.image.data.set(pixels, 4 * this.image.width * row);
  }
  show() {
    if (this.image) this.context.putImageData(this.image, 0, 0);
  }
  pixels() {
    return this.image.data;
  }
}

function showPicture() {
  const helpers = [];
  let gpu = null, screen = null, gl = null, reason = '#renderer=js';
  try {
    // The part behind # in the address can ask for JavaScript.
    if (asked.get('renderer') !== 'js') {
      gl = canvas.getContext('webgl2', {antialias: false, premultipliedAlpha: false});
      gpu = screen = new Gpu(gl);
    }
  } catch (e) {
    reason = e.message;
    console.warn(reason);
    if (gl) canvas.replaceWith(canvas.cloneNode());  // it can have no other context
  }
  // view.x, view.y: the fitted pixel at the upper left corner; scale: pixels of the screen for each fitted one.
  const view = {x: 0, y: 0, scale: 1, width: 1, height: 1};
  let drawn = null;     // the view that is being drawn, or has been
  let tiles = [], isDone = false, request = 0, isQueued = false, moved = 0;
  const work = {begun: 0, done: 0};  // of the view that is being drawn: since when, and the share that is fine

  const surface = () => byId('view');
  if (!screen) screen = new Plain(surface());

  const fits = () => Math.min(view.width / facts.width, view.height / facts.height);
  // Beyond this a float is too coarse for neighbouring pixels, and doubles draw.
  const isDeep = () => 2 / (view.scale * Math.max(facts.width, facts.height)) < 2 ** -19;
  const usesGpu = () => gpu && !isDeep();

  const ask = () => {
    if (helpers.length === 0) {
      const cores = Math.min(4, Math.max(1, (navigator.hardwareConcurrency || 2) - 1));
      helpers.push(...helpersOf(cores, hear));
    }
    ++request;
    helpers.waiting = helpers.length;
    helpers.size = [view.width, view.height];
    helpers.forEach((tell, share) => tell({id: request, view: {...view}, share, of: helpers.length}));
  };
  const hear = ({id, step, row, pixels, done}) => {
    if (id !== request || view.width !== helpers.size[0] || view.height !== helpers.size[1]) return;
    if (done) {
      if (--helpers.waiting === 0) isDone = true;
      return queue();
    }
    const {width, height} = view, rows = Math.min(step, height - row * step);
    let block = pixels;
    if (step > 1) {
      const from = new Uint32Array(pixels.buffer), to = new Uint32Array(width * rows);
      for (let y = 0; y < rows; ++y) for (let x = 0; x < width; ++x) to[y * width + x] = from[Math.floor(x / step)];
      block = new Uint8ClampedArray(to.buffer);
    }
    if (step === 1) work.done += 1 / height;
    screen.put(block, row * step, width, rows);
    queue();
  };

  // Tiles, the middle last, from where they are taken.
  const cut = () => {
    const side = 64, out = [];
    for (let y = 0; y < view.height; y += side)
      for (let x = 0; x < view.width; x += side)
        out.push([x, y, Math.min(side, view.width - x), Math.min(side, view.height - y)]);
    const far = ([x, y, w, h]) => Math.hypot(x + w / 2 - view.width / 2, y + h / 2 - view.height / 2);
    return out.sort((a, b) => far(b) - far(a));
  };
  const quartered = ([x, y, w, h]) => {
    const left = w >> 1, top = h >> 1;
    return [[x, y, left, top], [x + left, y, w - left, top], [x, y + top, left, h - top], [x + left, y + top, w - left, h - top]];
  };
  const samplesAPixel = sampling => sampling.samples > 0 ? sampling.samples ** 2 : (1 + 1 / (view.scale * facts.period)) ** 2;
  const timed = (pixels, each, work) => {
    const start = performance.now();
    work();
    const took = Math.max(1e-5, gpu.finished(start) - gpu.overhead), rate = took / (pixels * each);
    gpu.rate = gpu.rate ? Math.min(2 * gpu.rate, 0.5 * gpu.rate + 0.5 * rate) : rate;
  };
  const drawGpu = isNew => {
    const sampling = samplingFor(facts, view.scale), each = samplesAPixel(sampling), all = view.width * view.height;
    if (isNew) {
      gpu.resize(gpu.whole, view.width, view.height);
      isDone = false;
      if (gpu.rate > 0 && all * each * gpu.rate < gpu.frameTime) {
        timed(all, each, () => gpu.draw(gpu.whole, view, sampling, [0, 0, view.width, view.height]));
        isDone = true;
        tiles = [];
        return;
      }
      // A coarse picture that is ready in time.
      let step = gpu.rate > 0 ? Math.ceil(Math.sqrt(all * gpu.rate / gpu.frameTime)) : 12;
      step = Math.min(32, Math.max(2, step));
      const part = {...view, scale: view.scale / step, width: Math.ceil(view.width / step), height: Math.ceil(view.height / step)};
      const simple = facts.squares ? samplingFor(facts, part.scale) : {...sampling, samples: 1};
      timed(part.width * part.height, 1, () => gpu.draw(gpu.coarse, part, simple, [0, 0, part.width, part.height]));
      gpu.enlarge(step);
      tiles = cut();
      return;
    }
    // As many tiles as fit into a frame; one that is too slow by itself is quartered.
    let pixels = 0;
    const now = [], most = gpu.frameTime / (gpu.rate * each);
    while (tiles.length > 0 && pixels < most) {
      const tile = tiles.pop(), area = tile[2] * tile[3];
      if (now.length > 0 && pixels + area > most) {
        tiles.push(tile);
        break;
      }
      if (area > 4 * most && Math.min(tile[2], tile[3]) >= 16) {
        tiles.push(...quartered(tile));
        continue;
      }
      now.push(tile);
      pixels += area;
    }
    timed(pixels, each, () => now.forEach(tile => gpu.draw(gpu.whole, view, sampling, tile)));
    work.done += pixels / all;
    isDone = tiles.length === 0;
  };

  const frame = () => {
    isQueued = false;
    const isNew = !drawn || Object.keys(view).some(key => view[key] !== drawn[key]);
    if (isNew) drawn = {...view}, work.begun = performance.now(), work.done = 0;
    if (usesGpu()) {
      if (isNew) ++request;
      if (isNew || !isDone) drawGpu(isNew);
    } else if (isNew) {
      isDone = false;
      screen.resize(screen.whole, view.width, view.height);
      ask();
    }
    screen.show();
    describe();
    if (usesGpu() && !isDone) queue();
  };
  const queue = () => {
    if (!isQueued) isQueued = true, requestAnimationFrame(frame);
  };

  // What takes longer than two seconds says how far it is, and how long it will take: over the picture, since a line
  // that grows would move the picture, and what is moved is drawn anew.
  const progress = () => {
    const seconds = (performance.now() - work.begun) / 1000;
    if (isDone || seconds < 2) return '';
    if (work.done < 0.01) return `A coarse picture first, ${Math.round(seconds)} s so far`;
    const left = Math.ceil(seconds * (1 - work.done) / work.done);
    return `${Math.floor(100 * work.done)} %, about ${left < 100 ? left + ' s' : Math.ceil(left / 60) + ' minutes'} left`;
  };
  const ground = byId('ground');
  const describe = () => {
    const percent = 100 * view.scale, ratio = devicePixelRatio || 1;
    byId('scale').textContent = (percent < 10 ? percent.toFixed(1) : percent < 1e6 ? Math.round(percent).toLocaleString('en') : percent.toExponential(1)) + ' %';
    const who = usesGpu() ? gpu.software ? `drawn by the processor, which plays a GPU (${gpu.software})` : 'drawn by your GPU' : gpu ? 'drawn in doubles by the processor' : `drawn by the processor (${reason})`;
    byId('state').textContent = who;
    byId('progress').textContent = progress();
    byId('save').disabled = !isDone;
    ground.hidden = facts.channels % 2 === 1;
    Object.assign(ground.style, {left: -view.x * view.scale / ratio + 'px', top: -view.y * view.scale / ratio + 'px',
      width: Math.min(1e7, facts.width * view.scale / ratio) + 'px', height: Math.min(1e7, facts.height * view.scale / ratio) + 'px'});
  };

  // Keeps some of the picture in sight, and the scale in what doubles can tell apart.
  const settle = () => {
    const side = Math.max(facts.width, facts.height);
    view.scale = Math.min(2 ** 40 / side, Math.max(Math.min(fits() / 2, 1), view.scale));
    const within = (at, size, pixels) => {
      const seen = pixels / view.scale;
      return size <= seen ? Math.min(0, Math.max(size - seen, at)) : Math.min(size - seen / 2, Math.max(-seen / 2, at));
    };
    view.x = within(view.x, facts.width, view.width);
    view.y = within(view.y, facts.height, view.height);
    queue();
  };
  // By a factor, so that what is at px, py of the screen stays there.
  const zoom = (factor, px = view.width / 2, py = view.height / 2) => {
    const x = view.x + px / view.scale, y = view.y + py / view.scale, before = view.scale;
    view.scale = Math.min(2 ** 40 / Math.max(facts.width, facts.height), Math.max(Math.min(fits() / 2, 1), before * factor));
    view.x = x - px / view.scale;
    view.y = y - py / view.scale;
    settle();
  };
  const pan = (dx, dy) => {
    view.x -= dx / view.scale;
    view.y -= dy / view.scale;
    settle();
  };
  const wholly = () => {
    view.scale = fits();
    view.x = (facts.width - view.width / view.scale) / 2;
    view.y = (facts.height - view.height / view.scale) / 2;
    settle();
  };
  const pixelOnPixel = () => {
    zoom(1 / view.scale);
    view.x = Math.round(view.x);
    view.y = Math.round(view.y);
    settle();
  };
  // A step in several frames, unless one asked for less motion.
  const smoothly = factor => {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return zoom(factor);
    const turn = ++moved, frames = 8;
    const next = left => {
      if (left === 0 || turn !== moved) return;
      zoom(factor ** (1 / frames));
      requestAnimationFrame(() => next(left - 1));
    };
    next(frames);
  };

  const size = () => {
    const ratio = devicePixelRatio || 1, box = stage.getBoundingClientRect();
    const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
    if (width === view.width && height === view.height) return;
    const isFirst = drawn === null, was = {...view}, whole = Math.abs(view.scale / fits() - 1) < 1e-9;
    Object.assign(surface(), {width, height});
    Object.assign(view, {width, height});
    if (isFirst || whole) return wholly();
    view.x += (was.width - width) / 2 / view.scale;
    view.y += (was.height - height) / 2 / view.scale;
    settle();
  };
  new ResizeObserver(size).observe(stage);
  size();

  const at = event => {
    const box = stage.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  };
  stage.addEventListener('wheel', event => {
    event.preventDefault();
    ++moved;
    zoom(2 ** (-event.deltaY * (event.deltaMode === 1 ? 18 : 1) / (event.ctrlKey ? 80 : 240)), ...at(event));
  }, {passive: false});
  const fingers = new Map();
  stage.addEventListener('pointerdown', event => {
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    ++moved;
  });
  stage.addEventListener('pointermove', event => {
    const before = fingers.get(event.pointerId), now = at(event);
    if (!before) return;
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const apart = place => Math.max(1, Math.hypot(place[0] - other[0], place[1] - other[1]));
      zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else if (fingers.size === 1) {
      pan(now[0] - before[0], now[1] - before[1]);
    }
    fingers.set(event.pointerId, now);
  });
  for (const end of ['pointerup', 'pointercancel']) stage.addEventListener(end, event => fingers.delete(event.pointerId));
  stage.addEventListener('dblclick', event => zoom(2, ...at(event)));

  const step = () => Math.min(view.width, view.height) / 8;
  const keys = {
    ArrowLeft: () => pan(step(), 0), ArrowRight: () => pan(-step(), 0), ArrowUp: () => pan(0, step()),
    ArrowDown: () => pan(0, -step()), '+': () => smoothly(2), '=': () => smoothly(2), '-': () => smoothly(0.5),
    0: wholly, 1: pixelOnPixel,
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    ++moved;
    keys[event.key]();
  });
  byId('in').onclick = () => smoothly(2);
  byId('out').onclick = () => smoothly(0.5);
  byId('whole').onclick = wholly;
  byId('own').onclick = pixelOnPixel;
  byId('save').onclick = () => {
    const paper = document.createElement('canvas');
    Object.assign(paper, {width: view.width, height: view.height});
    paper.getContext('2d').putImageData(new ImageData(new Uint8ClampedArray(screen.pixels()), view.width, view.height), 0, 0);
    paper.toBlob(blob => save(blob, '.png'), 'image/png');
  };
  // A lost GPU (it was reset, or unplugged) leaves a canvas that takes no other context.
  surface().addEventListener('webglcontextlost', event => {
    event.preventDefault();
    const fresh = canvas.cloneNode();
    surface().replaceWith(fresh);
    Object.assign(fresh, {width: view.width, height: view.height});
    gpu = null;
    reason = 'the GPU was lost';
    screen = new Plain(fresh);
    drawn = null;
    queue();
  });

  // For scripts: show a view, wait until it is whole, read its pixels.
  window.veldt = {
    show: part => {
      Object.assign(view, part);
      queue();
    },
    isDone: () => isDone && !isQueued && drawn && Object.keys(view).every(key => view[key] === drawn[key]),
    view: () => ({...view}),
    pixels: () => screen.pixels(),
    renderer: () => usesGpu() ? 'webgl2' : 'js',
  };
}

(facts.rate > 0 ? showSound : showPicture)();
