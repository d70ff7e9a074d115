import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** What the planted models may differ in. */
export interface PlantedOptions {
  /** Error rate of the task model, in both directions. @default 0.1 */
  readonly noise?: number;
  /** `informed` writes the rule that a transcript misses; `random` any of a hundred. @default 'informed' */
  readonly optimizer?: 'informed' | 'random';
  /** Handles a request; null leaves it to the models. @default none */
  readonly disturb?: (request: PlantedRequest) => { readonly status: number; readonly body: object } | null;
}

/** A request as the models saw it. */
export interface PlantedRequest {
  readonly model: 'task-model' | 'optimizer-model';
  readonly text: string;
  /** The rollout, as the agent says who is asking; empty for the optimiser. */
  readonly user: string;
  readonly body: string;
}

/** The key that the models ask for. */
export const plantedKey = 'sk-planted';

/** The fields that the API knows; the real one refuses others too. */
const requestSchema = z.strictObject({
  model: z.string(),
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().min(1) }))
    .min(1),
  temperature: z.number().min(0).max(2).optional(),
  user: z.string().optional(),
  max_tokens: z.int().min(1).optional(),
});

/**
 * An OpenAI-compatible server with two models, for a world in which the best prompt is known: the task model does what it
 * is asked when its prompt has the rule that the task needs, the optimiser model writes rules into prompts. It refuses
 * what the real API would.
 */
export class PlantedModels implements AsyncDisposable {
  readonly requests: PlantedRequest[] = [];
  readonly #options: PlantedOptions;
  readonly #server = createServer((request, response) => void this.#respond(request, response));

  constructor(options: PlantedOptions = {}) {
    this.#options = options;
  }

  static async start(options: PlantedOptions = {}): Promise<PlantedModels> {
    const models = new PlantedModels(options);
    models.#server.listen(0, '127.0.0.1');
    await once(models.#server, 'listening');
    return models;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  requestsOf(model: PlantedRequest['model']): readonly PlantedRequest[] {
    return this.requests.filter((request) => request.model === model);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { status, body } = this.#outcome(request, Buffer.concat(chunks).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #outcome(request: IncomingMessage, body: string): { readonly status: number; readonly body: object } {
    if (request.headers.authorization !== `Bearer ${plantedKey}`) return refusal(401, 'Incorrect API key provided.');
    if (request.url === '/v1/models') return { status: 200, body: { object: 'list', data: [] } };
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') return refusal(404, 'Unknown URL.');
    const parsed = requestSchema.safeParse(JSON.parse(body));
    if (!parsed.success) return refusal(400, z.prettifyError(parsed.error));
    const { model, messages, user = '' } = parsed.data;
    if (model !== 'task-model' && model !== 'optimizer-model')
      return refusal(404, `The model ${model} does not exist.`);
    const seen: PlantedRequest = { model, user, body, text: messages.map(({ content }) => content).join('\n') };
    this.requests.push(seen);
    const disturbed = this.#options.disturb?.(seen) ?? null;
    if (disturbed !== null) return disturbed;
    return completion(seen, model === 'task-model' ? this.#solve(seen) : this.#optimize(seen.text));
  }

  #solve({ text, user }: PlantedRequest): string {
    const [, rule = ''] = /needs (RULE-\d+)/.exec(text) ?? [];
    const isKnown = text.includes(`${rule};`);
    const isFlipped = chanceOf(user) < (this.#options.noise ?? 0.1);
    return isKnown === isFlipped ? `I lack ${rule};` : 'Done.';
  }

  #optimize(text: string): string {
    const [, prompt = ''] = /The (?:prompt|description of the tool) "\w+":\n\n([\s\S]*?)\n\nWhat /.exec(text) ?? [];
    if (this.#options.optimizer === 'random') {
      return `<prompt>${prompt}\nRULE-${Math.floor(chanceOf(text) * 100)};</prompt>`;
    }
    const lacking = [...text.matchAll(/lack (RULE-\d+;)/g)].map(([, rule = '']) => rule);
    if (!text.includes('<prompt>'))
      return lacking.map((rule) => `The agents lack ${rule}`).join('\n') || 'All is well.';
    const rule = lacking.find((found) => !prompt.includes(found));
    return `<prompt>\n${prompt}${rule === undefined ? '' : `\n${rule}`}\n</prompt>`;
  }
}

/** A number from 0 to 1 that follows from a text. */
function chanceOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

function refusal(status: number, message: string): { readonly status: number; readonly body: object } {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } };
}

function completion(
  { model, text }: PlantedRequest,
  content: string,
): { readonly status: number; readonly body: object } {
  const usage = {
    prompt_tokens: text.length,
    completion_tokens: content.length,
    total_tokens: text.length + content.length,
  };
  const message = { role: 'assistant', content, refusal: null };
  const id = `chatcmpl-${createHash('sha256').update(`${text}/${content}/${process.hrtime.bigint()}`).digest('hex').slice(0, 16)}`;
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
  return { status: 200, body: { id, object: 'chat.completion', created: 1, model, choices, usage } };
}
