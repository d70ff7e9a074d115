import { AgentLightningError, type SpanInput, type Store } from '@agentlightning/core';
import { type SpanSinkCounts, StoreSpanSink } from '@agentlightning/core/spans';
import type { GatewayLog } from '../wire/gateway-options.ts';

/** Maximum number of calls that wait for a store that is away; later ones are lost. */
const maxWaitingSpans = 20_000;

/** Records calls of deployments in the background, in a bounded buffer while the store is away. */
export class ProductionRecords {
  readonly #sinks: Map<string, StoreSpanSink> = new Map();
  readonly #store: Pick<Store, 'recordTraces'>;
  readonly #log: GatewayLog;
  #isClosed = false;

  constructor({ store, log }: { readonly store: Pick<Store, 'recordTraces'>; readonly log: GatewayLog }) {
    this.#store = store;
    this.#log = log;
  }

  /** Queues the record of a call. */
  append(deployment: string, span: SpanInput): void {
    const sink = this.#sinks.get(deployment) ?? this.#newSink(deployment);
    this.#sinks.set(deployment, sink);
    sink.append(span);
  }

  /** Numbers of stored, lost and waiting calls. */
  get counts(): SpanSinkCounts {
    const all = [...this.#sinks.values()].map(({ counts }) => counts);
    const sum = (name: keyof SpanSinkCounts): number => all.reduce((total, counts) => total + counts[name], 0);
    return { stored: sum('stored'), lost: sum('lost'), waiting: sum('waiting') };
  }

  /** Resolves when all calls so far are recorded or lost. */
  async flush(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map((sink) => sink.flush()));
  }

  /** Gives up the calls that still wait. */
  close(): void {
    this.#isClosed = true;
  }

  #newSink(deployment: string): StoreSpanSink {
    const record = async (spans: readonly SpanInput[]): ReturnType<Store['recordTraces']> => {
      if (this.#isClosed) throw closed();
      return await this.#store.recordTraces(deployment, spans);
    };
    return new StoreSpanSink(
      { appendSpans: record },
      {
        delayMs: 20,
        maxBatchSpans: 64,
        maxWaitingSpans,
        maxTries: Number.POSITIVE_INFINITY,
        retryDelayMs: 250,
        onError: ({ error, spans, isRetried }) =>
          this.#log.warn(
            { deployment, calls: spans.length, err: error },
            isRetried ? 'calls of a deployment wait for the store' : 'calls of a deployment could not be recorded',
          ),
      },
    );
  }
}

function closed(): AgentLightningError {
  return new AgentLightningError({
    code: 'CANCELLED',
    message: 'The gateway has stopped before the call was recorded',
  });
}
