"use strict";
// Makes the tables of a sweep sortable by a click on a title, and filterable by words.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows].filter((row) => row.className !== "about");
  const notes = new Map(rows.map((row) => [row, row.nextElementSibling]));
  const noted = (row) => (notes.get(row)?.className === "about" ? [row, notes.get(row)] : [row]);
  const titles = [...table.tHead.rows[0].cells];

  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.replaceAll(",", "").replace("−", "-"));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (one, other) =>
    typeof one === typeof other
      ? one < other ? -1 : one > other ? 1 : 0
      : typeof one === "number" ? -1 : 1;

  titles.forEach((title, column) => {
    if (!title.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = title.getAttribute("aria-sort") === "ascending";
      for (const each of titles) each.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const sorted = [...rows].sort((one, other) => compare(value(one, column), value(other, column)));
      body.append(...(falling ? sorted.reverse() : sorted).flatMap(noted));
    });
  });

  const label = document.createElement("label");
  label.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "num_warps=4 registers";
  const tally = document.createElement("small");
  tally.setAttribute("role", "status");
  label.append("filter", input, tally);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const cells = [...row.cells].map((cell, at) => `${titles[at].textContent}=${cell.textContent}`);
      const [, note] = noted(row);
      const text = [...cells, note?.textContent].join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (note) note.hidden = row.hidden;
      shown += !row.hidden;
    }
    tally.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
  table.before(label);
}
