import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

/** What the server does to one request besides responding. */
export type ServerFault = 'drop-before' | 'drop-after' | 'unavailable';

/** How the job of a test ends. */
export type JobEnding = 'succeeded' | 'failed' | 'cancelled';

interface StoredFile {
  readonly id: string;
  readonly filename: string;
  readonly content: string;
}

interface StoredJob {
  readonly id: string;
  readonly training_file: string;
  readonly model: string;
  readonly method: unknown;
  polls: number;
}

const message = z.looseObject({ role: z.string() });
const lineSchemas = {
  supervised: z.strictObject({ messages: z.array(message).min(2), tools: z.unknown().optional() }),
  dpo: z.strictObject({
    input: z.strictObject({ messages: z.array(message).min(1), tools: z.unknown().optional() }),
    preferred_output: z.array(message).min(1),
    non_preferred_output: z.array(message).min(1),
  }),
} as const;

const epochs = z.union([z.literal('auto'), z.int().min(1)]).optional();
const jobSchema = z.strictObject({
  model: z.string(),
  training_file: z.string(),
  seed: z.int().min(0).max(2147483647).optional(),
  method: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('supervised'),
      supervised: z.strictObject({ hyperparameters: z.strictObject({ n_epochs: epochs }) }),
    }),
    z.strictObject({
      type: z.literal('dpo'),
      dpo: z.strictObject({
        hyperparameters: z.strictObject({ n_epochs: epochs, beta: z.number().gt(0).max(2).optional() }),
      }),
    }),
  ]),
});

/** The fine-tuning API of a vendor, which refuses what OpenAI refuses. */
export class FineTuningServer {
  readonly files: StoredFile[] = [];
  readonly jobs: StoredJob[] = [];
  /** Faults of the next requests, by method and path. */
  readonly faults: Map<string, ServerFault[]> = new Map();
  ending: JobEnding = 'succeeded';
  /** Number of polls after which a job ends. */
  pollsToEnd = 2;
  readonly #server = createServer((request, response) => void this.#handle(request, response));

  /** Starts the server on a free port. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://server');
    const key = `${request.method} ${pathname.replace('/v1', '')}`;
    const fault = this.faults.get(key)?.shift();
    if (fault === 'drop-before') return void request.destroy();
    if (fault === 'unavailable') return send(response, 503, problem('overloaded'));
    const [status, body] = await this.#respond(key, request);
    if (fault === 'drop-after') return void response.destroy();
    send(response, status, body);
  }

  async #respond(key: string, request: IncomingMessage): Promise<readonly [status: number, body: object]> {
    if (request.headers.authorization !== 'Bearer vendor-key') return [401, problem('Incorrect API key provided')];
    const jobPath = /^GET \/fine_tuning\/jobs\/([^/]+)(\/events)?$/.exec(key);
    if (jobPath !== null) return this.#readJob(jobPath[1] ?? '', jobPath[2] !== undefined);
    switch (key) {
      case 'POST /files':
        return await this.#upload(request);
      case 'GET /files':
        return [200, { object: 'list', data: this.files.map(fileObject), has_more: false }];
      case 'POST /fine_tuning/jobs':
        return this.#createJob(await text(request));
      case 'GET /fine_tuning/jobs':
        return [200, { object: 'list', data: this.jobs.map((job) => this.#jobObject(job)), has_more: false }];
      default:
        return [404, problem(`Unknown request URL: ${key}`)];
    }
  }

  async #upload(request: IncomingMessage): Promise<readonly [number, object]> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    const form = await new Response(Buffer.concat(chunks), { headers }).formData();
    const file = form.get('file');
    if (form.get('purpose') !== 'fine-tune') return [400, problem("'purpose' must be fine-tune")];
    if (!(file instanceof File)) return [400, problem("'file' is missing")];
    const stored = { id: `file-${this.files.length + 1}`, filename: file.name, content: await file.text() };
    this.files.push(stored);
    return [200, fileObject(stored)];
  }

  #createJob(body: string): readonly [number, object] {
    const parsed = jobSchema.safeParse(JSON.parse(body));
    if (!parsed.success) return [400, problem(parsed.error.message)];
    const { training_file: fileId, model, method } = parsed.data;
    const file = this.files.find(({ id }) => id === fileId);
    if (file === undefined) return [400, problem(`No such file: ${fileId}`)];
    if (model !== 'gpt-4.1-mini-2025-04-14') return [400, problem(`Model ${model} is not available for fine-tuning`)];
    const lines = file.content.trim().split('\n');
    if (lines.length < 10)
      return [400, problem(`Training file has ${lines.length} example(s), but must have at least 10`)];
    for (const line of lines) {
      const checked = lineSchemas[method.type].safeParse(JSON.parse(line));
      if (!checked.success) return [400, problem(`Invalid file format: ${checked.error.message}`)];
    }
    const job = { id: `ftjob-${this.jobs.length + 1}`, training_file: fileId, model, method, polls: 0 };
    this.jobs.push(job);
    return [200, this.#jobObject(job)];
  }

  #readJob(id: string, isEvents: boolean): readonly [number, object] {
    const job = this.jobs.find((each) => each.id === id);
    if (job === undefined) return [404, problem(`No such job: ${id}`)];
    if (isEvents) return [200, { object: 'list', data: this.#events(job), has_more: false }];
    job.polls += 1;
    return [200, this.#jobObject(job)];
  }

  /** The newest first. */
  #events({ id, polls }: StoredJob): readonly object[] {
    return Array.from({ length: polls }, (_, index) => ({
      object: 'fine_tuning.job.event',
      id: `ftevent-${id}-${index + 1}`,
      created_at: 1_780_000_000 + index,
      level: 'info',
      message: `Step ${index + 1}: training loss=${(2 / (index + 1)).toFixed(2)}`,
      type: 'metrics',
      data: { step: index + 1, train_loss: 2 / (index + 1) },
    })).reverse();
  }

  #jobObject({ polls, ...job }: StoredJob): object {
    const status = polls === 0 ? 'validating_files' : polls < this.pollsToEnd ? 'running' : this.ending;
    return {
      object: 'fine_tuning.job',
      ...job,
      status,
      fine_tuned_model: status === 'succeeded' ? `ft:${job.model}:acme::${job.id}` : null,
      error: status === 'failed' ? { code: 'invalid_training_file', message: 'The job failed', param: null } : null,
    };
  }
}

function fileObject({ id, filename, content }: StoredFile): object {
  return { object: 'file', id, filename, purpose: 'fine-tune', bytes: content.length, status: 'processed' };
}

function problem(text: string): object {
  return { error: { message: text, type: 'invalid_request_error', param: null, code: null } };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
