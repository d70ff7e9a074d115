import { AsyncLocalStorage } from 'node:async_hooks';
import type { RolloutMode } from '../spans/model-call.ts';
import type { SpanInput } from '../spans/span.ts';
import type { PromptTemplateResource } from '../store/resource.ts';
import type { ActiveSpan } from './tracer.ts';

/** Destination of recorded spans. Appending never throws and never blocks: tracing must not affect the agent. */
export interface SpanSink {
  /** Called by the tracer when a span starts, so that open spans can be ended (see `AttemptSpans`). */
  spanStarted?(span: ActiveSpan): void;
  /** Called when a started span will not be recorded. */
  spanDiscarded?(spanId: string): void;
  /** Takes a span that ended. It never throws. */
  append(span: SpanInput): void;
  /** Resolves when all appended spans are stored or given up. */
  flush(): Promise<void>;
}

/** The model endpoint of a rollout's agent. */
export interface RolloutEndpoint {
  /** The attempt's own base URL, up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** Key of the endpoint; null without one. */
  readonly apiKey: string | null;
}

/** The rollout of the running code. */
export interface RolloutContext {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** The purpose; null without one. */
  readonly mode: RolloutMode | null;
  /** Trace id of all spans of the attempt. */
  readonly traceId: string;
  /** Parent of new spans. */
  readonly parentSpanId: string | null;
  /** The active agent, for selective optimisation. */
  readonly agentName: string | null;
  /** Names of the active agents, from the outermost to `agentName`. @default only `agentName` */
  readonly agentPath?: readonly string[];
  /** Receives the spans. */
  readonly sink: SpanSink;
  /** Null when the agent is traced without redirection. */
  readonly endpoint: RolloutEndpoint | null;
  /** Prompts of the rollout, by name. @default none */
  readonly prompts?: Readonly<Record<string, PromptTemplateResource>>;
  /** Aborts when the rollout times out or is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Called when a model call through the gateway is sent. The returned function is called when its response starts, or the
   * call fails; its argument is true for an infrastructure failure, which an agent could hide from its runner by catching
   * the error.
   *
   * @default none
   */
  readonly onModelCall?: () => (isUnavailable: boolean) => void;
}

const storageKey: unique symbol = Symbol.for('agentlightning.rollout-context');

/**
 * Storage of the current rollout: one per process, even with two copies of the package. For adapters that bind it to a
 * diagnostics channel; otherwise use {@link withRollout}.
 */
export function rolloutStorage(): AsyncLocalStorage<RolloutContext> {
  const holder = globalThis as { [storageKey]?: AsyncLocalStorage<RolloutContext> };
  holder[storageKey] ??= new AsyncLocalStorage<RolloutContext>();
  return holder[storageKey];
}

/** Runs a function, and everything it starts, within a rollout. Concurrent rollouts are isolated from each other. */
export function withRollout<TResult>(context: RolloutContext, run: () => TResult): TResult {
  return rolloutStorage().run(context, run);
}

/** The rollout of the calling code; null outside of one. */
export function currentRollout(): RolloutContext | null {
  return rolloutStorage().getStore() ?? null;
}
