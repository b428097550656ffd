// Runs the script of the page as a browser would, with just so much of a document as it uses, and prints what the page then shows, line by line.
// Arguments: the server's address, a key, the page's path, and what is done then, one after the other: `name=value` fills a field, other words are
// those of a button that is pressed.
const [base, key, path, ...acts] = process.argv.slice(2);

class Node {
  constructor(tag) {
    Object.assign(this, { tag, children: [], text: "", hidden: false, className: "", attributes: {}, value: "", listeners: {} });
  }
  set textContent(text) {
    [this.text, this.children] = [String(text), []];
  }
  get textContent() {
    return this.text;
  }
  get firstChild() {
    return this.children[0];
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  append(...children) {
    this.children.push(...children.map((child) => (child instanceof Node ? child : Object.assign(new Node("text"), { text: child }))));
  }
  replaceChildren(...children) {
    this.children = children;
  }
  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }
  all() {
    return [this, ...this.children.flatMap((child) => (typeof child === "string" ? [] : child.all()))];
  }
  focus() {}
  lines() {
    if (this.hidden) return [];
    const own = this.text === "" ? [] : [`${this.tag}${this.attributes.class ? `.${this.attributes.class}` : ""} ${this.text}`];
    return [...own, ...this.children.flatMap((child) => (typeof child === "string" ? [] : child.lines()))];
  }
}

const byId = new Map();
const stored = new Map([["millrace-api-key", key]]);
const globals = {
  document: {
    title: "",
    createElement: (tag) => new Node(tag),
    getElementById: (id) => byId.get(id) ?? byId.set(id, new Node(id)).get(id),
  },
  sessionStorage: { getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => stored.set(name, value), removeItem: (name) => stored.delete(name) },
  location: { pathname: path.split("?")[0], search: path.slice(path.split("?")[0].length), hash: "", assign() {}, reload() {} },
};
const script = await (await fetch(`${base}/assets/page.js`)).text();
const fetched = (to, options) => fetch(new URL(to, base), options);
new Function(...Object.keys(globals), "fetch", script)(...Object.values(globals), fetched);
// Until it shows something, or says why not.
const [main, message] = ["main", "message"].map(globals.document.getElementById);
while (main.children.length === 0 && message.text === "") await new Promise((done) => setTimeout(done, 20));
const shown = () => JSON.stringify([...message.lines(), ...main.lines()]);
for (const act of acts) {
  const [name, value] = act.split(/=(.*)/s);
  if (value !== undefined) {
    main.all().find((node) => node.tag === "input" && node.attributes.name === name).value = value;
    continue;
  }
  const before = shown();
  main.all().find((node) => node.tag === "button" && node.text === act && !node.hidden).listeners.click();
  while (shown() === before) await new Promise((done) => setTimeout(done, 20));
}
console.log(shown());
process.exit(0);
