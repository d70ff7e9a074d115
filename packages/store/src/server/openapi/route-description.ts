import type { z } from 'zod';

/** What a route is for, what it takes and what it answers: what the OpenAPI document says of it. */
export interface RouteDescription {
  readonly method: 'get' | 'post';
  /** From the root, as the router has it: `/v1/agl/rollouts/:rolloutId`. */
  readonly path: string;
  readonly summary: string;
  /** What it is about. */
  readonly tag: string;
  /** Whether the protocol of Agent Lightning 0.3 has it too. @default false */
  readonly isInProtocol?: boolean;
  /** The shape of its parameters. */
  readonly query?: z.ZodType;
  /** The shape of its body, in JSON, by its name in the document. */
  readonly body?: string;
  /** Whether it may come without its body. @default false */
  readonly isBodyOptional?: boolean;
  /** Whether a request with an `Idempotency-Key` has one effect, however often it is sent. @default false */
  readonly isOnce?: boolean;
  /** The shape of its answer, in JSON, by its name in the document. */
  readonly answer?: string;
  /** @default 200 */
  readonly status?: 200 | 201 | 501;
  /** Media types beside, or instead of, JSON; what they carry has no shape in JSON. */
  readonly otherTypes?: { readonly body?: readonly string[]; readonly answer?: readonly string[] };
}
