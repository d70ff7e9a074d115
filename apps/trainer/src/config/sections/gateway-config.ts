import type { Secret } from '@agentlightning/core/settings';
import { z } from 'zod';
import { secretSchema } from '../environment.ts';

/** The gateway between agents and models. */
export interface GatewayConfig {
  /** Base URL of an external gateway. @default a gateway in this process */
  readonly url?: string;
  /**
   * Secret that signs attempt tokens, the credentials of agents. An external gateway requires the same secret. For rotation,
   * give several, separated by commas: the first one signs. @default a random secret in `run.dataDir`, for a gateway in this
   * process; none with an external gateway
   */
  readonly tokenSecret?: Secret;
  /**
   * Additional field names that the gateway of this process redacts in recorded request and response bodies. @default only
   * common names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /**
   * Idle timeout within a response of a model server to the gateway of this process, in milliseconds.
   *
   * @default 600000
   */
  readonly upstreamTimeoutMs?: number;
  /**
   * Timeout of the first byte of a response to the gateway of this process, in milliseconds; the call then fails over to
   * another model server. The first byte of a response that is not streamed arrives when it is complete.
   *
   * @default with several model servers, four times the longest of their recent responses, at least 15 s; else
   * upstreamTimeoutMs
   */
  readonly firstByteTimeoutMs?: number;
}

/** The settings of the gateway with their defaults. */
export interface GatewaySettings {
  /** Null for a gateway in this process. */
  readonly url: string | null;
  readonly tokenSecret: string | null;
  readonly secretFields: readonly string[];
  readonly upstreamTimeoutMs: number;
  /** Null: by the times of the model servers. */
  readonly firstByteTimeoutMs: number | null;
}

/** Milliseconds, up to the maximum delay of a Node.js timer. */
const timeout = z.int().min(1).max(0x7fffffff);

/** Validates {@link GatewayConfig}. */
export const gatewaySchema: z.ZodType<GatewaySettings> = z.strictObject({
  url: z.url().nullable().default(null),
  tokenSecret: secretSchema.nullable().default(null),
  secretFields: z.array(z.string().min(1)).default([]),
  upstreamTimeoutMs: timeout.default(600_000),
  firstByteTimeoutMs: timeout.nullable().default(null),
});
