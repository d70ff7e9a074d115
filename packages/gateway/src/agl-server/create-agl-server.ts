import { AgentLightningError, type Clock, type RolloutMode, type Store } from '@agentlightning/core';
import type { SecretFields } from '@agentlightning/core/internal';
import type { Hono } from 'hono';
import type { Caller } from '../access/access.ts';
import type { AttemptAddress } from '../attempts/calling-attempt.ts';
import type { PauseGate } from '../attempts/pause-gate.ts';
import { storeUnavailable } from '../wire/gateway-error.ts';
import type { SamplingOverrides } from '../wire/gateway-options.ts';
import { aglServerRoutes } from './agl-server-routes.ts';
import { AglEvents } from './events.ts';
import { ProxyPause } from './proxy-pause.ts';
import { RegisteredModels, type UpstreamRegister } from './registered-models.ts';
import { AglRollouts } from './rollouts.ts';
import { ServerRun } from './server-run.ts';
import { TerminalLog } from './terminal-log.ts';

/** Dependencies of the 1.0 API. */
export interface AglServerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly gate: Pick<PauseGate, 'pause' | 'resume' | 'state'>;
  readonly upstreams: UpstreamRegister;
  readonly callerOf: (headers: Headers) => Promise<Caller>;
  /** The fields of event data that are redacted. */
  readonly secretFields: SecretFields;
}

/** The API of Python's `agl-server` 1.0. */
export interface AglServer {
  readonly routes: Hono;
  /** The store's id of the attempt that a model call names; the name itself outside the 1.0 protocol. */
  readonly attemptIdOf: (address: Pick<AttemptAddress, 'rolloutId' | 'attemptId'>) => Promise<string>;
  /** Restores registrations from before a restart. */
  readonly restore: () => Promise<void>;
}

/** Default sampling of `agl-server`. */
export const aglServerSampling: Partial<Readonly<Record<RolloutMode, SamplingOverrides>>> = {
  train: { temperature: 1 },
  val: { temperature: 0.7 },
};

/** Creates the 1.0 API on top of the store. */
export function createAglServer(options: AglServerOptions): AglServer {
  const { store, clock, gate, callerOf, secretFields } = options;
  const run = new ServerRun(store);
  const log = new TerminalLog(store, run);
  const rollouts = new AglRollouts({ store, clock, run, log });
  const models = new RegisteredModels(run, options.upstreams);
  const served = (model: string): number | null => models.versionOf(model);
  const events = new AglEvents({ store, clock, rollouts, served, secretFields });
  const pause = new ProxyPause(gate);
  return {
    routes: aglServerRoutes({ rollouts, events, models, log, pause, callerOf }),
    attemptIdOf: (address) => attemptIdOf(rollouts, address),
    restore: () => models.restore(),
  };
}

/** Attempt ids of the store are returned unchanged; unknown ones are rejected later. */
async function attemptIdOf(
  rollouts: AglRollouts,
  { rolloutId, attemptId }: Pick<AttemptAddress, 'rolloutId' | 'attemptId'>,
): Promise<string> {
  if (attemptId.startsWith('at-')) return attemptId;
  try {
    return await rollouts.attemptId(rolloutId, attemptId);
  } catch (error) {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return attemptId;
    throw storeUnavailable(error);
  }
}
