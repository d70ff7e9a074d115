import { markLayer, unsupportedFramework } from '@agentlightning/core/adapter';
import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** What {@link patchOpenAI} can be given. */
export type PatchOpenAIOptions = Omit<TraceFetchOptions, 'fetch'>;

/** The class `OpenAI`, as any copy of the package exports it. */
export interface OpenAIClass {
  readonly prototype: object;
}

/** What of a client is needed: the fetch that it was made with. */
interface Client {
  fetch: typeof fetch;
}

/** The method that all requests of a client go through. */
type FetchWithTimeout = (this: Client, ...args: unknown[]) => unknown;

/** A class that is patched. */
interface Patch {
  readonly before: PropertyDescriptor;
  readonly patched: FetchWithTimeout;
  layers: readonly PatchOpenAIOptions[];
  /** The clients whose fetch was replaced, with what they had. */
  readonly clients: Map<WeakRef<Client>, { readonly own: typeof fetch; readonly layered: typeof fetch }>;
  readonly fetches: WeakSet<typeof fetch>;
  /** Forgets clients that are gone: some programs make one for every request. */
  readonly gone: FinalizationRegistry<WeakRef<Client>>;
}

const method = 'fetchWithTimeout';
const oldestMajor = 6;
const patches: WeakMap<object, Patch> = new WeakMap();

/**
 * Makes all clients of an `OpenAI` class traced ones, also those that were made before, and those of its subclasses.
 *
 * A program may have two copies of the package, as when it is both imported and required: give each its own call.
 * Patching twice does not trace twice.
 *
 * @param OpenAI - the class, of version 6 or 7 of the package, or what `require('openai')` gives
 * @returns undoes it; safe in any order, and more than once
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK when it is no such class, or an older one
 *
 * @example
 * ```ts
 * import OpenAI from 'openai';
 * const undo = patchOpenAI(OpenAI);
 * ```
 */
export function patchOpenAI(OpenAI: OpenAIClass, options: PatchOpenAIOptions = {}): () => void {
  const prototype = prototypeOf(OpenAI);
  const patch = patches.get(prototype) ?? install(prototype);
  // An object of its own, so that the same options can be given, and taken away, twice.
  const own = { ...options };
  patch.layers = [...patch.layers, own];
  return () => {
    patch.layers = patch.layers.filter((other) => other !== own);
    if (patch.layers.length === 0 && patches.get(prototype) === patch) remove(prototype, patch);
  };
}

function install(prototype: object): Patch {
  const before = Object.getOwnPropertyDescriptor(prototype, method) ?? {};
  const original: FetchWithTimeout = before.value;
  const patched: FetchWithTimeout = function (...args) {
    layClientFetch(this, patch);
    return original.apply(this, args);
  };
  const clients: Patch['clients'] = new Map();
  const gone = new FinalizationRegistry<WeakRef<Client>>((reference) => clients.delete(reference));
  const patch: Patch = { before, patched, layers: [], clients, fetches: new WeakSet(), gone };
  patches.set(prototype, patch);
  Object.defineProperty(prototype, method, { ...before, value: patched });
  return patch;
}

/** Puts a traced fetch in the place of a client's own, once. */
function layClientFetch(client: Client, patch: Patch): void {
  const own = client.fetch;
  if (patch.fetches.has(own) || patch.layers.length === 0) return;
  const layered: typeof fetch = (input, init) =>
    patch.layers.reduce((inner, layer) => traceFetch({ ...layer, fetch: inner }), own)(input, init);
  patch.fetches.add(markLayer(layered, { inner: own }));
  const reference = new WeakRef(client);
  patch.clients.set(reference, { own, layered });
  patch.gone.register(client, reference);
  client.fetch = layered;
}

function remove(prototype: object, patch: Patch): void {
  patches.delete(prototype);
  // Somebody may have patched the method after us: what is ours only passes on from now on.
  if (Reflect.get(prototype, method) === patch.patched) Object.defineProperty(prototype, method, patch.before);
  for (const [reference, { own, layered }] of patch.clients) {
    const client = reference.deref();
    if (client?.fetch === layered) client.fetch = own;
  }
}

function prototypeOf(OpenAI: OpenAIClass): object {
  const prototype: unknown = typeof OpenAI === 'function' ? Reflect.get(OpenAI, 'prototype') : null;
  // `require('openai')` of version 6 gives a function that makes clients, and has the class as a property.
  if (typeof OpenAI === 'function' && Object.hasOwn(OpenAI, 'OpenAI')) {
    const named: unknown = Reflect.get(OpenAI, 'OpenAI');
    if (typeof named === 'function' && named !== OpenAI) return prototypeOf(named);
  }
  const isSupported = typeof prototype === 'object' && prototype !== null && Object.hasOwn(prototype, method);
  const version = isSupported ? versionOf(OpenAI) : null;
  if (isSupported && (version === null || Number.parseInt(version, 10) >= oldestMajor)) return prototype;
  throw unsupportedFramework(
    `patchOpenAI works with the class OpenAI of 'openai' 6 and 7, and was given ${described(OpenAI, version)}.`,
    `Pass the class itself, as in \`import OpenAI from 'openai'\`, and update the package if it is older.`,
  );
}

function described(value: unknown, version: string | null): string {
  if (version !== null) return `that of version ${version}`;
  return typeof value === 'function' ? `the function '${value.name}'` : String(value === null ? value : typeof value);
}

/** The version that the class tells servers of; null when it does not. */
function versionOf(OpenAI: OpenAIClass): string | null {
  const getUserAgent: unknown = Reflect.get(OpenAI.prototype, 'getUserAgent');
  if (typeof getUserAgent !== 'function') return null;
  try {
    return /(\d+\.\d+\.\S*)/.exec(String(getUserAgent.call({ constructor: OpenAI })))?.[1] ?? null;
  } catch {
    // It says its version in another way: that it has the method we need is enough.
    return null;
  }
}
