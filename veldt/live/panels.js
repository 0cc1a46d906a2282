// What a run is, and what came of it: tables, texts, notes.
function table_of(heads, rows, numbers = []) {
  const cell = (kind, text, i) => element(kind, {class: numbers.includes(i) ? "number" : "", textContent: text});
  return element("div", {class: "wide"}, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((h, i) => cell("th", h, i)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text, i) => cell("td", text, i)))))));
}

function part_of(title, ...content) {
  return element("section", {}, element("h2", {textContent: title}), ...content);
}

// Rows are labels, columns what they were taken for; the colour is the share of the row.
function confusion_part(confusion, of) {
  const n = confusion.classes.length, rows = [];
  let right = 0, all = 0;
  for (let i = 0; i < n; ++i) {
    const counts = confusion.counts.slice(i * n, (i + 1) * n), sum = counts.reduce((a, b) => a + b, 0);
    right += counts[i];
    all += sum;
    rows.push(element("tr", {}, element("th", {textContent: confusion.classes[i]}), ...counts.map((count, k) => {
      const cell = element("td", {textContent: count || "·",
        title: `${confusion.classes[i]} taken for ${confusion.classes[k]}: ${count} of ${sum}`});
      if (count) cell.style.backgroundColor = `rgba(var(--heat), ${(0.08 + 0.6 * count / sum).toFixed(3)})`;
      return cell;
    }), element("td", {textContent: sum ? `${(100 * counts[i] / sum).toFixed(1)} %` : ""})));
  }
  const head = element("tr", {}, element("th"), ...confusion.classes.map((name) => element("th", {textContent: name})),
    element("th", {textContent: "right"}));
  return part_of("Confusion" + of,
    element("p", {textContent: `${right.toLocaleString("en")} of ${all.toLocaleString("en")} are right. A row is a true class, a column what it was taken for.`}),
    element("div", {class: "wide"}, element("table", {class: "confusion"}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

function worst_part(worst, of) {
  return part_of("Worst examples" + of, element("div", {class: "worst"}, ...worst.map((w) => element("figure", {},
    ...(w.png ? [element("img", {src: "data:image/png;base64," + w.png, alt: `example ${w.name}`, loading: "lazy"})] : []),
    element("figcaption", {textContent: `${w.name}: ${w.label}, taken for ${w.taken_for}; ${(100 * w.probability).toPrecision(2)} % for the truth`})))));
}

// With its name, beside other runs.
function panels_of(run, several) {
  const parts = [], of = several ? ` of ${run.name}` : "", outcome = run.outcome || {};
  for (const t of [...run.texts].reverse().slice(0, 5))
    parts.push(part_of(`${t.name}${of}${t.step > 0 ? `, step ${t.step.toLocaleString("en")}` : ""}`, element("pre", {textContent: t.text})));
  if (outcome.confusion) parts.push(confusion_part(outcome.confusion, of));
  if (outcome.worst) parts.push(worst_part(outcome.worst, of));
  if (outcome.layers)
    parts.push(part_of("Layers" + of, table_of(["layer", "kind", "output", "parameters"],
      outcome.layers.map((l) => [l.name, l.kind, l.output, l.parameters.toLocaleString("en")]), [3])));
  const groups = new Map();
  for (const f of run.facts) {
    if (!groups.has(f.group)) groups.set(f.group, []);
    groups.get(f.group).push([f.name, f.value]);
  }
  const first = ["scores", "run", "choices", "recipe", "data"];
  const rank = (name) => (first.indexOf(name) + 100) % 100;
  for (const [name, rows] of [...groups].sort((a, b) => rank(a[0]) - rank(b[0]))) parts.push(part_of(name + of, table_of(["", ""], rows)));
  if (run.notes.length)
    parts.push(part_of("Notes" + of, table_of(["at", "step", ""],
      [...run.notes].reverse().map((n) => [in_time(n.seconds), n.step.toLocaleString("en"), (n.warning ? "⚠ " : "") + n.text]), [1])));
  return parts;
}

// Runs side by side: what they share is left out of the settings.
function comparison_of(runs) {
  const keys = new Map();
  for (const run of runs) for (const f of run.facts) keys.set(`${f.group}: ${f.name}`, true);
  const value = (run, key) => (run.facts.find((f) => `${f.group}: ${f.name}` === key) || {value: "–"}).value;
  const rows = [...keys.keys()].map((key) => [key, ...runs.map((run) => value(run, key))])
    .filter((row) => row.slice(1).some((v) => v !== row[1]));
  return rows.length ? part_of("What differs", table_of(["", ...runs.map((run) => run.name)], rows)) : null;
}
