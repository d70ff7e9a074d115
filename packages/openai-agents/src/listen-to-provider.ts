import { currentRollout } from '@agentlightning/core';
import { type Method, patchMethod } from '@agentlightning/core/adapter';
import { quietly } from '@agentlightning/core/internal';
import { type FrameworkSpan, type FrameworkTrace, noopId, type TraceProvider } from './framework.ts';

/** Receives the framework's span events. */
export interface SpanListener {
  /** An agent run of a rollout has started. */
  traceCreated(trace: FrameworkTrace): void;
  /** Whether a span belongs to a rollout, even if no rollout is active in the current context. */
  isOpen(spanId: string): boolean;
  spanStarted(span: FrameworkSpan, trace: FrameworkTrace | null): void;
  spanEnded(span: FrameworkSpan): void;
}

/** The patched methods of the provider, untyped. */
type Methods = Record<'createTrace' | 'createSpan' | 'setDisabled' | 'registerProcessor', Method>;

/**
 * Notifies a listener of the spans that a provider creates within rollouts, in the order of their start and end.
 *
 * A trace processor would not suffice: with several processors it is called later, and another copy of the framework
 * replaces it on load. If tracing is disabled, the default under `NODE_ENV=test`, spans of rollouts are still
 * created, but only the listener is notified of them.
 *
 * @param onActivity - called whenever the framework is active in a rollout, even without recorded spans
 * @returns the undo
 */
export function listenToProvider(provider: TraceProvider, listener: SpanListener, onActivity: () => void): () => void {
  const methods = methodsOf(provider);
  const setDisabled = provider.setDisabled.bind(provider);
  // The provider has no getter for this. A trace that is created but not started has no effect.
  let isDisabled = provider.createTrace({ name: 'probe' }).traceId === noopId;
  const createEnabled = <TCreated>(make: () => unknown): TCreated => {
    if (!isDisabled) return make() as TCreated;
    setDisabled(false);
    try {
      return make() as TCreated;
    } finally {
      setDisabled(true);
    }
  };
  const undos = [
    patchMethod(methods, 'createTrace', (create) => (...args) => {
      if (currentRollout() === null) return create.apply(provider, args);
      const trace = createEnabled<FrameworkTrace>(() => create.apply(provider, args));
      quietly('A trace of OpenAI Agents is not recorded', () => listener.traceCreated(trace));
      return isDisabled ? silenceTrace(trace) : trace;
    }),
    patchMethod(methods, 'createSpan', (create) => (...args) => {
      const isWanted = currentRollout() !== null || listener.isOpen(provider.getCurrentSpan()?.spanId ?? '');
      if (!isWanted) return create.apply(provider, args);
      onActivity();
      const span = createEnabled<FrameworkSpan>(() => create.apply(provider, args));
      return span.spanId === noopId ? span : observeSpan(span, { provider, listener, isTracingDisabled: isDisabled });
    }),
    patchMethod(methods, 'setDisabled', (set) => (disabled) => {
      isDisabled = disabled === true;
      set.call(provider, disabled);
    }),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** Runs a function that may load another copy of the framework, whose new processor would print spans. */
export function withoutNewProcessors<TResult>(provider: TraceProvider, run: () => TResult): TResult {
  const undo = patchMethod(methodsOf(provider), 'registerProcessor', () => () => {});
  try {
    return run();
  } finally {
    undo();
  }
}

function methodsOf(provider: TraceProvider): Methods {
  return provider as unknown as Methods;
}

/** How span events are forwarded. */
interface SpanObservation {
  readonly provider: TraceProvider;
  readonly listener: SpanListener;
  /** Whether only the listener is notified, because the application has disabled tracing. */
  readonly isTracingDisabled: boolean;
}

function observeSpan(span: FrameworkSpan, { provider, listener, isTracingDisabled }: SpanObservation): FrameworkSpan {
  const { start, end } = span;
  const safely = (run: () => void): void => quietly('A span of OpenAI Agents is not recorded', run);
  let isEnded = false;
  replace(span, {
    start: () => {
      safely(() => listener.spanStarted(span, provider.getCurrentTrace()));
      if (!isTracingDisabled) start.call(span);
    },
    // A resumed run ends spans again that ended with the interruption.
    end: () => {
      if (!isEnded) safely(() => listener.spanEnded(span));
      isEnded = true;
      if (!isTracingDisabled) end.call(span);
    },
  });
  return span;
}

function silenceTrace(trace: FrameworkTrace): FrameworkTrace {
  const nothing = (): Promise<void> => Promise.resolve();
  replace(trace, { start: nothing, end: nothing });
  return trace;
}

/** Defines non-enumerable methods, so that they do not appear among the fields of a span. */
function replace(target: object, methods: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  }
}
