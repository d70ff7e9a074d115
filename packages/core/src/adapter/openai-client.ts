import { fieldsOf } from '../spans/unknown-value.ts';
import { layersOf, markLayer } from './fetch-layer.ts';
import type { FetchLayerMaker } from './global-fetch.ts';
import { hasMethod, type Method, patchMethod } from './patch-method.ts';

/** The method through which an `openai` client sends every request. */
const sender = 'fetchWithTimeout';

/** Prototype shared by all clients of one copy of `openai`. */
export type OpenAIPrototype = Record<typeof sender, Method>;

/** The used part of a client: the fetch it was created with. */
interface Client {
  fetch: typeof fetch;
}

/** A client with a wrapped fetch, and its original fetch. */
interface LayeredClient {
  readonly reference: WeakRef<Client>;
  readonly own: typeof fetch;
  readonly layered: typeof fetch;
}

/** The layers over the clients of one copy of `openai`. */
interface Installation {
  layers: readonly FetchLayerMaker[];
  readonly clients: Set<LayeredClient>;
  /** Removes collected clients: some programs create one for every request. */
  readonly gone: FinalizationRegistry<LayeredClient>;
  readonly fetches: WeakSet<typeof fetch>;
  /** Restores the method. */
  readonly undo: () => void;
}

const installations: WeakMap<OpenAIPrototype, Installation> = new WeakMap();

/**
 * The prototype shared by all clients of one copy of `openai`.
 *
 * @param value - its class, a derived class, a client, or the module
 * @returns null for other values, and for version 4 or older
 */
export function openAIPrototype(value: unknown): OpenAIPrototype | null {
  const { OpenAI, prototype } = fieldsOf(value);
  // The result of `require('openai')` in version 6 has an unrelated prototype, and the class as a property.
  const holder = [fieldsOf(OpenAI).prototype, prototype, value].find((candidate) => hasMethod(candidate, sender));
  return holder === undefined ? null : ownerOf(holder);
}

/** The Azure class and user-derived classes inherit the method. */
function ownerOf(holder: unknown): OpenAIPrototype | null {
  if (!hasMethod(holder, sender)) return null;
  return Object.hasOwn(holder, sender) ? holder : ownerOf(Object.getPrototypeOf(holder));
}

/**
 * Wraps the fetch of all clients of a copy of `openai`, including existing ones: a client keeps the global fetch from
 * its creation. The layer is set on the client and not on its method, so that the client does not see the added abort
 * signals, whose handling in the client is slow.
 *
 * @returns undoes it and restores the clients; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const prototype = openAIPrototype(OpenAI);
 * if (prototype !== null) wrapOpenAIFetch(prototype, (inner) => redirectedFetch({ fetch: inner }));
 * ```
 */
export function wrapOpenAIFetch(prototype: OpenAIPrototype, layer: FetchLayerMaker): () => void {
  const installation = installations.get(prototype) ?? install(prototype);
  // A new function, so that the same layer can be added and removed twice.
  const own: FetchLayerMaker = (inner) => layer(inner);
  installation.layers = [...installation.layers, own];
  return () => {
    installation.layers = installation.layers.filter((other) => other !== own);
    if (installation.layers.length > 0 || installations.get(prototype) !== installation) return;
    installations.delete(prototype);
    installation.undo();
    for (const { reference, own: before, layered } of installation.clients) {
      const client = reference.deref();
      if (client?.fetch === layered) client.fetch = before;
    }
  };
}

function install(prototype: OpenAIPrototype): Installation {
  const clients: Installation['clients'] = new Set();
  const gone = new FinalizationRegistry<LayeredClient>((client) => clients.delete(client));
  const undo = patchMethod(prototype, sender, (original) => {
    return function (this: unknown, ...args): unknown {
      wrapClientFetch(this as Client, installation);
      return original.apply(this, args);
    };
  });
  const installation: Installation = { layers: [], clients, gone, fetches: new WeakSet(), undo };
  installations.set(prototype, installation);
  return installation;
}

/** Replaces the fetch of a client with a layered one, once. */
function wrapClientFetch(client: Client, installation: Installation): void {
  const { clients, gone, fetches } = installation;
  const own = client.fetch;
  if (fetches.has(own) || layersOf(own).some((layer) => fetches.has(layer))) return;
  let layers: Installation['layers'] = [];
  let current = own;
  const layered: typeof fetch = (input, init) => {
    if (layers !== installation.layers) {
      layers = installation.layers;
      current = layers.reduce((inner, layer) => layer(inner), own);
    }
    return current(input, init);
  };
  fetches.add(markLayer(layered, { inner: own }));
  const entry: LayeredClient = { reference: new WeakRef(client), own, layered };
  clients.add(entry);
  gone.register(client, entry);
  client.fetch = layered;
}
