import { currentRollout } from '@agentlightning/core';
import { type FrameworkSpan, type FrameworkTrace, noopId, type TraceProvider } from './framework.ts';
import { type Method, patchMethod } from './patch-method.ts';
import { quietly } from './warn-once.ts';

/** Who is told of the framework's spans. */
export interface SpanListener {
  /** A rollout's agent begins to work. */
  traceCreated(trace: FrameworkTrace): void;
  /** Whether a span belongs to a rollout although none is running where it is made. */
  isOpen(spanId: string): boolean;
  spanStarted(span: FrameworkSpan, trace: FrameworkTrace | null): void;
  spanEnded(span: FrameworkSpan): void;
}

/** The methods of a provider that are replaced. */
type Replaced = Pick<TraceProvider, 'createTrace' | 'createSpan' | 'setDisabled'>;

/**
 * Tells a listener of the spans that a provider makes within rollouts, in the order in which they begin and end.
 *
 * Not as one of the framework's trace processors: those are called later when there are several, and are thrown out when
 * another copy of the framework is loaded. Where tracing is disabled, as it is by default under `NODE_ENV=test`, spans of
 * rollouts are made all the same; then nobody but the listener hears of them.
 *
 * @returns undoes it
 */
export function listenToProvider(provider: TraceProvider, listener: SpanListener): () => void {
  const before = ownMethods(provider);
  const { createTrace, createSpan, setDisabled } = provider;
  // The framework has no way to ask; a trace that is only made, and not started, is heard of by nobody.
  let isActive = true;
  let isDisabled = createTrace.call(provider, { name: 'probe' }).traceId === noopId;
  const enabled = <TMade>(make: () => TMade): TMade => {
    setDisabled.call(provider, false);
    try {
      return make();
    } finally {
      setDisabled.call(provider, true);
    }
  };
  const made = <TMade>(make: () => TMade): TMade => (isDisabled ? enabled(make) : make());
  const replaced: Replaced = {
    createTrace: (options) => {
      if (!isActive || currentRollout() === null) return createTrace.call(provider, options);
      const trace = made(() => createTrace.call(provider, options));
      quietly('A trace of OpenAI Agents is not recorded', () => listener.traceCreated(trace));
      return isDisabled ? silenced(trace) : trace;
    },
    createSpan: (options, parent) => {
      const isWanted = isActive && (currentRollout() !== null || isWithin(provider, listener));
      if (!isWanted) return createSpan.call(provider, options, parent);
      const span = made(() => createSpan.call(provider, options, parent));
      return span.spanId === noopId ? span : heard(span, { provider, listener, isSilent: isDisabled });
    },
    setDisabled: (disabled) => {
      isDisabled = disabled;
      setDisabled.call(provider, disabled);
    },
  };
  Object.assign(provider, replaced);
  return () => {
    isActive = false;
    restore(provider, before, replaced);
  };
}

/** Runs what may load another copy of the framework, which would add a processor of its own that prints spans. */
export function withoutNewProcessors<TResult>(provider: TraceProvider, run: () => TResult): TResult {
  const undo = patchMethod(
    provider as object as Record<'registerProcessor', Method>,
    'registerProcessor',
    () => () => {},
  );
  try {
    return run();
  } finally {
    undo();
  }
}

function isWithin(provider: TraceProvider, listener: SpanListener): boolean {
  const current = provider.getCurrentSpan();
  return current !== null && listener.isOpen(current.spanId);
}

/** How a span is heard of. */
interface Hearing {
  readonly provider: TraceProvider;
  readonly listener: SpanListener;
  /** Whether only the listener hears of it, because the application has disabled tracing. */
  readonly isSilent: boolean;
}

function heard(span: FrameworkSpan, { provider, listener, isSilent }: Hearing): FrameworkSpan {
  const { start, end } = span;
  const tell = (what: () => void): void => quietly('A span of OpenAI Agents is not recorded', what);
  let isEnded = false;
  replace(span, {
    start: () => {
      tell(() => listener.spanStarted(span, provider.getCurrentTrace()));
      if (!isSilent) start.call(span);
    },
    // A resumed run ends spans once more that ended with the interruption.
    end: () => {
      if (!isEnded) tell(() => listener.spanEnded(span));
      isEnded = true;
      if (!isSilent) end.call(span);
    },
  });
  return span;
}

function silenced(trace: FrameworkTrace): FrameworkTrace {
  replace(trace, { start: () => Promise.resolve(), end: () => Promise.resolve() });
  return trace;
}

/** Not by assignment, so that what lists a span's fields does not list these. */
function replace(target: object, methods: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: false });
  }
}

function ownMethods(provider: TraceProvider): PropertyDescriptorMap {
  const own = Object.getOwnPropertyDescriptors(provider) as PropertyDescriptorMap;
  return Object.fromEntries(
    Object.entries(own).filter(([name]) => replacedNames.some((replaced) => replaced === name)),
  );
}

const replacedNames = ['createTrace', 'createSpan', 'setDisabled'] as const satisfies (keyof Replaced)[];

/** Leaves alone what somebody else has replaced meanwhile: that goes on calling ours, which now only pass on. */
function restore(provider: TraceProvider, before: PropertyDescriptorMap, replaced: Replaced): void {
  for (const name of replacedNames) {
    if (provider[name] !== replaced[name]) continue;
    const own = before[name];
    if (own === undefined) delete (provider as Partial<TraceProvider>)[name];
    else Object.defineProperty(provider, name, own);
  }
}
