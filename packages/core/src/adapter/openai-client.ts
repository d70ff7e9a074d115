import { layersOf, markLayer } from './fetch-layer.ts';
import { fieldsOf } from './foreign-value.ts';
import type { FetchLayerMaker } from './global-fetch.ts';
import { hasMethod, type Method, patchMethod } from './patch-method.ts';

/** What every request of a client of `openai` goes through. */
const sender = 'fetchWithTimeout';

/** What all clients of one copy of `openai` have in common. */
export type OpenAIPrototype = Record<typeof sender, Method>;

/** What of a client is needed: the fetch that it was made with. */
interface Client {
  fetch: typeof fetch;
}

/** A client with a fetch of ours, and the one it had. */
interface LayeredClient {
  readonly reference: WeakRef<Client>;
  readonly own: typeof fetch;
  readonly layered: typeof fetch;
}

/** What is laid over the clients of one copy of `openai`. */
interface Installation {
  layers: readonly FetchLayerMaker[];
  readonly clients: Set<LayeredClient>;
  /** Forgets clients that are gone: some programs make one for every request. */
  readonly gone: FinalizationRegistry<LayeredClient>;
  readonly fetches: WeakSet<typeof fetch>;
  /** Puts the method back. */
  readonly undo: () => void;
}

const installations: WeakMap<OpenAIPrototype, Installation> = new WeakMap();

/**
 * What all clients of one copy of `openai` have in common.
 *
 * @param value - its class, one derived from it, a client, or the module
 * @returns null when it is none of these, or of version 4 or older
 */
export function openAIPrototype(value: unknown): OpenAIPrototype | null {
  const { OpenAI, prototype } = fieldsOf(value);
  // What `require('openai')` of version 6 gives has a prototype that means nothing, and the class as a property.
  const holder = [fieldsOf(OpenAI).prototype, prototype, value].find((candidate) => hasMethod(candidate, sender));
  return holder === undefined ? null : ownerOf(holder);
}

/** Azure's class, and those that users derive, inherit the method. */
function ownerOf(holder: unknown): OpenAIPrototype | null {
  if (!hasMethod(holder, sender)) return null;
  return Object.hasOwn(holder, sender) ? holder : ownerOf(Object.getPrototypeOf(holder));
}

/**
 * Lays a fetch over what all clients of a copy of `openai` send with, also those that were made before: a client keeps
 * the global fetch that it found when it was made. It goes into the client itself, and not over its method, so that the
 * client does not see our signals: what it does about a signal costs more than all that we do.
 *
 * @returns undoes it, and gives the clients back what they had; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const prototype = openAIPrototype(OpenAI);
 * if (prototype !== null) layOverOpenAI(prototype, (inner) => redirectedFetch({ fetch: inner }));
 * ```
 */
export function layOverOpenAI(prototype: OpenAIPrototype, layer: FetchLayerMaker): () => void {
  const installation = installations.get(prototype) ?? install(prototype);
  // A function of its own, so that the same layer can be laid, and taken away, twice.
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
      layClientFetch(this as Client, installation);
      return original.apply(this, args);
    };
  });
  const installation: Installation = { layers: [], clients, gone, fetches: new WeakSet(), undo };
  installations.set(prototype, installation);
  return installation;
}

/** Puts a fetch of ours in the place of a client's own, once. */
function layClientFetch(client: Client, installation: Installation): void {
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
