import { setImmediate } from 'node:timers/promises';
import { AgentLightningError, NotFoundError, type Span, type SpanInput } from '@agentlightning/core';
import { maxBatchItems } from '@agentlightning/core/protocol';
import type { SqlStore } from '../../sql-store.ts';

/** How the spans of a request are recorded. */
interface OtlpRecording {
  /** The deployment of each of the spans of production. */
  readonly deployments: ReadonlyMap<SpanInput, string>;
  /** Whether the sender may only record traces of production. */
  readonly isProductionOnly: boolean;
}

/** The outcome of recording spans. */
interface RecordedSpans {
  /** Number of new spans. */
  readonly recorded: number;
  /** Number of spans that were recorded before. */
  readonly known: number;
  /** The reasons of rejected spans, one per span. */
  readonly rejected: readonly string[];
}

/** Records the spans of one request: those of deployments, and those of attempts. */
export class OtlpRecorder {
  readonly #store: SqlStore;
  readonly #recording: OtlpRecording;
  #recorded = 0;
  #known = 0;
  readonly #rejected: string[] = [];

  constructor(store: SqlStore, recording: OtlpRecording) {
    this.#store = store;
    this.#recording = recording;
  }

  /** Records spans; other requests are served between batches. Spans of unknown attempts and above quotas are rejected. */
  async record(spans: readonly SpanInput[]): Promise<RecordedSpans> {
    const { deployments, isProductionOnly } = this.#recording;
    for (let start = 0; start < spans.length; start += maxBatchItems) {
      if (start > 0) await setImmediate();
      const batch = spans.slice(start, start + maxBatchItems);
      for (const [deployment, group] of Map.groupBy(batch, (span) => deployments.get(span) ?? null)) {
        if (deployment !== null || !isProductionOnly) await this.#recordGroup(group, deployment);
        else this.#reject(group, 'a key of the role ingest records traces of production only');
      }
    }
    return { recorded: this.#recorded, known: this.#known, rejected: this.#rejected };
  }

  async #recordGroup(spans: readonly SpanInput[], deployment: string | null): Promise<void> {
    try {
      await this.#write(spans, deployment);
      return;
    } catch (error) {
      if (rejectionOf(error) === null) throw error;
    }
    for (const ofAttempt of byAttempt(spans)) {
      try {
        await this.#writeAttempt(ofAttempt, deployment);
      } catch (error) {
        const reason = rejectionOf(error);
        if (reason === null) throw error;
        this.#reject(ofAttempt, reason);
      }
    }
  }

  /** A process with the name of a deployment may also run rollouts. */
  async #writeAttempt(spans: readonly SpanInput[], deployment: string | null): Promise<void> {
    try {
      await this.#write(spans, deployment);
    } catch (error) {
      const isOutside =
        AgentLightningError.isInstance(error) && error.code === 'CONFLICT' && 'rolloutId' in error.details;
      if (!isOutside || this.#recording.isProductionOnly) throw error;
      await this.#write(spans, null);
    }
  }

  async #write(spans: readonly SpanInput[], deployment: string | null): Promise<void> {
    const written: readonly (Span | null)[] = await (deployment === null
      ? this.#store.appendSpans(spans)
      : this.#store.recordTraces(deployment, spans));
    const known = written.filter((span) => span === null).length;
    this.#known += known;
    this.#recorded += written.length - known;
  }

  #reject(spans: readonly SpanInput[], reason: string): void {
    for (let count = 0; count < spans.length; count += 1) this.#rejected.push(reason);
  }
}

/** The reason to reject the spans of one attempt; null for an error of the whole request. */
function rejectionOf(error: unknown): string | null {
  if (error instanceof NotFoundError) return `${error.details.kind} ${error.details.id} not found`;
  const isRejected =
    AgentLightningError.isInstance(error) && (error.code === 'QUOTA_EXCEEDED' || error.code === 'CONFLICT');
  return isRejected ? `${error.message} ${error.remedy}` : null;
}

function byAttempt(spans: readonly SpanInput[]): Iterable<readonly SpanInput[]> {
  return Map.groupBy(spans, ({ rolloutId, attemptId }) => JSON.stringify([rolloutId, attemptId])).values();
}
