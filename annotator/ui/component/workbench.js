// The grading loop: candidate list and reading pane in one element, so that what is shown and what a key grades are
// one and the same. A grade shows at once and joins the queue (queue.js) until the server says it is stored. One module
// with nodes.js, queue.js, list.js (the list's own look) and live.js.

const DRAFT_MS = 700;
const UNDO_LIMIT = 50;
const SEEK_MS = 10_000;
const STIRS = ["pointermove", "keydown", "wheel"];

const isDark = (color) => {
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue < 128;
};

const EMPTY = { grade: null, judged: false, stale: false, reason: "", evidence: [] };
const sameLabel = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// The key as the table names it, also with Caps Lock on, on keyboards for other scripts, and where the digits need Shift.
const named = (event) => {
  if (event.shiftKey || [...event.key].length > 1) return event.key;
  const [, letter, digit] = /^(?:Key(.)|Digit([0-3]))$/.exec(event.code) ?? [];
  if (digit) return digit;
  return letter && event.key > "\x7f" ? letter.toLowerCase() : event.key.toLowerCase();
};

class Workbench {
  constructor(root) {
    this.root = root;
    this.queue = new Queue(this);
    this.history = [];
    this.items = new Map();
    this.order = [];
    this.selected = null;
    this.typed = null;
    this.list = null;
    this.build();
    this.onKey = (event) => this.key(event);
    this.onLeave = (event) => this.queue.empty || event.preventDefault();
    // What is being written goes into the browser's storage at the last moment, and from there to the server.
    this.onHide = () => this.settleDraft();
    document.addEventListener("keydown", this.onKey);
    window.addEventListener("beforeunload", this.onLeave);
    window.addEventListener("pagehide", this.onHide);
    this.onResize = () => this.layout();
    window.addEventListener("resize", this.onResize);
    this.onStir = () => this.queue.stir();
    for (const event of STIRS) document.addEventListener(event, this.onStir, { passive: true });
    this.timer = setInterval(() => {
      this.queue.retry();
      this.layout();
    }, 1000);
  }

  close() {
    this.settleDraft();
    document.removeEventListener("keydown", this.onKey);
    window.removeEventListener("beforeunload", this.onLeave);
    window.removeEventListener("pagehide", this.onHide);
    window.removeEventListener("resize", this.onResize);
    for (const event of STIRS) document.removeEventListener(event, this.onStir);
    clearInterval(this.timer);
    this.live.close();
    this.bench.remove();
  }

  remember() {
    const focused = this.root.activeElement;
    const caret = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
    this.place = { list: this.candidates.rows.scrollTop, text: this.scroll.scrollTop, focused, caret, help: this.help.open };
  }

  moveTo(root) {
    const { list, text, focused, caret, help } = this.place;
    this.root = root;
    root.append(this.bench);
    if (help) {
      // A dialog that was taken out of the page stays open without being modal any more.
      this.help.close();
      this.help.showModal();
    }
    this.candidates.rows.scrollTop = list;
    this.scroll.scrollTop = text;
    focused?.focus?.();
    if (caret) focused.setSelectionRange(...caret);
  }

  // ---- the fixed parts of the element -------------------------------------------------------------------------

  build() {
    this.bench = make("div", "bench");
    this.bench.append(make("style", "", STYLE));
    this.candidates = new CandidateList(this);

    this.titleLine = make("div", "titleline");
    this.idLine = make("div", "idline");
    this.meta = make("div", "meta");
    this.meta.tabIndex = 0;
    this.meta.setAttribute("role", "group");
    this.meta.setAttribute("aria-label", "About the chunk");
    const about = make("div", "about");
    about.append(this.idLine, this.meta);
    this.before = make("div", "beside");
    this.text = make("div", "text");
    this.text.dir = "auto";
    this.text.tabIndex = 0;
    this.text.setAttribute("role", "region");
    this.text.setAttribute("aria-label", "Text of the chunk");
    this.after = make("div", "beside");
    this.scroll = make("div", "scroll");
    this.live = new LiveRow(this);
    this.scroll.append(this.live.box, this.before, this.text, this.after);
    this.grades = make("div", "grades");
    this.grades.setAttribute("role", "group");
    this.grades.setAttribute("aria-label", "Grade");
    this.reason = make("textarea", "reason");
    this.reason.rows = 2;
    this.reason.setAttribute("aria-label", "Reason");
    this.reason.addEventListener("input", () => this.drafted());
    this.reason.addEventListener("blur", () => this.settleDraft());
    this.quotes = make("div", "quotes");
    this.chips = make("div", "chips");
    this.chips.setAttribute("role", "group");
    this.chips.setAttribute("aria-label", "Quotes");
    this.quoteBox = make("input", "quotebox");
    this.quoteBox.placeholder = "Select text above, then e; or paste a quote here";
    this.quoteBox.setAttribute("aria-label", "Quote");
    this.quoteBox.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) this.pasteQuote();
      if (event.key === "Escape") this.quoteBox.blur();
    });
    this.note = make("div", "note");
    this.note.setAttribute("role", "alert");
    this.others = make("div", "others");
    const bar = make("div", "bar");
    bar.append(this.grades, this.others);
    const foot = make("footer", "footer");
    this.statusLine = make("div", "statusline");
    this.progress = make("div", "quiet progress");
    this.statusLine.append(this.queue.status, this.progress, this.note);
    foot.append(bar, this.reason, this.quotes, this.statusLine);
    this.pane = make("section", "pane");
    this.pane.append(this.titleLine, about, this.scroll, foot);
    this.empty = make("section", "pane empty");
    this.help = make("dialog", "help");
    this.help.setAttribute("aria-label", "Keys");
    this.bench.append(this.candidates.box, this.pane, this.empty, this.help);
    this.root.append(this.bench);
  }

  // The bench fills the window below the question, however long that is.
  layout() {
    const scrolled = document.querySelector("[data-testid='stMain']")?.scrollTop ?? 0;
    const top = this.bench.getBoundingClientRect().top + scrolled;
    const room = Math.max(400, window.innerHeight - Math.max(0, top) - 14);
    if (Math.abs(room - (this.room ?? 0)) > 1) this.bench.style.setProperty("--room", `${room}px`);
    this.room = room;
  }

  buildOnce(data) {
    if (this.built) return;
    this.built = true;
    this.keys = new Map(data.keys.map((key) => [key.press, key]));
    this.act = new Map(data.keys.map((key) => [key.action + (key.value ?? ""), key]));
    this.gradeButtons = new Map();
    for (const key of data.keys) {
      if (!["grade", "cannot", "stale", "undo"].includes(key.action)) continue;
      const node = button(`act ${key.action} g${key.value ?? ""}`, null, () => this.run(key), `${key.hint} (${key.press})`);
      node.append(make("kbd", "", key.press), make("span", "", key.label));
      node.dataset.action = key.action + (key.value ?? "");
      node.setAttribute("aria-keyshortcuts", key.press);
      this.gradeButtons.set(node.dataset.action, node);
      (key.action === "grade" ? this.grades : this.others).append(node);
    }
    const helpKey = this.act.get("help");
    const ask = button("quiet keys", null, () => this.run(helpKey), helpKey.hint);
    ask.append(make("kbd", "", helpKey.press), make("span", "", helpKey.label));
    const alikeKey = this.act.get("alike");
    this.alike = button("alike", null, () => this.run(alikeKey));
    this.alike.setAttribute("aria-keyshortcuts", alikeKey.press);
    this.alikeText = make("span");
    this.alike.append(make("kbd", "", alikeKey.press), this.alikeText);
    this.note.before(this.alike);
    this.statusLine.append(ask);
    const evidenceKey = this.act.get("evidence");
    const keep = button("quiet keep", null, () => this.run(evidenceKey), `${evidenceKey.hint} (${evidenceKey.press})`);
    keep.setAttribute("aria-keyshortcuts", evidenceKey.press);
    this.quoteCount = make("span");
    keep.append(make("kbd", "", evidenceKey.press), this.quoteCount);
    this.quotes.append(keep, this.quoteBox, this.chips);
    const table = make("table");
    for (const key of data.keys) {
      const row = make("tr");
      const cell = make("td");
      cell.append(make("kbd", "", key.press));
      row.append(cell, make("td", "", key.label), make("td", "quiet", key.hint));
      table.append(row);
    }
    this.help.append(make("h3", "", "Keys"), table, button("quiet close", "Close (Esc)", () => this.help.close()));
    this.queue.adopt(data.who);
  }

  // ---- what the server says -----------------------------------------------------------------------------------

  update(data, setState, setTrigger) {
    this.setState = setState;
    this.setTrigger = setTrigger;
    // Rows this element was said to hold come without their texts; should it not hold them, it asks for all.
    if (data.candidates.some((one) => one.text === undefined && this.items.get(one.id)?.version !== one.version)) {
      this.queue.send(false);
      return;
    }
    this.data = data;
    this.bench.classList.toggle("dark", isDark(getComputedStyle(this.bench).backgroundColor));
    this.buildOnce(data);
    const lost = this.queue.settle(data);
    for (const one of lost) this.keepWords(one);
    if (data.failure) this.say(data.failure, true);
    if (lost.length) this.say(data.refused.find((refusal) => refusal[0] === lost[lost.length - 1].id)[1], true);
    if (this.queue.empty) this.history = data.history.slice();

    const fresh = data.list !== this.list;
    this.list = data.list;
    const server = new Map(data.candidates.map((one) => [one.id, one]));
    if (fresh) {
      this.settleDraft();
      this.order = data.candidates.map((one) => one.id);
    }
    let changed = false;
    for (const id of this.order) {
      const one = server.get(id);
      const kept = this.items.get(id);
      if (!one) {
        // It was in the list and is in the chunk table no more: what was shown stays to be read.
        Object.assign(kept, { gone: true, label: EMPTY, draft: undefined });
        continue;
      }
      const same = one.text === undefined ? kept : {};
      const item = { ...same, draft: undefined, draftSent: undefined, gone: false, ...one, shown: kept?.shown ?? 0 };
      item.label = one.label ?? EMPTY;
      if (kept && !fresh) {
        [item.draft, item.draftSent, item.look] = [kept.draft, kept.draftSent, kept.look];
        if (kept.sha256 !== one.sha256) {
          if (item.draft) item.draft = { ...item.draft, evidence: refit(item.text, item.draft.evidence) };
          changed ||= id === this.selected;
        }
      }
      this.items.set(id, item);
    }
    for (const one of this.queue.waiting) this.overlay(one, fresh);
    if (fresh) {
      this.candidates.render();
      this.offerAlike(null);
      const named = this.order.includes(data.landing) ? data.landing : null;
      const first = named ?? this.firstOpen() ?? this.order[0] ?? null;
      this.select(this.landing === "last" ? this.order[this.order.length - 1] ?? null : first, this.landing === "last");
      this.landing = "";
    } else {
      this.order.forEach((id) => this.candidates.badge(id));
      this.offerAlike(this.items.get(this.offered));
      // A key must never grade a text that was not on the screen.
      if (changed) {
        this.renderPane();
        if (!lost.length) this.say("This chunk was changed meanwhile: you see its present text.");
      } else this.renderLabel();
    }
    if (data.around) this.showAround(data.around);
    if (data.located) this.takeLocated(data.located);
    this.live.take(data.look, fresh);
    this.progress.textContent = data.progress;
    this.candidates.renderFoot();
    this.queue.render();
    if (fresh) requestAnimationFrame(() => this.layout());
  }

  // Show a queued operation on top of what the server knew.
  overlay(one, fresh) {
    const item = this.items.get(one.chunk_id);
    if (!item || item.gone || one.query_id !== this.data.query) return;
    if (fresh) item.draft = one.kind === "draft" ? { reason: one.reason, evidence: one.evidence } : undefined;
    if (one.kind === "judge") item.label = this.labelOf(one);
    if (one.kind === "undo") item.label = one.restores ?? EMPTY;
  }

  labelOf(one) {
    return { grade: one.grade, judged: true, stale: one.stale, reason: one.reason, evidence: one.evidence };
  }

  // A label was refused: what the person wrote with it is kept as a draft of the same chunk.
  keepWords(one) {
    if (one.kind === "undo" || !(one.reason || one.evidence.length)) return;
    const { query_id, chunk_id, sha256, reason } = one;
    if (one.kind === "judge" || one.evidence.length) {
      this.queue.add({ kind: "draft", query_id, chunk_id, sha256, reason, evidence: [] });
      setTimeout(() => this.queue.send(), 0);
    }
    const item = query_id === this.data.query ? this.items.get(chunk_id) : null;
    if (item) item.draft = { reason, evidence: one.evidence };
  }

  // An alarm stays for its time; what is only said goes with the next key.
  say(message, alarm = false) {
    this.note.textContent = message;
    this.note.classList.toggle("alarm", alarm);
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => (this.note.textContent = ""), 8000);
  }

  // ---- the list -----------------------------------------------------------------------------------------------

  firstOpen() {
    return this.order.find((id) => this.isOpen(id));
  }

  nextOpen(from) {
    const at = this.order.indexOf(from);
    const open = (id) => this.isOpen(id);
    return this.order.slice(at + 1).find(open) ?? this.order.slice(0, Math.max(at, 0)).find(open) ?? null;
  }

  isOpen(id) {
    const { label, gone } = this.items.get(id);
    return (!label.judged || label.reopened) && !gone;
  }

  select(id, scroll = true) {
    if (this.selected && this.selected !== id) this.settleDraft();
    this.pageDone = false;
    const moved = this.selected !== id;
    this.selected = id;
    this.pane.hidden = id === null;
    this.empty.hidden = id !== null;
    this.candidates.mark(id, scroll);
    if (id === null) {
      this.empty.textContent = this.data.advice;
      return;
    }
    if (moved) {
      this.pendingCannot = false;
      // What is typed next must not end up with another chunk than the one it was begun for.
      if (this.root.activeElement === this.reason || this.root.activeElement === this.quoteBox) this.root.activeElement.blur();
      this.quoteBox.value = "";
    }
    this.renderPane();
  }

  move(step) {
    const at = this.order.indexOf(this.selected) + step;
    const more = this.data.page + 1 < this.data.pages;
    if (step > 0 && more && (this.pageDone || at === this.order.length)) this.turn(this.data.page + 1);
    else if (at >= 0 && at < this.order.length) this.select(this.order[at]);
    else if (step < 0 && this.data.page > 0) this.turn(this.data.page - 1, "last");
  }

  turn(page, landing = "") {
    this.landing = landing;
    this.setTrigger("page", page);
  }

  // ---- the reading pane ---------------------------------------------------------------------------------------

  get item() {
    return this.items.get(this.selected);
  }

  renderPane() {
    const item = this.item;
    item.shown = performance.now();
    const copy = button("quiet id", item.id, () => {
      navigator.clipboard?.writeText(item.id).then(() => this.say("Chunk id copied."));
    }, "Copy the chunk id");
    const title = make("span", "title", item.title || item.doc || item.id);
    title.dir = "auto";
    title.title = title.textContent;
    const place = make("span", "quiet place", item.place ? `${item.doc} · ${item.place} of ${item.siblings}` : item.doc);
    place.title = place.textContent;
    this.titleLine.replaceChildren(title, place);
    this.live.shown();
    const like = button("quiet", "similar", () => this.setTrigger("similar", item.id), "List chunks that read like this one, are near it by vector, or stand in its document");
    this.idLine.replaceChildren(copy, this.live.line, like);
    this.meta.replaceChildren(
      ...item.meta.map(([name, value]) => {
        const pair = make("span", "pair");
        pair.title = `${name} ${value}`;
        pair.append(make("span", "quiet", name), ` ${value}`);
        return pair;
      }),
    );
    this.before.replaceChildren();
    this.after.replaceChildren();
    const fetch = () => this.setTrigger("around", item.id);
    // Of a table searched in place, a chunk's place is known once its document was asked for.
    const unplaced = item.doc && !item.place;
    if (unplaced || item.place > 1) this.before.append(button("quiet", "◂ chunk before", fetch));
    if (unplaced || (item.place && item.place < item.siblings)) this.after.append(button("quiet", "chunk after ▸", fetch));
    this.scroll.scrollTop = 0;
    if (item.cut) this.after.prepend(make("div", "cut", item.cut));
    this.renderText();
    this.renderLabel();
  }

  renderText() {
    const item = this.item;
    const quotes = this.working().evidence.map((one) => ["evidence", one.start, one.end]);
    fill(this.text, item.text || "(this chunk has no text)", item.text ? [...item.spans.map(([s, e]) => ["hit", s, e]), ...quotes] : []);
    this.text.classList.toggle("quiet", !item.text);
  }

  // What is being written: an unfinished reason and evidence, else those of the stored label.
  working() {
    const item = this.item;
    return item.draft ?? { reason: item.label.reason, evidence: item.label.evidence };
  }

  renderLabel() {
    if (!this.item) return;
    const { label } = this.item;
    const now = !label.judged ? "" : label.grade === null ? "cannot" : label.stale ? "stale" : `grade${label.grade}`;
    for (const [name, node] of this.gradeButtons) {
      node.classList.toggle("chosen", name === now);
      if (name !== "undo") node.setAttribute("aria-pressed", String(name === now));
    }
    this.gradeButtons.get("undo").disabled = !this.history.length;
    const working = this.working();
    if (this.root.activeElement !== this.reason && this.reason.value !== working.reason) this.reason.value = working.reason;
    this.reason.placeholder = this.pendingCannot
      ? "Why can’t it be judged? Write it here, then Ctrl+Enter or cannot judge once more"
      : "Why this grade? r to write, Ctrl+Enter to save and go on";
    this.reason.classList.toggle("asked", Boolean(this.pendingCannot));
    const written = JSON.stringify(working.evidence);
    if (written === this.chipsShow) return;
    this.chipsShow = written;
    const chips = working.evidence.map((one, at) => {
      const chip = make("span", "chip");
      const drop = button("quiet", "×", () => this.dropQuote(at), "Remove this quote");
      drop.setAttribute("aria-label", `Remove the quote ${one.quote.slice(0, 60)}`);
      chip.append(make("span", "quote", one.quote), drop);
      chip.title = one.quote;
      return chip;
    });
    this.quoteCount.textContent = `evidence: ${chips.length === 1 ? "1 quote" : `${chips.length} quotes`}`;
    this.chips.replaceChildren(...chips);
  }

  showAround({ id, before, after, message }) {
    if (id !== this.selected) return;
    if (message) this.say(message);
    for (const [node, chunk] of [[this.before, before], [this.after, after]]) {
      if (!chunk) {
        if (!message) node.querySelector("button")?.remove();
        continue;
      }
      const block = make("div", "neighbour");
      const text = make("div", "", chunk.text);
      text.dir = "auto";
      block.append(make("div", "quiet", chunk.id), text);
      node.replaceChildren(block);
    }
  }

  // ---- reason and evidence ------------------------------------------------------------------------------------

  drafted() {
    this.item.draft = { ...this.working(), reason: this.reason.value };
    clearTimeout(this.draftTimer);
    this.draftTimer = setTimeout(() => this.flushDraft(), DRAFT_MS);
  }

  // On leaving: what was written joins the label where there is one, else it stays a draft.
  settleDraft() {
    const item = this.item;
    if (item?.draft !== undefined && item.label.judged) this.judge(item.label.grade, item.label.stale, false);
    else this.flushDraft();
  }

  flushDraft() {
    clearTimeout(this.draftTimer);
    const item = this.item;
    if (!item || item.draft === undefined || item.draftSent === JSON.stringify(item.draft)) return;
    item.draftSent = JSON.stringify(item.draft);
    const { reason, evidence } = item.draft;
    this.queue.push({ kind: "draft", chunk_id: item.id, sha256: item.sha256, reason, evidence });
  }

  evidence() {
    const selection = (this.root.getSelection ?? document.getSelection).call(this.root.getSelection ? this.root : document);
    const range = selection && selection.rangeCount ? selection.getRangeAt(0) : null;
    if (!range || range.collapsed || !range.intersectsNode(this.text)) {
      this.quoteBox.focus();
      return;
    }
    // A selection often runs over the text's ends, as with three clicks: the part inside counts.
    const whole = document.createRange();
    whole.selectNodeContents(this.text);
    const within = range.cloneRange();
    if (range.compareBoundaryPoints(Range.START_TO_START, whole) < 0) within.setStart(whole.startContainer, whole.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, whole) > 0) within.setEnd(whole.endContainer, whole.endOffset);
    const unit = (node, offset) => {
      const lead = document.createRange();
      lead.setStart(this.text, 0);
      lead.setEnd(node, offset);
      return lead.toString().length;
    };
    const text = this.item.text;
    let start = unit(within.startContainer, within.startOffset);
    let end = unit(within.endContainer, within.endOffset);
    while (start < end && /\s/.test(text[start])) start += 1;
    while (end > start && /\s/.test(text[end - 1])) end -= 1;
    selection.removeAllRanges();
    if (start < end) this.addQuote(text.slice(start, end), toPoints(text, start), toPoints(text, end));
  }

  pasteQuote() {
    const quote = this.quoteBox.value.trim();
    if (!quote) return;
    const at = this.item.text.indexOf(quote);
    if (at < 0) this.setTrigger("locate", { id: this.item.id, quote });
    else this.addQuote(quote, toPoints(this.item.text, at), toPoints(this.item.text, at + quote.length));
  }

  takeLocated({ id, n, span, message }) {
    if (n === this.located) return;
    this.located = n;
    if (id !== this.selected) return;
    if (span) this.addQuote(span.quote, span.start, span.end);
    else this.say(message);
  }

  addQuote(quote, start, end) {
    const working = this.working();
    if (!working.evidence.some((one) => one.start === start && one.end === end)) {
      this.setWorking({ ...working, evidence: [...working.evidence, { quote, start, end }] });
    }
    this.quoteBox.value = "";
    this.quoteBox.blur();
  }

  dropQuote(at) {
    const working = this.working();
    this.setWorking({ ...working, evidence: working.evidence.filter((_, index) => index !== at) });
  }

  setWorking(working) {
    const item = this.item;
    item.draft = working;
    if (item.label.judged) this.judge(item.label.grade, item.label.stale, false);
    else this.flushDraft();
    this.renderText();
    this.renderLabel();
  }

  // ---- actions ------------------------------------------------------------------------------------------------

  judge(grade, stale, advance = true) {
    const item = this.item;
    if (item.gone) return this.say("This chunk is no longer in the chunk table, so it cannot be graded.");
    const { reason, evidence } = this.working();
    const before = item.label;
    const label = { grade, judged: true, stale, reason: reason.trim(), evidence };
    if (grade === null && !label.reason) {
      this.pendingCannot = true;
      this.renderLabel();
      return this.reason.focus();
    }
    clearTimeout(this.draftTimer);
    item.draft = undefined;
    item.draftSent = undefined;
    this.pendingCannot = false;
    if (!sameLabel(before, label)) this.record(item, label, Math.round(performance.now() - item.shown) / 1000);
    if (!advance) return undefined;
    this.offerAlike(item);
    const next = this.nextOpen(item.id);
    if (next) return this.select(next);
    this.renderLabel();
    // Who grades something again is looking back, and goes on row by row.
    if (before.judged && !this.pageDone) return undefined;
    this.pageDone = this.data.page + 1 < this.data.pages;
    return this.say(this.pageDone ? "All chunks on this page are graded: j for the next page." : "All chunks in this list are graded.");
  }

  record(item, label, seconds) {
    const before = item.label;
    item.label = label;
    const { judged, ...fields } = label;
    const id = this.queue.push({ kind: "judge", chunk_id: item.id, sha256: item.sha256, seconds, ...fields });
    this.history.push({ id, chunk_id: item.id, before: before.judged ? before : null });
    if (this.history.length > UNDO_LIMIT) this.history.shift();
    this.candidates.badge(item.id);
  }

  // The near-duplicates in this list of what was just graded, unless something was said about them already.
  openTwins(item) {
    return this.order
      .map((id) => this.items.get(id))
      .filter((one) => item.alike && one.alike === item.alike && one.id !== item.id && this.isOpen(one.id))
      .filter((one) => !(one.draft?.reason || one.draft?.evidence.length));
  }

  offerAlike(item) {
    const twins = item ? this.openTwins(item) : [];
    this.offered = twins.length ? item.id : null;
    this.alike.hidden = !twins.length;
    this.alikeText.textContent = `Grade ${twins.length} near-duplicate${twins.length > 1 ? "s" : ""} the same`;
    this.alike.title = twins.map((one) => one.id).join("\n");
  }

  // Each becomes a label of its own, to be taken back on its own.
  gradeAlike() {
    const item = this.items.get(this.offered);
    if (!item?.label.judged) return this.say("Near-duplicates are offered after one of them was graded.");
    const twins = this.openTwins(item);
    const { grade, stale } = item.label;
    const reason = [item.label.reason, `Near-duplicate of ${item.id}.`].filter(Boolean).join(" ");
    for (const twin of twins) {
      const evidence = refit(twin.text, item.label.evidence);
      this.record(twin, { grade, judged: true, stale, reason, evidence }, null);
    }
    this.offerAlike(null);
    this.say(twins.length > 1 ? `${twins.length} near-duplicates graded the same: u takes them back one by one.` : "Near-duplicate graded the same.");
    if (this.isOpen(this.selected)) return undefined;
    const next = this.nextOpen(this.selected);
    return next ? this.select(next) : this.renderPane();
  }

  undo() {
    const last = this.history.pop();
    if (!last) return;
    this.offerAlike(null);
    const restores = last.before ?? EMPTY;
    this.queue.push({ kind: "undo", chunk_id: last.chunk_id, target: last.id, restores });
    const item = this.items.get(last.chunk_id);
    if (item) {
      item.label = restores;
      item.draft = undefined;
    }
    if (this.order.includes(last.chunk_id)) {
      this.candidates.badge(last.chunk_id);
      this.select(last.chunk_id);
      this.say("Undone.");
    } else {
      this.renderLabel();
      this.say(`Undone: your label on ${last.chunk_id}.`);
    }
  }

  save() {
    const item = this.item;
    this.reason.blur();
    if (this.pendingCannot) this.judge(null, false);
    else if (item.label.judged) this.judge(item.label.grade, item.label.stale);
    else {
      this.flushDraft();
      this.say("Reason kept. Now grade the chunk: 0 to 3.");
    }
  }

  run(key) {
    const { action, value } = key;
    if (!this.note.classList.contains("alarm")) this.note.textContent = "";
    if (action === "help") return this.help.open ? this.help.close() : this.help.showModal();
    if (action === "next" || action === "previous") {
      this.settleDraft();
      if (!this.data[action]) return this.say(action === "next" ? "This is the last question." : "This is the first question.");
      return this.setTrigger("go", action);
    }
    if (action === "skip") {
      this.settleDraft();
      return this.setTrigger("go", action);
    }
    if (action === "search") {
      if (this.searchBox()?.disabled) this.setTrigger("go", action);
      return this.seek();
    }
    if (action === "undo") return this.undo();
    if (action === "alike") return this.gradeAlike();
    if (!this.item) return undefined;
    if (action === "grade") return this.judge(value, false);
    if (action === "stale") return this.judge(0, true);
    if (action === "cannot") return this.judge(null, false);
    if (action === "down") return this.move(1);
    if (action === "up") return this.move(-1);
    if (action === "evidence") return this.evidence();
    if (action === "reason") return this.reason.focus();
    return undefined;
  }

  searchBox() {
    return document.querySelector(`input[aria-label="${this.data.search_label}"]`);
  }

  // The box may come later than the keys meant for it, with the page's other code or with its tab. What is typed
  // meanwhile waits for it, and grades nothing.
  seek() {
    const until = performance.now() + SEEK_MS;
    this.typed = "";
    // A focused button would take the space for itself.
    for (const focused of [this.root.activeElement, document.activeElement]) focused?.blur();
    const look = () => {
      if (this.typed === null) return;
      const box = this.searchBox();
      const there = box && !box.disabled;
      if (!there && performance.now() < until) {
        requestAnimationFrame(look);
        return;
      }
      const [words, entered] = this.typed.split("\n");
      this.typed = null;
      if (!there) return this.say("There is no search box here.");
      box.focus();
      box.select();
      if (words) document.execCommand("insertText", false, words);
      if (entered !== undefined) setTimeout(() => box.blur(), 0);
    };
    look();
  }

  hold(event) {
    event.preventDefault();
    if (event.key === "Escape") this.typed = null;
    else if (this.typed.endsWith("\n")) return;
    else if (event.key === "Enter") this.typed += "\n";
    else if (event.key === "Backspace") this.typed = this.typed.slice(0, -1);
    else if ([...event.key].length === 1) this.typed += event.key;
  }

  key(event) {
    const target = event.composedPath()[0];
    if (event.isComposing || !this.data || !this.bench.isConnected) return;
    if (event.repeat) {
      // A key that is held down presses a focused button again and again.
      if (["Enter", " "].includes(event.key) && this.bench.contains(target) && target.closest("button")) event.preventDefault();
      return;
    }
    if (target === this.searchBox() && ["Enter", "Escape"].includes(event.key)) {
      // The search starts, and the keys belong to what it finds.
      setTimeout(() => target.blur(), 0);
      return;
    }
    const inside = this.root.activeElement === this.reason;
    if (inside && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.save();
      return;
    }
    if (inside && event.key === "Escape") {
      this.pendingCannot = false;
      this.reason.blur();
      this.renderLabel();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (target instanceof Element && target.closest("input, textarea, select, [contenteditable]:not([contenteditable='false'])")) return;
    if (this.typed !== null) {
      this.hold(event);
      return;
    }
    if (this.help.open && named(event) !== "?") return;
    if (document.querySelector("[role='dialog'], [data-baseweb='popover']")) return;
    const key = this.keys.get(named(event));
    if (!key) return;
    event.preventDefault();
    this.run(key);
  }
}

// Streamlit sometimes takes the element away and puts a new one in its place while reruns overtake each other. The
// bench outlives that: it waits a moment and moves into the new element with selection, scroll and focus as they were.
const GRACE_MS = 1500;

document.annotatorWorkbench = ({ parentElement, data, setStateValue, setTriggerValue }) => {
  const waiting = document.annotatorWaiting;
  if (!parentElement.workbench && waiting?.data && waiting.data.who === data.who && waiting.data.query === data.query) {
    document.annotatorWaiting = undefined;
    waiting.moveTo(parentElement);
    parentElement.workbench = waiting;
  }
  parentElement.workbench ??= new Workbench(parentElement);
  const { workbench } = parentElement;
  workbench.update(data, setStateValue, setTriggerValue);
  return () => {
    parentElement.workbench = undefined;
    document.annotatorWaiting?.close();
    document.annotatorWaiting = workbench;
    workbench.remember();
    setTimeout(() => {
      if (document.annotatorWaiting !== workbench) return;
      document.annotatorWaiting = undefined;
      workbench.close();
    }, GRACE_MS);
  };
};
document.dispatchEvent(new Event("annotator-workbench"));

export default () => {};
