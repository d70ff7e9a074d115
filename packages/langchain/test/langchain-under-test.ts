import {
  type AdapterUnderTest,
  jsonSchemaOf,
  type SceneAgent,
  type SceneAsk,
  type SceneModelOptions,
  type SceneTool,
} from '@agentlightning/core/contracts';
import { InMemoryCache } from '@langchain/core/caches';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage, type BaseMessageLike } from '@langchain/core/messages';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import OpenAI from 'openai';
import { instrumentLangChain } from '../src/index.ts';

/** The common interface of agents in all versions: a graph over messages. */
export interface SceneGraph {
  invoke(
    input: { readonly messages: BaseMessageLike[] },
    config: { readonly signal?: AbortSignal },
  ): Promise<{ readonly messages: readonly BaseMessage[]; readonly structuredResponse?: unknown }>;
  stream(
    input: { readonly messages: BaseMessageLike[] },
    config: { readonly signal?: AbortSignal; readonly streamMode: 'messages' },
  ): Promise<AsyncIterable<unknown>>;
}

/** The parts of a framework agent. */
export interface SceneGraphOptions {
  readonly name: string;
  readonly instructions: string;
  readonly model: ChatOpenAI;
  readonly tools: readonly StructuredToolInterface[];
  /** A JSON Schema; null for plain text. */
  readonly output: (ReturnType<typeof jsonSchemaOf> & { readonly title: string }) | null;
}

/** Drives the adapter with one of the framework's agent constructors. */
export function langchainUnderTest(
  name: string,
  createGraph: (options: SceneGraphOptions) => SceneGraph,
  cannot: AdapterUnderTest<ChatOpenAI>['cannot'] = {},
): AdapterUnderTest<ChatOpenAI> {
  return {
    name,
    instrument: ({ redirect }) => instrumentLangChain({ redirect }),
    createModel,
    ask: (agent, ask) => askGraph(graphOf(agent, createGraph), ask),
    embed: (text, { baseUrl, apiKey, model }) =>
      new OpenAIEmbeddings({ model, apiKey, configuration: { baseURL: baseUrl } }).embedQuery(text),
    footprint: () => [
      CallbackManager._configureSync,
      AsyncLocalStorageProviderSingleton.runWithConfig,
      BaseChatModel.prototype._streamIterator,
      OpenAI.prototype.fetchWithTimeout,
      Object.getOwnPropertyNames(AsyncLocalStorageProviderSingleton).length,
    ],
    cannot: {
      embeddings: 'LangChain has no callback for embeddings',
      'cached-response':
        'LangGraph makes the run part of the cache key, so there is no cache hit (tested without a graph)',
      ...cannot,
    },
  };
}

function createModel({ baseUrl, apiKey, model, maxRetries, choices, api, isCached }: SceneModelOptions): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey,
    maxRetries,
    ...(choices === 1 ? {} : { n: choices }),
    ...(isCached ? { cache: new InMemoryCache() } : {}),
    useResponsesApi: api === 'responses',
    configuration: { baseURL: baseUrl },
  });
}

function graphOf(
  { name, instructions, model, tools, subAgents, output }: SceneAgent<ChatOpenAI>,
  createGraph: (options: SceneGraphOptions) => SceneGraph,
): SceneGraph {
  const interrupts = subAgents.map((agent) => askTool(agent.name, graphOf(agent, createGraph)));
  return createGraph({
    name,
    instructions,
    model,
    tools: [...tools.map(toolOf), ...interrupts],
    output: output === null ? null : { title: 'answer', ...jsonSchemaOf(output) },
  });
}

function toolOf({ name, description, parameters, run }: SceneTool): StructuredToolInterface {
  const schema = jsonSchemaOf(parameters);
  return tool((input) => run(input as Readonly<Record<string, unknown>>), { name, description, schema });
}

function askTool(name: string, graph: SceneGraph): StructuredToolInterface {
  return toolOf({
    name: `ask_${name}`,
    description: `Asks the ${name}.`,
    parameters: { question: 'string' },
    run: async ({ question }) => {
      const { messages } = await graph.invoke({ messages: [{ role: 'user', content: String(question) }] }, {});
      return messages.at(-1)?.text ?? '';
    },
  });
}

async function askGraph(graph: SceneGraph, ask: SceneAsk): Promise<string> {
  const messages: BaseMessageLike[] = [...ask.history, { role: 'user', content: contentOf(ask) }];
  const config = ask.signal === null ? {} : { signal: ask.signal };
  if (!ask.isStreamed) {
    const result = await graph.invoke({ messages }, config);
    const { structuredResponse } = result;
    return structuredResponse === undefined ? (result.messages.at(-1)?.text ?? '') : JSON.stringify(structuredResponse);
  }
  let reply = '';
  for await (const piece of await graph.stream({ messages }, { ...config, streamMode: 'messages' })) {
    const message: unknown = Array.isArray(piece) ? piece[0] : null;
    if (!(message instanceof AIMessageChunk) || message.text === '') continue;
    reply += message.text;
    if (!ask.onText(message.text)) break;
  }
  return reply;
}

function contentOf({ prompt, imageUrl }: SceneAsk): string | { type: string }[] {
  if (imageUrl === null) return prompt;
  const parts = [
    { type: 'text', text: prompt },
    { type: 'image_url', image_url: { url: imageUrl } },
  ];
  return parts;
}
