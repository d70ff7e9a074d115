import { randomUUID } from 'node:crypto';
import type { Clock } from '@agentlightning/core';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';

interface Session {
  readonly id: string;
  readonly clientKey: string;
  lastSeenMs: number;
}

/** The connected clients. A session expires without heartbeats. */
export class SessionRegistry {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #ttlMs: number;

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** Opens a session, or returns the active one of the same client key. */
  open(clientKey: string): string {
    this.#removeExpired();
    for (const session of this.#sessions.values()) {
      if (session.clientKey === clientKey) {
        session.lastSeenMs = this.#clock.now();
        return session.id;
      }
    }
    const id = randomUUID();
    this.#sessions.set(id, { id, clientKey, lastSeenMs: this.#clock.now() });
    return id;
  }

  /**
   * Records activity.
   * @throws RuntimeError SESSION_EXPIRED when the session does not exist (any more)
   */
  touch(id: string): void {
    this.#removeExpired();
    const session = this.#sessions.get(id);
    if (session === undefined) {
      throw new RuntimeError({
        reason: ErrorReason.SESSION_EXPIRED,
        message: `Session "${id}" is unknown: it expired, was closed, or the runtime was restarted`,
      });
    }
    session.lastSeenMs = this.#clock.now();
  }

  /** Expiry of a session without further heartbeats, in Unix milliseconds; undefined when it has ended. */
  livesUntilMs(id: string): number | undefined {
    const session = this.#sessions.get(id);
    return session === undefined ? undefined : session.lastSeenMs + this.#ttlMs;
  }

  /** Ends a session, if it exists. */
  close(id: string): void {
    this.#sessions.delete(id);
  }

  #removeExpired(): void {
    const oldest = this.#clock.now() - this.#ttlMs;
    for (const session of this.#sessions.values()) {
      if (session.lastSeenMs < oldest) this.#sessions.delete(session.id);
    }
  }
}
