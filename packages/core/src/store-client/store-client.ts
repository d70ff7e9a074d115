import { AgentLightningError, NotFoundError } from '../base/agent-lightning-error.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/error-message.ts';
import { newId } from '../base/id.ts';
import type { AttemptTokenRequest } from '../protocol/access/attempt-token.ts';
import { operationRoutes } from '../protocol/routes/operation-routes.ts';
import { specialRoutes } from '../protocol/routes/special-routes.ts';
import { type OperationName, pathParameters, type StoreRoute } from '../protocol/routes/store-route.ts';
import type { AttemptReference } from '../protocol/wire/wire-span.ts';
import { addressText } from '../redaction/address-text.ts';
import { assertKeyIsEncrypted } from '../server/insecure-key.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import type { Attempt } from '../store/attempt.ts';
import type { ResourcesSnapshot } from '../store/resource.ts';
import type { AttemptedRollout, EnqueueRolloutRequest, Rollout, StartRolloutRequest } from '../store/rollout.ts';
import type { Run } from '../store/run.ts';
import type { AttemptPatch, ClaimOptions, Store, WaitOptions } from '../store/store.ts';
import type { StoreChange, WatchOptions } from '../store/store-change.ts';
import type { StoreStatistics } from '../store/store-statistics.ts';
import { watchOverHttp } from './events.ts';
import { inBatches, SpanWriting } from './spans.ts';
import { StoreTransport } from './transport.ts';
import { claimOverHttp, type HttpWaiting, waitOverHttp } from './wait.ts';

/** Connection options of a store client. */
export interface StoreClientOptions {
  /** The server's URL: `http://localhost:4747`, without a user or a password. */
  readonly baseUrl: string;
  /** The server's key, if it requires one. @default none */
  readonly apiKey?: string;
  /** Whether `apiKey` may be sent over plain `http:` to another machine, on a trusted network. @default false */
  readonly allowInsecureKey?: boolean;
  /** @default the platform's */
  readonly fetch?: typeof globalThis.fetch;
  /** Source of time. @default the system clock */
  readonly clock?: Clock;
  /** Timeout of one request attempt, in milliseconds. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** Maximum number of retries while the server is unreachable or fails: 6 cover about six seconds. @default 6 */
  readonly maxRetries?: number;
  /**
   * Retry limit for requests while the server is unreachable or fails, in milliseconds, instead of a number of retries.
   * @default limited by `maxRetries`
   */
  readonly unreachableAfterMs?: number;
}

/** Media type of a run archive. */
const archiveType = 'application/gzip';

/** Downloads a run archive as a stream; an interrupted download throws. */
async function* exportOverHttp(transport: StoreTransport, runId: string): AsyncGenerator<Uint8Array> {
  const response = await transport.open(specialRoutes.exportRun, { parameters: [runId] });
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value;
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new AgentLightningError({
      code: 'UNREACHABLE',
      message: `The download from ${addressText(response.url)} was interrupted: ${reason}`,
      remedy: 'Check that the store server runs (`agl store`), then try again.',
      cause,
    });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Uploads a run archive as a stream. */
function importOverHttp(transport: StoreTransport, archive: AsyncIterable<Uint8Array>): Promise<Run> {
  const chunks = archive[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await chunks.return?.();
    },
  });
  return transport.upload(specialRoutes.importRun, body, archiveType);
}

/** Operations that need more than their request. */
type CustomOperation =
  | 'statistics'
  | 'enqueueRollouts'
  | 'startRollout'
  | 'getRollout'
  | 'updateAttempt'
  | 'nextSpanSequenceIds'
  | 'revokedAttemptTokens';

type RemoteOperations = Pick<Store, Exclude<OperationName, CustomOperation>>;

/** One method for each operation of the route table. */
class RouteClient {
  constructor(transport: StoreTransport) {
    for (const [name, route] of Object.entries<StoreRoute & { readonly isSpread?: boolean }>(operationRoutes)) {
      if (name in this) continue;
      const count = pathParameters(route).length;
      const method = (...operands: readonly unknown[]): Promise<unknown> => {
        const rest = operands.slice(count);
        const input = route.isSpread === true ? rest : rest[0];
        return transport.call(route, { parameters: operands.slice(0, count) as readonly string[], input });
      };
      Object.defineProperty(this, name, { value: method, writable: true, configurable: true });
    }
  }
}

/** The table's types guarantee these methods; the compiler cannot follow their creation. */
const RemoteStore = RouteClient as unknown as new (transport: StoreTransport) => RemoteOperations;

/**
 * Client of a store over HTTP: a server of this project, or of Agent Lightning 0.3 within its protocol.
 *
 * Requests are retried on transient failures and are idempotent.
 *
 * @example
 * ```ts
 * const store = new StoreClient({ baseUrl: 'http://localhost:4747', apiKey: 'my-key' });
 * const [claimed] = await store.claimRollouts({ workerId: 'worker-1', waitMs: 60_000 });
 * ```
 */
export class StoreClient extends RemoteStore implements Store {
  readonly #transport: StoreTransport;
  readonly #options: StoreClientOptions;
  readonly #spans: SpanWriting;
  readonly #closing = new AbortController();

  /**
   * @throws AgentLightningError CONFIG for an address with a user or a password, which belongs in `apiKey`, and for a key
   *   that would be sent unencrypted to another machine
   */
  constructor(options: StoreClientOptions) {
    if (options.apiKey !== undefined && options.allowInsecureKey !== true) {
      assertKeyIsEncrypted({ receiver: 'Store', url: options.baseUrl, option: 'allowInsecureKey' });
    }
    const transport = new StoreTransport({
      baseUrl: options.baseUrl,
      apiKey: options.apiKey ?? null,
      fetch: options.fetch ?? globalThis.fetch,
      clock: options.clock ?? systemClock,
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
      maxRetries: options.maxRetries ?? 6,
      unreachableAfterMs: options.unreachableAfterMs ?? null,
    });
    super(transport);
    this.#transport = transport;
    this.#options = options;
    this.#spans = new SpanWriting(transport);
  }

  /** Enqueues rollouts; more than 1000 in several requests, each of which is atomic. */
  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]> {
    // Client-generated ids make a retry find the existing rollouts.
    const identified = requests.map((request) => ({ rolloutId: newId('rollout'), ...request }));
    return inBatches(identified, (input) => this.#transport.call(operationRoutes.enqueueRollouts, { input }));
  }

  /** Creates a rollout that this client runs itself. */
  startRollout(request: StartRolloutRequest): Promise<AttemptedRollout> {
    const input = { rolloutId: newId('rollout'), ...request };
    return this.#transport.call(operationRoutes.startRollout, { input });
  }

  /** Claims queued rollouts. */
  claimRollouts(options: ClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    return claimOverHttp(this.#waiting(), { ...options, signal: this.#untilClosed(options.signal) });
  }

  /** The rollout, with its latest attempt if it has one. */
  async getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    try {
      return await this.#transport.call(operationRoutes.getRollout, { parameters: [rolloutId] });
    } catch (error) {
      // An Agent Lightning 0.3 server does not name the missing record.
      const isNamed = !AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND' || 'id' in error.details;
      throw isNamed ? error : new NotFoundError('Rollout', rolloutId);
    }
  }

  /** Waits until rollouts have ended. */
  waitForRollouts(rolloutIds: readonly string[], options: WaitOptions = {}): Promise<readonly Rollout[]> {
    return waitOverHttp(this.#waiting(), rolloutIds, { ...options, signal: this.#untilClosed(options.signal) });
  }

  /** The changes of the store as they happen. It resumes after a lost connection. */
  watchChanges(options: WatchOptions = {}): AsyncIterable<StoreChange> {
    return watchOverHttp(this.#waiting(), { ...options, signal: this.#untilClosed(options.signal) });
  }

  /** Changes an attempt. */
  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt> {
    // A repeated heartbeat has the same effect; a status does not.
    const isRepeatable = patch.status === undefined;
    const parameters = [rolloutId, attemptId];
    return this.#transport.call(operationRoutes.updateAttempt, { parameters, input: patch, isRepeatable });
  }

  /** Appends spans of attempts. */
  async appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    return spans.length === 0 ? [] : this.#spans.append(spans);
  }

  /** Reserves the next sequence id of each attempt. */
  nextSpanSequenceIds(attempts: readonly AttemptReference[]): Promise<readonly number[]> {
    return this.#spans.reserve(attempts);
  }

  /** A snapshot of resources. */
  async getResources(resourcesId: string): Promise<ResourcesSnapshot> {
    const snapshot = await this.#transport.call(specialRoutes.getResources, { parameters: [resourcesId] });
    if (snapshot === null) throw new NotFoundError('Resources', resourcesId);
    return snapshot;
  }

  /** Counts of the records in the store. */
  async statistics(): Promise<StoreStatistics> {
    return { ...(await this.#transport.call(operationRoutes.statistics)), name: 'http' };
  }

  /** The archive of a run. */
  exportRun(runId: string): AsyncIterable<Uint8Array> {
    return exportOverHttp(this.#transport, runId);
  }

  /** Stores the run of an archive. */
  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run> {
    return importOverHttp(this.#transport, archive);
  }

  /**
   * Creates a token for the agent of an attempt, which permits only to record spans of the attempt and to call models
   * for it. Requires a key with the role `worker`, and a server with a secret for tokens.
   *
   * @throws AgentLightningError NOT_FOUND for an unknown attempt, PERMISSION_DENIED for a server without a secret
   */
  async createAttemptToken(request: AttemptTokenRequest): Promise<string> {
    const { rolloutId, attemptId, ...input } = request;
    const { token } = await this.#transport.call(specialRoutes.createAttemptToken, {
      parameters: [rolloutId, attemptId],
      input,
    });
    return token;
  }

  /** Ends the validity of a token. */
  async revokeAttemptToken(token: string): Promise<void> {
    await this.#transport.call(specialRoutes.revokeAttemptToken, { input: token });
  }

  /** The revoked tokens, as digests. */
  async revokedAttemptTokens(): Promise<readonly string[]> {
    try {
      return await this.#transport.call(operationRoutes.revokedAttemptTokens);
    } catch (error) {
      // A server of Agent Lightning 0.3 has no attempt tokens.
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return [];
      throw error;
    }
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    this.#closing.abort();
  }

  #waiting(): HttpWaiting {
    return { transport: this.#transport, clock: this.#options.clock ?? systemClock };
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
  }
}
