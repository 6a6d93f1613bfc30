// The chunk being read beside its row in the live table: how old the text is, whether it still stands there, and
// taking over what changed. Looking happens when somebody asks, or rests on a chunk where it costs next to nothing;
// never while something waits to be saved. Joined with workbench.js, whose bench it belongs to.

const REST_MS = 1500;
const LOOKED_MS = 60_000;

class LiveRow {
  // `bench` is the workbench; `box` lies above the text, `line` is made anew beside the id of each chunk.
  constructor(bench) {
    this.bench = bench;
    this.box = make("div", "live");
  }

  close() {
    clearTimeout(this.timer);
  }

  // A chunk came onto the screen.
  shown() {
    const { item } = this.bench;
    this.line = button("quiet", "", () => this.ask(), "");
    this.render(false);
    this.rest(item.id);
  }

  rest(id) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.rested(id), REST_MS);
  }

  rested(id) {
    const { bench } = this;
    const item = bench.items.get(id);
    if (id !== bench.selected || item.gone || !bench.queue.empty || document.hidden || !bench.data.at_a_glance) return;
    if (item.look && performance.now() - item.look.since < LOOKED_MS) return;
    item.look = { since: performance.now() };
    bench.setTrigger("look", { id, asked: false });
  }

  ask() {
    const { item } = this.bench;
    if (["changed", "gone"].includes(item.look?.state)) return this.render(this.box.hidden);
    item.look = { since: performance.now(), asked: true };
    this.line.textContent = "looking…";
    this.line.disabled = true;
    return this.bench.setTrigger("look", { id: item.id, asked: true });
  }

  // The server's answer; one that was there before this element is not news.
  take(look, fresh) {
    if (!look || look.n === this.taken) return;
    this.taken = look.n;
    const item = this.bench.items.get(look.id);
    if (!item || fresh) return;
    const asked = item.look?.asked;
    item.look = { ...look, since: performance.now() };
    if (look.done) item.look.state = "same";
    if (look.done === "changed") this.bench.say("Refreshed: you see its present text.");
    if (look.id !== this.bench.selected) return;
    if (!look.state && !look.done && !look.message) {
      // No answer yet: the table is only being opened.
      item.look = undefined;
      this.rest(look.id);
      return;
    }
    if (look.message) this.bench.say(look.message, true);
    if (asked && look.state === "unknown") this.bench.say(look.note);
    this.render(asked);
  }

  // The time of a moment of today, the day of an earlier one.
  when(moment) {
    const [then, today] = [new Date(moment), new Date()];
    if (then.toDateString() !== today.toDateString()) return then.toLocaleDateString([], { dateStyle: "medium" });
    return then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  }

  // In a word beside the id, and in full above the text once somebody wants to see it.
  render(open) {
    const { look, gone } = this.bench.item;
    const synced = this.bench.data.synced_at;
    const words = {
      same: `✓ unchanged ${look?.at ? this.when(look.at) : ""}`,
      changed: "⚠ changed",
      gone: "⚠ gone",
      unknown: "? not known",
    };
    const since = synced ? new Date(synced).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false }) : "";
    this.line.hidden = !synced || Boolean(gone);
    this.line.disabled = false;
    this.line.className = `quiet asof ${look?.state ?? ""}`;
    this.line.textContent = words[look?.state] ?? `as of ${this.when(synced)}`;
    this.line.title = `The text is that of the sync of ${since}. ${look?.note || "Press to look at the chunk table now."}`;
    this.box.hidden = !open || !["changed", "gone"].includes(look?.state) || Boolean(gone);
    if (this.box.hidden) return;
    const isGone = look.state === "gone";
    const others = look.other.length ? `, also ${look.other.join(", ")}` : "";
    const said = isGone ? "This chunk is no longer in the chunk table." : `Changed in the chunk table since ${since}${others}.`;
    const difference = make("div", "difference");
    difference.dir = "auto";
    difference.hidden = isGone;
    difference.append(...look.difference.map(([kind, text]) => (kind === "same" ? text : make(kind === "new" ? "ins" : "del", "", text))));
    const take = button("take", isGone ? "Take it out here too" : "Refresh this chunk", () => this.bench.setTrigger("refresh", look.id));
    this.box.replaceChildren(make("div", "", said), difference, take);
    this.bench.scroll.scrollTop = 0;
  }
}
