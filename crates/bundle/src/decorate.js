// Stands in for the helper that calls decorators: those of the standard get (value, context), and those with a third parameter, as
// TypeScript's older ones have, (target, key, descriptor).
// What decorators of a class share: where there is a `Symbol.metadata`, as code that reads it sees to.
function metadataOf(owner) {
  const name = Symbol.metadata;
  if (name === undefined) return undefined;
  if (!Object.hasOwn(owner, name)) {
    const inherited = Object.getPrototypeOf(owner)?.[name] ?? null;
    Object.defineProperty(owner, name, { value: Object.create(inherited), configurable: true, writable: true });
  }
  return owner[name];
}
export default function decorate(decorators, target, key) {
  const later = [];
  const isClass = arguments.length < 3;
  const isStatic = isClass || typeof target === "function";
  const owner = isStatic ? target : target.constructor;
  const context = (kind, name, more) => ({
    kind,
    name,
    metadata: metadataOf(owner),
    ...more,
    addInitializer(initializer) {
      if (!isStatic) throw new TypeError(`addInitializer in a decorator of \`${String(name)}\` needs a static method or a class here; bind in the constructor`);
      later.push(initializer);
    },
  });
  const list = decorators.filter((one) => one !== undefined).reverse();
  let decorated = target;
  if (isClass) {
    for (const one of list) decorated = one(decorated, context("class", target.name, {})) ?? decorated;
  } else {
    const own = Object.getOwnPropertyDescriptor(target, key);
    const kind = own.get ? "getter" : own.set ? "setter" : "method";
    const slot = { getter: "get", setter: "set", method: "value" }[kind];
    const access = { has: (object) => key in object, get: (object) => object[key], set: (object, value) => { object[key] = value; } };
    for (const one of list) {
      if (one.length > 2) Object.assign(own, one(target, key, { ...own }));
      else own[slot] = one(own[slot], context(kind, key, { static: isStatic, private: false, access })) ?? own[slot];
    }
    Object.defineProperty(target, key, own);
  }
  for (const initializer of later) initializer.call(decorated);
  return decorated;
}
