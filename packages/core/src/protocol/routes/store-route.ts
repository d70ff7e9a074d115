import type { z } from 'zod';
import type { Page } from '../../store/queries.ts';
import type { Store } from '../../store/store.ts';
import type { AccessRight } from '../access/access-rights.ts';
import { pageCodec } from '../wire/wire-page.ts';

/** Maximum number of rollouts, spans or metrics of a request, each of which the server writes. */
export const maxBatchItems = 1000;

/**
 * One route of the store protocol: the server's route, the client's request, the access check and the OpenAPI document
 * derive from it.
 */
export interface StoreRoute<TInput = unknown, TOutput = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The absolute pattern, such as `/v1/agl/rollouts/:rolloutId`. */
  readonly path: string;
  /** The right that it requires. */
  readonly right: AccessRight;
  readonly summary: string;
  /** Whether it is part of the Agent Lightning 0.3 protocol. @default false */
  readonly isInProtocol?: boolean;
  /** Codec of the URL parameters. */
  readonly query?: z.ZodType<TInput>;
  /** Codec of the JSON body. */
  readonly body?: z.ZodType<TInput>;
  /** Whether the body is optional. @default false */
  readonly isBodyOptional?: boolean;
  /** Fields of the body that can be absent but not null, with the protocol's error for it. @default none */
  readonly notNull?: readonly string[];
  /** Maximum number of items of a list in the body. @default 20000, enough for ids */
  readonly maxItems?: number;
  /**
   * Whether `Idempotency-Key` is supported. `key`: a repeated request has another effect, and the client sends a key.
   * `inherent`: a repeated request has the same effect. @default no support
   */
  readonly idempotency?: 'key' | 'inherent';
  /** Codec of the JSON response. */
  readonly response?: z.ZodType<TOutput>;
  /** Codec of the items of a list, which are streamed page by page. */
  readonly item?: z.ZodType;
  /** @default 200 */
  readonly status?: 200 | 201;
  /** Additional time that the client waits for the response to a long operation, in milliseconds. @default 0 */
  readonly waitMs?: number;
  /** Media types besides or instead of JSON, without a schema. */
  readonly otherTypes?: { readonly body?: readonly string[]; readonly response?: readonly string[] };
}

/** Operations whose requests do not map directly to their arguments. */
type SpecialOperation =
  | 'claimRollouts'
  | 'waitForRollouts'
  | 'watchChanges'
  | 'appendSpans'
  | 'getResources'
  | 'revokeAttemptToken'
  | 'exportRun'
  | 'importRun'
  | 'close';

/** Operations of a store whose arguments are the path parameters of their route, followed by its input. */
export type OperationName = Exclude<keyof Store, SpecialOperation>;

type Last<TArguments extends readonly unknown[]> = TArguments extends readonly [...unknown[], infer TLast]
  ? TLast
  : never;
type Tail<TArguments extends readonly unknown[]> = TArguments extends readonly [unknown, ...infer TRest]
  ? TRest
  : never;
type InputOf<TArguments extends readonly unknown[]> =
  | Last<Required<TArguments>>
  | Readonly<TArguments>
  | Readonly<Tail<TArguments>>
  | undefined;

/** The route of an operation. Its input is the last argument, or all arguments that are not in the path. */
export interface OperationRoute<TName extends OperationName>
  extends StoreRoute<InputOf<Parameters<Store[TName]>>, ResultOf<TName>> {
  /** Whether its input is a list of arguments. @default false */
  readonly isSpread?: boolean;
}

type ResultOf<TName extends OperationName> = Awaited<ReturnType<Store[TName]>>;

/** The names of the parameters in the path of a route, in order. */
export function pathParameters({ path }: Pick<StoreRoute, 'path'>): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** Method, path and required right of a route. */
export type RouteHead = Pick<StoreRoute, 'method' | 'path' | 'right' | 'isInProtocol'>;

/** A GET route below `/v1/agl`, an extension of the Agent Lightning 0.3 protocol. */
export function get(path: string, right: AccessRight): RouteHead {
  return { method: 'GET', path: `/v1/agl${path}`, right };
}

/** As {@link get}, with POST. */
export function post(path: string, right: AccessRight): RouteHead {
  return { ...get(path, right), method: 'POST' };
}

/** {@link get} and {@link post} for the routes of the original protocol. */
export const original: { readonly get: typeof get; readonly post: typeof post } = {
  get: (path, right) => ({ ...get(path, right), isInProtocol: true }),
  post: (path, right) => ({ ...post(path, right), isInProtocol: true }),
};

/** The response of a list route. */
export function list<TItem>(item: z.ZodType<TItem>): {
  readonly item: z.ZodType<TItem>;
  readonly response: z.ZodType<Page<TItem>>;
} {
  return { item, response: pageCodec(item) };
}
