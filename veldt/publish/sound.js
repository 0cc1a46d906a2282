// The page of a sound: its wave, played piece by piece as it is computed. core.js and page.js stand before this.
function showSound() {
  const {rate, channels, height: frames} = facts, seconds = frames / rate;
  const known = Array.from({length: channels}, () => new Float32Array(frames));
  const context = canvas.getContext('2d'), play = byId('play'), time = byId('time');
  let ready = 0, audio = null, began = 0, from = 0, queued = 0, sources = [], timer = 0, picture = 0;

  const hear = ({first, frames: block}) => {
    block.forEach((values, c) => known[c].set(values, first));
    ready = Math.max(ready, first + block[0].length);
    byId('state').textContent = ready < frames ? `computed ${Math.floor(100 * ready / frames)} %` : 'computed on this device';
    byId('save').disabled = ready < frames;
    draw();
  };
  const [tell] = helpersOf(1, hear);
  tell({id: 1, first: 0, end: frames});

  // In seconds. Where pieces are not there in time, the ear waits at the end of what is queued.
  const at = () => audio ? Math.min(queued / rate, from + Math.max(0, audio.currentTime - began)) : from;
  const draw = () => {
    const ratio = devicePixelRatio || 1, box = stage.getBoundingClientRect();
    const width = canvas.width = Math.max(1, Math.round(box.width * ratio));
    const height = canvas.height = Math.max(1, Math.round(box.height * ratio));
    const middle = height / 2, full = Math.max(facts.peak, 1e-9);
    context.fillStyle = css('--accent');
    for (let x = 0; x < width; ++x) {
      const begin = Math.floor(x * frames / width), end = Math.min(ready, Math.max(begin + 1, Math.floor((x + 1) * frames / width)));
      let low = 0, high = 0;
      for (let i = begin, skip = Math.max(1, Math.floor((end - begin) / 400)); i < end; i += skip)
        for (const channel of known) low = Math.min(low, channel[i]), high = Math.max(high, channel[i]);
      if (begin < end) context.fillRect(x, middle - high / full * middle * 0.94, 1, Math.max(1, (high - low) / full * middle * 0.94));
    }
    context.fillStyle = css('--ink');
    context.fillRect(Math.round(at() / seconds * width), 0, Math.max(1, ratio), height);
    const clock = s => `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')}`;
    time.textContent = `${clock(at())} / ${clock(seconds)}`;
  };
  const stop = () => {
    from = at() >= seconds ? 0 : at();
    clearTimeout(timer);
    cancelAnimationFrame(picture);
    sources.forEach(source => source.stop());
    sources = [];
    if (audio) audio.close();
    audio = null;
    play.textContent = 'Play';
    play.setAttribute('aria-pressed', 'false');
    draw();
  };
  // Half a second of what is computed at a time, two seconds ahead of the ear; by a timer, since a page that is not
  // seen has no frames.
  const feed = () => {
    if (!audio) return;
    const piece = Math.ceil(rate / 2);
    while (queued < frames && (queued + piece <= ready || ready === frames) && (queued / rate - at()) < 2) {
      const count = Math.min(piece, frames - queued), buffer = audio.createBuffer(channels, count, rate);
      known.forEach((values, c) => buffer.copyToChannel(values.subarray(queued, queued + count), c));
      const source = audio.createBufferSource();
      source.buffer = buffer;
      source.connect(audio.destination);
      // A piece that is late already is heard from now on, and all that follow as much later.
      const late = audio.currentTime - (began + queued / rate - from);
      if (late > 0) began += late + 0.02;
      source.start(began + queued / rate - from);
      sources.push(source);
      queued += count;
    }
    if (at() >= seconds) stop();
    else timer = setTimeout(feed, 50);
  };
  const follow = () => {
    draw();
    picture = requestAnimationFrame(follow);
  };
  const start = () => {
    // At the sound's own rate where the browser has it, so that nothing is resampled between two pieces.
    try {
      audio = new AudioContext({sampleRate: rate});
    } catch {
      audio = new AudioContext();
    }
    began = audio.currentTime + 0.05;
    queued = Math.min(frames - 1, Math.floor(from * rate));
    play.textContent = 'Pause';
    play.setAttribute('aria-pressed', 'true');
    feed();
    follow();
  };
  const seek = to => {
    const wasPlaying = audio !== null;
    stop();
    from = Math.min(seconds, Math.max(0, to));
    if (wasPlaying) start();
    draw();
  };
  play.onclick = () => audio ? stop() : start();
  stage.addEventListener('pointerdown', event => {
    const box = stage.getBoundingClientRect();
    seek((event.clientX - box.left) / box.width * seconds);
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === ' ' && event.target !== play) event.preventDefault(), play.onclick();
    if (event.key === 'ArrowLeft') seek(at() - seconds / 20);
    if (event.key === 'ArrowRight') seek(at() + seconds / 20);
    if (event.key === '0') seek(0);
  });
  byId('save').onclick = () => {
    const bytes = new DataView(new ArrayBuffer(44 + 2 * channels * frames));
    const word = (place, text) => [...text].forEach((letter, i) => bytes.setUint8(place + i, letter.charCodeAt(0)));
    word(0, 'RIFF');
    bytes.setUint32(4, bytes.byteLength - 8, true);
    word(8, 'WAVEfmt ');
    bytes.setUint32(16, 16, true);
    bytes.setUint16(20, 1, true);
    bytes.setUint16(22, channels, true);
    bytes.setUint32(24, rate, true);
    bytes.setUint32(28, 2 * rate * channels, true);
    bytes.setUint16(32, 2 * channels, true);
    bytes.setUint16(34, 16, true);
    word(36, 'data');
    bytes.setUint32(40, 2 * channels * frames, true);
    for (let i = 0, put = 44; i < frames; ++i)
      for (const values of known) {
        bytes.setInt16(put, Math.min(32767, Math.max(-32768, Math.floor(32768 * values[i] + 0.5))), true);
        put += 2;
      }
    save(new Blob([bytes], {type: 'audio/wav'}), '.wav');
  };
  new ResizeObserver(draw).observe(stage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  window.veldt = {isDone: () => ready === frames, samples: () => known, rate, renderer: () => 'js'};
}
