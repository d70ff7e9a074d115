import type { z } from 'zod';

/** The description of a route in the OpenAPI document. */
export interface RouteDescription {
  readonly method: 'get' | 'post';
  /** The absolute route pattern, such as `/v1/agl/rollouts/:rolloutId`. */
  readonly path: string;
  readonly summary: string;
  /** Its topic. */
  readonly tag: string;
  /** Whether it is part of the Agent Lightning 0.3 protocol. @default false */
  readonly isInProtocol?: boolean;
  /** The schema of its query parameters. */
  readonly query?: z.ZodType;
  /** The schema name of its JSON body. */
  readonly body?: string;
  /** Whether the body is optional. @default false */
  readonly isBodyOptional?: boolean;
  /** Whether it supports `Idempotency-Key`. @default false */
  readonly isOnce?: boolean;
  /** The schema name of its JSON response. */
  readonly answer?: string;
  /** @default 200 */
  readonly status?: 200 | 201 | 501;
  /** Media types besides or instead of JSON, without a schema. */
  readonly otherTypes?: { readonly body?: readonly string[]; readonly answer?: readonly string[] };
}
