import { AgentLightningError, type ModelCall } from '@agentlightning/core';
import { addressText, isAgentAmong } from '@agentlightning/core/internal';
import { assertKeyIsEncrypted } from '@agentlightning/core/protocol';
import { GatewayError } from '../wire/gateway-error.ts';
import type { Upstream, UpstreamState } from '../wire/gateway-options.ts';
import { RegisteredUpstream } from './registered-upstream.ts';
import { rankFor } from './rendezvous.ts';

/** The caller, as far as known. */
export type CallingAgent = Pick<ModelCall, 'agentName' | 'agentPath'>;

/** The rollout of a call. */
export interface CallingRollout {
  readonly rolloutId: string;
  /** Null for no run. @default unknown */
  readonly runId?: string | null;
}

/** Names of headers that carry credentials. */
const secretHeader = /authorization|key|token|secret|cookie/i;

const unknownAgent: CallingAgent = { agentName: null, agentPath: null };

/** Options of a pool. */
export interface UpstreamPoolOptions {
  readonly upstream: Upstream | readonly Upstream[];
  /** Whether the pool may be empty until an upstream is registered. @default false */
  readonly mayBeEmpty?: boolean;
  /** Whether calls of rollouts that request an unknown model are rejected. @default false */
  readonly onlyKnownModels?: boolean;
  /** Called for every registered upstream. */
  readonly onAdded?: (upstream: RegisteredUpstream) => void;
}

/** The registered upstreams, and the routing of calls to them. */
export class UpstreamPool {
  #upstreams: readonly RegisteredUpstream[] = [];
  readonly #mayBeEmpty: boolean;
  readonly #onlyKnownModels: boolean;
  readonly #onAdded: (upstream: RegisteredUpstream) => void;

  constructor({
    upstream,
    mayBeEmpty = false,
    onlyKnownModels = false,
    onAdded = () => undefined,
  }: UpstreamPoolOptions) {
    this.#mayBeEmpty = mayBeEmpty;
    this.#onlyKnownModels = onlyKnownModels;
    this.#onAdded = onAdded;
    this.set(upstream);
  }

  /** Replaces all upstreams, by id; calls in flight stay where they are. @throws AgentLightningError with code CONFIG */
  set(upstream: Upstream | readonly Upstream[]): void {
    const upstreams = isList(upstream) ? upstream : [upstream];
    if (upstreams.length === 0 && !this.#mayBeEmpty) throw badUpstream('no upstream is given', 'Give at least one.');
    const next = upstreams.map(checked).map((given) => this.#unchanged(given) ?? new RegisteredUpstream(given));
    this.#replace(next.filter(({ id }, index) => next.findIndex((other) => other.id === id) === index));
  }

  /** Adds an upstream, or replaces the one with the same id. @throws AgentLightningError with code CONFIG */
  add(upstream: Upstream): RegisteredUpstream {
    const given = checked(upstream);
    const added = this.#unchanged(given) ?? new RegisteredUpstream(given);
    const index = this.#upstreams.findIndex(({ id }) => id === added.id);
    this.#replace(index < 0 ? [...this.#upstreams, added] : this.#upstreams.with(index, added));
    return added;
  }

  /** Removes an upstream; calls in flight stay there. @returns whether it was registered */
  remove(id: string): boolean {
    const rest = this.#upstreams.filter((upstream) => upstream.id !== id);
    if (rest.length === this.#upstreams.length) return false;
    this.#replace(rest);
    return true;
  }

  get all(): readonly RegisteredUpstream[] {
    return this.#upstreams;
  }

  /** The names of all models; null when an upstream forwards the requested name. */
  models(): readonly string[] | null {
    const names = this.#upstreams.flatMap(({ model, names }) => (model === null ? [] : [model, ...names]));
    return this.#upstreams.every(({ model }) => model !== null) ? names : null;
  }

  /** The state of each upstream. */
  states(): readonly UpstreamState[] {
    return this.#upstreams.map((upstream) => ({
      id: upstream.id,
      baseUrl: upstream.baseUrl,
      model: upstream.model,
      isUp: upstream.health.isUp,
      lastFailure: upstream.health.lastFailure,
      tokenIds: upstream.tokenSupport,
      keyRejections: upstream.keyRejections,
      inFlight: upstream.slots.inFlight,
      queued: upstream.slots.queued,
    }));
  }

  /**
   * The upstreams for a call, the preferred one first, at least one; those that are down come last.
   *
   * @param model - the requested model; null for none
   * @param attempt - calls of the same rollout prefer the same upstream, whose prompt cache is warm
   * @param agent - the calling agent
   * @throws GatewayError 503 when none is registered; 404 for an unknown model with `onlyKnownModels`
   */
  choose(
    model: string | null,
    attempt: CallingRollout | null,
    agent: CallingAgent = unknownAgent,
  ): readonly RegisteredUpstream[] {
    const ofRun = this.#ofRun(attempt?.runId ?? null);
    const named = this.#serving(model, ofRun);
    const [first] = named ?? ofRun;
    if (first === undefined) throw noUpstream();
    if (this.#onlyKnownModels && attempt !== null && model !== null && named === null) {
      throw unknownModel(model, this.#upstreams);
    }
    const equals = named ?? ofAgent(ofRun, agent) ?? like(ofRun, first);
    const ranked = attempt === null ? leastBusyFirst(equals) : rankFor(attempt.rolloutId, equals);
    if (ranked.every(({ health }) => health.isUp)) return ranked;
    return [...ranked.filter(({ health }) => health.isUp), ...ranked.filter(({ health }) => !health.isUp)];
  }

  /** The upstreams that serve a version of a deployment, the least busy first; those that are down come last. */
  ofVersion(version: string): readonly RegisteredUpstream[] {
    const serving = leastBusyFirst(this.#upstreams.filter(({ versions }) => versions.includes(version)));
    return [...serving.filter(({ health }) => health.isUp), ...serving.filter(({ health }) => !health.isUp)];
  }

  /** The upstreams with this model; otherwise those of the run that have it among their names. Null without a match. */
  #serving(model: string | null, ofRun: readonly RegisteredUpstream[]): readonly RegisteredUpstream[] | null {
    if (model === null) return null;
    return (
      those(this.#upstreams, (upstream) => upstream.model === model) ??
      those(ofRun, ({ names }) => names.includes(model))
    );
  }

  /** The upstreams for the rollouts of this run: its own, otherwise those that are not of another run. */
  #ofRun(runId: string | null): readonly RegisteredUpstream[] {
    if (runId === null) return this.#upstreams;
    return (
      those(this.#upstreams, ({ runs }) => runs.includes(runId)) ??
      this.#upstreams.filter(({ runs }) => runs.length === 0)
    );
  }

  /** Keeps the state of an upstream that is registered again unchanged. */
  #unchanged(given: Upstream): RegisteredUpstream | null {
    const text = JSON.stringify(given);
    return this.#upstreams.find((known) => JSON.stringify(known.given) === text) ?? null;
  }

  #replace(next: readonly RegisteredUpstream[]): void {
    const before = this.#upstreams;
    this.#upstreams = next;
    for (const upstream of before) if (!next.includes(upstream)) upstream.removed.abort();
    for (const upstream of next) if (!before.includes(upstream)) this.#onAdded(upstream);
  }
}

/** The upstreams for this agent; null without a match. */
function ofAgent(upstreams: readonly RegisteredUpstream[], agent: CallingAgent): readonly RegisteredUpstream[] | null {
  const those = upstreams.filter(({ agents }) => isAgentAmong(agents, agent));
  return those.length === 0 ? null : those;
}

/** The upstreams that serve the same model. Among those that forward the requested name, `agents` must match too. */
function like(upstreams: readonly RegisteredUpstream[], upstream: RegisteredUpstream): readonly RegisteredUpstream[] {
  const { model } = upstream;
  return upstreams.filter(
    (other) => other === upstream || (other.model === model && (model !== null || other.agents.length === 0)),
  );
}

function leastBusyFirst(upstreams: readonly RegisteredUpstream[]): readonly RegisteredUpstream[] {
  const busy = ({ slots }: RegisteredUpstream): number => slots.inFlight + slots.queued;
  return upstreams.toSorted((left, right) => busy(left) - busy(right));
}

function isList(upstream: Upstream | readonly Upstream[]): upstream is readonly Upstream[] {
  return Array.isArray(upstream);
}

function checked(upstream: Upstream): Upstream {
  const { maxConcurrent, maxQueued, apiKey, headers } = upstream;
  const baseUrl = checkedBaseUrl(upstream.baseUrl);
  if (typeof maxConcurrent === 'number' && !(Number.isInteger(maxConcurrent) && maxConcurrent > 0)) {
    throw badUpstream(`maxConcurrent of ${baseUrl} is ${maxConcurrent}`, 'Give a whole number from 1, or null.');
  }
  if (maxQueued !== undefined && !(Number.isInteger(maxQueued) && maxQueued >= 0)) {
    throw badUpstream(`maxQueued of ${baseUrl} is ${maxQueued}`, 'Give a whole number from 0.');
  }
  for (const value of [apiKey ?? '', ...Object.values(headers ?? {})]) {
    // A line break would end the header, and the HTTP client's error would contain the key.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw badUpstream(`a key or header of ${baseUrl} has characters that a header cannot`, 'Remove line breaks.');
    }
  }
  if (
    upstream.allowInsecureKey !== true &&
    (apiKey || Object.keys(headers ?? {}).some((name) => secretHeader.test(name)))
  ) {
    assertKeyIsEncrypted({ receiver: 'Upstream', url: baseUrl, option: 'allowInsecureKey' });
  }
  return { ...upstream, baseUrl };
}

function checkedBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw badUpstream(
      `the upstream's base URL ${addressText(baseUrl)} is not an http(s) URL`,
      'Write it as http://host:port/v1.',
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw badUpstream(`the upstream's base URL for ${url.host} has credentials in it`, 'Give them as `apiKey`.');
  }
  if (url.search !== '' || url.hash !== '') {
    throw badUpstream(`the upstream's base URL ${url.origin} has a query or a fragment`, 'End it with the path.');
  }
  return baseUrl.replace(/\/+$/, '');
}

function badUpstream(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}

function unknownModel(model: string, upstreams: readonly RegisteredUpstream[]): GatewayError {
  const known = upstreams.flatMap((upstream) => [
    ...upstream.names,
    ...(upstream.model === null ? [] : [upstream.model]),
  ]);
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    param: 'model',
    message: `the model "${model}" is not a policy of this run; its names are ${[...new Set(known)].join(', ')}`,
    remedy:
      'Add the name to `agents.modelNames` of the configuration, or exclude calls of other models in the adapter (`shouldTrace`, `shouldRedirect`).',
  });
}

function those(
  upstreams: readonly RegisteredUpstream[],
  isSuch: (upstream: RegisteredUpstream) => boolean,
): readonly RegisteredUpstream[] | null {
  const found = upstreams.filter(isSuch);
  return found.length === 0 ? null : found;
}

function noUpstream(): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 503,
    type: 'upstream_error',
    message: 'no model endpoint is registered at the gateway',
    remedy: 'Register one (`addUpstream`, POST /admin/upstreams), then retry.',
    headers: { 'retry-after': '5' },
  });
}
