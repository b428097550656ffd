// Built-ins that a call left replaced. Node and this program use many of them as they are at the
// time: with a replaced `Array.prototype.pop` the next call would wait to the end of its time, and
// with `Function.prototype.call` it would get what an earlier one put there.
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { EventEmitter } from "node:events";

const {
  Array: { prototype: list },
  Map: { prototype: map },
  Set: { prototype: set },
  WeakMap: { prototype: weakMap },
  Object: { prototype: object },
  Function: { prototype: fn },
  String: { prototype: string },
  RegExp: { prototype: regExp },
  Promise: { prototype: promise },
  Buffer: { prototype: buffer },
} = globalThis;
const { prototype: storage } = AsyncLocalStorage;
const { prototype: resource } = AsyncResource;
const { prototype: emitter } = EventEmitter;

const none = object as Partial<Record<"then" | "toJSON" | keyof PropertyDescriptor, unknown>>;

/** The built-ins as they are now. Written out, as V8 remembers where each is: names in a list take ten times as long. */
function builtIns(): unknown[] {
  const { Array, Map, Set, WeakMap, Object, Reflect, Promise, JSON, Buffer, Date } = globalThis;
  return [
    Array, Array.isArray, Array.from, list.push, list.pop, list.shift, list.unshift, list.splice, list.slice, list.map, list.filter, list.find, list.findIndex, list.findLast, list.some, list.every,
    list.forEach, list.reduce, list.includes, list.indexOf, list.join, list.concat, list.flatMap, list.sort, list.entries, list.keys, list.values, list[Symbol.iterator],
    Map, map.get, map.set, map.has, map.delete, map.forEach, map.entries, map.keys, map.values, map[Symbol.iterator],
    Set, set.add, set.has, set.delete, set.forEach, set.values, set[Symbol.iterator], WeakMap, weakMap.get, weakMap.set, weakMap.has,
    Object, Object.assign, Object.create, Object.defineProperty, Object.defineProperties, Object.entries, Object.fromEntries, Object.freeze, Object.getOwnPropertyDescriptor,
    Object.getOwnPropertyDescriptors, Object.getPrototypeOf, Object.hasOwn, Object.keys, Object.values, object.hasOwnProperty, object.toString, object.valueOf,
    Reflect.apply, Reflect.get, Reflect.ownKeys, fn.call, fn.apply, fn.bind, fn.toString,
    string.split, string.replace, string.replaceAll, string.slice, string.includes, string.indexOf, string.startsWith, string.endsWith, string.toLowerCase, string.trim,
    regExp.exec, regExp.test, regExp[Symbol.replace], regExp[Symbol.split], regExp[Symbol.match], JSON, JSON.parse, JSON.stringify,
    Promise, Promise.all, Promise.race, Promise.resolve, Promise.reject, promise.then, promise.catch, promise.finally, Date, Date.now,
    globalThis.Proxy, globalThis.Error, globalThis.String, globalThis.Number, globalThis.Symbol, globalThis.URL,
    globalThis.setTimeout, globalThis.clearTimeout, globalThis.setInterval, globalThis.clearInterval, globalThis.setImmediate, globalThis.clearImmediate, globalThis.queueMicrotask, process.nextTick,
    Buffer, Buffer.from, Buffer.alloc, Buffer.concat, Buffer.byteLength, buffer.toString, buffer.write, buffer.subarray, storage.run, storage.getStore, storage.enterWith, resource.runInAsyncScope,
    emitter.on, emitter.once, emitter.emit,
    // There are none: each object would have them, and each description of a property.
    none.then, none.toJSON, none.get, none.set, none.value, none.writable, none.enumerable, none.configurable,
  ];
}

let loaded: unknown[] = [];

/** From now on, built-ins count as replaced where they differ from what they are now: what modules change while they load is so for each call. */
export function keepBuiltIns(): void {
  loaded = builtIns();
}

/** Whether a built-in is another than when the modules had loaded. */
export function builtInsReplaced(): boolean {
  try {
    const now = builtIns();
    for (let at = 0; at < loaded.length; at++) if (now[at] !== loaded[at]) return true;
    return false;
  } catch {
    // A getter in the place of one.
    return true;
  }
}
