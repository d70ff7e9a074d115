import type { RolloutContext, SpanInput, SpanSink } from '@agentlightning/core';

/** A sink that only counts, so that it does not add to memory growth. */
export class CountingSink implements SpanSink {
  count = 0;
  /** The last span. */
  last: SpanInput | null = null;

  append(span: SpanInput): void {
    this.count += 1;
    this.last = span;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }
}

/** A rollout for the duration of the measurement. */
export function measuredRollout(sink: SpanSink, hasEndpoint: boolean): RolloutContext {
  return {
    rolloutId: 'ro-benchmark',
    attemptId: 'at-benchmark',
    mode: 'train',
    traceId: '0123456789abcdef0123456789abcdef',
    parentSpanId: null,
    agentName: null,
    sink,
    endpoint: hasEndpoint
      ? { baseUrl: 'http://gateway.invalid/rollout/ro-benchmark/attempt/at-benchmark/v1', model: 'tiny', apiKey: 'key' }
      : null,
    signal: new AbortController().signal,
  };
}
