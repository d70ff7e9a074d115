import type { InferenceEndpoint, Store } from '@agentlightning/core';
import { serveGateway } from '@agentlightning/gateway';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { assertReachable } from './assert-reachable.ts';

/** A gateway that agents can call. */
export interface OpenGateway {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The model's name there. */
  readonly model: string;
  /** Throws when it does not answer. */
  readonly check: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts a gateway in this process in front of the model, or takes the one the configuration names. */
export async function openGateway(options: {
  readonly config: ResolvedConfig;
  readonly store: Store;
  readonly upstream: InferenceEndpoint;
}): Promise<OpenGateway> {
  const { config, store, upstream } = options;
  if (config.gatewayUrl !== null) return await externalGateway(config.gatewayUrl, upstream);
  const gateway = await serveGateway({
    store,
    upstream: { baseUrl: upstream.baseUrl, model: upstream.model },
    attemptTokens: config.attemptTokens,
    sampling: { train: config.sampling, test: config.evaluation.sampling, val: config.evaluation.sampling },
  });
  return {
    baseUrl: `${gateway.url}/v1`,
    model: upstream.model,
    check: async () => undefined,
    close: () => gateway.close(),
  };
}

async function externalGateway(url: string, upstream: InferenceEndpoint): Promise<OpenGateway> {
  const root = url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const check = (): Promise<void> =>
    assertReachable({
      what: `the gateway at ${root}`,
      url: `${root}/health`,
      isFine: (status) => status === 200,
      remedy: 'Start it again (`agl gateway`), then `agl train --resume <run>`.',
    });
  await check();
  return { baseUrl: `${root}/v1`, model: upstream.model, check, close: async () => undefined };
}
