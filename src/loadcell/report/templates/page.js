(() => {
"use strict";
const doc = JSON.parse(document.getElementById("data").textContent);
const NARROW = 560;
const LONG_NAME = 16;

// Colours: the reader's choice, kept where the browser allows it. `?theme=dark` sets it from outside.
const themes = document.querySelector(".themes");
function show(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const radio = themes.querySelector(`[value="${theme}"]`);
  if (radio) radio.checked = true;
}
const named = new URLSearchParams(location.search).get("theme");
let kept = null;
try { kept = localStorage.getItem("loadcell-theme"); } catch { /* storage is not allowed for this page */ }
for (const theme of [named, kept]) {
  if (["auto", "light", "dark"].includes(theme)) { show(theme); break; }
}
themes.hidden = false;
themes.addEventListener("change", (event) => {
  show(event.target.value);
  try { localStorage.setItem("loadcell-theme", event.target.value); } catch { /* as above */ }
});

// The libraries that draw charts: compressed, so that the page is half as large.
async function libraries() {
  const text = document.getElementById("libraries")?.textContent;
  if (!text) return;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  new Function(await new Response(stream).text())();
}
const ready = libraries();
ready.catch(() => {}); // each chart shows the error

// Charts. Data comes as columns, and Vega wants rows.
function rows(columns) {
  const names = Object.keys(columns);
  if (!names.length) return [];
  return columns[names[0]].map((_, n) => Object.fromEntries(names.map((name) => [name, columns[name][n]])));
}

function datasets(chart) {
  if (chart.chooser === "trial") {
    const own = chart.series[chart.chosen[0]];
    const found = { checkpoints: [] };
    for (const sources of Object.values(chart.series)) for (const name of Object.keys(sources)) found[name] = [];
    let start = 0;
    for (const [name, columns] of Object.entries(own)) {
      found[name] = rows(columns);
      if (columns.t.length) start = Math.min(start, columns.t[0]);
    }
    found.warmup = start < 0 ? [{ from: start, to: 0 }] : [];
    return found;
  }
  if (chart.chooser === "trials") return overlaid(chart);
  chart.rows ??= Object.fromEntries(Object.entries(chart.data).map(([name, columns]) => [name, rows(columns)]));
  if (!["treatments", "faults"].includes(chart.chooser)) return chart.rows;
  const wanted = new Set(chart.chosen);
  return Object.fromEntries(
    Object.entries(chart.rows).map(([name, all]) => [name, all.filter((row) => wanted.has(row.treatment))])
  );
}

// The chosen trials on one time axis: their samples are those of another chart.
function overlaid(chart) {
  const { series } = charts.get(chart.shares);
  const load = chart.chosen.flatMap((name) => rows(series[name].load).map((row) => ({ trial: chart.labels[name], ...row })));
  const marks = chart.chosen.flatMap((name) => rows(series[name].marks ?? {}).map((row) => ({ trial: chart.labels[name], ...row })));
  const start = load.reduce((least, row) => Math.min(least, row.t), 0);
  return { load, marks, warmup: start < 0 ? [{ from: start, to: 0 }] : [] };
}

// Of views over time those that the chosen trial has samples for; areas above one another take two.
function keepDrawn(spec, own) {
  const times = (view) => view.layer.map((layer) => layer.encoding.x).filter((x) => x?.axis);
  const [time] = times(spec.vconcat.at(-1));
  const views = spec.vconcat.filter((view) => {
    const source = view.layer.map((layer) => layer.data.name).find((name) => !doc.sizes.beside.includes(name));
    const stacked = view.layer.some((layer) => layer.encoding.y?.stack);
    return (own[source]?.t.length ?? 0) > (stacked ? 1 : 0);
  });
  if (!views.length) return;
  for (const x of times(views.at(-1))) Object.assign(x, { axis: time.axis, title: time.title });
  spec.vconcat = views;
}

// Vega complains of marks without any rows.
function dropEmpty(spec, filled) {
  for (const view of spec.vconcat) view.layer = view.layer.filter((layer) => filled[layer.data.name]?.length);
  spec.vconcat = spec.vconcat.filter((view) => view.layer.length);
}

// The same as sizing.py does for pictures, but for the width and the choice that are here.
function sized(chart, width) {
  const spec = structuredClone(chart.spec);
  const { axis, legend, gap, least } = doc.sizes;
  const beside = width < NARROW || !chart.legend ? axis : axis + legend;
  if (spec.vconcat) {
    if (chart.chooser === "trial") keepDrawn(spec, chart.series[chart.chosen[0]]);
    if (chart.chooser.startsWith("trial")) dropEmpty(spec, datasets(chart));
    for (const view of spec.vconcat) view.width = width - beside;
  }
  else if (spec.facet) {
    spec.columns = Math.max(1, Math.min(chart.columns, Math.floor(width / least)));
    spec.spec.width = (width - beside + gap) / spec.columns - gap;
  } else {
    spec.width = width;
    spec.autosize = { type: "fit-x", contains: "padding" };
  }
  if (chart.chosen.length && chart.chooser !== "trial") {
    for (const { encoding } of layersOf(spec)) {
      for (const channel of [encoding.color, encoding.shape]) {
        if (channel?.field === "treatment") channel.scale.domain = chart.chosen;
        if (channel?.field === "trial") channel.scale.domain = chart.chosen.map((name) => chart.labels[name]);
      }
    }
  }
  if (width < NARROW) narrowLegends(spec, width);
  return spec;
}

function layersOf(spec) {
  return (spec.vconcat ?? [spec.spec ?? spec]).flatMap((view) => view.layer);
}

// Long names stand below one another: side by side they would be cut off.
function narrowLegends(spec, width) {
  for (const { encoding } of layersOf(spec)) {
    for (const channel of [encoding?.color, encoding?.shape]) {
      const names = channel?.scale?.domain;
      if (!channel?.legend || !names?.some((name) => String(name).length > LONG_NAME)) continue;
      Object.assign(channel.legend, { orient: "bottom", columns: 1, labelLimit: width - 60 });
    }
  }
}

function config(width) {
  const own = structuredClone(doc.config);
  if (width < NARROW) {
    own.axis.labelLimit = 120;
    own.axis.labelFontSize = 11;
    Object.assign(own.legend, { orient: "bottom", columns: 2, labelLimit: 150 });
  }
  return own;
}

async function draw(chart) {
  const canvas = document.querySelector(`#${chart.id} .canvas`);
  const width = canvas.clientWidth;
  if (!width) return; // folded away: drawn when it is opened
  chart.width = width;
  try {
    await ready;
    const spec = { ...sized(chart, width), datasets: datasets(chart) };
    chart.view?.finalize();
    const result = await vegaEmbed(canvas, spec, {
      actions: false, renderer: "svg", config: config(width), tooltip: { theme: "custom" },
    });
    chart.view = result;
    document.querySelector(`#${chart.id} .tools`).hidden = false;
    canvas.dataset.drawn = "yes";
  } catch (error) {
    const said = document.createElement("p");
    said.className = "failed";
    said.textContent = `${doc.failed}: ${error.message}`;
    canvas.replaceChildren(said);
  }
}

// An SVG file of its own: colours are names here, and their values go into it.
function save(chart) {
  const style = getComputedStyle(document.documentElement);
  const svg = document.querySelector(`#${chart.id} .canvas svg`).cloneNode(true);
  svg.style.background = style.getPropertyValue("--surface");
  const text = new XMLSerializer().serializeToString(svg).replace(/var\(--(\w+)\)/g, (_, name) => style.getPropertyValue(`--${name}`).trim());
  download(`${chart.id}.svg`, "image/svg+xml", text);
}

function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell of a CSV file (RFC 4180). A text that a spreadsheet would compute as a formula begins with an apostrophe.
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = String(value).replace(/^(?=[=+\-@\t\r\n])/, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The data that a chart shows: its sources below one another, with the columns of all.
function csv(chart) {
  const sources = Object.entries(datasets(chart)).filter(([, rows]) => rows.length);
  const columns = [...new Set(sources.flatMap(([, rows]) => Object.keys(rows[0])))];
  const lines = [["source", ...columns]];
  for (const [name, rows] of sources) {
    for (const row of rows) lines.push([name, ...columns.map((column) => row[column])]);
  }
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

const charts = new Map(doc.charts.map((chart) => [chart.id, chart]));
for (const select of document.querySelectorAll("select[data-chart]")) {
  const chart = charts.get(select.dataset.chart);
  select.value = chart.chosen[0];
  select.addEventListener("change", () => { chart.chosen = [select.value]; draw(chart); });
}
// A finding on a trial leads to the chart of that trial.
for (const link of document.querySelectorAll("a[data-trial]")) {
  const select = document.querySelector(`select[data-chart="${link.hash.slice(1)}"]`);
  if (select) link.addEventListener("click", () => {
    select.value = link.dataset.trial;
    select.dispatchEvent(new Event("change"));
  });
}
for (const box of document.querySelectorAll(".choices")) {
  const chart = charts.get(box.dataset.chart);
  const inputs = [...box.querySelectorAll("input")];
  const update = () => {
    chart.chosen = inputs.filter((input) => input.checked).map((input) => input.value);
    const full = chart.chosen.length >= doc.mostTreatments;
    for (const input of inputs) input.disabled = full && !input.checked;
  };
  update();
  const repeats = document.querySelector(`select[data-repeats="${chart.id}"]`);
  box.addEventListener("change", () => {
    update();
    if (repeats) repeats.value = "";
    draw(chart);
  });
  repeats?.addEventListener("change", () => {
    const names = new Set(chart.repeats[repeats.value]);
    for (const input of inputs) input.checked = names.has(input.value);
    update();
    draw(chart);
  });
}
for (const button of document.querySelectorAll("[data-csv]")) {
  const { csv: id } = button.dataset;
  // The mark tells spreadsheets that the text is UTF-8.
  button.addEventListener("click", () => download(`${id}.csv`, "text/csv", `\ufeff${csv(charts.get(id))}`));
}
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => save(charts.get(button.dataset.save)));
}
(async () => {
  for (const chart of charts.values()) await draw(chart);
  document.documentElement.dataset.ready = "yes";
})();
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (matchMedia("print").matches) return;
    fit();
    for (const chart of charts.values()) {
      const canvas = document.querySelector(`#${chart.id} .canvas`);
      if (Math.abs(canvas.clientWidth - (chart.width ?? 0)) > 4) draw(chart);
    }
  }, 200);
});

// A table that is a little too wide for the page is set tighter, before its last column is out of sight.
function fit() {
  for (const box of document.querySelectorAll(".scroll")) {
    const table = box.querySelector("table");
    table.classList.remove("tight");
    table.classList.toggle("tight", box.scrollWidth > box.clientWidth);
  }
}
fit();
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => {
    fit();
    for (const chart of charts.values()) {
      const canvas = document.querySelector(`#${chart.id} .canvas`);
      if (details.open && details.contains(canvas) && canvas.clientWidth !== chart.width) draw(chart);
    }
  });
}

// Tables: a heading sorts, a field filters.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.title = head.dataset.label;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        if (typeof x === "number" && typeof y === "number") return x - y;
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        return x.localeCompare(y, document.documentElement.lang, { numeric: true });
      });
      body.append(...(down ? sorted.reverse() : sorted));
    });
  });
}
for (const field of document.querySelectorAll("input[data-table]")) {
  field.closest(".filter").hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of document.getElementById(field.dataset.table).tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}

// Contents: mark the section that is being read.
const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "0px 0px -75% 0px" });
for (const section of document.querySelectorAll("main section")) seen.observe(section);
})();
