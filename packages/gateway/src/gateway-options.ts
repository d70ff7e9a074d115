import type { Clock, RolloutMode, Store } from '@agentlightning/core';
import type { AttemptClaims } from '@agentlightning/core/protocol';

/** An OpenAI-compatible model endpoint that the gateway may send calls to. */
export interface Upstream {
  /** The base URL of its API, up to and with `/v1`. */
  readonly baseUrl: string;
  /** The model name to send, whatever the agent asked for. @default null the agent's own */
  readonly model?: string | null;
  /** Other names that agents may ask for it by, such as the name of the policy that it serves. @default none */
  readonly names?: readonly string[];
  /**
   * Whose calls go here, by the agent's name or its path from the outermost on: `boss>expert`. A call that asks for a
   * model that an upstream has by name goes there, whoever makes it.
   *
   * @default nobody's in particular
   */
  readonly agents?: readonly string[];
  /** Sent as `Authorization: Bearer`; never recorded. @default null none */
  readonly apiKey?: string | null;
  /** Whether keys may be sent over plain `http:` to another machine, on a network that you trust. @default false */
  readonly allowInsecureKey?: boolean;
  /** Sent with every call; never recorded. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What to ask for beyond the answer. `tokens`: token ids and log-probabilities, what training needs; the
   * engine must know `return_token_ids` (vLLM 0.10.2 and later, and the runtimes of Agent Lightning do).
   * `text`: nothing, for model APIs that refuse fields they do not know; such calls cannot be trained on.
   * @default 'tokens'
   */
  readonly capture?: 'tokens' | 'text';
  /**
   * Which APIs it has beside Chat Completions, Completions and embeddings. Calls in these go to it as they are, and
   * are recorded without tokens; those in others are translated to Chat Completions and back.
   *
   * @default none when `capture` is `tokens`, since only Chat Completions tell tokens; else found out at the first call
   */
  readonly apis?: readonly ('responses' | 'messages')[];
  /** What it is called in metrics, logs and when it is removed. @default its model and base URL */
  readonly id?: string;
  /** How many calls it gets at a time; the others wait in line, each rollout in turn. @default null no limit */
  readonly maxConcurrent?: number | null;
  /** How many calls may wait in line; those beyond are answered 429 with `Retry-After`. @default 256 */
  readonly maxQueued?: number;
  /** What is read to find out whether it works, relative to its base URL: `/health` for vLLM. @default 'models' */
  readonly healthPath?: string;
}

/** How an upstream does. */
export interface UpstreamState {
  readonly id: string;
  readonly baseUrl: string;
  /** Null when it gets the name that the agent wrote. */
  readonly model: string | null;
  /** Whether calls go there first; others are tried before one that is down. */
  readonly isUp: boolean;
  /** What went wrong last; null when nothing did since it last answered. */
  readonly lastFailure: string | null;
  /**
   * Whether it gives the token ids that training needs: `missing` when its answers have none, `refused` when it turned
   * the request for them down and is not asked any more.
   */
  readonly tokenIds: 'unknown' | 'given' | 'missing' | 'refused';
  /** Calls that it is answering. */
  readonly inFlight: number;
  /** Calls that wait for it. */
  readonly queued: number;
}

/** Health checks of upstreams. Upstreams with calls that wait for their first byte are checked in any case. */
export interface HealthCheckOptions {
  /** Which upstreams are checked: those that are down, or all. @default 'down' */
  readonly of: 'down' | 'all';
  /** The interval, and the first cooldown of an upstream that went down, in milliseconds. @default 5000 */
  readonly intervalMs: number;
  /** The longest cooldown, in milliseconds: it doubles until a call succeeds. @default 60000 */
  readonly maxIntervalMs: number;
  /** The timeout of a check, in milliseconds. @default 5000 */
  readonly timeoutMs: number;
}

/** Sampling parameters that take the place of those in the agent's request. An absent field stays the agent's. */
export interface SamplingOverrides {
  readonly temperature?: number;
  readonly topP?: number;
  /** The most tokens an answer may have; a lower number of the agent's own stays. */
  readonly maxTokens?: number;
  /**
   * Makes sampling repeatable: each call gets a seed made of this one, the rollout's `sampling_key` (in its
   * metadata; else its id), how often the agent has failed it, and the call's number, so that the rollouts of a group
   * differ. An attempt after one that was lost with its runner or to a service samples with the same seeds.
   */
  readonly seed?: number;
}

/** Retries of calls to upstreams. A failover to another upstream is not a retry. */
export interface RetryOptions {
  /** Retries once every upstream has failed. @default 5 */
  readonly maxRetries: number;
  /** The first delay, in milliseconds; each next one is twice as long, by ±25 %. @default 250 */
  readonly baseDelayMs: number;
  /** The longest delay of ours, in milliseconds. @default 8000 */
  readonly maxDelayMs: number;
  /** The longest `Retry-After` of an upstream that is waited for, in milliseconds. @default 60000 */
  readonly maxRetryAfterMs: number;
}

/** Knows what the token of an attempt lets its bearer do. `AttemptTokens` of `@agentlightning/core/protocol` is one. */
export interface AttemptTokenVerifier {
  /** @throws AgentLightningError UNAUTHENTICATED for a token that is worth nothing */
  verify(token: string): Promise<AttemptClaims>;
}

/** Where the gateway tells what its callers do not see. A pino logger is one. */
export interface GatewayLog {
  /** One line for every model call. @default not told */
  debug?(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What a gateway is made of. */
export interface GatewayOptions {
  /** Where calls are recorded, and where rollouts and attempts are looked up. */
  readonly store: Store;
  /**
   * Where calls go, and nowhere else. With several, a call goes to those that serve the model it asks for, else to
   * those whose `agents` have the one that makes it, else to those that serve the first one's model; among equals a rollout always gets the same one, the others are fallback.
   */
  readonly upstream: Upstream | readonly Upstream[];
  /**
   * Also answers what Python's `agl-server` 1.0 does (`/api/…`, `/proxy/…`), so that the trainer and the controller of
   * Agent Lightning 1.0 can use this gateway in its place. `upstream` may then be empty: trainers register theirs. The
   * one key of 1.0 is `apiKey`, or `adminKey` where there is one.
   *
   * @default false
   */
  readonly aglServer?: boolean;
  /** Sampling by the rollout's mode. @default the agent's own; with `aglServer` a temperature of 1, and 0.7 for `val` */
  readonly sampling?: Partial<Readonly<Record<RolloutMode, SamplingOverrides>>>;
  /**
   * `before-response`: the record is in the store before the last byte of the answer leaves; a call that cannot be
   * recorded fails. `background`: the answer does not wait, and a record may be lost when the process dies.
   * @default 'before-response'
   */
  readonly durability?: 'before-response' | 'background';
  readonly retry?: Partial<RetryOptions>;
  /** The largest request body, in bytes. @default 33554432 (32 MiB) */
  readonly maxBodyBytes?: number;
  /** How long a connection to an upstream may take, in milliseconds. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** How long a call may wait in line for an upstream, in milliseconds; then it is answered 429. @default 60000 */
  readonly queueTimeoutMs?: number;
  readonly healthChecks?: Partial<HealthCheckOptions>;
  /** How long an upstream may be silent within a response, in milliseconds. @default 600000 */
  readonly upstreamTimeoutMs?: number;
  /**
   * Limit for the first byte of a response, in milliseconds; then the call fails over to another upstream, and this one
   * is down until a health check succeeds. The first byte of a response that is not streamed comes when it is complete.
   *
   * @default upstreamTimeoutMs
   */
  readonly firstByteTimeoutMs?: number;
  /**
   * Names of headers of agents that also go on to upstreams. Those of the model APIs go on anyway; keys, cookies and
   * what is meant for the gateway never do. @default none
   */
  readonly forwardHeaders?: readonly string[];
  /**
   * Further names of fields whose values are redacted in recorded request and response bodies, at any depth, in any case.
   * Upstreams receive the original. @default the usual names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /**
   * What becomes of calls that belong to no attempt, such as those of a judge. `record`: each is a span of a rollout of
   * their own, which no run has and nobody trains on; nothing is asked for on top. `pass`: they leave no trace.
   * @default 'record'
   */
  readonly plainCalls?: 'record' | 'pass';
  /** How many model calls may be in flight; those beyond are answered 429. @default 4096 */
  readonly maxCallsInFlight?: number;
  /** How long one model call may take from its arrival to its record, in milliseconds. @default 3600000 an hour */
  readonly maxCallMs?: number;
  /**
   * What lets its bearer call models, for any attempt and for none: sent as `Authorization: Bearer`, `x-api-key` or
   * `api-key`. @default null no such key
   */
  readonly apiKey?: string | null;
  /** What lets its bearer also pause the gateway and change its upstreams over HTTP. @default null nobody may */
  readonly adminKey?: string | null;
  /**
   * What knows the tokens of attempts: with one in the place of a key, an agent speaks for its own attempt and for no
   * other. Without this, `apiKey` and `adminKey`, everybody is let in. @default null there are none
   */
  readonly attemptTokens?: AttemptTokenVerifier | null;
  /** @default the clock on the wall */
  readonly clock?: Clock;
  /** A number in [0, 1) for the jitter of retries. @default Math.random */
  readonly random?: () => number;
  /** @default silent */
  readonly log?: GatewayLog;
}

/** How a gateway is paused. */
export interface PauseOptions {
  /** Told to callers as `Retry-After`, in seconds. @default 5 */
  readonly retryAfterSeconds?: number;
  /** Told to callers. @default 'the model is being updated' */
  readonly reason?: string;
  /** How long calls wait for the end of the pause before they are turned away, in milliseconds. @default 0 */
  readonly holdMs?: number;
}

/** What a gateway is doing. */
export interface GatewayState {
  readonly isPaused: boolean;
  /** Why; null when it is not paused. */
  readonly reason: string | null;
  /** Calls that were let in and are not fully answered and recorded. */
  readonly inFlight: number;
}
