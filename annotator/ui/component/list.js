// The candidate list: its rows with badge, title and snippet, and below them how many there are and the pages. What is in
// it, and which row is being read, is workbench.js's, with which it is joined.

class CandidateList {
  constructor(bench) {
    this.bench = bench;
    this.rowOf = new Map();
    this.rows = make("div", "rows");
    this.rows.setAttribute("role", "listbox");
    this.rows.setAttribute("aria-label", "Candidates");
    this.rows.tabIndex = 0;
    this.rows.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      bench.move(step);
    });
    const foot = make("div", "listfoot");
    this.counted = make("span", "quiet");
    this.pager = make("span", "pager");
    this.back = button("quiet", "‹", () => bench.turn(bench.data.page - 1, "last"), "Page before");
    this.on = button("quiet", "›", () => bench.turn(bench.data.page + 1), "Next page");
    for (const one of [this.back, this.on]) one.setAttribute("aria-label", one.title);
    this.pageOf = make("span", "quiet");
    this.pager.append(this.back, this.pageOf, this.on);
    foot.append(this.counted, this.pager);
    this.box = make("section", "list");
    this.box.append(this.rows, foot);
  }

  render() {
    this.rowOf = new Map();
    const rows = this.bench.order.map((id, at) => {
      const item = this.bench.items.get(id);
      const row = make("div", "row");
      row.setAttribute("role", "option");
      row.id = `row-${at}`;
      row.dataset.id = id;
      const head = make("div", "head");
      const title = titled(item.title || item.doc || item.id);
      head.append(make("span", "badge"), title, make("span", "quiet why", item.why), make("span", "staleflag"));
      if (item.alike) {
        const twin = make("span", "quiet twin", "≈ near-duplicate");
        twin.title = "Says nearly the same as another chunk of this list";
        head.append(twin);
      }
      const snippet = make("div", "snippet");
      snippet.dir = "auto";
      fill(snippet, item.snippet, item.snippet_spans.map(([start, end]) => ["hit", start, end]));
      row.append(head, snippet);
      row.addEventListener("click", () => this.bench.select(id));
      this.rowOf.set(id, row);
      return row;
    });
    this.rows.replaceChildren(...rows);
    this.rows.scrollTop = 0;
    this.bench.order.forEach((id) => this.badge(id));
  }

  // Show as chosen the row that is being read, none for null.
  mark(id, scroll) {
    this.rows.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    this.rows.removeAttribute("aria-activedescendant");
    const row = this.rowOf.get(id);
    if (!row) return;
    row.setAttribute("aria-selected", "true");
    this.rows.setAttribute("aria-activedescendant", row.id);
    if (scroll) row.scrollIntoView({ block: "nearest" });
  }

  badge(id) {
    const row = this.rowOf.get(id);
    const label = this.bench.items.get(id).label;
    const badge = row.querySelector(".badge");
    const open = this.bench.items.get(id).gone ? "removed" : "not judged";
    const word = !label.judged ? open : label.grade === null ? "cannot judge" : this.bench.data.words[label.grade];
    const text = label.judged && label.grade !== null ? `${label.grade} ${word}` : word;
    if (badge.textContent !== text) badge.textContent = text;
    badge.className = `badge ${label.judged ? `g${label.grade ?? "x"}` : "open"}`;
    row.querySelector(".staleflag").textContent = label.reopened ? "⚠ opened again" : label.outdated ? "⚠ text changed" : label.stale ? "⚠ stale" : "";
  }

  renderFoot() {
    const { counted, page, pages, seconds } = this.bench.data;
    this.counted.textContent = seconds ? `${counted} · ${Math.max(1, Math.round(seconds * 1000))} ms` : counted;
    this.pager.hidden = pages < 2;
    this.back.disabled = page === 0;
    this.on.disabled = page + 1 >= pages;
    this.pageOf.textContent = `${page + 1} of ${pages}`;
  }
}

