import { AgentLightningError } from '@agentlightning/core';
import type { RunnerStore } from '../runner-store.ts';
import { errorFromIpc } from './ipc-error.ts';
import type { SupervisorCalls, SupervisorMessage, SupervisorMethod, WorkerMessage } from './worker-messages.ts';

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The supervisor, from within a worker process: the store and the creator of attempt tokens. */
export class SupervisorClient {
  readonly store: RunnerStore;
  readonly #send: (message: WorkerMessage) => void;
  readonly #pending = new Map<number, PendingCall>();
  #lastId = 0;

  constructor(send: (message: WorkerMessage) => void) {
    this.#send = send;
    this.store = {
      claimRollouts: ({ signal, ...options } = {}) => this.#call('claimRollouts', [options], signal),
      getRollout: (...args) => this.#call('getRollout', args),
      updateRollout: (...args) => this.#call('updateRollout', args),
      getLatestAttempt: (...args) => this.#call('getLatestAttempt', args),
      updateAttempt: (...args) => this.#call('updateAttempt', args),
      getResources: (...args) => this.#call('getResources', args),
      getLatestResources: (...args) => this.#call('getLatestResources', args),
      querySpans: (...args) => this.#call('querySpans', args),
      appendSpans: (...args) => this.#call('appendSpans', args),
    };
  }

  readonly createAttemptToken: SupervisorCalls['createAttemptToken'] = (request) =>
    this.#call('createAttemptToken', [request]);

  /** Settles the call that a message is the result of. */
  settle(message: Extract<SupervisorMessage, { readonly type: 'result' | 'error' }>): void {
    const call = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.type === 'result') call?.resolve(message.value);
    else call?.reject(errorFromIpc(message.error));
  }

  async #call<TMethod extends SupervisorMethod>(
    method: TMethod,
    args: Parameters<SupervisorCalls[TMethod]>,
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<SupervisorCalls[TMethod]>>> {
    this.#lastId += 1;
    const id = this.#lastId;
    const cancel = (): void => this.#send({ type: 'cancel', id });
    const result = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    try {
      this.#send({ type: 'call', id, method, args: [...args] });
    } catch (cause) {
      this.#pending.delete(id);
      const message = `${method} cannot be sent to the supervisor: ${String(cause)}`;
      throw new AgentLightningError({ code: 'VALIDATION', message, cause });
    }
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    try {
      // The supervisor returns what the method of the store returned.
      return (await result) as Awaited<ReturnType<SupervisorCalls[TMethod]>>;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }
}
