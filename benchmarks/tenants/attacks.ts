import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { StoreClient } from '@agentlightning/core/store-client';

/** Sends one of the most expensive requests that a key or an agent's token permits, and returns the status of the response. */
export type Attack = () => Promise<number>;

/** The holder of a trainer key of a project. */
export interface Attacker {
  readonly url: string;
  readonly key: string;
}

/** Requests at the limits of the server, by name: those that it serves, and those that it rejects at a bound. */
export function attacksOf(attacker: Attacker): Readonly<Record<string, Attack>> {
  const requests = new ExpensiveRequests(attacker);
  const tokens = Array.from({ length: 450_000 }, (_, index) => (index * 7919) % 150_000);
  const words = 'word '.repeat(1500);
  const zeros = `{"spans":[${'0,'.repeat(4_000_000)}0]}`;
  const events = Array(400_000).fill(0);
  const emptySpans = Uint8Array.from(gzipSync(Buffer.alloc(30_000_000, Buffer.from([0x12, 0]))));
  const batch = (count: number, more: object = {}): Attack => {
    return () => requests.spans((span) => JSON.stringify({ spans: Array.from({ length: count }, () => span(more)) }));
  };
  return {
    'a span of 450,000 numbers': batch(1, { attributes: { tokens } }),
    'a batch of 1,000 spans': batch(1000),
    'spans with 7 MB of text': batch(1000, { attributes: { words } }),
    'a list of 4,000,000 numbers': () => requests.spans(() => zeros),
    'a span of 400,000 events': batch(1, { events }),
    'an OTLP body of 30 MB, compressed to 30 kB': () =>
      requests.send('/v1/traces', emptySpans, { headers: { 'content-type': 'application/x-protobuf', ...gzipped } }),
    '1,000 rollouts': () => requests.enqueue('x'),
    '1,000 rollouts with 30 kB each': () => requests.enqueue('x'.repeat(30_000)),
    'a list of all rollouts': () => requests.send('/v1/agl/rollouts?limit=-1', null),
    'a data set of 8 MB, and a run': () => requests.dataSetAndRun(),
    'a model call with 30 MB': () => requests.modelCall('word '.repeat(6_000_000)),
  };
}

const gzipped = { 'content-encoding': 'gzip' };

/** The requests of an attacker. */
class ExpensiveRequests {
  readonly #attacker: Attacker;
  readonly #client: StoreClient;
  #spans = 0;

  constructor(attacker: Attacker) {
    this.#attacker = attacker;
    this.#client = new StoreClient({ baseUrl: attacker.url, apiKey: attacker.key });
  }

  /** Sends a POST request, or a GET request without a body. */
  async send(
    path: string,
    body: string | Uint8Array<ArrayBuffer> | null,
    { token = this.#attacker.key, headers = {}, method = body === null ? 'GET' : 'POST' }: SendOptions = {},
  ): Promise<number> {
    const response = await fetch(`${this.#attacker.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** Sends spans with the token of an agent. Each request has a separate attempt: the quota of one would end it soon. */
  async spans(bodyOf: (span: (more: object) => object) => string): Promise<number> {
    const { rolloutId, attemptId, token } = await this.#startAttempt();
    const ids = { rollout_id: rolloutId, attempt_id: attemptId, trace_id: 'a', name: 'x' };
    const parts = { status: { status_code: 'OK' }, attributes: { a: 'b' }, events: [], links: [] };
    const body = bodyOf((more) => {
      this.#spans += 1;
      return { ...ids, ...parts, span_id: `s${this.#spans}`, ...more };
    });
    return this.send('/v1/agl/spans/batch', body, { token });
  }

  /** Enqueues 1,000 rollouts. */
  enqueue(input: unknown): Promise<number> {
    return this.send('/v1/agl/queues/rollouts/enqueue', JSON.stringify({ rollouts: Array(1000).fill({ input }) }));
  }

  async dataSetAndRun(): Promise<number> {
    const text = `${JSON.stringify({ question: 'a'.repeat(100) })}\n`.repeat(70_000);
    const digest = createHash('sha256').update(text).digest('hex');
    const query = `offset=0&total_bytes=${text.length}`;
    await this.send(`/v1/server/datasets/${digest}?${query}`, text, { method: 'PUT' });
    const training = { algorithm: { type: 'grpo', groupSize: 2 }, steps: 1, tasksPerStep: 1 };
    return this.send('/v1/server/runs', JSON.stringify({ data: { train: digest, test: digest }, training }));
  }

  async modelCall(content: string): Promise<number> {
    const { rolloutId, attemptId, token } = await this.#startAttempt();
    const path = `/rollout/${rolloutId}/attempt/${attemptId}/v1/chat/completions`;
    return this.send(path, JSON.stringify({ model: 'x', messages: [{ role: 'user', content }] }), { token });
  }

  async #startAttempt(): Promise<{ readonly rolloutId: string; readonly attemptId: string; readonly token: string }> {
    const { rolloutId, attempt } = await this.#client.startRollout({ input: 1 });
    const { attemptId } = attempt;
    return { rolloutId, attemptId, token: await this.#client.createAttemptToken({ rolloutId, attemptId }) };
  }
}

interface SendOptions {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
