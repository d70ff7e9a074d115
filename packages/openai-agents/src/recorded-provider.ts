import { currentRollout } from '@agentlightning/core';
import { type Method, patchMethod, quietly } from '@agentlightning/core/adapter';
import { type FrameworkSpan, type FrameworkTrace, noopId, type TraceProvider } from './framework.ts';

/** Who is told of the framework's spans. */
export interface SpanListener {
  /** A rollout's agent begins to work. */
  traceCreated(trace: FrameworkTrace): void;
  /** Whether a span belongs to a rollout although none is running where it is made. */
  isOpen(spanId: string): boolean;
  spanStarted(span: FrameworkSpan, trace: FrameworkTrace | null): void;
  spanEnded(span: FrameworkSpan): void;
}

/** The provider's methods that are replaced, without their types. */
type Methods = Record<'createTrace' | 'createSpan' | 'setDisabled' | 'registerProcessor', Method>;

/**
 * Tells a listener of the spans that a provider makes within rollouts, in the order in which they begin and end.
 *
 * Not as one of the framework's trace processors: those are called later when there are several, and are thrown out when
 * another copy of the framework is loaded. Where tracing is disabled, as it is by default under `NODE_ENV=test`, spans of
 * rollouts are made all the same; then nobody but the listener hears of them.
 *
 * @param onWork - told whenever the framework is at work in a rollout, whether or not it makes spans of it
 * @returns undoes it
 */
export function listenToProvider(provider: TraceProvider, listener: SpanListener, onWork: () => void): () => void {
  const methods = methodsOf(provider);
  const setDisabled = provider.setDisabled.bind(provider);
  // The framework has no way to ask; a trace that is only made, and not started, is heard of by nobody.
  let isDisabled = provider.createTrace({ name: 'probe' }).traceId === noopId;
  const made = <TMade>(make: () => unknown): TMade => {
    if (!isDisabled) return make() as TMade;
    setDisabled(false);
    try {
      return make() as TMade;
    } finally {
      setDisabled(true);
    }
  };
  const undos = [
    patchMethod(methods, 'createTrace', (create) => (...args) => {
      if (currentRollout() === null) return create.apply(provider, args);
      const trace = made<FrameworkTrace>(() => create.apply(provider, args));
      quietly('A trace of OpenAI Agents is not recorded', () => listener.traceCreated(trace));
      return isDisabled ? silenced(trace) : trace;
    }),
    patchMethod(methods, 'createSpan', (create) => (...args) => {
      const isWanted = currentRollout() !== null || listener.isOpen(provider.getCurrentSpan()?.spanId ?? '');
      if (!isWanted) return create.apply(provider, args);
      onWork();
      const span = made<FrameworkSpan>(() => create.apply(provider, args));
      return span.spanId === noopId ? span : heard(span, { provider, listener, isSilent: isDisabled });
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

/** Runs what may load another copy of the framework, which would add a processor of its own that prints spans. */
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
  const nothing = (): Promise<void> => Promise.resolve();
  replace(trace, { start: nothing, end: nothing });
  return trace;
}

/** Not by assignment, so that what lists a span's fields does not list these: what is defined so is not enumerable. */
function replace(target: object, methods: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  }
}
