// The page: what it knows of each run, where news comes from, and what is shown.
const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
const runs = [];
const charts = new Map();
let shown = 0;            // the run whose pictures, texts and tables are shown
let follows = true;       // whether the newest picture is shown
let playing = 0;
let is_live = false;

function new_run(name, can_be_asked) {
  return {name, can_be_asked, visible: true, status: {}, newest: [], series: [], pictures: [], texts: [], notes: [], facts: [],
    outcome: null, bitmaps: new Map()};
}

function take(run, news) {
  run.status = news.status;
  run.newest = news.newest;  // of each curve, as it was measured
  run.series.length = Math.min(run.series.length, news.newest.length);  // another run in the same folder
  for (const part of news.series || []) {
    const s = run.series[part.number] || (run.series[part.number] = {});
    const keep = (list, more) => (list || []).slice(0, part.first).concat(more);
    Object.assign(s, {name: part.name, unit: part.unit, group: part.group, steps: keep(s.steps, part.steps),
      seconds: keep(s.seconds, part.seconds), values: keep(s.values, part.values)});
  }
  for (const key of ["pictures", "texts", "notes", "facts", "outcome"]) if (news[key]) run[key] = news[key];
  run.is_new = Boolean(news.texts || news.notes || news.facts || news.outcome) || run.is_new;
}

// --- what is shown --------------------------------------------------------------------------------

let waits = false;
function show_soon() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => { waits = false; show(); });
}

function show() {
  const run = runs[shown];
  if (!run) return;
  const s = run.status, several = runs.length > 1;
  $("title").textContent = several ? `${runs.length} runs` : s.title || run.name;
  document.title = `${s.state === "running" && s.total_steps ? Math.floor(100 * s.step / s.total_steps) + " % " : ""}${s.title || run.name} - Veldt`;
  $("state").textContent = s.state || "";
  $("state").dataset.state = s.state || "";
  $("controls").hidden = !run.can_be_asked || !["running", "paused", "beginning"].includes(s.state);
  $("pause").textContent = s.state === "paused" ? "Go on" : "Pause";
  $("progress").hidden = !(s.total_steps > 0);
  if (s.total_steps > 0) $("progress").value = s.step / s.total_steps;
  show_numbers(s, run);
  if (several) show_runs();
  show_pictures();
  show_charts();
  if (run.is_new || run.drawn !== shown) {
    run.is_new = false;
    run.drawn = shown;
    const difference = several ? comparison_of(runs) : null;
    $("panels").replaceChildren(...(difference ? [difference] : []), ...panels_of(run, several));
  }
}

function last_of(run, name) {
  const i = run.series.findIndex((x) => x && x.name === name);
  return i < 0 ? null : run.newest[i];
}

function show_numbers(s, run) {
  const lines = [["step", (s.step || 0).toLocaleString("en") + (s.total_steps ? " / " + s.total_steps.toLocaleString("en") : "")]];
  for (const [i, c] of run.series.entries())
    if (c && c.values.length && !["gradients", "memory"].includes(c.group) && lines.length < 10)
      lines.push([c.name, in_short(run.newest[i]) + (c.unit ? " " + c.unit : "")]);
  lines.push(["time", in_time(s.seconds)]);
  if (s.seconds_left >= 0 && s.state === "running") lines.push(["left", in_time(s.seconds_left)]);
  if (s.memory_bytes > 0) lines.push(["memory", `${Math.round(s.memory_bytes / 1e6).toLocaleString("en")} MB`]);
  if (s.device) lines.push(["device", s.device]);
  $("numbers").replaceChildren(...lines.map(([name, value]) =>
    element("div", {}, element("dt", {textContent: name}), element("dd", {textContent: value}))));
}

const score_of = (run, name) => (run.facts.find((f) => f.group === "scores" && f.name === name) || {value: "–"}).value;

function show_runs() {
  const names = [], scores = [];
  for (const run of runs) for (const f of run.facts)  // of training and validation there are curves
    if (f.group === "scores" && !/^(train|val)_/.test(f.name) && !scores.includes(f.name) && scores.length < 8) scores.push(f.name);
  for (const run of runs) for (const s of run.series)
    if (s && !s.group.startsWith("gradients") && !names.includes(s.name) && names.length < 8) names.push(s.name);
  const rows = runs.map((run, i) => {
    const see = element("input", {type: "checkbox", checked: run.visible, ariaLabel: `curves of ${run.name}`});
    see.addEventListener("change", () => { run.visible = see.checked; show_soon(); });
    const name = element("button", {type: "button", textContent: run.name, ariaPressed: String(i === shown)});
    name.addEventListener("click", () => { shown = i; follows = true; show_soon(); });
    return element("tr", {}, element("td", {}, see), element("td", {}, element("i", {class: `k${i % 7}`, textContent: "■ "}), name),
      element("td", {textContent: run.status.state || ""}),
      element("td", {class: "number", textContent: (run.status.step || 0).toLocaleString("en")}),
      element("td", {class: "number", textContent: in_time(run.status.seconds)}),
      ...scores.map((n) => element("td", {class: "number", textContent: score_of(run, n)})),
      ...names.map((n) => element("td", {class: "number", textContent: in_short(last_of(run, n))})));
  });
  const key = JSON.stringify(rows.map((row) => row.textContent)) + shown;
  if (key === show_runs.key) return;
  show_runs.key = key;
  $("runs").hidden = false;
  $("runs").replaceChildren(element("div", {class: "wide"}, element("table", {},
    element("thead", {}, element("tr", {}, ...["", "run", "state", "step", "time", ...scores, ...names].map((h, i) =>
      element("th", {class: i > 2 ? "number" : "", textContent: h})))),
    element("tbody", {}, ...rows))));
}

// --- pictures -------------------------------------------------------------------------------------

const drawn = (run) => run.pictures.filter((p) => p.name === "picture");
const truth_of = (run) => run.pictures.find((p) => p.name === "truth");

function source_of(run, picture) {
  return picture.png ? "data:image/png;base64," + picture.png
    : `picture?run=${runs.indexOf(run)}&number=${picture.number}&token=${encodeURIComponent(token)}`;
}

// The pixels of a picture; nothing while it is on its way.
function bitmap_of(run, picture) {
  const key = picture.number;
  if (!run.bitmaps.has(key)) {
    run.bitmaps.set(key, null);
    if (run.bitmaps.size > 80) run.bitmaps.delete(run.bitmaps.keys().next().value);
    const image = new Image();
    image.onload = () => { run.bitmaps.set(key, image); show_soon(); };
    image.onerror = () => run.bitmaps.delete(key);
    image.src = source_of(run, picture);
  }
  return run.bitmaps.get(key);
}

function figure(id, caption) {
  let node = $(id);
  if (!node) {
    node = element("figure", {id}, element("canvas", {width: 1, height: 1}), element("figcaption"));
    $("figures").append(node);
  }
  node.caption = caption;
  return node.firstChild;
}

// The caption is that of the pixels, which may still be on their way.
function say(canvas) {
  const node = canvas.parentNode;
  if (node.lastChild.textContent !== node.caption) node.lastChild.textContent = node.caption;
}

function put(canvas, image) {
  if (!image) return;
  say(canvas);
  if (canvas.drawn === image) return;
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0);
  canvas.style.imageRendering = Math.max(image.naturalWidth, image.naturalHeight) < 128 ? "" : "auto";
  canvas.drawn = image;
}

// Grey is equal, brighter and darker are too bright and too dark, four times as strong.
function put_difference(canvas, now, truth) {
  if (!now || !truth) return;
  say(canvas);
  if (canvas.drawn === now && canvas.of === truth) return;
  const w = canvas.width = now.naturalWidth, h = canvas.height = now.naturalHeight;
  const pen = canvas.getContext("2d", {willReadFrequently: true});
  const pixels = (image) => { pen.clearRect(0, 0, w, h); pen.drawImage(image, 0, 0, w, h); return pen.getImageData(0, 0, w, h); };
  const a = pixels(now), b = pixels(truth);
  for (let i = 0; i < a.data.length; ++i) a.data[i] = i % 4 === 3 ? 255 : 128 + 4 * (a.data[i] - b.data[i]);
  pen.putImageData(a, 0, 0);
  canvas.drawn = now;
  canvas.of = truth;
}

function show_pictures() {
  const wanted = [];
  const run = runs[shown], list = drawn(run), slider = $("when");
  $("pictures").hidden = runs.every((r) => drawn(r).length === 0);
  if ($("pictures").hidden) return;
  const before = Number(slider.value);
  slider.max = Math.max(0, list.length - 1);
  slider.value = follows ? slider.max : before;
  const at = Number(slider.value), picture = list[at];
  // Other runs show theirs of the same step, or the last one before it.
  for (const [i, r] of runs.entries()) {
    if (i !== shown && !r.visible) continue;
    const pictures = drawn(r);
    const p = i === shown ? picture : follows ? pictures[pictures.length - 1]
      : [...pictures].reverse().find((x) => picture && x.step <= picture.step) || pictures[0];
    if (!p) continue;
    const id = `figure${i}`;
    wanted.push(id);
    put(figure(id, `${runs.length > 1 ? r.name + ", " : ""}step ${p.step.toLocaleString("en")}`), bitmap_of(r, p));
  }
  const truth = truth_of(run), how = $("compare").value;
  $("compare_choice").hidden = !truth;
  if (truth && how !== "none") {
    wanted.push("beside");
    const canvas = figure("beside", how === "truth" ? "the truth" : "the difference, four times as strong");
    if (canvas.how !== how) { canvas.how = how; canvas.drawn = null; }
    if (how === "truth") put(canvas, bitmap_of(run, truth));
    else if (picture) put_difference(canvas, bitmap_of(run, picture), bitmap_of(run, truth));
  }
  for (const node of [...$("figures").children]) if (!wanted.includes(node.id)) node.remove();
  if ($("beside")) $("figures").append($("beside"));
  $("when_text").textContent = picture ? `step ${picture.step.toLocaleString("en")}${follows && is_live && run.status.state === "running" ? ", now" : ""}` : "";
  slider.setAttribute("aria-valuetext", $("when_text").textContent);
}

function look_at(number) {
  $("when").value = Math.min(Math.max(0, number), Number($("when").max));
  follows = Number($("when").value) === Number($("when").max);
  show_soon();
}

function play() {
  if (playing) {
    clearInterval(playing);
    playing = 0;
  } else {
    if (Number($("when").value) === Number($("when").max)) look_at(0);
    playing = setInterval(() => {
      if (Number($("when").value) >= Number($("when").max)) return play();
      look_at(Number($("when").value) + 1);
    }, 160);
  }
  $("play").textContent = playing ? "❚❚" : "▶";
  $("play").ariaLabel = playing ? "pause the pictures" : "play";
}

// --- curves ---------------------------------------------------------------------------------------

const chart_options = {smoothing: () => Number($("smoothing").value), across: () => $("across").value};

// A chart for each group of curves, and for each curve without a group.
function show_charts() {
  const groups = [];
  for (const run of runs) for (const s of run.series)
    if (s && !groups.includes(s.group || s.name)) groups.push(s.group || s.name);
  $("curve_choices").hidden = groups.length === 0;
  for (const [group, chart] of charts)
    if (!groups.includes(group)) { chart.node.remove(); charts.delete(group); }
  for (const group of groups) {
    if (charts.has(group)) continue;
    const chart = new Chart(group, () => {
      const curves = [];
      for (const [i, run] of runs.entries()) {
        if (!run.visible) continue;
        const own = run.series.filter((s) => s && (s.group || s.name) === group);
        for (const [k, s] of own.entries())
          curves.push({name: runs.length > 1 ? `${run.name}${own.length > 1 ? " " + s.name : ""}` : s.name, unit: s.unit,
            colour: runs.length > 1 ? i : k, x: chart_options.across() === "seconds" ? s.seconds : s.steps, y: s.values});
      }
      return curves;
    }, chart_options);
    charts.set(group, chart);
    $("charts").append(chart.node);
  }
  for (const chart of charts.values()) chart.draw();
}

// --- what a viewer asks for -----------------------------------------------------------------------

async function ask(what) {
  const run = runs[shown];
  if (!run || !run.can_be_asked) return;
  const answer = await fetch(`control?run=${shown}`, {method: "POST", body: what, headers: {"X-Veldt-Token": token}})
    .catch(() => null);
  if (!answer || !answer.ok) $("lost").hidden = false;
}

$("pause").addEventListener("click", () => ask(runs[shown].status.state === "paused" ? "go on" : "pause"));
$("save").addEventListener("click", () => ask("save"));
$("stop").addEventListener("click", () => $("sure").showModal());
$("sure").addEventListener("close", () => { if ($("sure").returnValue === "yes") ask("stop"); });
$("help").addEventListener("click", () => $("keys").showModal());
$("play").addEventListener("click", play);
$("when").addEventListener("input", () => look_at(Number($("when").value)));
$("compare").addEventListener("change", show_soon);
$("across").addEventListener("change", show_soon);
$("smoothing").addEventListener("input", () => { $("smoothing_text").textContent = $("smoothing").value; show_soon(); });
addEventListener("resize", show_soon);

function next_of(select) {
  select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
  show_soon();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox") return;
  const keys = {p: () => !$("controls").hidden && $("pause").click(), s: () => !$("controls").hidden && ask("save"),
    x: () => !$("controls").hidden && $("stop").click(), ArrowLeft: () => look_at(Number($("when").value) - 1),
    ArrowRight: () => look_at(Number($("when").value) + 1), d: () => next_of($("compare")), t: () => next_of($("across")),
    "?": () => $("keys").showModal()};
  if (event.key === " " && event.target.tagName !== "BUTTON" && !$("pictures").hidden) keys[" "] = play;
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
});

// --- where news comes from ------------------------------------------------------------------------

const records = JSON.parse($("records").textContent);
for (const {name, news} of records) {
  runs.push(new_run(name, false));
  take(runs[runs.length - 1], news);
}
if (records.length) show();

// A page that nobody sees holds no connection: browsers have six for a server, and others may want them.
let events = null;
function listen() {
  if (records.length || events || document.hidden) return;
  events = new EventSource(`events?token=${encodeURIComponent(token)}`);
  events.addEventListener("runs", (event) => {
    is_live = true;
    $("lost").hidden = true;
    const old = runs.splice(0);
    for (const [i, run] of JSON.parse(event.data).entries())
      runs.push(Object.assign(new_run(run.name, run.control), old[i] ? {visible: old[i].visible} : {}));
    shown = Math.min(shown, Math.max(0, runs.length - 1));
  });
  events.onmessage = (event) => {
    const {run, news} = JSON.parse(event.data);
    if (runs[run]) take(runs[run], news);
    show_soon();
  };
  events.onerror = () => {
    is_live = false;
    if (runs.length && runs.every((run) => ["done", "stopped", "failed"].includes(run.status.state))) { events.close(); return; }
    $("lost").hidden = false;
  };
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden && events) { events.close(); events = null; }
  listen();
});
listen();
