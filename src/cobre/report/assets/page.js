"use strict";
// Everything shown here stands in the page already: scripts only point at it, hide it, copy it or unpack it.
const make = (tag, text, attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const texts = (row) => [...row.cells].map((cell) => cell.textContent);

// A reading line: the pointer or the arrow keys choose a row of the table behind the chart.
function addReader(figure) {
  const svg = figure.querySelector("svg[data-left]");
  const table = figure.querySelector("table");
  if (!svg || !table) return;
  const rows = [...table.tBodies[0].rows];
  const heads = texts(table.tHead.rows[0]);
  const left = +svg.dataset.left, right = +svg.dataset.right, box = svg.viewBox.baseVal;
  const n = rows.length, margin = svg.dataset.margin === "1";
  const at = svg.dataset.at ? svg.dataset.at.split(" ").map(Number)
    : rows.map((_, k) => (margin ? (k + 0.5) / n : n > 1 ? k / (n - 1) : 0.5));
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of [["class", "cursor off"], ["y1", 22], ["y2", box.height - 40]]) cursor.setAttribute(name, value);
  svg.append(cursor);
  const readout = make("p", "", { class: "readout", "aria-live": "off" });
  figure.querySelector(".plot").after(readout);
  svg.setAttribute("tabindex", "0");
  let chosen = -1;
  const show = (k, isSpoken) => {
    chosen = Math.max(0, Math.min(n - 1, k));
    const x = left + at[chosen] * (right - left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.classList.remove("off");
    readout.setAttribute("aria-live", isSpoken ? "polite" : "off");
    const cells = texts(rows[chosen]);
    readout.textContent = `${heads[0]} ${cells[0]} — ` + cells.slice(1, 12).map((cell, j) => `${heads[j + 1]}: ${cell}`).join("; ");
  };
  svg.addEventListener("pointermove", (event) => {
    const area = svg.getBoundingClientRect();
    const share = (((event.clientX - area.left) / area.width) * box.width - left) / (right - left);
    let best = 0;
    at.forEach((place, k) => { if (Math.abs(place - share) < Math.abs(at[best] - share)) best = k; });
    show(best, false);
  });
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: n - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key], true);
  });
}

// Curves of packed pages are drawn from the table, as cobre.draw.lines draws all others.
function addCurves(figure) {
  const svg = figure.querySelector("svg[data-low]");
  if (!svg) return;
  const table = figure.querySelector("table"), heads = texts(table.tHead.rows[0]), rows = [...table.tBodies[0].rows];
  const [left, right, top, bottom, low, high] = ["left", "right", "top", "bottom", "low", "high"].map((name) => +svg.dataset[name]);
  const x = (k) => left + (rows.length > 1 ? k / (rows.length - 1) : 0.5) * (right - left);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const values = (head) => rows.map((row) => Number.parseFloat(row.cells[heads.indexOf(head)].textContent.replaceAll(",", "")));
  const point = (k, value) => `${x(k).toFixed(1)} ${y(value).toFixed(1)}`;
  for (const path of svg.querySelectorAll("path[data-of]")) {
    const ends = path.dataset.of.split("|").map(values);
    const runs = [];  // places whose values are there
    rows.forEach((_, k) => {
      if (ends.some((end) => Number.isNaN(end[k]))) return;
      if (runs.length && runs.at(-1).at(-1) === k - 1) runs.at(-1).push(k); else runs.push([k]);
    });
    path.setAttribute("d", runs.map((run) => {
      const there = run.map((k) => point(k, ends[0][k]));
      if (ends.length > 1 && run.length === 1) return `M${(x(run[0]) - 4).toFixed(1)} ${y(ends[1][run[0]]).toFixed(1)}h8V${y(ends[0][run[0]]).toFixed(1)}h-8Z`;
      if (ends.length > 1) return `M${[...run.map((k) => point(k, ends[1][k])), ...there.reverse()].join("L")}Z`;
      return run.length > 1 ? `M${there.join("L")}` : `M${there[0]}m-3 0l3 -3l3 3l-3 3Z`;
    }).join(""));
  }
}

// Entries of a legend hide and show what they stand for.
function addToggles(figure) {
  const entries = figure.querySelectorAll(".legend li");
  if (entries.length < 2) return;
  for (const entry of entries) {
    const button = make("button", "", { type: "button", "aria-pressed": "true" });
    button.append(...entry.childNodes);
    entry.append(button);
    const shape = "." + entry.dataset.shape.trim().split(/\s+/).join(".");
    const exact = shape.startsWith(".band.f") ? `${shape}:not(.strong)` : shape.startsWith(".line.s") ? `${shape}:not(.beside)` : shape;
    button.addEventListener("click", () => {
      const isOn = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isOn));
      for (const path of figure.querySelectorAll(`.plot ${exact}`)) path.classList.toggle("off", !isOn);
    });
  }
}

// What a click copies: a table as CSV, the facts as JSON.
function addCopy(element, label, content) {
  const button = make("button", label, { type: "button", class: "copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(content());
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow copying";
    }
  });
  element.after(button);
}
// A spreadsheet takes text that begins so for a formula: an apostrophe keeps it text.
const harmless = (text) => (/^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+(e[-+]?\d+)?$/.test(text) ? `'${text}` : text);
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const plain = (text) => (/^-?[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text);
const csvOf = (table) => [...table.rows].map((row) => texts(row).map((text) => quoted(harmless(plain(text)))).join(",")).join("\n");

function enhance(root) {
  for (const figure of root.querySelectorAll("figure")) { addCurves(figure); addReader(figure); addToggles(figure); }
  for (const scroll of root.querySelectorAll(".scroll")) addCopy(scroll, "Copy as CSV", () => csvOf(scroll.querySelector("table")));
}

// The page of a plant is packed text: unpacked when it is chosen.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}
function addPicker() {
  const select = document.getElementById("plant");
  if (!select) return;
  const view = document.getElementById("plant-view"), search = document.getElementById("plant-search");
  const packed = new Map([...document.querySelectorAll("script.packed")].map((each) => [each.dataset.plant, each]));
  const show = async () => {
    const page = packed.get(select.value);
    view.innerHTML = page ? await unpack(page.textContent) : "";
    enhance(view);
    if (page) history.replaceState(null, "", `#plant=${select.value}`);
  };
  const open = () => {
    const wanted = location.hash.match(/^#plant=([a-z_]+-\d+)$/);
    if (!wanted || !packed.has(wanted[1])) return;
    select.value = wanted[1];
    document.getElementById("plants").scrollIntoView();
    show();
  };
  select.addEventListener("change", show);
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const option of select.querySelectorAll("option[value]")) {
      option.hidden = option.value !== "" && !option.textContent.toLowerCase().includes(wanted);
    }
  });
  search.addEventListener("keydown", (event) => {
    const first = select.querySelector('option[value]:not([value=""]):not([hidden])');
    if (event.key !== "Enter" || !first) return;
    select.value = first.value;
    show();
  });
  addEventListener("hashchange", open);
  open();
}

function addTheme() {
  const button = make("button", "Light or dark", { type: "button", class: "theme" });
  const root = document.documentElement;
  button.addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  document.querySelector("header").prepend(button);
}

enhance(document);
addPicker();
addTheme();
for (const json of document.querySelectorAll("pre.json")) addCopy(json, "Copy as JSON", () => json.textContent);
