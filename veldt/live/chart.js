// A chart of curves: drawn as SVG, with the values under the pointer. Names have no clash with those of the
// page's other files, which stand after this one in one script.
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A number in few letters: 0.00123, 1.2e-7, 12,300.
function in_short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function in_time(seconds) {
  if (!(seconds >= 0)) return "?";
  const s = Math.floor(seconds), two = (x) => String(x).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}`
    : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

// Round numbers, about `count` of them, in low..high.
function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) || 10), found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) found.push(t);
  return found;
}

// The same of a scale of powers: 1, 2 and 5 of each decade, or only some of the powers.
function power_ticks(low, high) {
  const first = Math.floor(low), last = Math.ceil(high), found = [];
  const every = Math.max(1, Math.ceil((last - first) / 6)), parts = high - low < 2.5 ? [1, 2, 5] : [1];
  for (let power = first; power <= last; power += every)
    for (const part of parts) {
      const t = Math.log10(part) + power;
      if (t >= low && t <= high) found.push(t);
    }
  return found;
}

// A moving average whose beginning is not drawn to 0.
function smoothed(values, weight) {
  let mean = 0, left = 1;
  return values.map((v) => {
    if (v === null) return null;
    mean = weight * mean + (1 - weight) * v;
    left *= weight;
    return mean / (1 - left);
  });
}

class Chart {
  // `curves()` gives [{name, unit, colour, x: [], y: []}]; y is null where there is no number.
  constructor(title, curves, options) {
    this.curves = curves;
    this.options = options;
    this.title = title;
    this.log = null;  // null: as the values ask for
    this.at = null;   // the place of the pointer, in pixels
    this.log_button = element("button", {type: "button", textContent: "log"});
    this.log_button.addEventListener("click", () => { this.log = !this.is_log; this.draw(); });
    this.drawing = svg("svg", {role: "img", "aria-label": title});
    this.legend = element("div", {class: "legend"});
    this.node = element("div", {class: "chart"},
      element("h3", {}, element("span", {textContent: title}), this.log_button), this.drawing, this.legend);
    const move = (event) => {
      this.at = event.clientX - this.drawing.getBoundingClientRect().left;
      this.draw();
    };
    this.drawing.addEventListener("pointermove", move);
    this.drawing.addEventListener("pointerdown", move);
    this.drawing.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
  }

  draw() {
    const box = this.drawing.getBoundingClientRect();
    if (box.width < 10) return;
    const curves = this.curves().filter((c) => c.x.length > 0);
    const left = 52, right = 8, top = 8, bottom = 20;
    const width = box.width - left - right, height = box.height - top - bottom;
    const weight = this.options.smoothing();
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const c of curves) {
      c.shown = weight > 0 ? smoothed(c.y, weight) : c.y;
      for (let i = 0; i < c.x.length; ++i) {
        const y = c.y[i];
        if (y === null) continue;
        x0 = Math.min(x0, c.x[i]); x1 = Math.max(x1, c.x[i]);
        y0 = Math.min(y0, y); y1 = Math.max(y1, y);
      }
    }
    this.drawing.replaceChildren();
    this.drawing.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    if (x0 > x1) { this.legend.replaceChildren("no values yet"); return; }
    this.is_log = this.log === null ? y0 > 0 && y1 / y0 > 50 : this.log && y0 > 0;
    this.log_button.setAttribute("aria-pressed", String(this.is_log));
    this.log_button.textContent = this.is_log ? "linear" : "log";
    this.log_button.hidden = !(y0 > 0);
    const f = this.is_log ? Math.log10 : (v) => v;
    let low = f(y0), high = f(y1);
    if (high - low < 1e-12 * Math.max(1, Math.abs(high))) { const d = Math.abs(high) * 0.05 || 0.5; low -= d; high += d; }
    if (x1 === x0) x1 = x0 + 1;
    const px = (x) => left + (x - x0) / (x1 - x0) * width;
    const py = (y) => top + (1 - (f(y) - low) / (high - low)) * height;
    for (const t of this.is_log ? power_ticks(low, high) : ticks(low, high, 4)) {
      const y = top + (1 - (t - low) / (high - low)) * height;
      this.drawing.append(svg("line", {x1: left, x2: box.width - right, y1: y, y2: y, class: "grid"}),
        svg("text", {x: left - 5, y: y + 4, "text-anchor": "end"}, in_short(this.is_log ? 10 ** t : t)));
    }
    const by_time = this.options.across() === "seconds";
    for (const t of ticks(x0, x1, Math.max(2, Math.floor(width / 90))))
      this.drawing.append(svg("text", {x: px(t), y: box.height - 5, "text-anchor": px(t) < left + 12 ? "start" : px(t) > box.width - right - 12 ? "end" : "middle"},
        by_time ? in_time(t) : in_short(t)));
    const path = (x, y) => {
      let text = "", pen = "M";
      for (let i = 0; i < x.length; ++i) {
        if (y[i] === null || (this.is_log && !(y[i] > 0))) { pen = "M"; continue; }
        text += `${pen}${px(x[i]).toFixed(1)} ${py(y[i]).toFixed(1)}`;
        pen = "L";
      }
      return text;
    };
    for (const c of curves) {
      if (weight > 0) this.drawing.append(svg("path", {d: path(c.x, c.y), class: `raw k${c.colour % 7}`}));
      this.drawing.append(svg("path", {d: path(c.x, c.shown), class: `k${c.colour % 7}`}));
      if (c.x.length === 1 && c.shown[0] !== null)
        this.drawing.append(svg("circle", {cx: px(c.x[0]), cy: py(c.shown[0]), r: 2.5, class: `k${c.colour % 7}`}));
    }
    const where = this.at === null ? x1 : x0 + (this.at - left) / width * (x1 - x0);
    if (this.at !== null) {
      const x = Math.min(Math.max(this.at, left), box.width - right);
      this.drawing.append(svg("line", {x1: x, x2: x, y1: top, y2: top + height, class: "cross"}));
    }
    const shown = curves.slice(0, 24).map((c) => {
      let i = c.x.length - 1;
      while (i > 0 && c.x[i - 1] >= where) --i;
      if (i > 0 && Math.abs(c.x[i - 1] - where) < Math.abs(c.x[i] - where)) --i;
      return element("span", {}, element("i", {class: `k${c.colour % 7}`, textContent: "■ "}),
        `${c.name} ${in_short(c.shown[i])}${c.unit ? " " + c.unit : ""}`);
    });
    if (this.at !== null)
      shown.unshift(element("span", {textContent: by_time ? `at ${in_time(where)}` : `step ${Math.round(where).toLocaleString("en")}`}));
    this.legend.replaceChildren(...shown);
  }
}
