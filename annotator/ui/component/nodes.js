// Elements and the texts in them: made, filled with marks, offsets between code points and UTF-16 units. All text from
// the corpus enters as text nodes. Joined with the files beside it, which use what stands here.

const make = (tag, className = "", text = null) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== null) node.textContent = text;
  return node;
};

const button = (className, text, onClick, title = "") => {
  const node = make("button", className, text);
  node.type = "button";
  if (title) node.title = title;
  // A double click is two clicks: only the first counts.
  node.addEventListener("click", (event) => event.detail > 1 || onClick(event));
  // Buttons must not take the focus from the text being read, or a later Space would press them again.
  node.addEventListener("mousedown", (event) => event.preventDefault());
  return node;
};

// A title of a row; where it is too long its last words stay, which tell chunks of one document apart.
const titled = (text) => {
  const node = make("span", "title");
  node.dir = "auto";
  node.title = text;
  const at = text.indexOf(" ", Math.max(text.length - 16, 8));
  const parts = at < 0 ? [text] : [text.slice(0, at), text.slice(at)];
  node.append(...parts.map((part) => make("span", "", part)));
  return node;
};

const newId = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Offsets travel in code points; the DOM counts UTF-16 units.
const toUnits = (text) => {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return (offset) => starts[Math.min(offset, starts.length - 1)];
};
const toPoints = (text, unit) => [...text.slice(0, unit)].length;

// Where the quotes stand in another wording of the text; those that are not in it are left out.
const refit = (text, quotes) =>
  quotes
    .map(({ quote }) => [quote, text.indexOf(quote)])
    .filter(([, at]) => at >= 0)
    .map(([quote, at]) => ({ quote, start: toPoints(text, at), end: toPoints(text, at + quote.length) }));

// Put text into a node as plain text with marks; spans in code points may overlap.
const fill = (node, text, marks) => {
  const units = toUnits(text);
  const cuts = new Set([0, text.length]);
  const ranges = marks.map(([kind, start, end]) => [kind, units(start), units(end)]);
  for (const [, start, end] of ranges) cuts.add(start).add(end);
  const edges = [...cuts].sort((a, b) => a - b);
  node.replaceChildren();
  for (let at = 0; at + 1 < edges.length; at += 1) {
    const [start, end] = [edges[at], edges[at + 1]];
    const kinds = ranges.filter((range) => range[1] <= start && range[2] >= end).map((range) => range[0]);
    const piece = text.slice(start, end);
    node.append(kinds.length ? make("mark", [...new Set(kinds)].join(" "), piece) : piece);
  }
};

