import type { Clock, RolloutMode, Store } from '@agentlightning/core';
import type { AccessRole, AttemptClaims } from '@agentlightning/core/protocol';
import type { Registry } from 'prom-client';

/** An OpenAI-compatible model endpoint. */
export interface Upstream {
  /** Base URL of its API, including `/v1`. */
  readonly baseUrl: string;
  /** Model name to send instead of the agent's. @default null the agent's */
  readonly model?: string | null;
  /** Further model names that agents may request it by, such as the policy's name. @default none */
  readonly names?: readonly string[];
  /**
   * Agents whose calls are routed here, by name or by path from the outermost agent: `boss>expert`. A call that requests
   * a model by an upstream's name is routed by that name instead.
   *
   * @default none
   */
  readonly agents?: readonly string[];
  /**
   * Runs whose calls are routed here when they request no model by the name of an upstream; among several upstreams of a
   * run, by `agents`. @default none
   */
  readonly runs?: readonly string[];
  /** Sent as `Authorization: Bearer`; never recorded. @default null */
  readonly apiKey?: string | null;
  /** Whether keys may be sent over plain `http:` to another machine, on a network that you trust. @default false */
  readonly allowInsecureKey?: boolean;
  /** Sent with every call; never recorded. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Fields to request beyond the completion. `tokens`: token ids and log-probabilities, which training needs; the engine
   * must support `return_token_ids` (vLLM 0.10.2 or later, and the runtimes of Agent Lightning). `text`: none, for model
   * APIs that reject unknown fields; such calls are not trainable.
   * @default 'tokens'
   */
  readonly capture?: 'tokens' | 'text';
  /**
   * APIs it supports besides Chat Completions, Completions and embeddings. Calls of these APIs are sent unchanged and
   * recorded without tokens; others are translated to Chat Completions and back.
   *
   * @default none for `capture: 'tokens'`, since only Chat Completions return tokens; else detected at the first call
   */
  readonly apis?: readonly ('responses' | 'messages')[];
  /**
   * Whether its model is trained on images: calls with images in base64 are then trainable, if the engine returns their
   * token ids. @default false
   */
  readonly readsImages?: boolean;
  /** The versions of deployments that it serves; other calls are not routed here. @default none */
  readonly versions?: readonly string[];
  /** Name in metrics and logs, and for removal. @default its model and base URL */
  readonly id?: string;
  /** Concurrency limit; further calls are queued, fairly between rollouts. @default null no limit */
  readonly maxConcurrent?: number | null;
  /** Queue limit; calls beyond it are rejected with 429 and `Retry-After`. @default 256 */
  readonly maxQueued?: number;
  /** Sampling by rollout mode of calls to this upstream, instead of that of the gateway. @default the gateway's */
  readonly sampling?: SamplingByMode;
  /**
   * Whether every error response is returned to the agent unchanged and without retries, like by a provider: for scripted models.
   *
   * @default false: server errors and rate limits are retried, and rejections of the gateway's key are not returned
   */
  readonly returnsErrors?: boolean;
  /** Path of the health check, relative to the base URL: `/health` for vLLM. @default 'models' */
  readonly healthPath?: string;
}

/** Where the calls of a deployment are routed. */
export interface DeploymentRoute {
  /** The stable version. */
  readonly live: string;
  /** The version that is tried on a part of the traffic; null for none. */
  readonly candidate: {
    readonly version: string;
    /** Share of the users, or of the conversations, in [0, 1]. */
    readonly share: number;
    /** Key of the hash that decides who is in the share, and name of the trial in traces: the same in all gateways. */
    readonly key: string;
  } | null;
}

/** The deployments of a gateway: their names are its models. Read for every call, so a change concerns the next one. */
export interface DeploymentRoutes {
  /** The names. */
  names(): readonly string[];
  /** The route of a deployment; null for another name. */
  route(name: string): DeploymentRoute | null;
}

/** An upstream that rejects its key. */
export interface RejectedKey {
  /** Its base URL. */
  readonly baseUrl: string;
  /** The HTTP status of its response. */
  readonly status: 401 | 403;
}

/** The state of an upstream. */
export interface UpstreamState {
  /** Id of the upstream. */
  readonly id: string;
  /** Address of the upstream, up to and with `/v1`. */
  readonly baseUrl: string;
  /** Null when the agent's model name is sent. */
  readonly model: string | null;
  /** Whether it is up. Upstreams that are down are tried last. */
  readonly isUp: boolean;
  /** The last failure; null when there was none since the last success. */
  readonly lastFailure: string | null;
  /**
   * Whether it returns token ids: `missing` when its responses have none, `refused` when it rejected the request for them,
   * after which none are requested.
   */
  readonly tokenIds: 'unknown' | 'given' | 'missing' | 'refused';
  /** Refusals of its key, as `onRejectedKey` reports them. */
  readonly keyRejections: number;
  /** Calls in flight there. */
  readonly inFlight: number;
  /** Calls in its queue. */
  readonly queued: number;
}

/** Health checks of upstreams. Upstreams with calls that wait for their first byte are always checked. */
export interface HealthCheckOptions {
  /** Upstreams to check: those that are down, or all. @default 'down' */
  readonly of: 'down' | 'all';
  /** The interval, and the first cooldown of an upstream that went down, in milliseconds. @default 5000 */
  readonly intervalMs: number;
  /** The longest cooldown, in milliseconds: it doubles until a call succeeds. @default 60000 */
  readonly maxIntervalMs: number;
  /** The timeout of a check, in milliseconds. @default 5000 */
  readonly timeoutMs: number;
}

/** Sampling parameters that override those in the agent's request. Absent fields are not overridden. */
export interface SamplingOverrides {
  /** Sampling temperature. */
  readonly temperature?: number;
  /** Share of the probability to sample from. */
  readonly topP?: number;
  /** Token limit of a completion; the agent's own limit applies when it is lower. */
  readonly maxTokens?: number;
  /**
   * Makes sampling reproducible. The seed of a call is derived from this value, the rollout's `sampling_key` (in its
   * metadata; else its id), the number of attempts that failed through the agent, and the call's index, so that the
   * rollouts of a group differ. An attempt after one that was lost with its runner, or to an infrastructure failure,
   * samples with the same seeds. @default the rollout's `sampling_seed`, in its metadata
   */
  readonly seed?: number;
}

/** Sampling overrides by rollout mode. */
export type SamplingByMode = Partial<Readonly<Record<RolloutMode, SamplingOverrides>>>;

/** Retries of calls to upstreams. A failover to another upstream is not a retry. */
export interface RetryOptions {
  /** Retries once every upstream has failed. @default 5 */
  readonly maxRetries: number;
  /** First delay, in milliseconds; doubled for each retry, with ±25 % jitter. @default 250 */
  readonly baseDelayMs: number;
  /** Maximum backoff delay, in milliseconds. @default 8000 */
  readonly maxDelayMs: number;
  /** Maximum `Retry-After` that is honoured, in milliseconds. @default 60000 */
  readonly maxRetryAfterMs: number;
}

/** Verifies attempt tokens. Implemented by `AttemptTokens` of `@agentlightning/core/protocol`. */
export interface AttemptTokenVerifier {
  /** Returns the claims of a token. @throws AgentLightningError UNAUTHENTICATED for an invalid token */
  verify(token: string): Promise<AttemptClaims>;
}

/** Authenticates further keys, such as those of a store. */
export interface KeyAuthenticator {
  /** The role of a key; null for an unknown key. */
  roleOf(key: string): Promise<AccessRole | null>;
}

/** Logger, such as a pino logger. */
export interface GatewayLog {
  /** Called once for every model call. @default none */
  debug?(details: object, message: string): void;
  /** Logs a warning. */
  warn(details: object, message: string): void;
  /** Logs an error. */
  error(details: object, message: string): void;
}

/** Options of a gateway. */
export interface GatewayOptions {
  /** The store for recorded calls, rollouts and attempts. */
  readonly store: Store;
  /**
   * The upstreams. A call is routed to those that serve the requested model, else to those whose `agents` include the
   * caller, else to those that serve the first upstream's model. Among several, a rollout prefers the same one; the others
   * are fallbacks. The list may be empty with `mayBeEmpty` or `aglServer`.
   */
  readonly upstream: Upstream | readonly Upstream[];
  /**
   * Whether calls of rollouts are rejected with 404 when no upstream has the requested model name, such as those of a judge.
   *
   * @default false: they are routed by agent, else to the first upstream's model
   */
  readonly onlyKnownModels?: boolean;
  /** Whether upstreams may be registered later only: model calls fail with 503 until then. @default false */
  readonly mayBeEmpty?: boolean;
  /**
   * Deployments, which clients call by their names as models. Calls of another model, and calls of attempts, are rejected. They are
   * recorded in the background as traces of the deployment; an unavailable store neither delays nor fails them.
   *
   * @default none
   */
  readonly deployments?: DeploymentRoutes | null;
  /**
   * Also serves the API of Python's `agl-server` 1.0 (`/api/…`, `/proxy/…`) for the trainer and the controller of Agent
   * Lightning 1.0. `upstream` may then be empty: trainers register their model servers. Trainers and
   * controllers send `adminKey`; `apiKey`, which agents may have, admits to model calls only.
   *
   * @default false
   */
  readonly aglServer?: boolean;
  /** Sampling by rollout mode. @default the agent's; with `aglServer` a temperature of 1, and 0.7 for `val` */
  readonly sampling?: SamplingByMode;
  /**
   * `before-response`: the call is recorded before the last byte of the response is sent; a call that cannot be recorded
   * fails. `background`: the response does not wait, and a record may be lost when the process is killed.
   * @default 'before-response'
   */
  readonly durability?: 'before-response' | 'background';
  /** Retries of upstreams. */
  readonly retry?: Partial<RetryOptions>;
  /** Maximum request body size, in bytes. @default 33554432 (32 MiB) */
  readonly maxBodyBytes?: number;
  /** Limit for a connection to an upstream to be established, in milliseconds. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** Limit for the time in the queue of an upstream, in milliseconds; then 429. @default 60000 */
  readonly queueTimeoutMs?: number;
  /** Checks of the health of upstreams. */
  readonly healthChecks?: Partial<HealthCheckOptions>;
  /** Limit for silence within a response of an upstream, in milliseconds. @default 600000 */
  readonly upstreamTimeoutMs?: number;
  /**
   * Limit for the first byte of a response, in milliseconds; then the call fails over to another upstream, and this one
   * is down until a health check succeeds. The first byte of a response that is not streamed arrives when it is complete.
   *
   * @default with several upstreams, four times the longest of their last 256 responses, at least 15 seconds and 60 seconds
   * before the first one, doubled with every try; else upstreamTimeoutMs
   */
  readonly firstByteTimeoutMs?: number;
  /**
   * Further request headers to forward to upstreams. Headers of the model APIs are always forwarded; credentials, cookies
   * and headers for the gateway never are. @default none
   */
  readonly forwardHeaders?: readonly string[];
  /**
   * Further names of fields whose values are redacted in recorded request and response bodies, at any depth, in any case.
   * Upstreams receive the original. @default the usual names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /**
   * Handling of calls without an attempt, such as those of a judge. `record`: as spans of a separate rollout outside any
   * run, which is never trained on; no extra fields are requested. `pass`: not recorded.
   * @default 'record'
   */
  readonly unattributedCalls?: 'record' | 'pass';
  /** Limit of model calls in flight; further ones are rejected with 429. @default 4096 */
  readonly maxCallsInFlight?: number;
  /** Limit for a model call, from its arrival until it is recorded, in milliseconds. @default 3600000 (1 h) */
  readonly maxCallMs?: number;
  /**
   * Key for model calls without an attempt, and for those of any attempt where there are no `attemptTokens`: sent as `Authorization: Bearer`, `x-api-key` or `api-key`.
   * @default null
   */
  readonly apiKey?: string | null;
  /** Key that also admits to `/admin`. @default null the admin API is disabled */
  readonly adminKey?: string | null;
  /**
   * Verifier of attempt tokens: a token sent as the key admits an agent to its own attempt only. Without this, `apiKey`
   * and `adminKey`, every caller is admitted. @default null
   */
  readonly attemptTokens?: AttemptTokenVerifier | null;
  /**
   * Authenticates further keys. Those of workers and trainers admit to model calls, those of viewers to lists of models and
   * metrics, those of admins to everything. @default null none
   */
  readonly keys?: KeyAuthenticator | null;
  /** @default the system clock */
  readonly clock?: Clock;
  /**
   * Called when an upstream rejects its key: for every 401, and for a 403 before it has responded to any call; later ones may
   * concern a single request. @default none
   */
  readonly onRejectedKey?: (rejected: RejectedKey) => void;
  /** Source of jitter in [0, 1). @default Math.random */
  readonly random?: () => number;
  /** Registry of its metrics, for several applications with one `/metrics`. @default a new registry */
  readonly registry?: Registry;
  /** @default silent */
  readonly log?: GatewayLog;
}

/** Options of `pause`. */
export interface PauseOptions {
  /** `Retry-After` of rejected calls, in seconds. @default 5 */
  readonly retryAfterSeconds?: number;
  /** Reason in the error message. @default 'the model is being updated' */
  readonly reason?: string;
  /** Maximum time for which calls are held before they are rejected, in milliseconds. @default 0 */
  readonly holdMs?: number;
}

/** The state of a gateway. */
export interface GatewayState {
  /** Whether new calls wait. */
  readonly isPaused: boolean;
  /** Null when it is not paused. */
  readonly reason: string | null;
  /** Calls admitted and not yet complete and recorded. */
  readonly inFlight: number;
}
