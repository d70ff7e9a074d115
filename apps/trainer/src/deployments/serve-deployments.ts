import { AgentLightningError, type Clock, type Store } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { type DeploymentState, type ModelVersion, readDeployment } from '@agentlightning/core/protocol';
import type { DeploymentRoute, DeploymentRoutes, ServedGateway } from '@agentlightning/gateway';
import { CanaryMonitor } from './canary-monitor.ts';
import type { VersionServer } from './version-server.ts';

/** The log of {@link ServedDeployments}. */
export interface DeploymentLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Options of {@link ServedDeployments}. */
export interface ServedDeploymentsOptions {
  readonly store: Store;
  readonly names: readonly string[];
  readonly versions: VersionServer;
  readonly clock: Clock;
  readonly log: DeploymentLog;
}

/** Interval in which the records of deployments are read, in milliseconds. */
const intervalMs = 1000;

/** Interval in which the models of served versions are checked, in milliseconds. */
const checkIntervalMs = 10_000;

/** Time for which a version that gets no more calls stays loaded: calls in flight, and a rollback soon after. In milliseconds. */
const idleMs = 60_000;

/** Delay before a version that could not be served is tried again, in milliseconds. */
const retryMs = 10_000;

/** A version that is served, or that could not be. */
interface ServedVersion {
  readonly version: ModelVersion;
  isServed: boolean;
  /** When it was wanted last. */
  wantedMs: number;
  /** When it was checked or tried last. */
  checkedMs: number;
}

/**
 * Keeps a gateway in step with the records of deployments: which versions it serves, and who gets which one. A change in the store
 * takes effect within about a second; a new version gets calls once it is loaded. While the store is away, the last routes stay.
 */
export class ServedDeployments implements DeploymentRoutes {
  readonly #options: ServedDeploymentsOptions;
  readonly #monitor: CanaryMonitor;
  readonly #states: Map<string, DeploymentState> = new Map();
  readonly #routes: Map<string, DeploymentRoute> = new Map();
  readonly #versions: Map<string, ServedVersion> = new Map();
  #gateway: Pick<ServedGateway, 'addUpstream' | 'removeUpstream'> | null = null;
  #isStoreAway = false;

  constructor(options: ServedDeploymentsOptions) {
    this.#options = options;
    this.#monitor = new CanaryMonitor(options);
  }

  names(): readonly string[] {
    return this.#options.names;
  }

  route(name: string): DeploymentRoute | null {
    return this.#routes.get(name) ?? null;
  }

  /**
   * Loads the live versions, and begins to follow the records.
   *
   * @param signal - ends it
   * @throws AgentLightningError NOT_FOUND for a deployment without a live version; the error of a version that cannot be served
   */
  async start(gateway: Pick<ServedGateway, 'addUpstream' | 'removeUpstream'>): Promise<void> {
    this.#gateway = gateway;
    for (const name of this.#options.names) {
      const state = await this.#read(name);
      const live = versionOf(state, state.live);
      if (live === null) throw nothingLive(name);
      await this.#serve(live);
    }
    await this.#update();
  }

  /** Follows the records until the signal aborts. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(intervalMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#update();
        await this.#checkModels();
        await this.#checkTrials();
        if (this.#isStoreAway) log.info({}, 'the store is back');
        this.#isStoreAway = false;
      } catch (error) {
        if (!this.#isStoreAway) log.warn({ err: error }, 'deployments cannot be read; the last routes stay');
        this.#isStoreAway = true;
      }
    }
  }

  async #read(name: string): Promise<DeploymentState> {
    const state = readDeployment(await this.#options.store.getRun(name));
    if (state === null) throw nothingLive(name);
    this.#states.set(name, state);
    return state;
  }

  async #update(): Promise<void> {
    for (const name of this.#options.names) {
      const state = await this.#read(name);
      const candidate = versionOf(state, state.candidate?.version ?? null);
      const live = versionOf(state, state.live);
      for (const version of [live, candidate]) if (version !== null) await this.#want(version);
      this.#route(name, state);
    }
    await this.#releaseIdle();
  }

  /** Routes to versions that are loaded: until then, the earlier route stays, or the candidate gets no calls. */
  #route(name: string, { live, candidate }: DeploymentState): void {
    const earlier = this.#routes.get(name);
    const isKnown = (version: string): boolean => this.#versions.get(version)?.isServed === true;
    const stable = live !== null && isKnown(live) ? live : (earlier?.live ?? live);
    if (stable === null) return;
    // A candidate that was served once and is away now is not left out: its failures are those of the candidate.
    const wasServed =
      candidate !== null && (isKnown(candidate.version) || earlier?.candidate?.version === candidate.version);
    const tried =
      candidate !== null && wasServed
        ? { version: candidate.version, share: candidate.share, key: candidate.key }
        : null;
    this.#routes.set(name, { live: stable, candidate: tried });
  }

  async #want(version: ModelVersion): Promise<void> {
    const { clock, log } = this.#options;
    const known = this.#versions.get(version.version);
    const nowMs = clock.now();
    if (known !== undefined) {
      known.wantedMs = nowMs;
      if (known.isServed || nowMs - known.checkedMs < retryMs) return;
    }
    try {
      await this.#serve(version);
      log.info({ version: version.version }, 'a version is served');
    } catch (error) {
      this.#versions.set(version.version, { version, isServed: false, wantedMs: nowMs, checkedMs: clock.now() });
      log.error({ version: version.version, err: error }, `a version cannot be served: ${errorMessage(error)}`);
    }
  }

  async #serve(version: ModelVersion): Promise<void> {
    const { versions, clock } = this.#options;
    const upstream = await versions.open(version);
    this.#gateway?.addUpstream(upstream);
    const nowMs = clock.now();
    this.#versions.set(version.version, { version, isServed: true, wantedMs: nowMs, checkedMs: nowMs });
  }

  /** Finds versions whose runtime has restarted, which are loaded again. */
  async #checkModels(): Promise<void> {
    const { versions, clock } = this.#options;
    for (const served of this.#versions.values()) {
      if (!served.isServed || clock.now() - served.checkedMs < checkIntervalMs) continue;
      served.isServed = await versions.isServed(served.version);
      served.checkedMs = served.isServed ? clock.now() : 0;
    }
  }

  async #releaseIdle(): Promise<void> {
    const { versions, clock } = this.#options;
    for (const [name, { version, wantedMs }] of this.#versions) {
      if (clock.now() - wantedMs < idleMs) continue;
      this.#versions.delete(name);
      this.#gateway?.removeUpstream(name);
      await versions.release(version);
    }
  }

  async #checkTrials(): Promise<void> {
    for (const [name, state] of this.#states) {
      if (await this.#monitor.check(name, state)) this.#route(name, await this.#read(name));
    }
  }
}

function versionOf({ versions }: DeploymentState, name: string | null): ModelVersion | null {
  return versions.find(({ version }) => version === name) ?? null;
}

function nothingLive(name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the deployment ${name} has no live version`,
    remedy: `Deploy one: \`agl deploy <run>@best --to ${name}\`, or \`agl serve <run>@best --as ${name}\`.`,
  });
}
