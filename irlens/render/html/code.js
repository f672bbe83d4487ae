"use strict";
// Links the panes of a section of code: a line of Python, and what became of it at every stage.
// Lines of Python name their chains (data-k their own, data-o those that they call); a line of a
// stage names the one chain that it belongs to (data-c).
function setUp(section) {
  const panes = [...section.querySelectorAll(".pane")];
  const status = section.querySelector(".selection");
  section.classList.add("live-code");

  const bar = document.createElement("div");
  bar.className = "bar-of-panes";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "panes");
  for (const pane of panes) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = pane.dataset.name;
    const show = () => button.setAttribute("aria-pressed", pane.open);
    button.addEventListener("click", () => { pane.open = !pane.open; });
    pane.addEventListener("toggle", () => { show(); if (pane.open && chosen) reveal(pane); });
    show();
    bar.append(button);
  }
  const hint = document.createElement("small");
  hint.textContent = "click a line, or press ↑ ↓ in a pane; n p go on to the next marked line, Esc clears";
  bar.append(hint);
  section.querySelector(".panes").before(bar);

  const extra = section.querySelector('.stage[data-name="ttgir"]');
  if (extra && innerWidth >= 1500) extra.open = true;

  let chosen = null;
  let marked = [];

  const own = (line) => (line.dataset.k || "").split(" ").filter(Boolean);
  const all = (line) => [...own(line), ...(line.dataset.o || "").split(" ").filter(Boolean)];
  const python = (chain) => section.querySelector(`.python .l[data-k~="${chain}"]`);

  function mark(line, kind) {
    line.classList.add(kind);
    marked.push([line, kind]);
  }

  function clear() {
    for (const [line, kind] of marked) line.classList.remove(kind);
    marked = [];
    chosen = null;
    status.textContent = "";
  }

  // Brings a line of a pane into view, without moving the page.
  function bring(line) {
    const box = line.closest(".lines");
    const inside = line.getBoundingClientRect(), frame = box.getBoundingClientRect();
    if (inside.top < frame.top + 20 || inside.bottom > frame.bottom - 20) {
      box.scrollTop += inside.top - frame.top - frame.height / 3;
    }
  }

  // Scrolls a pane past what stands before the kernel.
  function begin(line) {
    const box = line.closest(".lines");
    box.scrollTop += line.getBoundingClientRect().top - box.getBoundingClientRect().top - 40;
  }

  function reveal(pane, near) {
    const first = near || pane.querySelector(".l.chosen");
    if (first) bring(first);
  }

  function choose(line) {
    clear();
    const chain = line.dataset.c;
    const source = chain === undefined ? line : python(chain);
    if (chain === undefined && !all(line).length) return;
    chosen = line;
    const chains = source ? all(source) : [chain];
    const told = [];
    if (source) mark(source, "chosen");
    if (chain !== undefined) {
      for (const outer of section.querySelectorAll(`.python .l[data-o~="${chain}"]`)) mark(outer, "outer");
    }
    const selector = chains.map((each) => `.l[data-c="${each}"]`).join(",");
    for (const pane of panes) {
      if (pane.classList.contains("python")) continue;
      const lines = pane.querySelectorAll(selector);
      for (const each of lines) mark(each, "chosen");
      if (lines.length) told.push(`${pane.dataset.name} ${lines.length}`);
    }
    mark(line, "current");
    for (const number of (line.dataset.p || "").split(" ").filter(Boolean)) {
      const partner = document.getElementById(line.id.replace(/\d+$/, number));
      if (partner) mark(partner, "partner");
    }
    for (const pane of panes) {
      if (!pane.open) continue;
      const same = chain !== undefined && pane.querySelector(`.l[data-c="${chain}"]`);
      reveal(pane, pane.contains(line) ? line : source && pane.contains(source) ? source : same);
    }
    const place = source ? `${source.closest(".pane").dataset.name}:${source.dataset.n}` : "a line that is not here";
    status.textContent = told.length ? `${place}, lines: ${told.join(", ")}` : `${place}, nothing left of it`;
    history.replaceState(null, "", `#${line.id}`);
  }

  // The next line, in that direction, that leads somewhere or, with far, that is chosen.
  function next(box, from, step, far) {
    const lines = [...box.querySelectorAll(far ? ".l.chosen" : ".l[data-k],.l[data-o],.l[data-c]")];
    const number = from ? +from.dataset.n : step > 0 ? 0 : Infinity;
    const ahead = lines.filter((each) => (+each.dataset.n - number) * step > 0);
    return step > 0 ? ahead[0] : ahead[ahead.length - 1];
  }

  section.addEventListener("click", (event) => {
    const line = event.target.closest(".l");
    if (!line || getSelection().toString()) return;
    if (line === chosen) clear(); else choose(line);
  });
  section.addEventListener("keydown", (event) => {
    const box = event.target.closest(".lines");
    if (event.key === "Escape") clear();
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, j: 1, n: 1, ArrowUp: -1, k: -1, p: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const far = event.key === "n" || event.key === "p";
    const from = chosen && box.contains(chosen) ? chosen : box.querySelector(".l.chosen");
    const line = next(box, from, step, far);
    if (!line) return;
    if (far) { chosen = line; bring(line); } else choose(line);
  });

  const open = () => {
    const line = location.hash && document.getElementById(location.hash.slice(1));
    if (!line || !section.contains(line) || !line.matches(".l")) return;
    line.closest("details.pane").open = true;
    if (section.querySelector("[data-packed]")) section.scrollIntoView();  // it was not there to scroll to
    choose(line);
  };
  addEventListener("hashchange", open);
  open();
  if (!chosen) {
    for (const pane of panes) {
      const first = pane.open && pane.querySelector(".l[data-k],.l[data-c]");
      if (first) begin(first);
    }
  }
}

// Inserts the lines of packed stages; they lack ids, which differ where two reports share a stage.
async function inflate(box) {
  const packed = document.getElementById(box.dataset.packed).content.textContent;
  const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  box.innerHTML = await new Response(stream).text();
  for (const line of box.querySelectorAll(".l")) line.id = box.dataset.prefix + line.dataset.n;
}

// A section in a fold is set up when the fold, or a link to one of its lines, is opened.
for (const section of document.querySelectorAll("section.code")) {
  const boxes = [...section.querySelectorAll(".lines[data-packed]")];
  const folds = [];
  for (let at = section.parentElement; at; at = at.parentElement) if (at.matches("details")) folds.push(at);
  let started = false;
  const start = async () => {
    if (started) return;
    started = true;
    try { await Promise.all(boxes.map(inflate)); } finally { setUp(section); }
  };
  const visible = () => { if (folds.every((fold) => fold.open)) start(); };
  const linked = () => {
    if (!boxes.some((box) => location.hash.startsWith(`#${box.dataset.prefix}`))) return;
    for (const fold of folds) fold.open = true;
    start();
  };
  if (!boxes.length) { started = true; setUp(section); continue; }
  for (const fold of folds) fold.addEventListener("toggle", visible);
  addEventListener("hashchange", linked);
  linked();
  visible();
}
