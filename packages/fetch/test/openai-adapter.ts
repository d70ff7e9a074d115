import { withAgent } from '@agentlightning/core';
import {
  type AdapterUnderTest,
  jsonSchemaOf,
  type SceneAgent,
  type SceneAsk,
  type SceneModelOptions,
  type SceneTool,
} from '@agentlightning/core/contracts';
import type OpenAI from 'openai';

/** An agent's model: the client and the fields common to all requests. */
export interface OpenAIModel {
  readonly client: OpenAI;
  readonly request: { readonly model: string; readonly n?: number };
  readonly api: 'chat-completions' | 'responses';
}

type ChatMessage = OpenAI.ChatCompletionMessageParam;

type AdapterDriver = Pick<AdapterUnderTest<OpenAIModel>, 'createModel' | 'ask' | 'embed'>;

/**
 * A hand-written agent on the openai client, as its documentation shows it.
 *
 * @param createFetch - returns the `fetch` option of new clients
 */
export function openaiAgents(
  OpenAIClass: typeof OpenAI,
  createFetch: () => typeof fetch | undefined = () => undefined,
): AdapterDriver {
  const clientOf = ({ baseUrl, apiKey, maxRetries }: SceneModelOptions): OpenAI => {
    const own = createFetch();
    return new OpenAIClass({ baseURL: baseUrl, apiKey, maxRetries, ...(own === undefined ? {} : { fetch: own }) });
  };
  return {
    createModel: (options) => ({
      client: clientOf(options),
      request: { model: options.model, ...(options.choices === 1 ? {} : { n: options.choices }) },
      api: options.api === 'responses' ? 'responses' : 'chat-completions',
    }),
    ask: (agent, ask) =>
      withAgent(agent.name, () => (agent.model.api === 'responses' ? respond(agent, ask) : chat(agent, ask))),
    embed: async (text, options) => {
      const request = { model: options.model, input: text, encoding_format: 'float' as const };
      const { data } = await clientOf(options).embeddings.create(request);
      return data[0]?.embedding ?? [];
    },
  };
}

/** Calls the model, and the tools it requests, until it returns a final message. */
async function chat(agent: SceneAgent<OpenAIModel>, ask: SceneAsk): Promise<string> {
  const tools = [...agent.tools, ...agent.subAgents.map((other) => askTool(other))];
  const messages: ChatMessage[] = [{ role: 'system', content: agent.instructions }, ...ask.history, userMessage(ask)];
  for (;;) {
    const { message, isCancelled } = await nextMessage(agent, { ask, messages, tools });
    if (isCancelled || !message.tool_calls?.length) return message.content ?? '';
    messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls });
    messages.push(...(await Promise.all(message.tool_calls.map((call) => toolMessage(tools, call)))));
  }
}

interface Turn {
  readonly ask: SceneAsk;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly SceneTool[];
}

type AssistantMessage = Pick<OpenAI.ChatCompletionMessage, 'content' | 'tool_calls'>;

async function nextMessage(
  { model, output }: SceneAgent<OpenAIModel>,
  { ask, messages, tools }: Turn,
): Promise<{ readonly message: AssistantMessage; readonly isCancelled: boolean }> {
  const request: OpenAI.ChatCompletionCreateParamsNonStreaming = {
    ...model.request,
    messages: [...messages],
    ...(tools.length === 0 ? {} : { tools: tools.map(toolDefinition) }),
    ...(output === null
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: jsonSchemaOf(output) } } }),
  };
  const options = ask.signal === null ? {} : { signal: ask.signal };
  if (!ask.isStreamed) {
    const { choices } = await model.client.chat.completions.create(request, options);
    return { message: choices[0]?.message ?? { content: '' }, isCancelled: false };
  }
  let content = '';
  const stream = model.client.chat.completions.stream({ ...request, stream: true }, options);
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta.content ?? '';
    content += text;
    if (text !== '' && !ask.onText(text)) return { message: { content }, isCancelled: true };
  }
  return { message: await stream.finalMessage(), isCancelled: false };
}

async function respond({ model, instructions }: SceneAgent<OpenAIModel>, ask: SceneAsk): Promise<string> {
  const request = { model: model.request.model, instructions, input: ask.prompt };
  if (!ask.isStreamed) return (await model.client.responses.create(request)).output_text;
  let content = '';
  for await (const event of await model.client.responses.create({ ...request, stream: true })) {
    if (event.type === 'response.output_text.delta') {
      content += event.delta;
      ask.onText(event.delta);
    }
  }
  return content;
}

function askTool(agent: SceneAgent<OpenAIModel>): SceneTool {
  return {
    name: `ask_${agent.name}`,
    description: `Asks ${agent.name}.`,
    parameters: { question: 'string' },
    run: ({ question }) => {
      const ask = { imageUrl: null, history: [], isStreamed: false, onText: () => true, signal: null };
      return withAgent(agent.name, () => chat(agent, { ...ask, prompt: String(question) }));
    },
  };
}

async function toolMessage(
  tools: readonly SceneTool[],
  call: OpenAI.ChatCompletionMessageToolCall,
): Promise<ChatMessage> {
  const functionCall = call.type === 'function' ? call.function : { name: '', arguments: '{}' };
  const tool = tools.find(({ name }) => name === functionCall.name);
  const content = await tool
    ?.run(JSON.parse(functionCall.arguments))
    .catch((error: unknown) => `Failed: ${String(error)}`);
  return { role: 'tool', tool_call_id: call.id, content: content ?? 'There is no such tool.' };
}

function toolDefinition({ name, description, parameters }: SceneTool): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { ...jsonSchemaOf(parameters) } } };
}

function userMessage({ prompt, imageUrl }: SceneAsk): ChatMessage {
  if (imageUrl === null) return { role: 'user', content: prompt };
  return {
    role: 'user',
    content: [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: imageUrl } },
    ],
  };
}
