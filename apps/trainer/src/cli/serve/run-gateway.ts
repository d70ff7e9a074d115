import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { type AttemptClaims, AttemptTokens } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import type { AttemptTokenVerifier } from '@agentlightning/gateway';
import { type ServeGatewayOptions, serveGateway, type Upstream } from '@agentlightning/gateway';
import { areInsecureKeysAllowed } from '../../config/environment.ts';
import { loadUpstreams } from '../../config/load-upstreams.ts';
import { type CommandTelemetry, withTelemetry } from '../../metrics/command-telemetry.ts';
import { tokensOfStoreFile } from '../../runtime/attempt-secret.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { registerGateway } from '../../runtime/register-gateway.ts';
import type { GatewayAddressFlags } from '../flags.ts';
import { attemptTokensFromEnvironment } from './attempt-token-secret.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The most tokens in memory; the oldest is verified again. */
const maxVerified = 1000;

/** Verifies attempt tokens without their secret: the store server that signed them accepts a token for its rollout only. */
function tokensOfStoreServer(url: string): AttemptTokenVerifier {
  const verified = new Map<string, AttemptClaims>();
  return {
    verify: async (token) => {
      const claims = verified.get(token) ?? (await verifyAtServer(url, token));
      if (claims.expiresAtMs <= Date.now()) throw expired(claims);
      verified.set(token, claims);
      const [oldest] = verified.keys();
      if (verified.size > maxVerified && oldest !== undefined) verified.delete(oldest);
      return claims;
    },
  };
}

async function verifyAtServer(url: string, token: string): Promise<AttemptClaims> {
  const claims = AttemptTokens.uncheckedClaims(token);
  const store = new StoreClient({ baseUrl: url, apiKey: token, allowInsecureKey: areInsecureKeysAllowed() });
  try {
    await store.getRollout(claims.rolloutId);
    return claims;
  } finally {
    await store.close();
  }
}

function expired({ attemptId }: AttemptClaims): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message: `The token of attempt ${attemptId} has expired`,
    remedy: 'Request a new token for the attempt from the store.',
  });
}

/** The flags of `agl gateway`. */
export interface GatewayFlags extends GatewayAddressFlags {
  readonly store: string;
  readonly upstream?: readonly string[];
  readonly upstreams?: string;
  readonly model?: string;
  readonly text: boolean;
  readonly maxConcurrent?: number;
  readonly maxInFlight: number;
  /** Milliseconds. */
  readonly upstreamTimeout: number;
  /** Milliseconds. */
  readonly firstByteTimeout?: number;
  readonly trainTemperature?: number;
  readonly valTemperature?: number;
  readonly durability: 'before-response' | 'background';
  readonly passUnattributedCalls: boolean;
  readonly secretField?: readonly string[];
  readonly aglServer: boolean;
  readonly allowUnauthenticated: boolean;
}

/** Serves a gateway until the process is stopped, then drains the calls in flight. */
export async function runGateway(flags: GatewayFlags): Promise<void> {
  await withTelemetry('agl-gateway', (telemetry) => runWith(flags, telemetry));
}

async function runWith(flags: GatewayFlags, { registry, logStream }: CommandTelemetry): Promise<void> {
  const log = serverLog('agl-gateway', logStream);
  const upstream = await upstreamsOf(flags);
  const keys = await keysOf(flags, process.env);
  const apiKey = process.env['AGL_STORE_KEY'] ?? null;
  const store = await openStoreByUrl({ url: flags.store, apiKey });
  try {
    const rejected = new Set<string>();
    const onRejectedKey: NonNullable<ServeGatewayOptions['onRejectedKey']> = ({ baseUrl, status }) => {
      if (rejected.has(baseUrl)) return;
      rejected.add(baseUrl);
      log.error({ upstream: addressText(baseUrl), status }, 'a model endpoint rejects its key; its calls fail');
    };
    const options = { ...keys, ...optionsOf(flags), onRejectedKey };
    const gateway = await serveGateway({ store, upstream, log, registry, ...options });
    const upstreams = gateway.upstreams().map(({ id }) => id);
    const isLocked = Object.values(keys).some((key) => key !== null);
    log.info({ url: gateway.url, upstreams, key: isLocked, aglServer: flags.aglServer }, 'gateway is up');
    if (!isLocked)
      log.warn('the gateway is unauthenticated: every user of this machine can call models as any attempt');
    const unregister = registerGateway(gateway, {
      store,
      runId: null,
      onError: (error) => log.debug({ err: error }, 'the load of the gateway is not recorded in the store'),
    });
    // Before the ready line, after which a signal may arrive.
    const stopped = untilStopped(async () => {
      log.info({ inFlight: gateway.state().inFlight, drainMs: flags.drain }, 'gateway is stopping');
      await gateway.close({ drainMs: flags.drain });
      await unregister();
    });
    process.stdout.write(`${JSON.stringify({ type: 'ready', url: gateway.url })}\n`);
    await stopped;
  } finally {
    await store.close();
  }
  log.info('gateway has stopped');
}

type GatewayKeys = Required<Pick<ServeGatewayOptions, 'apiKey' | 'adminKey' | 'attemptTokens'>>;

/**
 * The credentials that the gateway accepts. It does not start without any, because attempt URLs can be guessed.
 *
 * @throws AgentLightningError CONFIG
 */
async function keysOf(flags: GatewayFlags, environment: NodeJS.ProcessEnv): Promise<GatewayKeys> {
  const apiKey = environment['AGL_GATEWAY_KEY'] || null;
  const adminKey = environment['AGL_GATEWAY_ADMIN_KEY'] || null;
  const configured = attemptTokensFromEnvironment();
  if (flags.allowUnauthenticated && (apiKey !== null || adminKey !== null || configured !== null)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message:
        '--allow-unauthenticated has no effect: a key or secret is set (AGL_TOKEN_SECRET, AGL_GATEWAY_KEY or AGL_GATEWAY_ADMIN_KEY)',
      remedy: 'Leave out the flag, or unset the variables.',
    });
  }
  // Clients of agl-server send no tokens of attempts.
  const isGenerated = configured === null && !flags.aglServer && !flags.allowUnauthenticated;
  const attemptTokens = isGenerated ? await tokensOfStoreFile(flags.store) : configured;
  if (apiKey === null && adminKey === null && attemptTokens === null && !flags.allowUnauthenticated) {
    throw unauthenticated(flags);
  }
  // A store server may sign tokens with a secret that only it has.
  const isRemote = isGenerated && attemptTokens === null && /^https?:/.test(flags.store);
  return { apiKey, adminKey, attemptTokens: isRemote ? tokensOfStoreServer(flags.store) : attemptTokens };
}

function unauthenticated({ store, aglServer }: GatewayFlags): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: aglServer
      ? 'agl gateway --agl-server has no key, and attempt URLs can be guessed'
      : `agl gateway has no secret for attempt tokens: ${addressText(store)} is not a local file`,
    remedy: aglServer
      ? 'Set AGL_GATEWAY_ADMIN_KEY, or accept unauthenticated calls from this machine with --allow-unauthenticated.'
      : 'Set AGL_TOKEN_SECRET to the secret of the store and the trainer, set AGL_GATEWAY_KEY, or accept unauthenticated ' +
        'calls from this machine with --allow-unauthenticated.',
  });
}

function optionsOf(flags: GatewayFlags): Omit<ServeGatewayOptions, 'store' | 'upstream'> {
  const { trainTemperature, valTemperature, aglServer } = flags;
  const forTraining = trainTemperature === undefined ? {} : { train: { temperature: trainTemperature } };
  const held = { temperature: valTemperature ?? 0 };
  const sampling = { ...forTraining, ...(valTemperature === undefined ? {} : { val: held, test: held }) };
  return {
    host: flags.host,
    port: flags.port,
    aglServer,
    durability: flags.durability,
    maxCallsInFlight: flags.maxInFlight,
    upstreamTimeoutMs: flags.upstreamTimeout,
    ...(flags.firstByteTimeout === undefined ? {} : { firstByteTimeoutMs: flags.firstByteTimeout }),
    secretFields: flags.secretField ?? [],
    unattributedCalls: flags.passUnattributedCalls ? 'pass' : 'record',
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
  };
}

async function upstreamsOf(flags: GatewayFlags): Promise<readonly Upstream[]> {
  const { upstream = [], upstreams, model, text, maxConcurrent, aglServer } = flags;
  const listed = upstreams === undefined ? [] : await loadUpstreams(upstreams, process.env);
  const allowInsecureKey = areInsecureKeysAllowed();
  const named = upstream.map((baseUrl) => ({
    baseUrl,
    model: model ?? null,
    apiKey: process.env['AGL_UPSTREAM_KEY'] || null,
    allowInsecureKey,
    capture: text ? ('text' as const) : ('tokens' as const),
    maxConcurrent: maxConcurrent ?? null,
  }));
  if (listed.length + named.length > 0 || aglServer) {
    return [...named, ...listed.map((each) => ({ allowInsecureKey, ...each }))];
  }
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'agl gateway has no model server',
    remedy: 'Set one with `--upstream http://localhost:8000/v1`, or several in a file with `--upstreams`.',
  });
}
