import type { JsonObject } from '@agentlightning/core';
import { z } from 'zod';
import type { GatewayState, PauseOptions, Upstream, UpstreamState } from '../wire/gateway-options.ts';

/** An upstream, as registered over HTTP. */
export const wireUpstreamSchema: z.ZodType<WireUpstream> = z.strictObject({
  base_url: z.string(),
  model: z.string().nullable().default(null),
  names: z.array(z.string()).exactOptional(),
  agents: z.array(z.string()).exactOptional(),
  api_key: z.string().nullable().default(null),
  allow_insecure_key: z.boolean().exactOptional(),
  headers: z.record(z.string(), z.string()).default({}),
  capture: z.enum(['tokens', 'text']).default('tokens'),
  reads_images: z.boolean().default(false),
  apis: z.array(z.enum(['responses', 'messages'])).exactOptional(),
  id: z.string().min(1).max(200).exactOptional(),
  max_concurrent: z.int().min(1).nullable().default(null),
  max_queued: z.int().min(0).exactOptional(),
  health_path: z.string().exactOptional(),
});

/** The fields of {@link wireUpstreamSchema}. */
export interface WireUpstream {
  readonly base_url: string;
  readonly model: string | null;
  readonly names?: readonly string[];
  readonly agents?: readonly string[];
  readonly api_key: string | null;
  readonly allow_insecure_key?: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly capture: 'tokens' | 'text';
  readonly reads_images: boolean;
  readonly apis?: readonly ('responses' | 'messages')[];
  readonly id?: string;
  readonly max_concurrent: number | null;
  readonly max_queued?: number;
  readonly health_path?: string;
}

/** A pause request over HTTP; durations are in seconds. */
export const wirePauseSchema: z.ZodType<WirePause> = z.strictObject({
  retry_after_seconds: z.number().min(0).max(3600).default(5),
  reason: z.string().max(500).exactOptional(),
  hold_seconds: z.number().min(0).max(600).default(0),
});

/** The fields of {@link wirePauseSchema}. */
export interface WirePause {
  readonly retry_after_seconds: number;
  readonly reason?: string;
  readonly hold_seconds: number;
}

/** Converts an upstream from its wire format. */
export function upstreamFromWire(wire: WireUpstream): Upstream {
  const { id, names, agents, apis, max_queued: maxQueued, health_path: healthPath } = wire;
  return {
    baseUrl: wire.base_url,
    model: wire.model,
    apiKey: wire.api_key,
    headers: wire.headers,
    capture: wire.capture,
    readsImages: wire.reads_images,
    maxConcurrent: wire.max_concurrent,
    ...(wire.allow_insecure_key === undefined ? {} : { allowInsecureKey: wire.allow_insecure_key }),
    ...(id === undefined ? {} : { id }),
    ...(names === undefined ? {} : { names }),
    ...(agents === undefined ? {} : { agents }),
    ...(apis === undefined ? {} : { apis }),
    ...(maxQueued === undefined ? {} : { maxQueued }),
    ...(healthPath === undefined ? {} : { healthPath }),
  };
}

/** Converts a pause request from its wire format. */
export function pauseFromWire({
  retry_after_seconds: retryAfterSeconds,
  hold_seconds,
  reason,
}: WirePause): PauseOptions {
  return { retryAfterSeconds, holdMs: hold_seconds * 1000, ...(reason === undefined ? {} : { reason }) };
}

/** The state of an upstream for administrators, without its key and headers. */
export function upstreamToWire(upstream: UpstreamState): JsonObject {
  return {
    id: upstream.id,
    base_url: upstream.baseUrl,
    model: upstream.model,
    up: upstream.isUp,
    last_failure: upstream.lastFailure,
    token_ids: upstream.tokenIds,
    key_rejections: upstream.keyRejections,
    in_flight: upstream.inFlight,
    queued: upstream.queued,
  };
}

/** The state of the gateway. */
export function stateToWire({ isPaused, reason, inFlight }: GatewayState): JsonObject {
  return { paused: isPaused, reason, in_flight: inFlight };
}
