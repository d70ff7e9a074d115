import { AsyncLocalStorage } from 'node:async_hooks';
import type { PromptTemplateResource } from './resource.ts';
import type { RolloutMode } from './rollout.ts';
import type { SpanInput } from './span.ts';
import type { ActiveSpan } from './tracer.ts';

/** Where recorded spans go. Appending never throws and never waits: the agent must not notice. */
export interface SpanSink {
  /** Told by the tracer when a span begins, so that spans left open can be ended (see `AttemptSpans`). */
  spanStarted?(span: ActiveSpan): void;
  /** Told when a span that began is not to be recorded after all. */
  spanDiscarded?(spanId: string): void;
  append(span: SpanInput): void;
  /** Resolves when everything appended so far is stored, or given up. */
  flush(): Promise<void>;
}

/** The model endpoint that a rollout's agent is sent to. */
export interface RolloutEndpoint {
  /** The attempt's own base URL, up to and with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
}

/** Which rollout the code that is running now belongs to. */
export interface RolloutContext {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly mode: RolloutMode | null;
  /** The trace that all spans of the attempt share. */
  readonly traceId: string;
  /** The span that new spans become children of. */
  readonly parentSpanId: string | null;
  /** The agent that is at work, for selective optimisation. */
  readonly agentName: string | null;
  /** The names of the agents at work, from the outermost to `agentName`. @default only `agentName` */
  readonly agentPath?: readonly string[];
  readonly sink: SpanSink;
  /** Null when the agent is only traced, not redirected. */
  readonly endpoint: RolloutEndpoint | null;
  /** The prompts that the rollout brings, by the name under which the agent asks for them. @default none */
  readonly prompts?: Readonly<Record<string, PromptTemplateResource>>;
  /** Aborts when the rollout times out or is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Called when the response of a model call through the gateway begins, or the call fails: whether the infrastructure
   * failed it, which an agent may hide from its runner by catching the error.
   *
   * @default nothing is called
   */
  readonly onModelCall?: (isUnavailable: boolean) => void;
}

const storageKey: unique symbol = Symbol.for('agentlightning.rollout-context');

/**
 * Where the rollout of the running code is kept: one storage for the process, even when two copies of the package are
 * loaded. For adapters that bind it to a diagnostics channel; everybody else uses {@link withRollout}.
 */
export function rolloutStorage(): AsyncLocalStorage<RolloutContext> {
  const holder = globalThis as { [storageKey]?: AsyncLocalStorage<RolloutContext> };
  holder[storageKey] ??= new AsyncLocalStorage<RolloutContext>();
  return holder[storageKey];
}

/** Runs a function, and everything it starts, within a rollout. Concurrent rollouts do not see each other. */
export function withRollout<TResult>(context: RolloutContext, run: () => TResult): TResult {
  return rolloutStorage().run(context, run);
}

/** The rollout that the calling code belongs to; null outside of one. */
export function currentRollout(): RolloutContext | null {
  return rolloutStorage().getStore() ?? null;
}
