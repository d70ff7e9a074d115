import type { AgentLightningError } from '@agentlightning/core';
import * as z from 'zod';
import { lostBy, operationFailure, refusal, type TinkerReply } from './server-refusal.ts';
import { type PostOptions, protobufType, readAs, readJson, type TinkerHttp } from './tinker-http.ts';

/**
 * How a server is spoken to. `json`: like the SDK up to 0.24; `binary`: like 0.25, passes are binary messages; `sequences`: like
 * 0.38, which names the samples of a request and creates models by loading.
 */
export type Dialect = 'json' | 'binary' | 'sequences';

/** Limits of one request with a pass. */
export interface PassLimits {
  readonly maxData: number;
  readonly maxBytes: number;
}

/** Statuses of a request for something that the server does not know. */
const lostStatuses: ReadonlySet<number> = new Set([404, 410]);

/** Time limit of one poll of a result, in milliseconds: a server holds it for up to 30 seconds. */
const pollTimeoutMs = 45_000;

/** Pause between polls of a server that does not hold them, in milliseconds. */
const pollPauseMs = 50;

const polling: PostOptions = { accept: `${protobufType}, application/json`, timeoutMs: pollTimeoutMs };

const promiseSchema = z.looseObject({ request_id: z.union([z.string(), z.number()]) });
const pendingSchema = z.union([
  z.looseObject({ type: z.literal('try_again') }),
  z.looseObject({ status: z.literal('complete_metadata') }),
]);
const failureSchema = z.looseObject({ error: z.string(), category: z.string().optional() });

/** What the requests of a session share: the connection, the dialect, and the promises of results. */
export class TinkerLink {
  readonly http: TinkerHttp;
  readonly limits: PassLimits;
  /** Called when the server has lost the models of the session. */
  readonly #onLost: (error: AgentLightningError) => void;
  /** How the server is spoken to; null until a pass has shown it. */
  dialect: Dialect | null = null;
  #samplingSessions = 0;

  constructor(http: TinkerHttp, limits: PassLimits, onLost: (error: AgentLightningError) => void) {
    this.http = http;
    this.limits = limits;
    this.#onLost = onLost;
  }

  /** Sends a request for a model or a session that the server has created. @throws AgentLightningError RUNTIME_UNAVAILABLE when it is lost */
  async onCreated(path: string, send: () => Promise<TinkerReply>): Promise<TinkerReply> {
    const reply = await send();
    if (!lostStatuses.has(reply.status)) return reply;
    throw this.lost(refusal(path, reply));
  }

  /** Reports that the server has lost the models of the session. */
  lost(cause: AgentLightningError): AgentLightningError {
    const error = lostBy(cause);
    this.#onLost(error);
    return error;
  }

  /** The number of the next sampling session. */
  nextSamplingSession(): number {
    this.#samplingSessions += 1;
    return this.#samplingSessions - 1;
  }

  /**
   * Submits a request and waits for its result. A request whose promise the server has lost is submitted again.
   *
   * @param path - for messages
   * @param submit - sends the request, with the same content each time
   */
  async result(path: string, submit: () => Promise<TinkerReply>): Promise<TinkerReply> {
    return await this.resultOf(path, requestIdOf(path, await submit()), submit);
  }

  /** Waits for the result of a submitted request. */
  async resultOf(path: string, requestId: string, submit: () => Promise<TinkerReply>): Promise<TinkerReply> {
    const { clock } = this.http;
    let id = requestId;
    for (;;) {
      const startedAt = clock.now();
      const reply = await this.http.post('retrieve_future', { request_id: id, allow_metadata_only: false }, polling);
      if (reply.isBinary) return reply;
      if (reply.status === 410) {
        id = requestIdOf(path, await submit());
        continue;
      }
      const value = readJson(reply, path);
      const failure = failureSchema.safeParse(value);
      if (failure.success) throw operationFailure(path, failure.data.error, failure.data.category === 'user');
      if (!pendingSchema.safeParse(value).success) return reply;
      if (clock.now() - startedAt < pollPauseMs) await clock.sleep(pollPauseMs, this.http.closing);
    }
  }
}

/** The promise of a submitted request. @throws AgentLightningError for a refusal */
export function requestIdOf(path: string, reply: TinkerReply): string {
  if (reply.status >= 400) throw refusal(path, reply);
  return String(readAs(promiseSchema, readJson(reply, path), `the promise of ${path}`).request_id);
}
