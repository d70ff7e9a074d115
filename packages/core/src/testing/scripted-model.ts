import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { JsonObject } from '../base/json.ts';
import { quantityText } from '../base/quantity-text.ts';
import { embeddingsBody } from './scripted-embeddings.ts';
import { sendCompletion, sendError, sendJson } from './scripted-model-reply.ts';
import { type PreparedResponse, prepareResponse } from './scripted-model-response.ts';
import { type AcceptedRequest, readScriptedRequest, readText } from './scripted-model-route.ts';
import type { ScriptedFailure, ScriptedRequest, ScriptedResponse, ScriptedStep } from './scripted-model-step.ts';

/** A function that responds to every request. */
export type ScriptedModelScript = (request: ScriptedRequest) => ScriptedResponse | ScriptedFailure;

/**
 * A model for tests: an HTTP server with OpenAI's Chat Completions and Responses and Anthropic's Messages, streamed and not, with tools,
 * log-probabilities and vLLM's `return_token_ids`, whose responses come from a script. It also has synthetic,
 * deterministic embeddings, which consume a step. `/models` does not.
 *
 * It rejects what a real server rejects (invalid JSON, missing messages, an unknown role, a tool result without a
 * call). {@link ScriptedModel.close} throws for calls that the script does not have, for unused steps, and for tool calls
 * of a list that are longer than the token limit of the request, unless the step has the finish reason `length`.
 *
 * @example
 * ```ts
 * await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 }), respondWith('5')]);
 * const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'none' });
 * ```
 */
export class ScriptedModel implements AsyncDisposable {
  readonly #server: Server;
  readonly #script: readonly ScriptedStep[] | ScriptedModelScript;
  readonly #requests: ScriptedRequest[] = [];
  readonly #problems: string[] = [];
  readonly #responding: Set<Promise<unknown>> = new Set();
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

  /** Starts a model on a free port. A list is consumed once, in order; a function responds to every request. */
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

  /** Valid requests, in order; rejected ones are not included. */
  get requests(): readonly ScriptedRequest[] {
    return this.#requests;
  }

  /** Number of clients that disconnected before their response was complete. */
  get disconnects(): number {
    return this.#disconnects;
  }

  /** Resolves when this number of clients have disconnected before their response was complete. */
  async waitForDisconnects(count: number): Promise<void> {
    while (this.#disconnects < count) {
      await new Promise<void>((resolve) => {
        this.#onDisconnect.push(resolve);
      });
    }
  }

  /** Resolves when no response is pending. */
  async idle(): Promise<void> {
    await Promise.all(this.#responding);
  }

  /**
   * Stops the server and checks that the script was followed.
   *
   * @throws AgentLightningError VALIDATION for unexpected or missing calls, and for tool calls that were cut
   */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
    const unused = typeof this.#script === 'function' ? 0 : this.#script.length - this.#requests.length;
    const problems = [
      ...this.#problems,
      ...(unused > 0 ? [`${quantityText(unused, 'step')} of the script not used`] : []),
    ];
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
    const closed = new Promise((resolve) => response.once('close', resolve));
    this.#responding.add(closed);
    response.once('close', () => {
      this.#responding.delete(closed);
      if (response.writableFinished) return;
      this.#disconnects += 1;
      for (const notify of this.#onDisconnect.splice(0)) notify();
    });
    const text = await readText(incoming);
    const read = readScriptedRequest(incoming, text);
    if (read.type === 'refusal') sendError(response, read, read.api);
    else if (read.type === 'models') sendJson(response, modelsBody);
    else await this.#respond(read, response);
  }

  async #respond(read: AcceptedRequest, response: ServerResponse): Promise<void> {
    const index = this.#requests.length;
    const request = { ...read.request, index };
    const step = this.#nextStep(request);
    if (step === null) {
      const message = `call ${index + 1} is not in the script: ${lastOf(request)}`;
      this.#problems.push(message);
      sendError(response, { status: 400, message });
      return;
    }
    this.#requests.push(request);
    const decided = typeof step === 'function' ? step(request) : step;
    if (decided.type === 'failure') sendError(response, decided, request.api);
    else if (read.embeddings !== null) sendJson(response, embeddingsBody(read.embeddings));
    else {
      const prepared = prepareResponse(decided, read.call, index);
      this.#checkToolCalls(decided, prepared);
      await sendCompletion(response, { step: decided, prepared, api: request.api });
    }
  }

  /** A tool call that the token limit cuts is left out, which a list hardly intends without a finish reason. */
  #checkToolCalls(
    { toolCalls = [], finishReason }: ScriptedResponse,
    { index, call, toolCalls: sent }: PreparedResponse,
  ): void {
    if (typeof this.#script === 'function' || sent.length === toolCalls.length || finishReason === 'length') return;
    const names = toolCalls.map(({ name }) => name).join(', ');
    this.#problems.push(
      `the tool call of call ${index + 1} (${names}) is longer than the token limit of the request, ${call.maxTokens}, and was left out`,
    );
  }

  #nextStep(request: ScriptedRequest): ScriptedStep | null {
    return typeof this.#script === 'function' ? this.#script : (this.#script[request.index] ?? null);
  }
}

/** The last input, for the message about an unexpected call. */
function lastOf({ messages, body }: ScriptedRequest): string {
  return JSON.stringify(messages.at(-1) ?? body);
}

/** Response of `GET /models`. */
const modelsBody: JsonObject = {
  object: 'list',
  data: [{ id: 'scripted-model', object: 'model', created: 1_700_000_000, owned_by: 'agentlightning' }],
};
