import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { encode } from '../parse.ts';
import type { AttemptTokenRequest } from '../protocol/attempt-token.ts';
import { runStatisticsCodec } from '../protocol/runs/wire-run-statistics.ts';
import {
  revokedAttemptTokensSchema,
  type WireAttemptTokenRequest,
  wireAttemptTokenSchema,
} from '../protocol/wire-attempt-token.ts';
import { deletionCountsSchema, rolloutDeletionCodec, runDeletionCodec } from '../protocol/wire-deletion.ts';
import { retentionPolicyCodec, retentionPreviewCodec } from '../protocol/wire-retention.ts';
import { spanSearchPageFromWire, spanSearchToWire, wireSpanSearchPageSchema } from '../protocol/wire-span-search.ts';
import type { DeletionCounts, RetentionPolicy, RetentionPreview } from '../store/retention.ts';
import type { Run } from '../store/run.ts';
import type { RunStatistics } from '../store/run-statistics.ts';
import type { SpanSearch, SpanSearchPage } from '../store/span-search.ts';
import { exportOverHttp, importOverHttp } from './archive.ts';
import { idSegment } from './id-segment.ts';
import type { StoreClientOptions } from './options.ts';
import type { StoreTransport } from './transport.ts';

/** Additional request timeout of a batched deletion, in milliseconds. */
const deletionWaitMs = 600_000;

const revocations = '/revocations/tokens';

/** Maintenance operations of the store client: search, statistics, deletion, archives, attempt tokens. */
export class StoreMaintenanceClient {
  readonly #transport: StoreTransport;
  readonly #options: StoreClientOptions;

  constructor(transport: StoreTransport, options: StoreClientOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  async searchSpans(search: SpanSearch = {}): Promise<SpanSearchPage> {
    const body = spanSearchToWire(search);
    const answer = wireSpanSearchPageSchema;
    return spanSearchPageFromWire(
      await this.#transport.send({ method: 'POST', path: '/searches/spans', body, answer }),
    );
  }

  async runStatistics(runId: string): Promise<RunStatistics> {
    const path = `/runs/${idSegment('runId', runId)}/statistics`;
    return await this.#transport.send({ method: 'GET', path, answer: runStatisticsCodec });
  }

  async deleteRollouts(rolloutIds: readonly string[]): Promise<DeletionCounts> {
    return this.#delete('/deletions/rollouts', encode(rolloutDeletionCodec, rolloutIds, 'Request'));
  }

  async deleteRun(runId: string, options: { readonly force?: boolean } = {}): Promise<DeletionCounts> {
    return this.#delete(
      '/deletions/runs',
      encode(runDeletionCodec, { runId, force: options.force ?? false }, 'Request'),
    );
  }

  async applyRetention(policy: RetentionPolicy): Promise<DeletionCounts> {
    return this.#delete('/deletions/retention', encode(retentionPolicyCodec, policy, 'Request'));
  }

  async previewRetention(policy: RetentionPolicy): Promise<RetentionPreview> {
    return this.#transport.send({
      method: 'POST',
      path: '/deletions/retention/preview',
      body: encode(retentionPolicyCodec, policy, 'Request'),
      answer: retentionPreviewCodec,
      waitMs: deletionWaitMs,
    });
  }

  exportRun(runId: string): AsyncIterable<Uint8Array> {
    return exportOverHttp(this.#options, runId);
  }

  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run> {
    return importOverHttp(this.#options, archive);
  }

  /**
   * A key for the agent of an attempt: with it one can record the attempt's spans and call models in its name, and
   * nothing else. Needs a key with the scope `runner`, and a server with a secret for tokens.
   *
   * @throws AgentLightningError NOT_FOUND for an attempt that is not there, PERMISSION_DENIED where there is no secret
   */
  async createAttemptToken(request: AttemptTokenRequest): Promise<string> {
    const { rolloutId, attemptId, mayReward, lifetimeMs } = request;
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}/attempts/${idSegment('attemptId', attemptId)}/token`;
    const body: WireAttemptTokenRequest = {
      may_reward: mayReward,
      lifetime_seconds: lifetimeMs === undefined ? undefined : lifetimeMs / 1000,
    };
    const { token } = await this.#transport.send({ method: 'POST', path, body, answer: wireAttemptTokenSchema });
    return token;
  }

  async revokeAttemptToken(token: string): Promise<void> {
    await this.#transport.send({
      method: 'POST',
      path: revocations,
      body: { token },
      answer: revokedAttemptTokensSchema,
    });
  }

  async revokedAttemptTokens(): Promise<readonly string[]> {
    try {
      const answer = revokedAttemptTokensSchema;
      return (await this.#transport.send({ method: 'GET', path: revocations, answer })).digests;
    } catch (error) {
      // A server of Agent Lightning 0.3 has no attempt tokens.
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return [];
      throw error;
    }
  }

  #delete(path: string, body: unknown): Promise<DeletionCounts> {
    return this.#transport.send({
      method: 'POST',
      path,
      body,
      answer: deletionCountsSchema,
      idempotencyKey: crypto.randomUUID(),
      waitMs: deletionWaitMs,
    });
  }
}
