import {
  layOverOpenAi,
  type OpenAiPrototype,
  openAiPrototype,
  unsupportedFramework,
} from '@agentlightning/core/adapter';
import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** What {@link patchOpenAI} can be given. */
export type PatchOpenAIOptions = Omit<TraceFetchOptions, 'fetch'>;

/** The class `OpenAI`, as any copy of the package exports it. */
export interface OpenAIClass {
  readonly prototype: object;
}

const oldestMajor = 6;

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
  return layOverOpenAi(prototypeOf(OpenAI), (inner) => traceFetch({ ...options, fetch: inner }));
}

function prototypeOf(OpenAI: OpenAIClass): OpenAiPrototype {
  const prototype = typeof OpenAI === 'function' ? openAiPrototype(OpenAI) : null;
  const version = prototype === null ? null : versionOf(prototype);
  if (prototype !== null && (version === null || Number.parseInt(version, 10) >= oldestMajor)) return prototype;
  throw unsupportedFramework(
    `patchOpenAI works with the class OpenAI of 'openai' 6 and 7, and was given ${described(OpenAI, version)}.`,
    `Pass the class itself, as in \`import OpenAI from 'openai'\`, and update the package if it is older.`,
  );
}

function described(value: unknown, version: string | null): string {
  if (version !== null) return `that of version ${version}`;
  return typeof value === 'function' ? `the function '${value.name}'` : String(value === null ? value : typeof value);
}

/** The version that clients tell servers of; null when they do not. */
function versionOf(prototype: OpenAiPrototype): string | null {
  const getUserAgent: unknown = Reflect.get(prototype, 'getUserAgent');
  if (typeof getUserAgent !== 'function') return null;
  try {
    return /(\d+\.\d+\.\S*)/.exec(String(getUserAgent.call(prototype)))?.[1] ?? null;
  } catch {
    // It says its version in another way: that it has the method we need is enough.
    return null;
  }
}
