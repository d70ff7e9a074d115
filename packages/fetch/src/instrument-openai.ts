import { type OpenAIPrototype, unsupportedFramework, wrapOpenAIFetch } from '@agentlightning/core/adapter';
import { openAIPrototype, tryInstrument } from '@agentlightning/core/internal';
import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** Options of {@link instrumentOpenAI}. */
export type InstrumentOpenAIOptions = Omit<TraceFetchOptions, 'fetch'>;

/** The class `OpenAI`, as any copy of the package exports it. */
export interface OpenAIClass {
  /** The prototype with the methods of the client. */
  readonly prototype: object;
}

const oldestMajor = 6;

/**
 * Traces all clients of an `OpenAI` class: those that exist, those made later, and those of its subclasses.
 *
 * A program may load two copies of the package, as when it both imports and requires it: call this for each copy. A second
 * call for the same class has no effect. When the class is not supported, the process emits one warning with the remedy,
 * and its clients run untraced.
 *
 * @param OpenAI - the class, of version 6 or 7 of the package, or the result of `require('openai')`
 * @returns the undo; safe in any order, and more than once
 *
 * @example
 * ```ts
 * import OpenAI from 'openai';
 * const undo = instrumentOpenAI(OpenAI);
 * ```
 */
export function instrumentOpenAI(OpenAI: OpenAIClass, options: InstrumentOpenAIOptions = {}): () => void {
  const prototype = tryInstrument('fetch', () => prototypeOf(OpenAI));
  return prototype === null
    ? () => {}
    : wrapOpenAIFetch(prototype, (inner) => traceFetch({ ...options, fetch: inner }));
}

function prototypeOf(OpenAI: OpenAIClass): OpenAIPrototype {
  const prototype = typeof OpenAI === 'function' ? openAIPrototype(OpenAI) : null;
  const version = prototype === null ? null : versionOf(prototype);
  if (prototype !== null && (version === null || Number.parseInt(version, 10) >= oldestMajor)) return prototype;
  throw unsupportedFramework(
    `instrumentOpenAI requires the class OpenAI of 'openai' 6 or 7; received ${describeValue(OpenAI, version)}.`,
    `Pass the class itself, as in \`import OpenAI from 'openai'\`, and update the package if it is older.`,
  );
}

function describeValue(value: unknown, version: string | null): string {
  if (version !== null) return `the class of version ${version}`;
  return typeof value === 'function' ? `the function '${value.name}'` : String(value === null ? value : typeof value);
}

/** The package version in a client's user agent; null if it has none. */
function versionOf(prototype: OpenAIPrototype): string | null {
  const getUserAgent: unknown = Reflect.get(prototype, 'getUserAgent');
  if (typeof getUserAgent !== 'function') return null;
  try {
    return /(\d+\.\d+\.\S*)/.exec(String(getUserAgent.call(prototype)))?.[1] ?? null;
  } catch {
    // The version is optional: the class has the patched method.
    return null;
  }
}
