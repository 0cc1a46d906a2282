// Moves and enlarges a picture of width x height in #stage: draw() puts what is seen onto the canvas.
'use strict';
const byId = id => document.getElementById(id), canvas = byId('view'), stage = byId('stage'), context = canvas.getContext('2d');
const view = {x: 0, y: 0, scale: 1};
let isQueued = false, isFirst = true;

const queue = () => {
  if (isQueued) return;
  isQueued = true;
  requestAnimationFrame(() => {
    isQueued = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    draw();
    const percent = 100 * view.scale;
    byId('scale').textContent = (percent < 10 ? percent.toPrecision(2) : Math.round(percent).toLocaleString('en')) + ' %';
  });
};
const fits = () => Math.min(canvas.width / width, canvas.height / height);
const settle = () => {
  view.scale = Math.min(32, Math.max(Math.min(fits() / 2, 1), view.scale));
  const within = (at, size, pixels) => {
    const seen = pixels / view.scale;
    return size <= seen ? Math.min(0, Math.max(size - seen, at)) : Math.min(size - seen / 2, Math.max(-seen / 2, at));
  };
  view.x = within(view.x, width, canvas.width);
  view.y = within(view.y, height, canvas.height);
  queue();
};
const zoom = (factor, px = canvas.width / 2, py = canvas.height / 2) => {
  const x = view.x + px / view.scale, y = view.y + py / view.scale;
  view.scale = Math.min(32, Math.max(Math.min(fits() / 2, 1), view.scale * factor));
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
  view.scale = Math.min(1, fits());
  view.x = (width - canvas.width / view.scale) / 2;
  view.y = (height - canvas.height / view.scale) / 2;
  settle();
};
new ResizeObserver(() => {
  const ratio = devicePixelRatio || 1, box = stage.getBoundingClientRect();
  const isWhole = isFirst || view.scale === Math.min(1, fits());
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  if (isWhole) wholly();
  else settle();
  isFirst = false;
}).observe(stage);
const at = event => {
  const box = stage.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
};
stage.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(2 ** (-event.deltaY * (event.deltaMode === 1 ? 18 : 1) / (event.ctrlKey ? 80 : 240)), ...at(event));
}, {passive: false});
const fingers = new Map();
stage.addEventListener('pointerdown', event => {
  stage.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, at(event));
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
const step = () => Math.min(canvas.width, canvas.height) / 8;
const keys = {
  ArrowLeft: () => pan(step(), 0), ArrowRight: () => pan(-step(), 0), ArrowUp: () => pan(0, step()),
  ArrowDown: () => pan(0, -step()), '+': () => zoom(2), '=': () => zoom(2), '-': () => zoom(0.5), 0: wholly, 1: () => zoom(1 / view.scale),
};
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
byId('in').onclick = () => zoom(2);
byId('out').onclick = () => zoom(0.5);
byId('whole').onclick = wholly;
byId('own').onclick = () => zoom(1 / view.scale);
