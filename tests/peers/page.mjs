// Runs the script of the page as a browser would, with just so much of a document as it uses, and prints what the page then shows, line by line.
// Arguments: the server's address, a key, the page's path.
const [base, key, path] = process.argv.slice(2);

class Node {
  constructor(tag) {
    Object.assign(this, { tag, children: [], text: "", hidden: false, className: "", attributes: {} });
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
    this.children.push(...children);
  }
  replaceChildren(...children) {
    this.children = children;
  }
  addEventListener() {}
  focus() {}
  lines() {
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
  location: { pathname: path, hash: "", assign() {}, reload() {} },
};
const script = await (await fetch(`${base}/assets/page.js`)).text();
const fetched = (to, options) => fetch(new URL(to, base), options);
new Function(...Object.keys(globals), "fetch", script)(...Object.values(globals), fetched);
// Until it shows something, or says why not.
const [main, message] = ["main", "message"].map(globals.document.getElementById);
while (main.children.length === 0 && message.text === "") await new Promise((done) => setTimeout(done, 20));
console.log(JSON.stringify([...message.lines(), ...main.lines()]));
process.exit(0);
