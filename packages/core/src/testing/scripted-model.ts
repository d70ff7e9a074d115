import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import type { JsonObject } from '../json.ts';
import { completionBody, completionChunks, prepareAnswer } from './scripted-model-answer.ts';
import { readRequest, type ScriptedCall } from './scripted-model-request.ts';
import type { ScriptedAnswer, ScriptedFailure, ScriptedRequest, ScriptedStep } from './scripted-model-step.ts';

/** A function that answers every request, however many come. */
export type ScriptedModelScript = (request: ScriptedRequest) => ScriptedAnswer | ScriptedFailure;

/**
 * A model for tests: a real HTTP server that speaks OpenAI's Chat Completions, streamed and not, with
 * tools, log-probabilities and vLLM's `return_token_ids`, and that says what a script tells it to.
 *
 * It refuses what a real server refuses (bad JSON, no messages, an unknown role, a tool result that answers
 * nothing). {@link ScriptedModel.close} throws when the agent made a call that the script does not have, or
 * left a step unused.
 *
 * @example
 * ```ts
 * await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 }), answer('5')]);
 * const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'none' });
 * ```
 */
export class ScriptedModel implements AsyncDisposable {
  readonly #server: Server;
  readonly #script: readonly ScriptedStep[] | ScriptedModelScript;
  readonly #requests: ScriptedRequest[] = [];
  readonly #problems: string[] = [];
  #disconnects = 0;
  #onDisconnect: (() => void)[] = [];

  private constructor(script: readonly ScriptedStep[] | ScriptedModelScript) {
    this.#script = script;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#problems.push(`the script threw: ${String(error)}`);
        sendError(response, { status: 500, message: String(error) });
      });
    });
  }

  /** Starts a model on a free port. A list is gone through once, in order; a function answers every request. */
  static async start(script: readonly ScriptedStep[] | ScriptedModelScript): Promise<ScriptedModel> {
    const model = new ScriptedModel(script);
    await new Promise<void>((resolve, reject) => {
      model.#server.once('error', reject);
      model.#server.listen(0, '127.0.0.1', resolve);
    });
    return model;
  }

  /** Up to and with `/v1`. */
  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The requests it took in, in order; those it refused are not among them. */
  get requests(): readonly ScriptedRequest[] {
    return this.#requests;
  }

  /** How many clients went away before their answer was whole. */
  get disconnects(): number {
    return this.#disconnects;
  }

  /** Resolves when so many clients went away before their answer was whole. */
  async waitForDisconnects(count: number): Promise<void> {
    while (this.#disconnects < count) {
      await new Promise<void>((resolve) => {
        this.#onDisconnect.push(resolve);
      });
    }
  }

  /**
   * Stops the server and checks that the script was followed.
   *
   * @throws AgentLightningError VALIDATION when there were calls too many or too few
   */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
    const unused = typeof this.#script === 'function' ? 0 : this.#script.length - this.#requests.length;
    const problems = [...this.#problems, ...(unused > 0 ? [`${unused} steps of the script were not used`] : [])];
    if (problems.length === 0) return;
    throw new AgentLightningError({
      code: 'VALIDATION',
      message: `The script does not fit what the agent did: ${problems.join('; ')}`,
      remedy: 'Change the script or the agent so that every step is one call.',
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.once('close', () => {
      if (response.writableFinished) return;
      this.#disconnects += 1;
      for (const notify of this.#onDisconnect.splice(0)) notify();
    });
    const text = await readText(incoming);
    const path = incoming.url ?? '/';
    if (!path.replace(/\?.*$/, '').endsWith('/chat/completions')) {
      sendError(response, { status: 404, message: `Unknown path ${path}` });
      return;
    }
    if (incoming.method !== 'POST') {
      sendError(response, { status: 405, message: `Method ${incoming.method} not allowed` });
      return;
    }
    const body = readJson(text);
    const call = readRequest(body);
    if (body === null || 'problem' in call) {
      sendError(response, { status: 400, message: 'problem' in call && body !== null ? call.problem : 'Invalid JSON' });
      return;
    }
    const index = this.#requests.length;
    const request = { index, path, headers: plainHeaders(incoming), body, messages: call.messages };
    const step = this.#nextStep(request);
    if (step === null) {
      const message = `call ${index + 1} is not in the script: ${JSON.stringify(call.messages.at(-1))}`;
      this.#problems.push(message);
      sendError(response, { status: 400, message });
      return;
    }
    this.#requests.push(request);
    const decided = typeof step === 'function' ? step(request) : step;
    if (decided.type === 'failure') sendError(response, decided);
    else await sendAnswer(response, { step: decided, call, index });
  }

  #nextStep(request: ScriptedRequest): ScriptedStep | null {
    return typeof this.#script === 'function' ? this.#script : (this.#script[request.index] ?? null);
  }
}

interface Reply {
  readonly step: ScriptedAnswer;
  readonly call: ScriptedCall;
  readonly index: number;
}

async function sendAnswer(response: ServerResponse, { step, call, index }: Reply): Promise<void> {
  const prepared = prepareAnswer(step, call, index);
  const gone = new Promise((resolve) => response.once('close', resolve));
  const pause = (): Promise<unknown> => Promise.race([step.until, gone]);
  if (step.until !== undefined && (!call.isStreamed || (step.pauseAfterChunks ?? 0) === 0)) await pause();
  if (step.cutAfterChunks === 0) {
    response.destroy();
    return;
  }
  if (!call.isStreamed) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completionBody(prepared)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const [position, chunk] of completionChunks(prepared).entries()) {
    if (position > 0 && position === step.pauseAfterChunks) await pause();
    if (response.destroyed) return;
    if (position === step.errorAfterChunks) {
      response.end(`data: ${JSON.stringify({ error: { message: 'scripted stream error', code: 500 } })}\n\n`);
      return;
    }
    await written(response, `data: ${JSON.stringify(chunk)}\n\n`);
    if (position + 1 === step.cutAfterChunks) {
      response.destroy();
      return;
    }
  }
  response.end('data: [DONE]\n\n');
}

/** Resolves when the text is on its way, so that a connection that is cut has sent what came before. */
function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    response.write(text, () => resolve());
  });
}

function sendError(
  response: ServerResponse,
  error: { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> },
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const type = error.status < 500 ? 'invalid_request_error' : 'server_error';
  response
    .writeHead(error.status, { 'content-type': 'application/json', ...error.headers })
    .end(JSON.stringify({ error: { message: error.message, type, param: null, code: null } }));
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function readJson(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    // The server answers 400 to a body that is no JSON.
    return null;
  }
}

function plainHeaders(incoming: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
