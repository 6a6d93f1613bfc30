// What was done and is not known to be stored: kept here, in the browser's storage and as component state until the server
// says that it has it. Joined with workbench.js, whose bench it belongs to and which shows what became of each operation.

const RETRY_MS = 4000;
const ALIVE_MS = 5 * 60 * 1000;

class Queue {
  // `status` says how saving stands; `waiting` are the operations, the oldest first.
  constructor(bench) {
    this.bench = bench;
    this.tab = newId();
    this.waiting = [];
    this.sent = 0;
    this.heard = performance.now();
    this.status = make("div", "status");
    this.status.setAttribute("role", "status");
  }

  get empty() {
    return !this.waiting.length;
  }

  // Keep an operation, to be sent with the next ones; return its id.
  add(operation) {
    const { who, query } = this.bench.data;
    const one = { id: newId(), who, query_id: query, ...operation };
    this.waiting.push(one);
    this.store();
    return one.id;
  }

  push(operation) {
    const id = this.add(operation);
    this.send();
    this.render();
    return id;
  }

  // Take out what the server has answered; return what it refused.
  settle({ ack, refused, saved_at }) {
    const answered = new Set([...ack, ...refused.map(([id]) => id)]);
    const lost = this.waiting.filter((one) => refused.some(([id]) => id === one.id));
    const left = this.waiting.filter((one) => !answered.has(one.id));
    if (left.length !== this.waiting.length) {
      this.waiting = left;
      this.store();
    }
    if (saved_at && this.empty) this.savedAt = saved_at;
    return lost;
  }

  // What the person left behind in a tab that was closed before the server had it.
  adopt(who) {
    this.prefix = `annotator.queue/${encodeURIComponent(who)}/`;
    let names = [];
    try {
      names = Object.keys(localStorage).filter((name) => name.startsWith(this.prefix));
    } catch {
      // The browser keeps nothing: then nothing was left over.
    }
    for (const name of names) {
      try {
        this.waiting.push(...JSON.parse(localStorage.getItem(name)));
      } catch {
        // What cannot be read was never a queue of ours.
      }
      localStorage.removeItem(name);
    }
    if (!this.empty) {
      this.store();
      setTimeout(() => this.send(), 0);
    }
  }

  store() {
    const name = this.prefix + this.tab;
    try {
      if (this.empty) localStorage.removeItem(name);
      else localStorage.setItem(name, JSON.stringify(this.waiting));
    } catch {
      // A full or forbidden storage costs the safety net only; the queue itself is in memory.
    }
  }

  // `holds`: the bench has the rows it was sent, so that their texts need not come again.
  send(holds = true) {
    this.sent += 1;
    this.sentAt = performance.now();
    this.heard = this.sentAt; // saving is a sign of life, too
    const { list, order, items } = this.bench;
    const of = Object.fromEntries(order.map((id) => [id, items.get(id)?.version ?? ""]));
    const ops = this.waiting.map(({ restores, ...rest }) => rest);
    this.bench.setState("queue", { n: this.sent, ops, has: holds ? { list, of } : null });
  }

  // Who reads for long is still at work: the server hears of it now and then, so that the question stays theirs.
  stir() {
    if (!this.bench.setTrigger || performance.now() - this.heard < ALIVE_MS) return;
    this.heard = performance.now();
    this.bench.setTrigger("alive", Date.now());
  }

  retry() {
    if (this.empty || performance.now() - this.sentAt < RETRY_MS) return;
    this.late = true;
    this.send();
    this.render();
  }

  render() {
    const saving = this.waiting.filter((one) => one.kind !== "draft").length;
    if (this.empty) this.late = false;
    let text = "";
    if (this.late) text = `Not saved yet: ${this.waiting.length} waiting, the server does not answer. Trying again…`;
    else if (saving) text = `Saving ${saving}…`;
    else if (this.savedAt) text = `Saved ${new Date(this.savedAt).toLocaleTimeString([], { hour12: false })}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.classList.toggle("late", Boolean(this.late));
    this.status.dataset.waiting = String(this.waiting.length);
  }
}

