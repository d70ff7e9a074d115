import { hasMethod } from '@agentlightning/core/adapter';
import type { TraceProvider } from './framework.ts';
import { unsupported } from './supported-version.ts';

/** Where every copy of the framework looks for the trace provider. */
const key = Symbol.for('openai.agents.core.traceProvider');

/**
 * Changes the trace provider of the process: at once when there is one, or else as soon as the framework makes it.
 *
 * @param change - gives back what undoes it
 * @returns undoes it, and leaves nothing behind
 * @throws AgentLightningError UNSUPPORTED_FRAMEWORK when what is there is no provider that we know
 */
export function changeTraceProvider(change: (provider: TraceProvider) => () => void): () => void {
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

/** The methods that something is without. */
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
