import OpenAI from 'openai';

/**
 * A minimal agent framework with the features of real ones: turns, tools, streams, a cache, and listeners for events
 * with framework ids.
 *
 * @module
 */

/** An event of an agent. */
export interface ToyEvent {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: 'agent' | 'turn' | 'model' | 'tool' | 'embedding';
  readonly name: string;
  readonly phase: 'start' | 'token' | 'end' | 'error';
  /** The request, the response, the arguments, the result, the error. */
  readonly data: unknown;
}

/** Event listener. */
export interface ToyListener {
  on(event: ToyEvent): void;
  /** Runs the request of a model call. */
  around?<TResult>(id: string, run: () => TResult): TResult;
}

export const listeners: Set<ToyListener> = new Set();

type Message = OpenAI.ChatCompletionMessageParam;

export interface ToyModel {
  readonly client: OpenAI;
  readonly request: { readonly model: string; readonly n?: number };
  readonly cache: Map<string, OpenAI.ChatCompletion> | null;
}

export interface ToyTool {
  readonly definition: OpenAI.ChatCompletionTool;
  readonly run: (input: Readonly<Record<string, unknown>>, parentId: string) => Promise<string>;
}

export interface ToyAgent {
  readonly name: string;
  readonly model: ToyModel;
  readonly tools: ReadonlyMap<string, ToyTool>;
  readonly extra: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
}

export interface ToyRun {
  readonly messages: readonly Message[];
  readonly isStreamed: boolean;
  readonly onText: (text: string) => boolean;
  readonly signal: AbortSignal | null;
  readonly parentId: string | null;
}

export function toyModel(options: { baseURL: string; apiKey: string; maxRetries: number }): OpenAI {
  // The global fetch is looked up per call, as in some frameworks.
  return new OpenAI({ ...options, fetch: (input, init) => globalThis.fetch(input, init) });
}

let ids = 0;

/** Runs a step and notifies the listeners of its start and end. */
async function observed<TResult>(
  step: Pick<ToyEvent, 'kind' | 'name' | 'parentId' | 'data'>,
  run: (id: string) => Promise<TResult>,
): Promise<TResult> {
  ids += 1;
  const id = `toy-${ids}`;
  const tell = (phase: ToyEvent['phase'], data: unknown): void => {
    for (const listener of listeners) listener.on({ ...step, id, phase, data });
  };
  tell('start', step.data);
  try {
    const result = await run(id);
    tell('end', result);
    return result;
  } catch (error) {
    tell('error', error);
    throw error;
  }
}

export function runAgent(agent: ToyAgent, run: ToyRun): Promise<string> {
  return observed({ kind: 'agent', name: agent.name, parentId: run.parentId, data: null }, async (agentId) => {
    const messages = [...run.messages];
    for (;;) {
      const turn = await observed({ kind: 'turn', name: 'turn', parentId: agentId, data: null }, (turnId) =>
        takeTurn(agent, { ...run, messages, parentId: turnId }),
      );
      messages.push(...turn.messages);
      if (turn.reply !== null) return turn.reply;
    }
  });
}

async function takeTurn(
  agent: ToyAgent,
  run: ToyRun,
): Promise<{ readonly messages: readonly Message[]; readonly reply: string | null }> {
  const { choices } = await callModel(agent, run);
  const message = choices[0]?.message;
  const calls = message?.tool_calls?.filter((call) => call.type === 'function') ?? [];
  if (calls.length === 0) return { messages: [], reply: message?.content ?? '' };
  const results = await Promise.all(
    calls.map(async (call): Promise<Message> => {
      const { name } = call.function;
      const step = { kind: 'tool', name, parentId: run.parentId, data: call } as const;
      const tool = agent.tools.get(name);
      const content = await observed(
        step,
        async (id) => tool?.run(JSON.parse(call.function.arguments), id) ?? '',
      ).catch(String);
      return { role: 'tool', tool_call_id: call.id, content };
    }),
  );
  return {
    messages: [{ role: 'assistant', content: message?.content ?? null, tool_calls: calls }, ...results],
    reply: null,
  };
}

function callModel({ model, tools, extra }: ToyAgent, run: ToyRun): Promise<OpenAI.ChatCompletion> {
  const definitions = [...tools.values()].map(({ definition }) => definition);
  const request: OpenAI.ChatCompletionCreateParamsNonStreaming = {
    ...model.request,
    ...extra,
    messages: [...run.messages],
    ...(definitions.length === 0 ? {} : { tools: definitions }),
  };
  const step = { kind: 'model', name: request.model, parentId: run.parentId, data: request } as const;
  return observed(step, async (id) => {
    const key = JSON.stringify(request);
    const known = model.cache?.get(key);
    if (known !== undefined) return { ...known, cached: true };
    const send = (): Promise<OpenAI.ChatCompletion> => sendRequest(model.client, { id, request, run });
    const around = [...listeners].reduce<typeof send>(
      (inner, listener) => () => (listener.around === undefined ? inner() : listener.around(id, inner)),
      send,
    );
    const completion = await around();
    model.cache?.set(key, completion);
    return completion;
  });
}

interface Sent {
  readonly id: string;
  readonly request: OpenAI.ChatCompletionCreateParamsNonStreaming;
  readonly run: ToyRun;
}

async function sendRequest(client: OpenAI, { id, request, run }: Sent): Promise<OpenAI.ChatCompletion> {
  const options = run.signal === null ? {} : { signal: run.signal };
  if (!run.isStreamed) return client.chat.completions.create(request, options);
  const stream = client.chat.completions.stream({ ...request, stream: true }, options);
  let content = '';
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta.content ?? '';
    content += text;
    const event = {
      id,
      parentId: run.parentId,
      kind: 'model',
      name: request.model,
      phase: 'token',
      data: text,
    } as const;
    for (const listener of listeners) listener.on(event);
    if (text !== '' && !run.onText(text)) return leftAt(content);
  }
  return stream.finalChatCompletion();
}

/** The result of an abandoned stream: without id and finish reason. */
function leftAt(content: string): OpenAI.ChatCompletion {
  const message = { role: 'assistant' as const, content, refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' as const }];
  return { id: '', object: 'chat.completion', created: 0, model: '', choices };
}

export function embed(client: OpenAI, model: string, input: string): Promise<readonly number[]> {
  return observed({ kind: 'embedding', name: model, parentId: null, data: input }, async () => {
    const { data } = await client.embeddings.create({ model, input, encoding_format: 'float' });
    return data[0]?.embedding ?? [];
  });
}
