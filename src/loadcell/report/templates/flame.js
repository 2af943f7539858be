(() => {
"use strict";
// Flame graphs. A bar is a function: what called it lies below it, and its width is its share of the samples.
const doc = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["process", "user", "kernel", "jit", "class", "unresolved"];
const ROW = 18, LETTER = 6.7, INSET = 4, NARROWEST = 0.4;
const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// The lists of the document as nodes that know where they are, in samples from the left.
function grow([name, samples, calls], up, from) {
  const node = { name, samples, up, from, depth: up ? up.depth + 1 : 0, calls: [] };
  for (const call of calls) {
    node.calls.push(grow(call, node, from));
    from += call[1];
  }
  return node;
}

class Flame {
  constructor(flame) {
    this.flame = flame;
    this.figure = document.getElementById(flame.id);
    this.canvas = this.figure.querySelector(".canvas");
    this.field = this.figure.querySelector("input");
    this.button = this.figure.querySelector("button");
    this.matched = this.figure.querySelector(".matched");
    this.told = this.figure.querySelector(".told");
    this.root = grow(flame.tree, null, 0);
    this.zoomed = this.at = this.root;
    this.field.addEventListener("input", () => this.draw());
    this.button.addEventListener("click", () => this.zoom(this.root));
    this.canvas.addEventListener("click", (event) => this.picked(event, (node) => this.zoom(node)));
    this.canvas.addEventListener("mouseover", (event) => this.picked(event, (node) => this.tell(node)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  picked(event, then) {
    const bar = event.target.closest("g[data-node]");
    if (bar) then(this.drawn[bar.dataset.node]);
  }

  label(node) {
    const share = ((100 * node.samples) / this.root.samples).toFixed(1);
    const name = node === this.root ? this.canvas.dataset.whole : this.flame.names[node.name];
    return `${name} – ${share}% (${node.samples.toLocaleString("en")} ${this.canvas.dataset.samples})`;
  }

  tell(node) {
    this.told.textContent = this.label(node);
  }

  zoom(node) {
    this.zoomed = this.at = node;
    this.draw();
    this.focus(node);
  }

  focus(node) {
    const place = this.drawn.indexOf(node);
    if (place < 0) return;
    this.at = node;
    for (const bar of this.canvas.querySelectorAll("g[data-node]")) bar.setAttribute("tabindex", -1);
    const bar = this.canvas.querySelector(`g[data-node="${place}"]`);
    bar.setAttribute("tabindex", 0);
    bar.focus({ preventScroll: true });
    this.tell(node);
  }

  key(event) {
    const row = this.drawn.filter((node) => node.depth === this.at.depth);
    const beside = (step) => row[row.indexOf(this.at) + step];
    const widest = (calls) => calls.reduce((most, call) => (call.samples > (most?.samples ?? 0) ? call : most), undefined);
    const moves = {
      ArrowUp: () => widest(this.at.calls), ArrowDown: () => this.at.up, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    };
    if (moves[event.key]) this.focus(moves[event.key]() ?? this.at);
    else if (event.key === "Enter" || event.key === " ") this.zoom(this.at);
    else if (event.key === "Escape") this.zoom(this.root);
    else return;
    event.preventDefault();
  }

  // Samples in the outermost bars whose names have the text that is searched: none is counted twice.
  hits(wanted) {
    const found = new Set();
    let samples = 0;
    const look = (node, inside) => {
      const hit = node !== this.root && this.flame.names[node.name].toLowerCase().includes(wanted);
      if (hit) found.add(node);
      if (hit && !inside) samples += node.samples;
      for (const call of node.calls) look(call, inside || hit);
    };
    if (wanted) look(this.root, false);
    return { found, samples };
  }

  draw() {
    const width = this.width = this.canvas.clientWidth;
    const wanted = this.field.value.trim().toLowerCase();
    const { found, samples } = this.hits(wanted);
    this.matched.textContent = wanted ? `${this.matched.dataset.label}${((100 * samples) / this.root.samples).toFixed(1)}%` : "";
    this.button.hidden = this.zoomed === this.root;
    this.drawn = [];
    for (let node = this.zoomed.up; node; node = node.up) this.drawn.unshift(node);
    const per = width / this.zoomed.samples;
    const waiting = [this.zoomed];
    while (waiting.length) {
      const node = waiting.pop();
      if (node.samples * per < NARROWEST) continue;
      this.drawn.push(node);
      for (let place = node.calls.length - 1; place >= 0; place--) waiting.push(node.calls[place]);
    }
    const height = ROW * (1 + Math.max(...this.drawn.map((node) => node.depth)));
    const picture = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-labelledby": `${this.flame.id}-title` });
    this.drawn.forEach((node, place) => {
      const below = node.depth < this.zoomed.depth;
      const x = below ? 0 : (node.from - this.zoomed.from) * per, wide = below ? width : node.samples * per;
      const tone = this.flame.names[node.name].length % 3;
      const bar = make("g", {
        class: `${KINDS[this.flame.kinds[node.name]]} tone-${tone}${below ? " below" : ""}${found.has(node) ? " hit" : ""}`,
        "data-node": place, tabindex: node === this.at ? 0 : -1, role: "button", "aria-label": this.label(node),
      });
      const y = height - ROW * (node.depth + 1);
      bar.append(make("title", {}, this.label(node)), make("rect", { x, y, width: Math.max(wide, NARROWEST), height: ROW - 1 }));
      const name = node === this.root ? this.canvas.dataset.whole : this.flame.names[node.name];
      const room = Math.floor((wide - 2 * INSET) / LETTER);
      if (room >= 3) bar.append(make("text", { x: x + INSET, y: y + ROW - 6 }, name.length > room ? `${name.slice(0, room - 1)}…` : name));
      picture.append(bar);
    });
    this.canvas.replaceChildren(picture);
    this.canvas.dataset.drawn = "yes";
  }
}

const drawn = doc.flames.map((flame) => new Flame(flame));
for (const controls of document.querySelectorAll(".flame .controls")) controls.hidden = false;
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const flame of drawn) if (!matchMedia("print").matches && flame.canvas.clientWidth !== flame.width) flame.draw();
  }, 200);
});
})();
