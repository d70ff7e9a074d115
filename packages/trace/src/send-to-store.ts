import { AgentLightningError, type Span, type SpanInput } from '@agentlightning/core';
import { systemClock, warnOnce } from '@agentlightning/core/internal';
import { type SpanSinkCounts, StoreSpanSink } from '@agentlightning/core/spans';
import { StoreClient } from '@agentlightning/core/store-client';
import type { SampledTrace } from './sample-traces.ts';

/** Options of {@link sendToStore}. */
export interface SendToStoreOptions {
  /** Name of the deployment, such as `support-agent`; the first trace creates it. */
  readonly deployment: string;
  /** Address of the store: `agl store` or `agl server`. */
  readonly url: string;
  /** A key of the role `ingest`. @default none */
  readonly apiKey?: string;
  /** Changes a span before it is sent, to remove what must not leave the application; null omits it. @default unchanged */
  readonly redact?: (span: Span) => Span | null;
  /** Maximum number of spans that wait for a store that is away; later spans are lost. @default 20000 */
  readonly maxWaitingSpans?: number;
  /** Called with the error of a failed write, such as a refused key. @default one process warning */
  readonly onError?: (error: unknown) => void;
}

/** Sends sampled traces to a store: the `onTrace` of `sampleTraces`. */
export interface TraceSender {
  /** Queues the spans of a trace. */
  (trace: SampledTrace): void;
  /** Numbers of stored, lost and waiting spans. */
  readonly counts: SpanSinkCounts;
  /** Resolves when all traces so far are stored or lost; before the process exits. */
  flush(): Promise<void>;
}

/** The spans of one request. Small: it is serialised on the thread of the application. */
const maxBatchSpans = 64;

/**
 * Sends sampled traces to a deployment of a store, in batches and in the background. The application never waits for the store
 * and gets no error from it: traces wait in memory, up to a bound, while the store is away.
 *
 * @example
 * ```ts
 * const onTrace = sendToStore({ deployment: 'support-agent', url: 'https://store.example', apiKey });
 * const answer = sampleTraces(agent, { sampleRate: 0.05, onTrace });
 * ```
 */
export function sendToStore(options: SendToStoreOptions): TraceSender {
  const { deployment, url, apiKey, redact = (span: Span) => span, maxWaitingSpans = 20_000 } = options;
  const { onError = (error: unknown) => warnOnce(`Traces of ${deployment} are not stored`, error) } = options;
  // The sink retries, without an end: a store that is away comes back.
  const client = new StoreClient({ baseUrl: url, ...(apiKey === undefined ? {} : { apiKey }), maxRetries: 0 });
  const store = { appendSpans: (spans: readonly SpanInput[]) => client.recordTraces(deployment, spans) };
  const sink = new StoreSpanSink(store, {
    delayMs: 1000,
    maxBatchSpans,
    maxWaitingSpans,
    maxTries: Number.POSITIVE_INFINITY,
    retryDelayMs: 1000,
    onError: ({ error }) => onError(error),
    clock: { now: systemClock.now, sleep: unreferencedSleep },
  });
  const send = ({ spans }: SampledTrace): void => {
    for (const span of spans) {
      const sent = redact(span);
      if (sent !== null) sink.append(sent);
    }
  };
  return Object.defineProperties(send as TraceSender, {
    counts: { get: () => sink.counts },
    flush: {
      value: async () => {
        // The trace of a call that has just returned is reported after its promise: in the next turn at the latest.
        await new Promise((resolve) => setTimeout(resolve, 0));
        await sink.flush();
      },
    },
  });
}

/** A sleep that does not keep the process alive: an application exits although its store is away. */
function unreferencedSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    // A number in browsers and workers.
    if (typeof timer === 'object') timer.unref();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(
        new AgentLightningError({ code: 'CANCELLED', message: 'The wait was ended early', cause: signal?.reason }),
      );
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
