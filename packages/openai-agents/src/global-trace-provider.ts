import { hasMethod } from '@agentlightning/core/internal';
import type { TraceProvider } from './framework.ts';
import { unsupported } from './supported-version.ts';

/** The global key under which every copy of the framework finds the trace provider. */
const key = Symbol.for('openai.agents.core.traceProvider');

/**
 * Patches the trace provider of the process: immediately if it exists, or else when the framework creates it.
 *
 * @param change - patches the provider and returns the undo
 * @returns the undo
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK when the existing provider is unknown
 */
export function patchTraceProvider(change: (provider: TraceProvider) => () => void): () => void {
  const holder = globalThis as { [key]?: unknown };
  const existing = holder[key];
  if (existing !== undefined) return change(asProvider(existing));
  let made: unknown;
  let undo = (): void => {};
  Object.defineProperty(holder, key, {
    configurable: true,
    get: () => made,
    set: (provider: unknown) => {
      made = provider;
      undo();
      undo = isProvider(provider) ? change(provider) : () => {};
    },
  });
  return () => {
    undo();
    if (made === undefined) delete holder[key];
    else Object.defineProperty(holder, key, { value: made, writable: true, configurable: true });
  };
}

const methods = ['createTrace', 'createSpan', 'getCurrentSpan', 'getCurrentTrace', 'setDisabled', 'registerProcessor'];

/** The methods that a value lacks. */
function missingIn(value: unknown): readonly string[] {
  return methods.filter((name) => !hasMethod(value, name));
}

function isProvider(value: unknown): value is TraceProvider {
  return missingIn(value).length === 0;
}

function asProvider(value: unknown): TraceProvider {
  if (isProvider(value)) return value;
  throw unsupported(`The trace provider of OpenAI Agents has no ${missingIn(value).join(', ')}`);
}
