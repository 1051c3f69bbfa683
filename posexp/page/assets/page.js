// Hover, key, sorting, folding and copying. Everything that is read is there without it.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isOn = (button) => button.getAttribute("aria-pressed") === "true";
  const press = (button, on) => button.setAttribute("aria-pressed", String(on));
  document.documentElement.classList.add("js");
  for (const control of all("button[hidden]")) control.hidden = false;

  // -- the key: what is shown, in all charts at once ------------------------------------------
  const entries = all("#key [data-key]");

  function showPressed() {
    const off = new Set(entries.filter((b) => !isOn(b)).map((b) => b.dataset.key));
    for (const part of all("main [data-key]")) part.classList.toggle("off", off.has(part.dataset.key));
  }

  function only(button) {
    const alone = entries.every((b) => isOn(b) === (b === button));
    for (const b of entries) press(b, alone || b === button);
    showPressed();
  }

  function emphasise(root, name) {
    root.classList.toggle("focus", name !== null);
    for (const part of all("[data-key]", root)) part.classList.toggle("hot", part.dataset.key === name);
  }

  const main = document.querySelector("main");
  for (const button of entries) {
    button.addEventListener("click", (event) => {
      if (event.shiftKey) return only(button);
      press(button, !isOn(button));
      showPressed();
    });
    button.addEventListener("dblclick", () => only(button));
    button.addEventListener("mouseenter", () => emphasise(main, isOn(button) ? button.dataset.key : null));
    button.addEventListener("mouseleave", () => emphasise(main, null));
  }
  for (const button of all("#key .all")) {
    button.addEventListener("click", () => {
      for (const b of entries) press(b, true);
      showPressed();
    });
  }
  showPressed();

  // -- hover: the values at the nearest point -------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_ROWS = 14;
  const tip = document.getElementById("tip");
  const known = new WeakMap();

  function readSeries(group) {
    if (!known.has(group)) {
      const places = all("polyline.l", group).flatMap((line) => [...line.points]);
      const [xs, ys, notes] = ["x", "y", "note"].map((k) => (group.dataset[k] ?? "").split("|"));
      const { name, key } = group.dataset;
      known.set(group, places.map((p, i) => ({ x: p.x, y: p.y, name, key, at: xs[i], value: ys[i], note: notes[i] ?? "" })));
    }
    return known.get(group);
  }

  // The points to speak of for a pointer at (x, y): the nearest one, and those above and below it.
  function pointsNear(svg, x, y) {
    const groups = all(".s[data-x]", svg).filter((g) => !g.classList.contains("off")).map(readSeries);
    const points = groups.flat();
    if (!points.length) return null;
    const single = groups.every((g) => g.length === 1);
    const far = (p) => Math.hypot(p.x - x, single ? p.y - y : (p.y - y) / 4);
    let near = points.reduce((a, b) => (far(b) < far(a) ? b : a));
    if (single) return { near, rows: [near] };
    const rows = groups.map((g) => g.reduce((a, b) => (Math.abs(b.x - near.x) < Math.abs(a.x - near.x) ? b : a), g[0]))
      .filter((p) => Math.abs(p.x - near.x) < 0.6).sort((a, b) => a.y - b.y);
    near = rows.reduce((a, b) => (Math.abs(b.y - y) < Math.abs(a.y - y) ? b : a));
    const first = Math.max(0, Math.min(rows.indexOf(near) - MOST_ROWS / 2, rows.length - MOST_ROWS));
    return { near, rows: rows.slice(first, first + MOST_ROWS) };
  }

  function make(parent, name, text, className) {
    const element = parent.appendChild(document.createElement(name));
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  function draw(svg, near) {
    svg.querySelector(".cursor")?.remove();
    if (!near) return;
    const group = svg.appendChild(document.createElementNS(SVG, "g"));
    group.setAttribute("class", "cursor");
    const circle = group.appendChild(document.createElementNS(SVG, "circle"));
    for (const [k, v] of [["cx", near.x], ["cy", near.y], ["r", 7]]) circle.setAttribute(k, v);
  }

  function place(clientX, clientY) {
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const right = clientX + 16 + width < innerWidth ? clientX + 16 : clientX - 16 - width;
    tip.style.left = `${Math.max(8, Math.min(right, innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(8, Math.min(clientY - height / 2, innerHeight - height - 8))}px`;
  }

  function tell(svg, x, y, clientX, clientY) {
    const found = pointsNear(svg, x, y);
    if (!found) return clear(svg);
    svg.current = found.near;
    tip.replaceChildren();
    make(tip, "div", `${svg.dataset.x}: ${found.near.at}`, "at");
    const table = make(tip, "table");
    for (const point of found.rows) {
      const row = make(table, "tr", undefined, point === found.near ? "near" : "");
      for (const text of [point.name, point.value, point.note]) make(row, "td", text);
    }
    if (found.rows.length === 1) make(tip, "div", svg.dataset.y, "at");
    draw(svg, found.near);
    emphasise(svg, found.near.key);
    place(clientX, clientY);
  }

  function clear(svg) {
    tip.hidden = true;
    draw(svg, null);
    emphasise(svg, null);
  }

  // -- heat maps: the value of a cell ---------------------------------------------------------
  function tellCell(svg, matrix, x, y, clientX, clientY) {
    const { rows, columns, low, high, xs, ys } = matrix.dataset;
    const image = matrix.querySelector("image");
    const [left, top, width, height] = ["x", "y", "width", "height"].map((k) => Number(image.getAttribute(k)));
    const column = Math.floor(((x - left) / width) * columns);
    const row = Math.floor(((y - top) / height) * rows);
    if (column < 0 || row < 0 || column >= columns || row >= rows) return clear(svg);
    matrix.read ??= new Uint16Array(Uint8Array.from(atob(matrix.dataset.values), (c) => c.charCodeAt(0)).buffer);
    const share = matrix.read[row * columns + column];
    const value = Number(low) + (share / 65534) * (Number(high) - Number(low));
    const name = (names, i) => (names ? names.split("|")[i] : i);
    tip.replaceChildren();
    make(tip, "div", share === 65535 ? "no value" : String(Number(value.toPrecision(4))).replace("-", "\u2212"), "near");
    make(tip, "div", `${svg.dataset.y}: ${name(ys, row)}`, "at");
    make(tip, "div", `${svg.dataset.x}: ${name(xs, column)}`, "at");
    place(clientX, clientY);
  }

  for (const svg of all(".plot svg")) {
    const matrix = svg.querySelector(".matrix");
    const point = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const told = [at.x, at.y, event.clientX, event.clientY];
      if (matrix) tellCell(svg, matrix, ...told);
      else tell(svg, ...told);
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && clear(svg));
    svg.addEventListener("blur", () => clear(svg));
    // Arrows go to the next point along a line, and to the next line.
    svg.addEventListener("keydown", (event) => {
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
      if (matrix || !(dx || dy)) return;
      event.preventDefault();
      const points = all(".s[data-x]:not(.off)", svg).flatMap(readSeries);
      const from = svg.current ?? points[0];
      const ahead = points.filter((p) => (dx ? (p.x - from.x) * dx > 0.6 : (p.y - from.y) * dy > 0 && Math.abs(p.x - from.x) < 0.6));
      const far = (p) => (dx ? Math.abs(p.x - from.x) * 1000 + Math.abs(p.y - from.y) : Math.abs(p.y - from.y));
      const next = ahead.length ? ahead.reduce((a, b) => (far(b) < far(a) ? b : a)) : from;
      const screen = new DOMPoint(next.x, next.y).matrixTransform(svg.getScreenCTM());
      tell(svg, next.x, next.y, screen.x, screen.y);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const svg of all(".plot svg.focus")) clear(svg);
  });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".plot svg")) for (const svg of all(".plot svg.focus")) clear(svg);
  });

  // -- tables ---------------------------------------------------------------------------------
  function sortValue(body, index) {
    const cell = body.rows[0].cells[index];
    const text = cell.dataset.v ?? (cell.querySelector(".who") ?? cell.firstChild)?.textContent.trim() ?? "";
    if (!cell.classList.contains("n")) return text;
    return text === "" ? NaN : Number(text.replace("\u2212", "-"));
  }

  function sortBy(header) {
    const table = header.closest("table");
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of all("[aria-sort]", table)) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const missing = (v) => v === "" || Number.isNaN(v);
    const bodies = [...table.tBodies].map((body) => ({ body, value: sortValue(body, header.cellIndex) }));
    bodies.sort(({ value: a }, { value: b }) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
      return down ? -order : order;
    });
    table.append(...bodies.map(({ body }) => body));
  }

  function unfold(button, open) {
    button.setAttribute("aria-expanded", String(open));
    button.closest("tbody").classList.toggle("open", open);
  }

  for (const button of all("th[aria-sort] button")) button.addEventListener("click", () => sortBy(button.closest("th")));
  for (const button of all(".fold")) {
    button.addEventListener("click", () => unfold(button, button.getAttribute("aria-expanded") === "false"));
  }
  for (const button of all(".every")) {
    button.addEventListener("click", () => {
      const folds = all(".fold", button.closest("figure"));
      const open = folds.some((b) => b.getAttribute("aria-expanded") === "false");
      for (const fold of folds) unfold(fold, open);
      button.textContent = open ? "fold all rows" : "unfold all rows";
    });
  }

  // -- views, copying, print ------------------------------------------------------------------
  for (const views of all(".views")) {
    const buttons = all(":scope > .choice > button", views);
    const panes = all(":scope > .view", views);
    buttons.forEach((button, chosen) => button.addEventListener("click", () => {
      buttons.forEach((b, i) => press(b, i === chosen));
      panes.forEach((pane, i) => pane.classList.toggle("unseen", i !== chosen));
    }));
  }
  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre");
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        // Not allowed for every page that is a file: select it instead.
        getSelection().selectAllChildren(text);
        document.execCommand("copy");
      }
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
  addEventListener("beforeprint", () => {
    for (const part of all("details:not([open])")) { part.open = true; part.dataset.folded = ""; }
  });
  addEventListener("afterprint", () => {
    for (const part of all("details[data-folded]")) { part.open = false; delete part.dataset.folded; }
  });
})();
